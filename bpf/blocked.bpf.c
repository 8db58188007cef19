/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Threads that wait: the stack of a target's thread as it leaves the CPU to wait for something, and
 * how long until it is on one again. A thread that is only made to leave the CPU does not wait.
 *
 * The stack is taken on the way out, when it is the current task's; that the wait will be short is
 * not known then. So that a thread that waits a hundred thousand times a second is not held up, it
 * gets a stack for BLOCKED_RATE waits a second, and the time of the others is told with the next one
 * that has a stack, which stands for them as a sample does for its period.
 */
#include "bpf/stack.bpf.h"

/* At 5 us for a stack, 1 % of a thread's time at most. */
#define BLOCKED_PAUSE_NS 500000
/* Waits that each have a stack although they follow each other at once. */
#define BLOCKED_BURST 256
/* Bits of task_struct.__state (include/linux/sched.h). Not those that are stopped or traced. */
#define TASK_INTERRUPTIBLE   1
#define TASK_UNINTERRUPTIBLE 2

/* enum blocked_mode. Set by the recorder. */
const volatile __u32 blocked_mode = BLOCKED_MODE_LAUNCHES;

static __always_inline bool is_wanted(void)
{
	u64 ids = current_ids();
	u32 pid = ids >> 32;
	u32 *flags;

	if (!is_target(ids))
		return false;
	if (blocked_mode == BLOCKED_MODE_ALL)
		return true;
	flags = bpf_map_lookup_elem(&targets, &pid);
	return flags && *flags & TARGET_LAUNCHES;
}

/*
 * Between the scheduler and us stand frames of tracing and of our own: how many depends on the kernel
 * and on who else looks at it.
 */
#define SCHEDULE_BYTES 8192
#define TRACING_FRAMES 6
static __u64 schedule_address; /* of __schedule(), set by blocked_measure(); 0: not known */
/* Where schedule() begins, behind it and its caller: one frame too many left out would show it. */
static __u64 schedule_end;
static __u32 schedule_skip; /* as the last stack had it */

static __always_inline bool is_schedule(const struct event_stack *stack, u32 frame)
{
	u32 at = stack->skip + stack->user_count + frame;

	return at < EVENT_USER_FRAMES + EVENT_KERNEL_FRAMES && stack->ips[at] >= schedule_address &&
	       stack->ips[at] < schedule_end;
}

/* From the scheduler on outwards. */
static __always_inline void walk_kernel(void *ctx, struct event_stack *stack)
{
	stack_walk_kernel(ctx, stack, schedule_skip);
	if (!schedule_address || is_schedule(stack, 0))
		return;
	stack_walk_kernel(ctx, stack, 0);
	for (u32 i = 1; i <= TRACING_FRAMES; i++) {
		if (i >= stack->kernel_count || !is_schedule(stack, i))
			continue;
		schedule_skip = i;
		stack_walk_kernel(ctx, stack, i);
		return;
	}
}

static __always_inline void send_block(void *ctx, struct blocked_thread *thread)
{
	struct slot *slot = slot_claim();
	struct stack_regs regs;

	if (!slot) {
		loss_add(LOSS_BLOCKED_NO_SLOT);
		return;
	}
	struct event_block *event = (struct event_block *)slot->words;
	event_begin(&event->header, EVENT_BLOCK);
	event->header.time_ns = thread->start_ns;
	event->header.stack_offset = offsetof(struct event_block, stack);
	event->state = thread->state;
	event->reserved = 0;
	stack_regs_saved(&regs, slot);
	stack_take(ctx, slot, &regs, false, &event->stack);
	if (stack_mode != STACK_MODE_NONE)
		walk_kernel(ctx, &event->stack);
	event_submit(&event->header, stack_finish(slot, &event->stack), LOSS_BLOCKED_RING_FULL);
	slot_free(slot);
	thread->has_stack = 1;
	cost_add(COST_BLOCKED, thread->start_ns);
}

/* The current thread leaves the CPU. */
static __always_inline void begin_wait(void *ctx, struct task_struct *task)
{
	static const struct blocked_thread none;
	u32 tid = BPF_CORE_READ(task, pid), state = BPF_CORE_READ(task, __state);
	struct blocked_thread *thread;

	if (!(state & (TASK_INTERRUPTIBLE | TASK_UNINTERRUPTIBLE)) || !is_wanted())
		return;
	thread = bpf_map_lookup_elem(&blocked_threads, &tid);
	if (!thread) {
		bpf_map_update_elem(&blocked_threads, &tid, &none, BPF_NOEXIST);
		thread = bpf_map_lookup_elem(&blocked_threads, &tid);
		if (!thread) {
			loss_add(LOSS_BLOCKED_FULL);
			return;
		}
	}
	u64 now_ns = bpf_ktime_get_ns();
	thread->start_ns = now_ns;
	thread->state = state;
	thread->has_stack = 0;
	/* When the next stack would be due at an even rate; a burst ahead of it are allowed. */
	if (thread->due_ns > now_ns + BLOCKED_BURST * BLOCKED_PAUSE_NS)
		return;
	thread->due_ns = (thread->due_ns > now_ns ? thread->due_ns : now_ns) + BLOCKED_PAUSE_NS;
	send_block(ctx, thread);
}

/* @task gets the CPU. */
static __always_inline void end_wait(struct task_struct *task)
{
	u32 tid = BPF_CORE_READ(task, pid);
	struct blocked_thread *thread = bpf_map_lookup_elem(&blocked_threads, &tid);
	struct event_resume event = { 0 };

	if (!thread || !thread->start_ns)
		return;
	u64 now_ns = bpf_ktime_get_ns(), start_ns = thread->start_ns;
	thread->start_ns = 0;
	if (!thread->has_stack) {
		thread->others_ns += now_ns - start_ns;
		return;
	}
	u64 ids = task_ids(task);
	event_begin(&event.header, EVENT_RESUME);
	event.header.time_ns = now_ns;
	event.header.pid = ids >> 32;
	event.header.tid = (u32)ids;
	event.start_ns = start_ns;
	event.others_ns = thread->others_ns;
	event.state = thread->state;
	thread->others_ns = 0;
	event_submit(&event.header, sizeof(event), LOSS_BLOCKED_RING_FULL);
}

/* TP_PROTO(bool preempt, struct task_struct *prev, struct task_struct *next, ...): prev is still the
 * current task. */
SEC("raw_tp/sched_switch")
int on_switch(struct bpf_raw_tracepoint_args *ctx)
{
	bool is_preempted = ctx->args[0];

	if (!is_preempted)
		begin_wait(ctx, (struct task_struct *)ctx->args[1]);
	end_wait((struct task_struct *)ctx->args[2]);
	return 0;
}

/* Not attached: the recorder runs it once. */
SEC("syscall")
int blocked_measure(void *ctx)
{
	char name[] = "__schedule", caller[] = "schedule";

	bpf_kallsyms_lookup_name(name, sizeof(name), 0, &schedule_address);
	bpf_kallsyms_lookup_name(caller, sizeof(caller), 0, &schedule_end);
	if (schedule_end - schedule_address > SCHEDULE_BYTES)
		schedule_end = schedule_address + SCHEDULE_BYTES;
	return 0;
}
