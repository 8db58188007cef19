/* SPDX-License-Identifier: Apache-2.0 */
/* See x86_64.h, the other half. */
#include "unwind/x86_64.h"
#include "unwind/rules.h"

#include <dwarf.h>
#include <string.h>

/* The longest that is matched is PLT's with 11; hostile ones must not be read again and again. */
#define EXPRESSION_MAX 32

/* "breg N, offset" at the start of an expression, moving behind it. */
static bool expression_breg(struct cursor *c, uint64_t *ret_reg, int64_t *ret_offset)
{
	uint8_t op;

	if (c->span.size > EXPRESSION_MAX || cursor_u8(c, &op, NULL) < 0 || op < DW_OP_breg0 ||
	    op > DW_OP_breg31)
		return false;
	*ret_reg = op - DW_OP_breg0;
	return cursor_sleb(c, ret_offset, NULL) == 0;
}

static bool fits(int64_t bytes, int64_t min, int64_t max)
{
	return bytes % 8 == 0 && bytes / 8 >= min && bytes / 8 <= max;
}

/*
 * What linkers write for .plt: sp + 8 + ((((ip & 15) >= N) ? 1 : 0) << 3), since the entry's push
 * comes N bytes into it: 11, or 10 after an endbr64 (binutils elf_x86_64_eh_frame_plt).
 */
static bool plt_match(struct span expression, uint16_t *ret_threshold)
{
	static const uint8_t head[] = { DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and };
	static const uint8_t tail[] = { DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus };
	const uint8_t *p = expression.data;

	if (expression.size != sizeof(head) + 1 + sizeof(tail) || memcmp(p, head, sizeof(head)) ||
	    memcmp(p + sizeof(head) + 1, tail, sizeof(tail)) || p[sizeof(head)] < DW_OP_lit0 ||
	    p[sizeof(head)] > DW_OP_lit15)
		return false;
	*ret_threshold = (uint16_t)(p[sizeof(head)] - DW_OP_lit0);
	return true;
}

/* *(reg + offset) + extra: gcc's realigned stacks (DRAP), OpenSSL, the signal return stub. */
static bool deref_match(struct span expression, uint64_t *ret_reg, int64_t *ret_offset,
			uint64_t *ret_extra)
{
	struct cursor c = cursor_of(expression, NULL);
	uint8_t op;

	*ret_extra = 0;
	if (!expression_breg(&c, ret_reg, ret_offset) || cursor_u8(&c, &op, NULL) < 0 ||
	    op != DW_OP_deref)
		return false;
	if (!cursor_left(&c))
		return true;
	return cursor_u8(&c, &op, NULL) == 0 && op == DW_OP_plus_uconst &&
	       cursor_uleb(&c, ret_extra, NULL) == 0 && !cursor_left(&c);
}

static enum unwind_cfa expression_rule(struct span expression, uint16_t *ret_param)
{
	uint64_t reg, extra;
	int64_t offset;

	if (plt_match(expression, ret_param))
		return UNWIND_CFA_PLT;
	if (!deref_match(expression, &reg, &offset, &extra) || !fits(offset, INT8_MIN, INT8_MAX) ||
	    extra > INT64_MAX || !fits((int64_t)extra, 0, UINT8_MAX))
		return UNWIND_CFA_UNSUPPORTED;
	*ret_param = (uint16_t)((uint8_t)(offset / 8) | extra / 8 << 8);
	if (reg == UNWIND_REG_FP)
		return UNWIND_CFA_DEREF_FP;
	return reg == UNWIND_REG_SP ? UNWIND_CFA_DEREF_SP : UNWIND_CFA_UNSUPPORTED;
}

/* The frame that returns from a handler: where the saved sp lies proves the layout we expect. */
static bool signal_match(const struct cfi_state *state)
{
	uint64_t reg, extra;
	int64_t offset;

	return state->cfa == CFI_EXPRESSION &&
	       deref_match(state->cfa_expression, &reg, &offset, &extra) && reg == UNWIND_REG_SP &&
	       extra == 0 &&
	       offset == UNWIND_SIGNAL_REGS + (int64_t)unwind_signal_offset(UNWIND_REG_SP);
}

/* A register, by number, and an offset: the parameter of REG and RA_REG. */
static bool reg_param(uint64_t reg, int64_t offset, uint16_t *ret_param)
{
	if (reg >= UNWIND_REG_RA || !fits(offset, 0, 0xfff))
		return false;
	*ret_param = (uint16_t)(reg | (uint64_t)(offset / 8) << 4);
	return true;
}

static enum unwind_cfa offset_rule(const struct cfi_state *state, uint16_t *ret_param)
{
	int64_t offset = state->cfa_offset;

