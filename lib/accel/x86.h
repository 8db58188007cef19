/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Enough of x86-64 to choose a probe's place: instruction lengths and operands of what compilers
 * put at the start of a function. Internal to accel; knows nothing of probes.
 */
#pragma once

#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

enum x86_map {
	X86_MAP_1,    /* one opcode byte */
	X86_MAP_0F,   /* behind 0F */
	X86_MAP_0F38, /* behind 0F 38 */
	X86_MAP_0F3A, /* behind 0F 3A */
};

#define X86_RSP  4
#define X86_RBP  5
#define X86_NONE 0xff

struct x86_insn {
	uint8_t length;
	uint8_t map; /* enum x86_map */
	uint8_t opcode;
	uint8_t rex;               /* the prefix, 0: none */
	bool prefix66, repne, rep; /* 66, F2, F3 */
	bool other_prefix;         /* segment, address size or lock */
	bool has_memory;           /* the r/m operand is memory */
	uint8_t reg, rm;           /* with the REX bits; rm: X86_NONE for memory */
	uint8_t base;              /* X86_NONE: no base register */
	bool has_index;
	int32_t disp;
	int64_t imm;
};

/*
 * Decode one instruction at the start of @code. Returns its length, which is what the processor
 * would take, or 0 for one that is not known here (VEX and EVEX, among others) or is cut off.
 */
unsigned int x86_decode(struct span code, struct x86_insn *ret);
