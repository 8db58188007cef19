/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where to probe an x86-64 function.
 *
 * Linux executes a probed instruction out of line with a single step (9 us here) unless it knows
 * how to emulate it (0.5 us): push of a register, nop, jmp, jcc and call to a fixed address
 * (arch/x86/kernel/uprobes.c, push_setup_xol_ops() and branch_setup_xol_ops()). Functions of a
 * library often start with something else (endbr64, a load, sub $n,%rsp). So we follow the
 * function's first basic block, which is executed on every call, to the first instruction of the
 * cheap kind, and keep track of where the arguments and the return address are by then. At the
 * first instruction whose effects are not known here we give up and use the entry.
 *
 * The five-byte nop is left alone: Linux 6.18 turns it into a call that overwrites the red zone.
 *
 * What another processor needs: a file like this one. aarch64's uprobes simulate b, bl, b.cond,
 * cbz, tbz, br, blr, ret, adr, adrp, ldr literal and nop; instructions have 4 bytes; the first
 * eight arguments are in x0 to x7, the others at sp; and the return address is in x30, for which
 * struct probe_place needs a second form.
 */
#include "accel/site_internal.h"
#include "accel/x86.h"

#include <string.h>
#include <unistd.h>

#define NOP 0x90

#define ARGUMENT_REGISTERS 6
static const uint8_t argument_register[ARGUMENT_REGISTERS] = { 7, 6, 2, 1, 8, 9 };

#define FRAME_MAX   (1 << 12) /* a larger first frame is not a library's API function */
#define NO_ARGUMENT 0xff

/* What is known after some instructions. */
struct state {
	uint8_t holds[PLACE_REGISTERS]; /* argument number, or NO_ARGUMENT */
	int32_t depth;                  /* bytes from the stack pointer up to the return address */
};

static bool set_depth(struct state *s, int64_t depth)
{
	if (depth < 0 || depth > FRAME_MAX)
		return false;
	s->depth = (int32_t)depth;
	return true;
}

/* A register gets a new value. False for the stack pointer, after which nothing is certain, and for
 * the frame pointer, which a walk up the stack takes for the caller's. */
static bool overwrite(struct state *s, uint8_t reg)
{
	s->holds[reg] = NO_ARGUMENT;
	return reg != X86_RSP && reg != X86_RBP;
}

/* The r/m operand as a destination of at least 4 bytes, or, with @is_byte, of 1 byte. */
static bool write_rm(struct state *s, const struct x86_insn *insn, bool is_byte)
{
	if (insn->has_memory)
		return false;
	/* Without REX, byte registers 4 to 7 are ah, ch, dh and bh. */
	if (is_byte && !insn->rex)
		return overwrite(s, insn->rm & 3);
	return overwrite(s, insn->rm);
}

/* A store into the function's own frame or the red zone cannot hit arguments or accessors' data. */
static bool is_own_store(const struct state *s, const struct x86_insn *insn)
{
	const int64_t widest = 16; /* an SSE register; VEX stores are not decoded */

	return insn->base == X86_RSP && !insn->has_index && insn->disp - s->depth + widest <= 0;
}

static bool move(struct state *s, const struct x86_insn *insn, uint8_t to, uint8_t from)
{
	bool is_whole = insn->rex & 8;
	uint8_t argument = s->holds[from];

	if (!overwrite(s, to))
		return false;
	/* A 4-byte move keeps only part of what it copies. */
	s->holds[to] = is_whole ? argument : NO_ARGUMENT;
	return true;
}

/* Group 1: add, or, adc, sbb, and, sub, xor, cmp with an immediate. */
static bool follow_group1(struct state *s, const struct x86_insn *insn)
{
	unsigned int operation = insn->reg & 7;

	if (operation == 7)
		return true;
	if (!insn->has_memory && insn->rm == X86_RSP && insn->rex & 8) {
		if (operation == 5)
			return set_depth(s, s->depth + insn->imm);
		return operation == 0 && set_depth(s, s->depth - insn->imm);
	}
	return write_rm(s, insn, insn->opcode == 0x80);
}

