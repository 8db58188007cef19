/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Going on with a walk that the kernel's tables could not finish, over a copy of the stack: by the
 * same rows, by libunwind where a rule is more than a row can say, and by looking for a return
 * address where code has no unwind information (JIT). Nothing but the copy and the files is read.
 */
#pragma once

#include "base/span.h"
#include "unwind/walk.h"

struct unwind_copy {
	struct unwind_state state; /* the frame reached */
	/* By DWARF number, of the innermost frame; NULL: not known. */
	const uint64_t *regs;
	uint64_t stack_address;
	struct span stack;
};

struct unwind_walked {
	size_t count;           /* frames added */
	enum unwind_result end; /* UNWIND_ROOT: the thread's first function; else why not */
	bool used_libunwind;
	bool used_scan; /* frames from one on were looked for, not told */
};

/* Callers of the frame reached, innermost first, into @ips. */
void unwind_copy_walk(const struct unwind_space *space, const struct unwind_copy *copy,
		      uint64_t *ips, size_t max, struct unwind_walked *ret);

/*
 * libunwind.c: one step with libunwind, from the frame in @state, which a walk from the innermost
 * frame must come by. UNWIND_OK, or UNWIND_UNSUPPORTED with @state as before.
 */
struct unwind_odd;
enum unwind_result unwind_odd_step(struct unwind_odd **odd, const struct unwind_space *space,
				   const struct unwind_copy *copy, struct unwind_state *state);
void unwind_odd_free(struct unwind_odd *odd);
DEFINE_CLEANUP(unwind_odd_free, struct unwind_odd *)

/* A word of the copied stack; nonzero: it is not in it. */
int unwind_copy_word(const struct unwind_copy *copy, uint64_t address, uint64_t *ret);
