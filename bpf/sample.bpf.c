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
	/* In the kernel: what user space was doing when it entered it. */
	if (in_kernel)
		stack_regs_saved(&regs, slot);
	else
		stack_regs_load(&regs, slot, &ctx->regs);
	stack_take(ctx, slot, &regs, in_kernel, stack);
	return stack_finish(slot, stack);
}

SEC("perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	if (!is_target(current_ids()))
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

/* Each so many hits of a tracepoint are one sample. Set by the recorder. */
const volatile __u32 tracepoint_period = 1;

/* Hits since the last sample, of all CPUs: counted loosely. */
static __u32 tracepoint_hits;

/* A target passes a tracepoint of the kernel. */
SEC("tracepoint")
int on_tracepoint(void *ctx)
{
	struct stack_regs regs;

	if (!is_target(current_ids()) ||
	    (tracepoint_period > 1 &&
	     __sync_fetch_and_add(&tracepoint_hits, 1) % tracepoint_period))
		return 0;
	struct slot *slot = slot_claim();
	if (!slot) {
		loss_add(LOSS_SAMPLE_NO_SLOT);
		return 0;
	}
	struct event_sample *sample = (struct event_sample *)slot->words;
	event_begin(&sample->header, EVENT_SAMPLE);
	u64 start_ns = sample->header.time_ns;
	sample->flags = EVENT_SAMPLE_IN_KERNEL;
	sample->reserved = 0;
	sample->header.stack_offset = offsetof(struct event_sample, stack);
	stack_regs_saved(&regs, slot);
	stack_take(ctx, slot, &regs, true, &sample->stack);
	event_submit(&sample->header, stack_finish(slot, &sample->stack), LOSS_SAMPLE_RING_FULL);
	slot_free(slot);
	cost_add(COST_SAMPLE, start_ns);
	return 0;
}
