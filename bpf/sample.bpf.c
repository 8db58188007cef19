/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* One CPU sample: the stack of whichever target a perf event finds running. */
#include "bpf/stack.bpf.h"

/* @user: the registers, if user space was interrupted; NULL: the kernel was, or it is a tracepoint of it. */
static __always_inline u32 sample_fill(void *ctx, const bpf_user_pt_regs_t *user, struct slot *slot)
{
	struct event_sample *sample = (struct event_sample *)slot->words;
	struct stack_regs regs;

	sample->flags = user ? 0 : EVENT_SAMPLE_IN_KERNEL;
	sample->event = bpf_get_attach_cookie(ctx);
	sample->header.stack_offset = offsetof(struct event_sample, stack);
	/* In the kernel: what user space was doing when it entered it. */
	if (user)
		stack_regs_load(&regs, slot, user);
	else
		stack_regs_saved(&regs, slot);
	stack_take(ctx, slot, &regs, !user, &sample->stack);
	return stack_finish(slot, &sample->stack);
}

static __always_inline int take_sample(void *ctx, const bpf_user_pt_regs_t *user)
{
	struct slot *slot = slot_claim();

	if (!slot) {
		loss_add(LOSS_SAMPLE_NO_SLOT);
		return 0;
	}
	struct event_sample *sample = (struct event_sample *)slot->words;
	event_begin(&sample->header, EVENT_SAMPLE);
	u64 start_ns = sample->header.time_ns;
	u32 size = sample_fill(ctx, user, slot);
	event_submit(&sample->header, size, LOSS_SAMPLE_RING_FULL);
	slot_free(slot);
	cost_add(COST_SAMPLE, start_ns);
	return 0;
}

SEC("perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	if (!is_target(current_ids()))
		return 0;
	return stack_regs_are_user(&ctx->regs) ? take_sample(ctx, &ctx->regs)
					       : take_sample(ctx, NULL);
}

/* Each so many hits of a tracepoint are one sample. Set by the recorder. */
const volatile __u32 tracepoint_period = 1;

/* Hits since the last sample, of all CPUs, of each event. */
static __u32 tracepoint_hits[EVENT_KINDS];

/* A target passes a tracepoint of the kernel. */
SEC("tracepoint")
int on_tracepoint(void *ctx)
{
	if (!is_target(current_ids()) ||
	    (tracepoint_period > 1 &&
	     __sync_fetch_and_add(&tracepoint_hits[bpf_get_attach_cookie(ctx) % EVENT_KINDS], 1) %
		     tracepoint_period))
		return 0;
	return take_sample(ctx, NULL);
}
