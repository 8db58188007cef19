/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* One CPU sample: the stack of whichever target a perf event finds running. */
#include "bpf/stack.bpf.h"

static __always_inline u32 sample_fill(struct bpf_perf_event_data *ctx, struct slot *slot)
{
	struct event_sample *sample = (struct event_sample *)slot->words;
	struct event_stack *stack = &sample->stack;
	struct stack_regs regs;
	bool in_kernel = !stack_regs_are_user(&ctx->regs);

	sample->flags = in_kernel ? EVENT_SAMPLE_IN_KERNEL : 0;
	sample->reserved = 0;
	sample->header.stack_offset = offsetof(struct event_sample, stack);
	if (in_kernel) {
		/* What user space was doing when it entered the kernel. */
		struct task_struct *task = bpf_get_current_task_btf();
		struct pt_regs *user = (struct pt_regs *)bpf_task_pt_regs(task);
		stack_regs_read(&regs, slot, user);
	} else {
		stack_regs_load(&regs, slot, &ctx->regs);
	}
	stack->kernel_count = 0;
	if (stack_mode == STACK_MODE_NONE) {
		stack->flags = 0;
		stack->skip = 0;
		stack->status = STACK_CAUSE_NONE;
		stack->user_count = 1;
		stack->ips[0] = regs.ip;
	} else {
		stack_walk_user(ctx, slot, &regs, stack);
		if (in_kernel)
			stack_walk_kernel(ctx, stack);
	}
	return stack_finish(slot, stack);
}

SEC("perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	u32 pid = current_ids() >> 32;

	if (!is_target(pid))
		return 0;
	struct slot *slot = slot_claim();
	if (!slot) {
		loss_add(LOSS_SAMPLE_NO_SLOT);
		return 0;
	}
	struct event_sample *sample = (struct event_sample *)slot->words;
	event_begin(&sample->header, EVENT_SAMPLE);
	u64 start_ns = sample->header.time_ns;
	u32 size = sample_fill(ctx, slot);
	event_submit(&sample->header, size, LOSS_SAMPLE_RING_FULL);
	slot_free(slot);
	cost_add(COST_SAMPLE, start_ns);
	return 0;
}
