/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Who is a target: children of targets become targets before they first run, the dead are removed
 * before their process id can be given to another.
 *
 * Raw tracepoints: they need no tracefs, which is not mounted everywhere. Their arguments are those
 * of TP_PROTO() in the kernel's include/trace/events/sched.h.
 */
#include "bpf/maps.bpf.h"

/* A child has its parent's mappings, and so its unwind tables, and its interpreter, until it maps or
 * execs. */
static __always_inline void inherit_space(u32 parent_pid, u32 child_pid)
{
	u32 *space = bpf_map_lookup_elem(&unwind_processes, &parent_pid);
	struct python_process *python = bpf_map_lookup_elem(&python_processes, &parent_pid);

	if (python) {
		struct python_process copy = *python;
		bpf_map_update_elem(&python_processes, &child_pid, &copy, BPF_ANY);
	}
	if (space) {
		u32 number = *space;
		bpf_map_update_elem(&unwind_processes, &child_pid, &number, BPF_ANY);
	}
}

static __always_inline void forget_space(u32 pid)
{
	bpf_map_delete_elem(&unwind_processes, &pid);
	bpf_map_delete_elem(&unwind_changes, &pid);
	bpf_map_delete_elem(&python_processes, &pid);
}

/* Whether @child is a target as its parent is. */
static __always_inline bool inherit_flags(const u32 *flags, u32 child)
{
	u32 inherited = flags ? *flags : 0;

	if (target_mode != TARGET_MODE_LISTED) {
		if (inherited & TARGET_LAUNCHES)
			bpf_map_update_elem(&targets, &child, &inherited, BPF_ANY);
		return true;
	}
	if (!(inherited & TARGET_INHERIT))
		return false;
	if (bpf_map_update_elem(&targets, &child, &inherited, BPF_ANY) < 0) {
		loss_add(LOSS_TARGETS_FULL);
		return false;
	}
	return true;
}

/* TP_PROTO(struct task_struct *parent, struct task_struct *child) */
SEC("raw_tp/sched_process_fork")
int on_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *parent = (struct task_struct *)ctx->args[0];
	struct task_struct *child = (struct task_struct *)ctx->args[1];
	u32 parent_pid = task_ids(parent) >> 32;
	u32 *flags = bpf_map_lookup_elem(&targets, &parent_pid);
	struct event_fork event;

	if (!flags && !is_unlisted_target(parent_pid))
		return 0;
	event_begin(&event.header, EVENT_FORK);
	u64 child_ids = task_ids(child);
	event.child_pid = child_ids >> 32;
	event.child_tid = (u32)child_ids;
	if (event.child_pid != parent_pid) {
		if (!inherit_flags(flags, event.child_pid))
			return 0;
		inherit_space(parent_pid, event.child_pid);
	}
	event_submit(&event.header, sizeof(event), LOSS_PROCESS_RING_FULL);
	return 0;
}

/* The command line, which the kernel has just put on the new stack. Its size in @event. */
static __always_inline u32 read_arguments(struct task_struct *task, struct event_exec *event)
{
	u64 start = BPF_CORE_READ(task, mm, arg_start);
	u64 size = BPF_CORE_READ(task, mm, arg_end) - start;

	if (size > EVENT_ARGUMENTS_MAX)
		size = EVENT_ARGUMENTS_MAX;
	if (bpf_probe_read_user(event->arguments, size, (const void *)start))
		return 0;
	return size;
}

/* TP_PROTO(struct task_struct *p, pid_t old_pid, struct linux_binprm *bprm) */
SEC("raw_tp/sched_process_exec")
int on_exec(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	u32 pid = current_ids() >> 32;
	u32 *flags = bpf_map_lookup_elem(&targets, &pid);
	struct event_exec *event;
	struct slot *slot;

	if (!flags && !is_unlisted_target(pid))
		return 0;
	if (flags)
		*flags &= ~(TARGET_STARTING | TARGET_TOLD);
	/* Whatever was mapped is not any more. */
	forget_space(pid);
	slot = slot_claim();
	if (!slot) {
		struct event_exec plain = { .uid = BPF_CORE_READ(task, cred, euid.val) };
		event_begin(&plain.header, EVENT_EXEC);
		event_submit(&plain.header, sizeof(plain), LOSS_PROCESS_RING_FULL);
		return 0;
	}
	event = (struct event_exec *)slot->words;
	event_begin(&event->header, EVENT_EXEC);
	event->uid = BPF_CORE_READ(task, cred, euid.val);
	event->arguments_size = read_arguments(task, event);
	event_submit(&event->header, sizeof(*event) + (event->arguments_size & 4095),
		     LOSS_PROCESS_RING_FULL);
	slot_free(slot);
	return 0;
}

/* TP_PROTO(struct task_struct *p) */
SEC("raw_tp/sched_process_exit")
int on_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	u32 pid = current_ids() >> 32;
	struct event_exit event;
	u32 tid = BPF_CORE_READ(task, pid);

	if (!bpf_map_lookup_elem(&targets, &pid) && !is_unlisted_target(pid))
		return 0;
	bpf_map_delete_elem(&blocked_threads, &tid);
	event_begin(&event.header, EVENT_EXIT);
	/* do_exit() has taken this thread off the count before it comes here. */
	event.is_last = BPF_CORE_READ(task, signal, live.counter) == 0;
	event.reserved = 0;
	event_submit(&event.header, sizeof(event), LOSS_PROCESS_RING_FULL);
	if (event.is_last) {
		bpf_map_delete_elem(&targets, &pid);
		forget_space(pid);
	}
	return 0;
}

/* Not attached: the recorder runs it on itself, see ids.bpf.h. */
SEC("raw_tp")
int ids_measure(void *ctx)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	u32 level = BPF_CORE_READ(pid, level);
	struct upid id = { 0 };

	bpf_probe_read_kernel(&id, sizeof(id),
			      (const char *)pid + bpf_core_field_offset(struct pid, numbers) +
				      level * sizeof(id));
	ids_namespace = (u64)id.ns;
	ids_level = level;
	return 0;
}
