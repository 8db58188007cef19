/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Going on with a walk that the kernel's tables could not finish, over a copy of the stack: by the
 * same rows, by libunwind where a rule is more than a row can say, and by looking for a return
 * address where code has no unwind information (JIT). Nothing but the copy and the files is read.
 */
#pragma once

#include "base/span.h"
#include "unwind/walk.h"

/* Pages that a large frame has not touched, or that are not in memory, are holes in a copy. Noted for
 * each piece of this size, as far as there are numbers. */
#define UNWIND_COPY_PIECE  1024u
#define UNWIND_COPY_PIECES 256u

struct unwind_copy {
	struct unwind_state state; /* the frame reached */
	/* By DWARF number, of the innermost frame; NULL: not known. */
	const uint64_t *regs;
	uint64_t stack_address;
	struct span stack;
	uint32_t missing[UNWIND_COPY_PIECES / 32]; /* a bit for each piece that is a hole */
};

struct unwind_frame {
	uint64_t pc, sp, fp;
};

/*
 * What libunwind makes of the copied stack: up to @max frames from the innermost on, which is the
 * first. The number of frames, or negative for none. It is not made for hostile files: where it runs
 * in the recorder's place is for the caller to say.
 */
typedef int (*unwind_odd_fn)(void *data, const struct unwind_space *space,
			     const struct unwind_copy *copy, struct unwind_frame *frames,
			     size_t max);

/* How many of its frames are looked at: rules that a row cannot say are near the innermost frame, or
 * the copy does not reach them. */
#define UNWIND_ODD_FRAMES 256

struct unwind_walked {
	size_t count;           /* frames added */
	enum unwind_result end; /* UNWIND_ROOT: the thread's first function; else why not */
	bool used_libunwind;
	bool used_scan; /* frames from one on were looked for, not told */
	/* UNWIND_UNREADABLE: the next frame is one that a handler on a stack of its own interrupted. */
	bool left_signal_stack;
};

/* Where the walked frames go (return addresses, and interrupted ones + 1), and who is asked for odd ones (NULL: nobody). */
struct unwind_copy_walk {
	uint64_t *ips;
	size_t max;
	unwind_odd_fn odd;
	void *data;
};

/* Callers of the frame reached, innermost first, into @walk->ips. */
void unwind_copy_walk(const struct unwind_space *space, const struct unwind_copy *copy,
		      const struct unwind_copy_walk *walk, struct unwind_walked *ret);

/* Opens the file of object @number when it is wanted; NULL: cannot. */
struct unwind_elves {
	struct elf_file *(*get)(void *data, uint32_t number);
	void *data;
};

/* libunwind.c: the way to do it here and now. @data: NULL, or struct unwind_elves for objects without
 * their file. */
int unwind_libunwind_walk(void *data, const struct unwind_space *space,
			  const struct unwind_copy *copy, struct unwind_frame *frames, size_t max);

/* A word of the copied stack; nonzero: it is not in it, or in a hole. */
int unwind_copy_word(const struct unwind_copy *copy, uint64_t address, uint64_t *ret);
