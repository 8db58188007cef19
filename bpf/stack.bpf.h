/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* How a stack gets into an event: used by the sampler and by launch probes alike. */
#pragma once

#include "bpf/maps.bpf.h"

#include "capture/record.h"

/* Where unwinding starts. */
struct stack_regs {
	u64 ip, sp, bp;
	/* At a function's entry, before it has its own frame and with its caller's frame pointer:
	 * bytes from sp to the return address, + 1. 0: anywhere else. Frame pointers alone lose the
	 * immediate caller there, and with it no table of the function's own file is needed. */
	u32 entry;
};

#if defined(__TARGET_ARCH_x86)
/* By DWARF number: System V ABI AMD64, figure 3.36. */
#define STACK_REGS_COPY(to, from)    \
	do {                         \
		(to)[0] = from ax;   \
		(to)[1] = from dx;   \
		(to)[2] = from cx;   \
		(to)[3] = from bx;   \
		(to)[4] = from si;   \
		(to)[5] = from di;   \
		(to)[6] = from bp;   \
		(to)[7] = from sp;   \
		(to)[8] = from r8;   \
		(to)[9] = from r9;   \
		(to)[10] = from r10; \
		(to)[11] = from r11; \
		(to)[12] = from r12; \
		(to)[13] = from r13; \
		(to)[14] = from r14; \
		(to)[15] = from r15; \
		(to)[16] = from ip;  \
	} while (0)
#endif

static __always_inline bool stack_regs_are_user(const bpf_user_pt_regs_t *regs)
{
#if defined(__TARGET_ARCH_x86)
	return *(volatile u64 *)&regs->cs & 3;
#else
	return (*(volatile u64 *)&regs->pstate & 0xf) == 0;
#endif
}

/*
 * The registers of a context, all of them for a walk by tables. Each through a volatile read: clang
 * would merge the loads into `ctx + register`, which the verifier refuses for a context.
 */
static __always_inline void stack_regs_load(struct stack_regs *ret, struct slot *slot,
					    const bpf_user_pt_regs_t *regs)
{
#if defined(__TARGET_ARCH_x86)
	STACK_REGS_COPY(slot->walk.regs, *(volatile u64 *)&regs->);
	slot->walk.is_trap = 0;
	ret->ip = slot->walk.regs[16];
	ret->sp = slot->walk.regs[7];
	ret->bp = slot->walk.regs[6];
#else
	ret->ip = *(volatile u64 *)&regs->pc;
	ret->sp = *(volatile u64 *)&regs->sp;
	ret->bp = *(volatile u64 *)&regs->regs[29];
#endif
	ret->entry = 0;
}

/* The same from the registers that the current task saved when it entered the kernel. */
static __always_inline void stack_regs_saved(struct stack_regs *ret, struct slot *slot)
{
	const struct pt_regs *regs =
		(const struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());

#if defined(__TARGET_ARCH_x86)
	STACK_REGS_COPY(slot->walk.regs, regs->);
	slot->walk.is_trap = regs->orig_ax == -1UL;
	ret->ip = regs->ip;
	ret->sp = regs->sp;
	ret->bp = regs->bp;
#else
	ret->ip = regs->user_regs.pc;
	ret->sp = regs->user_regs.sp;
	ret->bp = regs->user_regs.regs[29];
#endif
	ret->entry = 0;
}

/* How many frames bpf_get_stack() gives at most: sysctl kernel.perf_event_max_stack. */
extern const volatile __u32 stack_limit;

/* enum stack_mode: how user stacks are got. Set by the recorder. */
extern const volatile __u32 stack_mode;

/* The user frames by frame pointers. */
static __always_inline void stack_walk_chain(void *ctx, const struct stack_regs *regs,
					     struct event_stack *stack)
{
	u64 caller = 0;
	long size;

