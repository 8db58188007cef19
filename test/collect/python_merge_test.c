/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks as texts, innermost frame first. Native: 'n' any, 'L' the interpreter's loop, 'T' an inner part
 * of it. Python: letters, '.' behind the last one of a run; a run may be empty. Merged: natives and Python
 * as they were, 'L' for a loop that stays, '?' for the gap.
 */
#include "unit.h"

#include "collect/python_merge.h"
#include "python/walk.h"

#include <string.h>

#define ROOTED 1
#define WHOLE  2

static void check_misplaced(const char *native, const char *python, int flags, const char *merged,
			    uint32_t misplaced)
{
	struct python_entry entries[64] = { 0 };
	struct merge_item items[MERGE_ITEMS(64, 64)];
	char letters[64] = "", text[200] = "";
	uint8_t natives[64];
	struct merge_input in = {
		.natives = natives,
		.native_count = (uint32_t)strlen(native),
		.entries = entries,
		.is_rooted = flags & ROOTED,
		.is_whole = flags & WHOLE,
	};
	uint32_t found, count = 0;

	for (size_t i = 0; native[i]; i++)
		natives[i] = native[i] == 'L'   ? MERGE_LOOP
			     : native[i] == 'T' ? MERGE_LOOP_INNER
						: MERGE_NATIVE;
	for (const char *p = python; *p; p++) {
		if (*p != '.') {
			letters[count] = *p;
			entries[count].code = 0x1000;
			if (p[1] == '.') {
				entries[count].code |= PYTHON_ENTRY_END;
				p++;
			}
		} else {
			entries[count].code = PYTHON_ENTRY_END;
		}
		count++;
	}
	in.entry_count = count;
	uint32_t n = python_merge(&in, items, &found);
	assert_in_range(n, 0, MERGE_ITEMS(strlen(native), count));
	for (uint32_t i = 0; i < n; i++)
		text[i] = items[i].kind == MERGE_ITEM_GAP      ? '?'
			  : items[i].kind == MERGE_ITEM_PYTHON ? letters[items[i].index]
							       : native[items[i].index];
	assert_string_equal(text, merged);
	assert_int_equal(found, misplaced);
}

static void check(const char *native, const char *python, int flags, const char *merged)
{
	check_misplaced(native, python, flags, merged, 0);
}

static void test_runs(void **state)
{
	(void)state;
	check("nnLnnLn", "ab.cd.", ROOTED | WHOLE, "nnabnncdn");
	/* 3.10: one each. */
	check("LnLnn", "a.b.", ROOTED | WHOLE, "anbnn");
	check("nnn", "", ROOTED | WHOLE, "nnn");
}

static void test_innermost(void **state)
{
	(void)state;
	/* The loop has been called and has not noted its frame, at the innermost end only. */
	check("LnLn", "ab.", ROOTED | WHOLE, "Lnabn");
	check("nLnLn", "a.", ROOTED | WHOLE, "nLnan");
	/* Between a frame that is being left and the one before. */
	check("nLnLn", ".a.", ROOTED | WHOLE, "nLnan");
}

static void test_cut_off(void **state)
{
	(void)state;
	/* Native frames end early: the rest of Python's is above them. */
	check("nLnL", "a.b.c.d.", WHOLE, "nanb?cd");
	check("nn", "ab.c.", WHOLE, "nn?abc");
	/* Python's end early. */
	check("nLnLnLn", "a.bc", ROOTED, "nanbcnLn");
	check("nLnLnLn", "a.b.", ROOTED, "nanbnLn");
}

static void test_inner(void **state)
{
	(void)state;
	/* Tail-calling interpreters: the part above belongs to the loop below it. */
	check("nTLnTLn", "a.b.", ROOTED | WHOLE, "nanbn");
	check("nTnL", "a.b.", ROOTED | WHOLE, "nanb");
}

static void test_unrecognised(void **state)
{
	(void)state;
	/* A loop that was not seen as one: names are kept, next to the first that was. */
	check_misplaced("nnLn", "a.b.", ROOTED | WHOLE, "nnabn", 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runs),         cmocka_unit_test(test_innermost),
		cmocka_unit_test(test_cut_off),      cmocka_unit_test(test_inner),
		cmocka_unit_test(test_unrecognised),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
