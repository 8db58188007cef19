/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python's frames into the places of the interpreter's own among the native ones. Knows only which
 * frames those are; a frame is a number here.
 *
 * The interpreter's loop is called once for each run of Python frames. At the innermost end the two
 * can differ by one, as a call of the loop notes its first frame only after it has begun, and takes it
 * back before it returns; so the runs of a stack that is whole are counted from the thread's first
 * function, those of one that was cut off from the innermost frame.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct python_entry;

enum merge_native {
	MERGE_NATIVE,
	MERGE_LOOP,       /* the interpreter's loop */
	MERGE_LOOP_INNER, /* a part of it with a native frame of its own, above the loop's */
};

/* All innermost first. */
struct merge_input {
	const uint8_t *natives; /* enum merge_native each */
	uint32_t native_count;
	const struct python_entry *entries;
	uint32_t entry_count;
	bool is_rooted; /* the native frames go up to the thread's first function */
	bool is_whole;  /* Python's to its first one */
};

enum merge_kind {
	MERGE_ITEM_NATIVE, /* index: of a native frame */
	MERGE_ITEM_PYTHON, /* index: of an entry */
	MERGE_ITEM_GAP,    /* native frames are missing here */
};

struct merge_item {
	uint32_t kind, index;
};

/* Both lists and a gap. */
#define MERGE_ITEMS(natives, entries) ((natives) + (entries) + 1)

/* How many items were put into @ret; in @ret_misplaced, how many runs no native frame stood for. */
uint32_t python_merge(const struct merge_input *in, struct merge_item *ret,
		      uint32_t *ret_misplaced);
