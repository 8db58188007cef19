/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/copy.h"

#include <string.h>

/* Words looked at for a return address: what a function without unwind information may have on the
 * stack. oneDNN's kernels stay below 1 KiB, its largest scratch below 8. */
#define SCAN_WORDS_MAX 1024u
/* A chain of frames that ends at the end of the copy is believed from this length on. */
#define SCAN_FRAMES_MIN 4u
/* Ways that guess_fp() knows. */
#define GUESSES 4u

static bool is_missing(const struct unwind_copy *copy, uint64_t offset)
{
	uint64_t piece = offset / UNWIND_COPY_PIECE;

	return piece < UNWIND_COPY_PIECES && copy->missing[piece / 32] >> piece % 32 & 1;
}

int unwind_copy_word(const struct unwind_copy *copy, uint64_t address, uint64_t *ret)
{
	uint64_t offset = address - copy->stack_address;

	if (address < copy->stack_address || !span_contains(copy->stack, offset, sizeof(*ret)) ||
	    is_missing(copy, offset) || is_missing(copy, offset + sizeof(*ret) - 1))
		return -1;
	memcpy(ret, copy->stack.data + offset, sizeof(*ret));
	return 0;
}

static int access_read(void *data, uint64_t address, uint64_t *ret)
{
	return unwind_copy_word(data, address, ret);
}

static int access_reg(void *data, uint32_t reg, uint64_t *ret)
{
	const struct unwind_copy *copy = data;

	if (!copy->regs || reg >= UNWIND_REG_COUNT)
		return -1;
	*ret = copy->regs[reg];
	return 0;
}

struct walker {
	const struct unwind_space *space;
	const struct unwind_copy *copy;
	struct unwind_access access;
	struct unwind_state state;
	uint64_t *ips;
	size_t max, count;
};

/* By rows as far as they go. */
static enum unwind_result walk_rows(struct walker *w)
{
	enum unwind_result rc = UNWIND_OK;

	while (w->count < w->max) {
		rc = unwind_space_step(w->space, &w->access, &w->state);
		if (rc != UNWIND_OK)
			return rc;
		w->ips[w->count++] = w->state.pc + !w->state.is_return;
	}
	return UNWIND_OK;
}

/* Most words of a stack are none of code: numbers, and addresses of a few places that lie between. The
 * gaps that the last ones were in, by the upper half of the word. */
struct gaps {
	struct unwind_gap last[8];
};

/*
 * Is there a call before @address? For code that was made at run time only an indirect one: what is
 * left of earlier calls on the stack are mostly direct ones.
 */
static bool is_behind_call(const struct unwind_space *space, struct gaps *gaps, uint64_t address,
			   bool is_indirect)
{
	struct unwind_gap *gap = &gaps->last[(address >> 32) % ARRAY_SIZE(gaps->last)];
	if (address - 1 >= gap->start && address - 1 < gap->end)
		return false;
	const struct unwind_mapping *mapping = unwind_space_look(space, address - 1, gap);
	const struct unwind_object *object = unwind_space_object(space, mapping);
	const struct unwind_row *row;
	uint8_t code[UNWIND_CALL_BYTES];
	uint64_t at;

	if (!object || !object->elf)
		return false;
	at = unwind_object_address(object, mapping, address);
	row = unwind_table_find(object->table, at - 1);
	if (!row || unwind_row_cfa(row) == UNWIND_CFA_END ||
	    elf_read_vaddr(object->elf, at - sizeof(code), code, sizeof(code)) < 0)
		return false;
	return unwind_call_ends(code, is_indirect);
}

/* Where the caller's frame pointer may be when the frame that would tell is not known. */
static bool guess_fp(const struct walker *w, uint64_t slot, unsigned guess,
		     struct unwind_state *state)
{
	state->has_fp = guess < GUESSES - 1;
	switch (guess) {
	case 0: /* the callee has left it alone */
		state->fp = w->state.fp;
		return w->state.has_fp;
	case 1: /* pushed first */
	case 2: /* pushed second */
		return unwind_copy_word(w->copy, slot - 8 * (uint64_t)guess, &state->fp) == 0;
	default:
		return true;
	}
}

/* Walk on as if @slot held the return address. */
static enum unwind_result try_slot(const struct walker *w, uint64_t slot, unsigned guess,
				   struct walker *ret)
{
	struct walker try = *w;
	uint64_t pc;

	try.state = (struct unwind_state){ .sp = slot + 8, .is_return = 1 };
	if (w->count == w->max || unwind_copy_word(w->copy, slot, &pc) ||
	    !guess_fp(w, slot, guess, &try.state))
		return UNWIND_NO_ROW;
	try.state.pc = try.ips[try.count++] = pc;
	enum unwind_result rc = walk_rows(&try);
	*ret = try;
	return rc;
}

