/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwind table of one object: how to find the caller's frame at each instruction, small enough
 * to be searched in the kernel. Shared between lib/unwind, which makes it from the object's call
 * frame information, and bpf/, which walks stacks with it; it knows neither names nor processes.
 *
 * A table is an array of 8-byte cells. First one index cell for each UNWIND_PAGE_BYTES of text,
 * then the rows, by address. A row holds from its address to that of the next one. The index makes
 * a lookup touch two or three cache lines, where a binary search over a million rows touches ten:
 * what costs in an unwinder that runs 99 times a second is cold memory.
 *
 * Rows are self-contained, so that a table is full only when it is really large and no object can
 * use up a resource that all share.
 */
#pragma once

#include <stdint.h>

/* 1 KiB: 8 to 17 rows in compiled code, so that the rows searched are two cache lines, while the
 * index stays below a fifteenth of the rows (measured: libtorch_cpu, libLLVM). */
#define UNWIND_PAGE_SHIFT 10
#define UNWIND_PAGE_BYTES (1u << UNWIND_PAGE_SHIFT)
/* Rows searched for one address: all of a page, and the last one before it. 2^11 > 1024 + 1. */
#define UNWIND_SEARCH_STEPS 11

/* Where the caller's stack pointer (the CFA) is. Each says what `param` holds; offsets are in units
 * of 8 bytes. REG and RA_REG need a register that only the innermost frame, or one just restored
 * from a signal frame, still has. */
enum unwind_cfa {
	UNWIND_CFA_END,         /* no code, or none with unwind information, from here on */
	UNWIND_CFA_STOP,        /* outermost frame: its return address is undefined */
	UNWIND_CFA_SP,          /* sp + param */
	UNWIND_CFA_FP,          /* fp + param */
	UNWIND_CFA_PLT,         /* sp + 8, and 8 more from byte `param` of each 16-byte entry on */
	UNWIND_CFA_DEREF_FP,    /* *(fp + low byte, signed) + high byte */
	UNWIND_CFA_DEREF_SP,    /* *(sp + low byte, signed) + high byte */
	UNWIND_CFA_SIGNAL,      /* registers were saved by the kernel on entry to a handler */
	UNWIND_CFA_REG,         /* register (low 4 bits, DWARF number) + high 12 bits */
	UNWIND_CFA_RA_REG,      /* sp + high 12 bits; the return address is in a register (low 4) */
	UNWIND_CFA_UNSUPPORTED, /* there is a rule, and a row cannot say it */
	UNWIND_CFA_COUNT
};

/* Where the caller's frame pointer is; `fp` of the row is the offset in units of 8 bytes. */
enum unwind_fp {
	UNWIND_FP_SAME,    /* not saved yet, or restored */
	UNWIND_FP_CFA,     /* at CFA + fp */
	UNWIND_FP_DEREF,   /* at the frame pointer + fp */
	UNWIND_FP_UNKNOWN, /* there is a rule, and a row cannot say it */
};

struct unwind_row {
	uint32_t pc;  /* first address, from the table's base */
	uint8_t rule; /* enum unwind_cfa in the low 4 bits, enum unwind_fp above */
	int8_t fp;
	uint16_t param;
};

/* The rows that begin in one page of text. */
struct unwind_index {
	uint32_t first;
	uint32_t count;
};

struct unwind_cell {
	union {
		struct unwind_row row;
		struct unwind_index index;
	};
};

_Static_assert(sizeof(struct unwind_row) == 8, "a row is one map value");
_Static_assert(sizeof(struct unwind_cell) == 8, "a cell is one map value");

static inline enum unwind_cfa unwind_row_cfa(const struct unwind_row *row)
{
	return (enum unwind_cfa)(row->rule & 0xf);
}

static inline enum unwind_fp unwind_row_fp(const struct unwind_row *row)
{
	return (enum unwind_fp)(row->rule >> 4 & 0xf);
}

static inline uint8_t unwind_row_rule(enum unwind_cfa cfa, enum unwind_fp fp)
{
	return (uint8_t)((unsigned)cfa | (unsigned)fp << 4);
}

/* One executable mapping of a process. A process has them sorted by @start. */
struct unwind_mapping {
	uint64_t start, end; /* addresses in the process */
	uint64_t base;  /* address in the process of the table's base, or else of its object's 0 */
	uint32_t table; /* number of the table; 0: none, and @pages says why */
	uint32_t pages; /* index cells of the table; without one: enum unwind_no_table */
};
_Static_assert(sizeof(struct unwind_mapping) == 32, "a mapping is one map value");

/* What is executed where there is no table. */
enum unwind_no_table {
	UNWIND_NO_TABLE,         /* an object without unwind information, or not read yet */
	UNWIND_NO_TABLE_JIT,     /* memory without a file: code made at run time */
	UNWIND_NO_TABLE_UPROBES, /* the kernel's [uprobes] page */
	UNWIND_NO_TABLE_DEVICE,  /* accelerator code: its caller is a launch, not a frame */
	UNWIND_NO_TABLE_YET,     /* made when a stack is seen to pass through it */
};
