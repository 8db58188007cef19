/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything about stacks that is x86-64's own: register numbers, where return addresses lie, what
 * a signal frame looks like, and one step from a frame to its caller. Its other half, which turns
 * the state of a CFI program into a row, is x86_64.c. Both halves of the product use the step: bpf/
 * in the kernel and lib/unwind on copied stacks, each with its own way of reading memory.
 *
 * What aarch64 will need in a file of its own beside this one:
 * - DWARF numbers 29 (fp), 30 (lr), 31 (sp), and sigcontext registers at sp + 312 of the frame that
 *   the vDSO's __kernel_rt_sigreturn returns through (the vDSO has no CFI for it on some kernels);
 * - a return address rule in the row: "still in lr" (innermost frame, or restored from a signal
 *   frame) or "at CFA + offset", since it is not always at CFA - 8. fp and lr are saved as a pair,
 *   so one bit is enough: lr at the frame pointer's place + 8;
 * - pointer authentication bits cut off return addresses (mask from NT_ARM_PAC_MASK);
 * - no PLT rule, and a step to a caller with the same CFA is legal when the leaf pushed nothing.
 */
#pragma once

#include "unwind/lookup.h"

/* System V ABI AMD64, figure 3.36: DWARF register numbers. */
#define UNWIND_REG_FP    6  /* rbp */
#define UNWIND_REG_SP    7  /* rsp */
#define UNWIND_REG_RA    16 /* return address column */
#define UNWIND_REG_COUNT 17

/* The return address is the word below the CFA (System V ABI AMD64, figure 3.3). */
#define UNWIND_RA_OFFSET (-8)

/*
 * struct rt_sigframe (Linux arch/x86/include/asm/sigframe.h): on return from a handler sp points at
 * its ucontext, whose registers (struct sigcontext_64) begin after uc_flags, uc_link and uc_stack.
 */
#define UNWIND_SIGNAL_REGS 40
/* Index of each DWARF register's word in struct sigcontext_64: r8-r15, di, si, bp, bx, dx, ax, cx,
 * sp, ip. As nibbles, DWARF register 0 lowest, so that BPF needs no table in memory; 16 is ip. */
#define UNWIND_SIGNAL_ORDER 0x76543210fa89becdULL
static inline uint32_t unwind_signal_offset(uint32_t reg)
{
	return 8 * (reg >= 16 ? 16 : (uint32_t)(UNWIND_SIGNAL_ORDER >> 4 * reg & 0xf));
}

/* Where a walk stands: one frame. */
struct unwind_state {
	uint64_t pc, sp, fp;
	uint64_t signal_regs; /* sp of the signal frame this one was restored from; 0: none */
	uint8_t is_return;    /* pc is a return address: the call is the instruction before it */
	uint8_t has_fp;       /* fp is that of the frame */
	uint8_t is_leaf;      /* all registers are at hand, by unwind_reg_fn */
};

enum unwind_result {
	UNWIND_OK,          /* the state is now the caller's */
	UNWIND_ROOT,        /* this was the outermost frame */
	UNWIND_NO_ROW,      /* no unwind information here */
	UNWIND_UNSUPPORTED, /* the rule needs more than a row or the state has */
	UNWIND_UNREADABLE,  /* stack memory could not be read */
	UNWIND_STUCK,       /* the caller's frame would not lie above this one */
};

/*
 * What a step reads with. Both return 0 or nonzero for failure. They are called through this struct
 * in user space; in BPF the compiler must see the functions themselves, so that they are inlined.
 */
struct unwind_access {
	int (*read)(void *data, uint64_t address, uint64_t *ret);
	int (*reg)(void *data, uint32_t reg, uint64_t *ret); /* of the innermost frame */
	void *data;
	/* The return address and what is @fp words from the CFA, at once where that is cheaper than
	 * one after the other. NULL: it is not. */
	int (*pair)(void *data, uint64_t cfa, int8_t fp, uint64_t *ret_pc, uint64_t *ret_fp);
};