static bool follow_lea(struct state *s, const struct x86_insn *insn)
{
	if (insn->reg != X86_RSP)
		return overwrite(s, insn->reg);
	return insn->has_memory && insn->base == X86_RSP && !insn->has_index && insn->rex & 8 &&
	       set_depth(s, s->depth - insn->disp);
}

/* Apply an instruction that does not branch. False: its effects are not known. */
static bool follow_1(struct state *s, const struct x86_insn *insn)
{
	switch (insn->opcode) {
	case NOP:
	case 0x38: /* cmp */
	case 0x39:
	case 0x3a:
	case 0x3b:
	case 0x3c:
	case 0x3d:
	case 0x84: /* test */
	case 0x85:
	case 0xa8:
	case 0xa9:
		return true;
	case 0x01: /* add, or, and, sub, xor: rm, reg */
	case 0x09:
	case 0x21:
	case 0x29:
	case 0x31:
		return write_rm(s, insn, false);
	case 0x03: /* and reg, rm */
	case 0x0b:
	case 0x23:
	case 0x2b:
	case 0x33:
	case 0x63: /* movsxd */
	case 0x69: /* imul */
	case 0x6b:
		return overwrite(s, insn->reg);
	case 0x80:
	case 0x81:
	case 0x83:
		return follow_group1(s, insn);
	case 0x89: /* mov rm, reg */
		if (insn->has_memory)
			return is_own_store(s, insn);
		return move(s, insn, insn->rm, insn->reg);
	case 0x8b: /* mov reg, rm */
		if (insn->has_memory)
			return overwrite(s, insn->reg);
		return move(s, insn, insn->reg, insn->rm);
	case 0x8d:
		return follow_lea(s, insn);
	case 0x98: /* cltq, cqto */
		return overwrite(s, 0);
	case 0x99:
		return overwrite(s, 2);
	case 0xc1: /* shifts */
	case 0xd1:
	case 0xd3:
		return write_rm(s, insn, false);
	case 0xc7:
		return insn->has_memory ? is_own_store(s, insn) : write_rm(s, insn, false);
	case 0xf7: /* test, not, neg; the rest multiplies */
		return (insn->reg & 7) == 0 || ((insn->reg & 7) <= 3 && write_rm(s, insn, false));
	default:
		if ((insn->opcode & 0xf8) == 0xb8) /* mov reg, imm */
			return overwrite(s, (uint8_t)((insn->opcode & 7) | (insn->rex & 1) << 3));
		return false;
	}
}

static bool follow_0f(struct state *s, const struct x86_insn *insn)
{
	switch (insn->opcode) {
	case 0x1e: /* with F3, endbr64; without, a nop like 1F */
	case 0x1f:
		return true;
	case 0x10: /* loads into vector registers, and operations on them */
	case 0x12:
	case 0x14:
	case 0x16:
	case 0x28:
	case 0x57:
	case 0x6c:
	case 0x6e:
	case 0x6f:
	case 0xef:
		return true;
	case 0x11: /* stores from vector registers */
	case 0x29:
	case 0x7f:
		return !insn->has_memory || is_own_store(s, insn);
	case 0xaf: /* imul */
	case 0xb6: /* movzx, movsx */
	case 0xb7:
	case 0xbe:
	case 0xbf:
		return overwrite(s, insn->reg);
	default:
		if ((insn->opcode & 0xf0) == 0x40) /* cmov */
			return overwrite(s, insn->reg);
		if ((insn->opcode & 0xf0) == 0x90) /* setcc */
			return write_rm(s, insn, true);
		return false;
	}
}

static bool is_branch(const struct x86_insn *insn)
{
	if (insn->map == X86_MAP_1)
		return insn->opcode == 0xe8 || insn->opcode == 0xe9 || insn->opcode == 0xeb ||
		       (insn->opcode & 0xf0) == 0x70;
	return insn->map == X86_MAP_0F && (insn->opcode & 0xf0) == 0x80;
}

