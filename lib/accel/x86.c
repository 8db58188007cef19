/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instruction lengths by the opcode maps of the Intel SDM, volume 2, appendix A, for 64-bit mode.
 *
 * Better no answer than a wrong one: what has more than one reading among processors (66 before a
 * near branch), what a disassembler might count as two (a REX prefix that is not last) and what no
 * compiler emits is not decoded.
 */
#include "accel/x86.h"

#include <string.h>

/*
 * What follows each opcode byte, sixteen to a row:
 *	.  nothing		m  ModRM		b  ModRM and imm8
 *	z  ModRM and imm32 (imm16 with 66)		1  imm8 or rel8
 *	4  imm32 (imm16 with 66)			2  imm16
 *	J  rel32		O  imm of the operand's size	A  an address of 8 bytes
 *	T  ModRM, and an imm for TEST (F6, F7)		-  not known here
 */
/* clang-format off */
static const char map_1[256] =
	"mmmm14--mmmm14--" /* 00: add, or; 0F is handled before */
	"mmmm14--mmmm14--" /* 10: adc, sbb */
	"mmmm14--mmmm14--" /* 20: and, sub; prefixes at 26, 2E */
	"mmmm14--mmmm14--" /* 30: xor, cmp; prefixes at 36, 3E */
	"----------------" /* 40: REX */
	"................" /* 50: push, pop */
	"---m----4z1b...." /* 60: movsxd, push, imul, ins, outs; prefixes at 64-67 */
	"1111111111111111" /* 70: jcc rel8 */
	"bz-bmmmmmmmmmmmm" /* 80: group 1, test, xchg, mov, lea, pop */
	"..........-....." /* 90: xchg, cwde; 9A far call, 9B below */
	"AAAA....14......" /* A0: mov, string instructions, test */
	"OOOOOOOOOOOOOOOO" /* B0: mov */
	"bb2.--bz-.2..1-." /* C0: shifts, ret, mov; C4 and C5 are VEX, C8 enter */
	"mmmm---.mmmmmmmm" /* D0: shifts, xlat, x87 */
	"11111111JJ-1...." /* E0: loop, in, call, jmp, out */
	"-.--..TT......mm" /* F0: hlt, group 3, 4, 5; prefixes at F0, F2, F3 */;

static const char map_0f[256] =
	"mmmm-.....-.-m--" /* 00: system, syscall, ud2, prefetchw */
	"mmmmmmmmmmmmmmmm" /* 10: SSE moves, nop */
	"--------mmmmmmmm" /* 20: control registers are not decoded */
	"......-.--------" /* 30: wrmsr, rdtsc, rdmsr, rdpmc; 38 and 3A are maps */
	"mmmmmmmmmmmmmmmm" /* 40: cmov */
	"mmmmmmmmmmmmmmmm" /* 50 */
	"mmmmmmmmmmmmmmmm" /* 60 */
	"bbbbmmm.----mmmm" /* 70 */
	"JJJJJJJJJJJJJJJJ" /* 80: jcc rel32 */
	"mmmmmmmmmmmmmmmm" /* 90: setcc */
	"...mbm--...mbmmm" /* A0: push and pop fs, gs, cpuid, bt, shld, rsm, bts, shrd, group 15 */
	"mmmmmmmmm-bmmmmm" /* B0: cmpxchg, movzx, popcnt, group 8, bsf, movsx */
	"mmbmbbbm........" /* C0: xadd, cmpps, movnti, pinsrw, group 9, bswap */
	"mmmmmmmmmmmmmmmm" /* D0 */
	"mmmmmmmmmmmmmmmm" /* E0 */
	"mmmmmmmmmmmmmmm-" /* F0 */;
/* clang-format on */

_Static_assert(sizeof(map_1) == 256 && sizeof(map_0f) == 256, "one character for each opcode");

#define LENGTH_MAX 15 /* longer is an invalid opcode */

struct reader {
	struct span code;
	unsigned int pos;
	bool failed;
};

static uint64_t take(struct reader *r, unsigned int bytes)
{
	uint64_t value = 0;

	if (r->failed || r->pos + bytes > LENGTH_MAX || r->pos + bytes > r->code.size) {
		r->failed = true;
		return 0;
	}
	memcpy(&value, r->code.data + r->pos, bytes);
	r->pos += bytes;
	return value;
}

static int64_t take_signed(struct reader *r, unsigned int bytes)
{
	unsigned int shift = 64 - 8 * bytes;

	return (int64_t)(take(r, bytes) << shift) >> shift;
}

/* Prefixes and the opcode's first byte. */
static uint8_t take_prefixes(struct reader *r, struct x86_insn *insn)
{
	for (;;) {
		uint8_t byte = (uint8_t)take(r, 1);
		switch (byte) {
		case 0x66:
			insn->prefix66 = true;
			break;
		case 0xf2:
			insn->repne = true;
			break;
		case 0xf3:
			insn->rep = true;
			break;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0x64:
		case 0x65:
		case 0x67:
		case 0xf0:
			insn->other_prefix = true;
			break;
		default:
			if ((byte & 0xf0) != 0x40)
				return byte;
			insn->rex = byte;
			return (uint8_t)take(r, 1);
		}
		if (r->failed)
			return 0;
	}
}