/*
 * Look for the return address of a frame of which nothing is known. The first word that follows a
 * call and from which the rest of the stack can be walked to its end is it; if there is none, the one
 * from which most of the copy can be walked.
 */
static enum unwind_result scan(struct walker *w, bool is_jit)
{
	uint64_t first = w->state.sp & ~(uint64_t)7, best_slot = 0, pc;
	size_t best_count = w->count + SCAN_FRAMES_MIN - 1;
	unsigned best_guess = 0;
	struct walker found;
	struct gaps gaps = { 0 };

	for (uint64_t slot = first; slot < first + 8 * SCAN_WORDS_MAX; slot += 8) {
		if (unwind_copy_word(w->copy, slot, &pc) ||
		    !is_behind_call(w->space, &gaps, pc, is_jit))
			continue;
		for (unsigned guess = 0; guess < GUESSES; guess++) {
			enum unwind_result rc = try_slot(w, slot, guess, &found);
			if (rc == UNWIND_ROOT || rc == UNWIND_OK) {
				*w = found;
				return rc;
			}
			if (rc != UNWIND_UNREADABLE || found.count <= best_count)
				continue;
			best_count = found.count;
			best_slot = slot;
			best_guess = guess;
		}
	}
	if (!best_slot)
		return UNWIND_NO_ROW;
	/* Again, as later tries have overwritten its frames. */
	enum unwind_result rc = try_slot(w, best_slot, best_guess, &found);
	*w = found;
	return rc;
}

static bool is_jit(const struct walker *w)
{
	const struct unwind_mapping *mapping =
		unwind_space_find(w->space, w->state.pc - w->state.is_return);

	return mapping && !mapping->table && mapping->pages == UNWIND_NO_TABLE_JIT;
}

/*
 * Past a frame whose rule a row cannot say. libunwind has walked from the innermost frame: what it
 * found behind the one that we are at is the caller. Not across the place where it lost its way
 * before, as then it would have ended there.
 */
static bool step_odd(struct walker *w, const struct unwind_frame *frames, size_t count)
{
	for (size_t i = 0; i + 1 < count; i++) {
		const struct unwind_frame *next = &frames[i + 1];
		if (frames[i].pc != w->state.pc || frames[i].sp != w->state.sp)
			continue;
		if (next->sp <= w->state.sp || !next->pc)
			return false;
		w->state = (struct unwind_state){
			.pc = next->pc, .sp = next->sp, .fp = next->fp, .has_fp = 1, .is_return = 1
		};
		w->ips[w->count++] = next->pc;
		return true;
	}
	return false;
}

/* Of struct ucontext_64, behind uc_flags and uc_link: uc_stack, whose ss_size is its third word. */
#define SIGNAL_STACK_SP   16
#define SIGNAL_STACK_SIZE 32

/* The kernel notes the handler's own stack (sigaltstack(2)) in the signal frame, which is on it. */
static bool has_left_signal_stack(const struct walker *w)
{
	uint64_t frame = w->state.signal_regs, base, size;

	return frame && unwind_copy_word(w->copy, frame + SIGNAL_STACK_SP, &base) == 0 &&
	       unwind_copy_word(w->copy, frame + SIGNAL_STACK_SIZE, &size) == 0 &&
	       frame - base < size && w->state.sp - base >= size;
}

void unwind_copy_walk(const struct unwind_space *space, const struct unwind_copy *copy,
		      const struct unwind_copy_walk *walk, struct unwind_walked *ret)
{
	struct unwind_frame odd[UNWIND_ODD_FRAMES];
	int odd_count = -1;
	struct walker w = {
		.space = space,
		.copy = copy,
		.access = { access_read, access_reg, (void *)(uintptr_t)copy, NULL },
		.state = copy->state,
		.ips = walk->ips,
		.max = walk->max,
	};
	enum unwind_result rc = walk_rows(&w);

	*ret = (struct unwind_walked){ 0 };
	while (rc == UNWIND_UNSUPPORTED && walk->odd && copy->regs && w.count < w.max) {
		if (odd_count < 0)
			odd_count = walk->odd(walk->data, space, copy, odd, ARRAY_SIZE(odd));
		if (odd_count < 0 || !step_odd(&w, odd, (size_t)odd_count))
			break;
		ret->used_libunwind = true;
		rc = walk_rows(&w);
	}
	if (rc != UNWIND_ROOT && rc != UNWIND_OK && rc != UNWIND_UNREADABLE) {
		size_t before = w.count;
		enum unwind_result scanned = scan(&w, is_jit(&w));
		ret->used_scan = w.count > before;
		rc = ret->used_scan ? scanned : rc;
	}
	ret->count = w.count;
	ret->end = rc;
	ret->left_signal_stack = rc == UNWIND_UNREADABLE && has_left_signal_stack(&w);
}