UNWIND_INLINE int unwind_leaf_reg(const struct unwind_access *access,
				  const struct unwind_state *state, uint32_t reg, uint64_t *ret)
{
	if (state->signal_regs)
		return access->read(
			access->data,
			state->signal_regs + UNWIND_SIGNAL_REGS + unwind_signal_offset(reg), ret);
	return state->is_leaf ? access->reg(access->data, reg, ret) : -1;
}

UNWIND_INLINE enum unwind_result unwind_step_signal(const struct unwind_access *access,
						    struct unwind_state *state)
{
	uint64_t regs = state->sp + UNWIND_SIGNAL_REGS;
	uint64_t pc, sp, fp;

	if (access->read(access->data, regs + unwind_signal_offset(UNWIND_REG_RA), &pc) ||
	    access->read(access->data, regs + unwind_signal_offset(UNWIND_REG_SP), &sp) ||
	    access->read(access->data, regs + unwind_signal_offset(UNWIND_REG_FP), &fp))
		return UNWIND_UNREADABLE;
	state->signal_regs = state->sp;
	state->pc = pc;
	state->sp = sp;
	state->fp = fp;
	state->has_fp = 1;
	state->is_leaf = 1;
	state->is_return = 0; /* the interrupted instruction itself */
	return UNWIND_OK;
}

/* Where the caller's frame begins, and its return address where that is not on the stack. */
UNWIND_INLINE enum unwind_result unwind_cfa(const struct unwind_access *access,
					    const struct unwind_state *state,
					    const struct unwind_row *row, uint64_t *ret_cfa,
					    uint64_t *ret_pc)
{
	uint32_t param = row->param;
	uint64_t value;

	switch (unwind_row_cfa(row)) {
	case UNWIND_CFA_SP:
		*ret_cfa = state->sp + 8 * (uint64_t)param;
		return UNWIND_OK;
	case UNWIND_CFA_FP:
		if (!state->has_fp)
			return UNWIND_UNSUPPORTED;
		*ret_cfa = state->fp + 8 * (uint64_t)param;
		return UNWIND_OK;
	case UNWIND_CFA_PLT:
		*ret_cfa = state->sp + 8 + ((state->pc & 15) >= param ? 8 : 0);
		return UNWIND_OK;
	case UNWIND_CFA_DEREF_FP:
	case UNWIND_CFA_DEREF_SP:
		value = state->sp;
		if (unwind_row_cfa(row) == UNWIND_CFA_DEREF_FP) {
			if (!state->has_fp)
				return UNWIND_UNSUPPORTED;
			value = state->fp;
		}
		if (access->read(access->data, value + 8 * (int64_t)(int8_t)(param & 0xff), &value))
			return UNWIND_UNREADABLE;
		*ret_cfa = value + 8 * (uint64_t)(param >> 8);
		return UNWIND_OK;
	case UNWIND_CFA_REG:
		if (unwind_leaf_reg(access, state, param & 0xf, &value))
			return UNWIND_UNSUPPORTED;
		*ret_cfa = value + 8 * (uint64_t)(param >> 4);
		return UNWIND_OK;
	case UNWIND_CFA_RA_REG:
		if (unwind_leaf_reg(access, state, param & 0xf, ret_pc))
			return UNWIND_UNSUPPORTED;
		*ret_cfa = state->sp + 8 * (uint64_t)(param >> 4);
		return UNWIND_OK;
	case UNWIND_CFA_STOP:
		return UNWIND_ROOT;
	case UNWIND_CFA_END:
		return UNWIND_NO_ROW;
	case UNWIND_CFA_SIGNAL: /* not here: unwind_step() */
	case UNWIND_CFA_UNSUPPORTED:
	case UNWIND_CFA_COUNT:
		break;
	}
	return UNWIND_UNSUPPORTED;
}