/* ModRM, SIB and displacement. */
static void take_modrm(struct reader *r, struct x86_insn *insn)
{
	uint8_t modrm = (uint8_t)take(r, 1);
	uint8_t mod = modrm >> 6, rm = modrm & 7;

	insn->reg = (uint8_t)(((modrm >> 3) & 7) | (insn->rex & 4) << 1);
	if (mod == 3) {
		insn->rm = (uint8_t)(rm | (insn->rex & 1) << 3);
		return;
	}
	insn->has_memory = true;
	insn->rm = X86_NONE;
	insn->base = (uint8_t)(rm | (insn->rex & 1) << 3);
	if (rm == 4) {
		uint8_t sib = (uint8_t)take(r, 1);
		uint8_t index = (uint8_t)(((sib >> 3) & 7) | (insn->rex & 2) << 2);
		insn->has_index = index != 4;
		insn->base = (uint8_t)((sib & 7) | (insn->rex & 1) << 3);
		if ((sib & 7) == 5 && mod == 0) {
			insn->base = X86_NONE;
			insn->disp = (int32_t)take_signed(r, 4);
		}
	} else if (rm == 5 && mod == 0) {
		insn->base = X86_NONE; /* relative to rip */
		insn->disp = (int32_t)take_signed(r, 4);
	}
	if (mod == 1)
		insn->disp = (int32_t)take_signed(r, 1);
	else if (mod == 2)
		insn->disp = (int32_t)take_signed(r, 4);
}

/* Combinations that the tables cannot tell. */
static bool is_known(const struct x86_insn *insn)
{
	if (insn->rep && insn->repne)
		return false;
	if (insn->map == X86_MAP_1)
		switch (insn->opcode) {
		case 0x9b: /* fwait, which disassemblers join with what follows */
			return false;
		case 0x8f: /* other values of reg are XOP */
		case 0xc6: /* xabort, xbegin */
		case 0xc7:
			return (insn->reg & 7) == 0;
		case 0xf6:
		case 0xf7: /* reg 1 is an undocumented alias of test */
			return (insn->reg & 7) != 1;
		case 0xfe:
			return (insn->reg & 7) <= 1;
		case 0xff: /* 3 and 5 are far */
			return (insn->reg & 7) != 3 && (insn->reg & 7) != 5 && (insn->reg & 7) != 7;
		default:
			return true;
		}
	/* Without F3 this is not popcnt but Itanium's jmpe. */
	return insn->map != X86_MAP_0F || insn->opcode != 0xb8 || insn->rep;
}

static void take_operands(struct reader *r, struct x86_insn *insn, char form)
{
	unsigned int full = insn->prefix66 && !(insn->rex & 8) ? 2 : 4;

	if (strchr("mbzT", form))
		take_modrm(r, insn);
	switch (form) {
	case '.':
	case 'm':
		break;
	case '1':
	case 'b':
		insn->imm = take_signed(r, 1);
		break;
	case '2':
		insn->imm = take_signed(r, 2);
		break;
	case '4':
	case 'z':
		insn->imm = take_signed(r, full);
		break;
	case 'J': /* with 66, processors differ */
		r->failed |= insn->prefix66;
		insn->imm = take_signed(r, 4);
		break;
	case 'O':
		if (insn->opcode < 0xb8)
			full = 1;
		else if (insn->rex & 8)
			full = 8;
		insn->imm = take_signed(r, full);
		break;
	case 'A': /* with 67 it would be 4 bytes; nothing emits that */
		r->failed |= insn->other_prefix;
		insn->imm = take_signed(r, 8);
		break;
	case 'T':
		if ((insn->reg & 7) == 0)
			insn->imm = take_signed(r, insn->opcode == 0xf6 ? 1 : full);
		break;
	default:
		r->failed = true;
	}
}

unsigned int x86_decode(struct span code, struct x86_insn *ret)
{
	struct reader r = { .code = code };
	struct x86_insn insn = { .rm = X86_NONE, .base = X86_NONE };
	char form;

	insn.opcode = take_prefixes(&r, &insn);
	if (insn.opcode != 0x0f) {
		form = map_1[insn.opcode];
	} else {
		insn.map = X86_MAP_0F;
		insn.opcode = (uint8_t)take(&r, 1);
		form = map_0f[insn.opcode];
		if (insn.opcode == 0x38 || insn.opcode == 0x3a) {
			insn.map = insn.opcode == 0x38 ? X86_MAP_0F38 : X86_MAP_0F3A;
			form = insn.opcode == 0x38 ? 'm' : 'b';
			insn.opcode = (uint8_t)take(&r, 1);
		}
	}
	if (r.failed)
		return 0;
	take_operands(&r, &insn, form);
	if (r.failed || !is_known(&insn))
		return 0;
	insn.length = (uint8_t)r.pos;
	*ret = insn;
	return insn.length;
}