	stack->flags = 0;
	stack->skip = 0;
	/* At an entry one place stays free in front: pc, caller, rest instead of pc, rest. */
	if (regs->entry)
		size = bpf_get_stack(ctx, &stack->ips[1], (EVENT_USER_FRAMES - 1) * 8,
				     BPF_F_USER_STACK);
	else
		size = bpf_get_stack(ctx, &stack->ips[0], EVENT_USER_FRAMES * 8, BPF_F_USER_STACK);
	if (size < 8 || size > EVENT_USER_FRAMES * 8) {
		stack->ips[0] = regs->ip;
		stack->user_count = 1;
		stack->status = STACK_CAUSE_UNREADABLE;
		return;
	}
	stack->user_count = (u32)size >> 3;
	stack->status =
		stack->user_count >= stack_limit ? STACK_CAUSE_TOO_DEEP : STACK_CAUSE_FRAME_POINTER;
	if (!regs->entry)
		return;
	/* Linux 6.11 and later put in the caller themselves at the instructions they know. */
	if (bpf_probe_read_user(&caller, sizeof(caller), (void *)(regs->sp + regs->entry - 1)) ||
	    caller == stack->ips[2]) {
		stack->skip = 1;
		return;
	}
	stack->ips[0] = stack->ips[1];
	stack->ips[1] = caller;
	stack->user_count++;
}

/*
 * The user frames of the current thread, which stopped at @regs, into @stack in the slot, which has
 * room for EVENT_USER_FRAMES.
 */
static __always_inline void stack_walk_user(void *ctx, struct slot *slot,
					    const struct stack_regs *regs,
					    struct event_stack *stack)
{
	stack->kernel_count = 0;
	slot->walk.entry = regs->entry;
	if (stack_mode == STACK_MODE_TABLE)
		unwind_user(slot->number, (void *)stack - (void *)slot->words);
	else
		stack_walk_chain(ctx, regs, stack);
}

/* The kernel frames of a context in the kernel, but for @skip at the leaf, behind the user frames. */
static __always_inline void stack_walk_kernel(void *ctx, struct event_stack *stack, u32 skip)
{
	u32 at = stack->skip + stack->user_count;
	long size;

	stack->kernel_count = 0;
	if (at > EVENT_USER_FRAMES)
		return;
	size = bpf_get_stack(ctx, &stack->ips[at], EVENT_KERNEL_FRAMES * 8,
			     skip & BPF_F_SKIP_FIELD_MASK);
	if (size > 0 && size <= EVENT_KERNEL_FRAMES * 8)
		stack->kernel_count = (u32)size >> 3;
}

/* The stack of the current thread, which stopped at @regs in user space and since then may have
 * gone on @in_kernel. */
static __always_inline void stack_take(void *ctx, struct slot *slot, const struct stack_regs *regs,
				       bool in_kernel, struct event_stack *stack)
{
	stack->kernel_count = 0;
	if (stack_mode == STACK_MODE_NONE) {
		stack->flags = 0;
		stack->skip = 0;
		stack->status = STACK_CAUSE_NONE;
		stack->user_count = 1;
		stack->ips[0] = regs->ip;
		return;
	}
	stack_walk_user(ctx, slot, regs, stack);
	if (in_kernel)
		stack_walk_kernel(ctx, stack, 0);
}

/* Bytes of @stack without Python's frames. */
static __always_inline u32 stack_native_size(const struct event_stack *stack)
{
	u32 frames = stack->skip + stack->user_count + stack->kernel_count;

	if (frames > EVENT_USER_FRAMES + EVENT_KERNEL_FRAMES)
		frames = EVENT_USER_FRAMES + EVENT_KERNEL_FRAMES;
	return sizeof(*stack) + frames * 8;
}

/* The last thing to do to a stack, the last part of its event: bytes of the event. */
static __always_inline u32 stack_finish(struct slot *slot, struct event_stack *stack)
{
	u32 at = (void *)stack - (void *)slot->words;
	u32 size = at + stack_native_size(stack);

	stack->python_count = 0;
	stack->python_flags = 0;
	stack->reserved = 0;
	if (stack_mode == STACK_MODE_NONE)
		return size;
	size = python_append(slot->number, at, size);
	return size > EVENT_MAX_BYTES ? EVENT_MAX_BYTES : size;
}