	if (state->cfa_reg == UNWIND_REG_SP || state->cfa_reg == UNWIND_REG_FP) {
		if (!fits(offset, 0, UINT16_MAX))
			return UNWIND_CFA_UNSUPPORTED;
		*ret_param = (uint16_t)(offset / 8);
		return state->cfa_reg == UNWIND_REG_SP ? UNWIND_CFA_SP : UNWIND_CFA_FP;
	}
	return reg_param(state->cfa_reg, offset, ret_param) ? UNWIND_CFA_REG
							    : UNWIND_CFA_UNSUPPORTED;
}

static enum unwind_cfa cfa_rule(const struct cfi_state *state, bool is_signal, uint16_t *ret_param)
{
	if (is_signal)
		return signal_match(state) ? UNWIND_CFA_SIGNAL : UNWIND_CFA_UNSUPPORTED;
	if (state->ra.kind == CFI_UNDEFINED)
		return UNWIND_CFA_STOP;
	if (state->sp.kind != CFI_SAME) /* sp is the CFA unless somebody says otherwise */
		return UNWIND_CFA_UNSUPPORTED;
	if (state->ra.kind == CFI_REGISTER && state->cfa == CFI_OFFSET &&
	    state->cfa_reg == UNWIND_REG_SP && state->ra.offset >= 0 &&
	    reg_param((uint64_t)state->ra.offset, state->cfa_offset, ret_param))
		return UNWIND_CFA_RA_REG;
	if (state->ra.kind != CFI_OFFSET || state->ra.offset != UNWIND_RA_OFFSET)
		return UNWIND_CFA_UNSUPPORTED;
	if (state->cfa == CFI_OFFSET)
		return offset_rule(state, ret_param);
	if (state->cfa == CFI_EXPRESSION)
		return expression_rule(state->cfa_expression, ret_param);
	return UNWIND_CFA_UNSUPPORTED;
}

static enum unwind_fp fp_rule(const struct cfi_state *state, int8_t *ret)
{
	uint64_t reg;
	int64_t offset = state->fp.offset;

	switch (state->fp.kind) {
	case CFI_SAME:
		return UNWIND_FP_SAME;
	case CFI_OFFSET:
		if (!fits(offset, INT8_MIN, INT8_MAX))
			return UNWIND_FP_UNKNOWN;
		*ret = (int8_t)(offset / 8);
		return UNWIND_FP_CFA;
	case CFI_EXPRESSION: {
		struct cursor c = cursor_of(state->fp.expression, NULL);
		if (!expression_breg(&c, &reg, &offset) || cursor_left(&c) ||
		    reg != UNWIND_REG_FP || !fits(offset, INT8_MIN, INT8_MAX))
			return UNWIND_FP_UNKNOWN;
		*ret = (int8_t)(offset / 8);
		return UNWIND_FP_DEREF;
	}
	case CFI_UNDEFINED:
	case CFI_REGISTER:
	case CFI_OTHER:
		break;
	}
	return UNWIND_FP_UNKNOWN;
}

/* What nearly all rows are: sp + offset, with the frame pointer untouched or pushed. */
static inline bool is_plain(const struct cfi_state *state)
{
	return state->cfa == CFI_OFFSET && state->cfa_reg == UNWIND_REG_SP &&
	       (uint64_t)state->cfa_offset <= UINT16_MAX && state->cfa_offset % 8 == 0 &&
	       state->ra.kind == CFI_OFFSET && state->ra.offset == UNWIND_RA_OFFSET &&
	       state->sp.kind == CFI_SAME && state->fp.kind <= CFI_OFFSET &&
	       state->fp.kind != CFI_UNDEFINED && state->fp.offset % 8 == 0 &&
	       (uint64_t)-state->fp.offset <= 1024;
}

struct unwind_row unwind_row_of(uint32_t pc, const struct cfi_state *state, bool is_signal)
{
	if (is_plain(state) && !is_signal)
		return (struct unwind_row){
			.pc = pc,
			.rule = unwind_row_rule(UNWIND_CFA_SP, state->fp.kind == CFI_OFFSET
								       ? UNWIND_FP_CFA
								       : UNWIND_FP_SAME),
			.fp = (int8_t)(state->fp.offset / 8),
			.param = (uint16_t)(state->cfa_offset / 8),
		};

	struct unwind_row row = { .pc = pc };
	enum unwind_cfa cfa = cfa_rule(state, is_signal, &row.param);
	enum unwind_fp fp = UNWIND_FP_SAME;

	/* Equal rows are merged: what is not used is 0. */
	if (cfa == UNWIND_CFA_STOP || cfa == UNWIND_CFA_SIGNAL || cfa == UNWIND_CFA_UNSUPPORTED)
		row.param = 0;
	else
		fp = fp_rule(state, &row.fp);
	row.rule = unwind_row_rule(cfa, fp);
	return row;
}