static bool is_push(const struct x86_insn *insn)
{
	return insn->map == X86_MAP_1 && (insn->opcode & 0xf8) == 0x50;
}

static bool has_prefix(const struct x86_insn *insn)
{
	return insn->prefix66 || insn->repne || insn->rep || insn->other_prefix;
}

static bool is_emulated(const struct x86_insn *insn)
{
	if (has_prefix(insn))
		return false;
	/* The only REX prefix that the kernel emulates a push with is the one for r8 to r15. */
	if (is_push(insn))
		return insn->rex == 0 || insn->rex == 0x41;
	return !insn->rex && (is_branch(insn) || (insn->map == X86_MAP_1 && insn->opcode == NOP));
}

/* Apply one instruction: false when it ends the block or is not understood. */
static bool follow(struct state *s, const struct x86_insn *insn)
{
	if (is_branch(insn))
		return false;
	if (is_push(insn))
		return !has_prefix(insn) && set_depth(s, s->depth + 8);
	if (insn->map == X86_MAP_1)
		return follow_1(s, insn);
	return insn->map == X86_MAP_0F && follow_0f(s, insn);
}

static void place_fill(const struct state *s, struct probe_place *ret)
{
	ret->return_address = s->depth;
	for (unsigned int i = 0; i < PLACE_ARGUMENTS; i++) {
		struct place *place = &ret->argument[i];
		*place = (struct place){ .kind = PLACE_LOST };
		if (i >= ARGUMENT_REGISTERS) {
			place->kind = PLACE_STACK;
			place->offset = (int16_t)(s->depth + 8 * (int)(i - ARGUMENT_REGISTERS + 1));
			continue;
		}
		for (uint8_t reg = 0; reg < PLACE_REGISTERS; reg++)
			if (s->holds[reg] == i) {
				place->kind = PLACE_REGISTER;
				place->reg = reg;
				/* The register it came in is as good as any. */
				if (reg == argument_register[i])
					break;
			}
	}
}

static void state_init(struct state *s)
{
	memset(s->holds, NO_ARGUMENT, sizeof(s->holds));
	for (uint8_t i = 0; i < ARGUMENT_REGISTERS; i++)
		s->holds[argument_register[i]] = i;
	s->depth = 0;
}

/* Does a branch in the function lead to behind its entry, up to @skip? Then what is there can be
 * executed more than once a call. */
static bool is_entered_again(struct span code, uint32_t skip)
{
	size_t at = 0;
	struct x86_insn insn;
	unsigned int length;

	while ((length = x86_decode(span_of(code.data + at, code.size - at), &insn)) > 0) {
		at += length;
		int64_t target = (int64_t)at + insn.imm;
		if (is_branch(&insn) && insn.opcode != 0xe8 && target > 0 && target <= skip)
			return true;
	}
	return false;
}

/*
 * The kernel adds to a counter for each place that is probed, not for each who probes it. So that each
 * recorder is counted, what has a counter begins with a row of nops, of which any one is taken.
 */
static uint32_t any_nop(struct span code)
{
	uint32_t count = 0;
	uint16_t number;

	while (count < code.size && count <= UINT16_MAX && code.data[count] == NOP)
		count++;
	return count && getentropy(&number, sizeof(number)) == 0 ? number % count : 0;
}

void site_choose_x86(const struct probe_site *site, struct span code, struct probe_place *ret)
{
	struct state s;
	struct x86_insn insn;
	size_t at = site->counter ? any_nop(code) : 0;

	state_init(&s);
	*ret = (struct probe_place){ .skip = (uint32_t)at };
	place_fill(&s, ret);
	if (site->flags & PROBE_AT_RETURN)
		return;
	while (x86_decode(span_of(code.data + at, code.size - at), &insn) > 0) {
		if (is_emulated(&insn)) {
			struct probe_place place = { .skip = (uint32_t)at, .emulated = true };
			place_fill(&s, &place);
			if (site_place_serves(site, &place) && !is_entered_again(code, place.skip))
				*ret = place;
			return;
		}
		if (!follow(&s, &insn))
			return;
		at += insn.length;
	}
}