UNWIND_INLINE enum unwind_result unwind_caller_fp(const struct unwind_access *access,
						  const struct unwind_state *state,
						  const struct unwind_row *row, uint64_t cfa,
						  uint64_t *fp, uint8_t *has_fp)
{
	uint64_t from = cfa;

	switch (unwind_row_fp(row)) {
	case UNWIND_FP_SAME:
		return UNWIND_OK;
	case UNWIND_FP_UNKNOWN:
		*has_fp = 0;
		return UNWIND_OK;
	case UNWIND_FP_DEREF:
		if (!state->has_fp)
			return UNWIND_UNSUPPORTED;
		from = state->fp;
		break;
	case UNWIND_FP_CFA:
		break;
	}
	from += 8 * (uint64_t)(int64_t)row->fp;
	*has_fp = 1;
	if (access->read(access->data, from, fp)) {
		/* An epilogue has it back already; a copy begins at the stack pointer. */
		if (from >= state->sp)
			return UNWIND_UNREADABLE;
		*has_fp = 0;
	}
	return UNWIND_OK;
}

/*
 * From the frame in @state to its caller, by the @row that holds at its pc. On anything but
 * UNWIND_OK the state is as before.
 */
UNWIND_INLINE enum unwind_result unwind_step(const struct unwind_access *access,
					     struct unwind_state *state,
					     const struct unwind_row *row)
{
	enum unwind_result rc;
	uint64_t cfa = 0, pc = 0, fp = state->fp;
	uint8_t has_fp = state->has_fp;

	if (unwind_row_cfa(row) == UNWIND_CFA_SIGNAL)
		return unwind_step_signal(access, state);

	rc = unwind_cfa(access, state, row, &cfa, &pc);
	if (rc != UNWIND_OK)
		return rc;
	/* A function that keeps its return address in a register may have nothing on the stack. */
	if (unwind_row_cfa(row) == UNWIND_CFA_RA_REG ? cfa < state->sp : cfa <= state->sp)
		return UNWIND_STUCK;
	if (access->pair && unwind_row_fp(row) == UNWIND_FP_CFA &&
	    unwind_row_cfa(row) != UNWIND_CFA_RA_REG) {
		if (access->pair(access->data, cfa, row->fp, &pc, &fp))
			return UNWIND_UNREADABLE;
		has_fp = 1;
	} else {
		if (unwind_row_cfa(row) != UNWIND_CFA_RA_REG &&
		    access->read(access->data, cfa + (uint64_t)(int64_t)UNWIND_RA_OFFSET, &pc))
			return UNWIND_UNREADABLE;
		rc = unwind_caller_fp(access, state, row, cfa, &fp, &has_fp);
		if (rc != UNWIND_OK)
			return rc;
	}
	/* Runtimes that make stacks by hand end them with a null return address. */
	if (!pc)
		return state->is_return ? UNWIND_ROOT : UNWIND_UNSUPPORTED;
	state->pc = pc;
	state->sp = cfa;
	state->fp = fp;
	state->has_fp = has_fp;
	state->signal_regs = 0;
	state->is_leaf = 0;
	state->is_return = 1;
	return UNWIND_OK;
}

/* The longest call and some more: what unwind_call_ends() looks at. */
#define UNWIND_CALL_BYTES 8

/* Do these bytes end in a call? Intel SDM, CALL: E8 rel32, or FF /2 with any of its operands. */
static inline int unwind_call_ends(const uint8_t code[UNWIND_CALL_BYTES], int is_indirect)
{
	const uint8_t *end = code + UNWIND_CALL_BYTES;

	if (!is_indirect && end[-5] == 0xe8)
		return 1;
	/* register; *register; rip + disp32; + disp8; + disp32. rm 4 means that a SIB follows. */
	if (end[-2] == 0xff &&
	    ((end[-1] & 0xf8) == 0xd0 ||
	     ((end[-1] & 0xf8) == 0x10 && (end[-1] & 7) != 4 && end[-1] != 0x15)))
		return 1;
	if (end[-6] == 0xff && (end[-5] == 0x15 || ((end[-5] & 0xf8) == 0x90 && end[-5] != 0x94)))
		return 1;
	if (end[-3] == 0xff && (end[-2] == 0x14 || ((end[-2] & 0xf8) == 0x50 && end[-2] != 0x54)))
		return 1;
	return (end[-4] == 0xff && end[-3] == 0x54) || (end[-7] == 0xff && end[-6] == 0x94);
}
