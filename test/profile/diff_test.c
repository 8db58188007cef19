/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/diff.h"

#include "lines.h"

#include "unit.h"

#include <errno.h>

static struct profile *profile_of(const char *lines)
{
	CLEANUP_FCLOSE FILE *in = fmemopen((void *)lines, strlen(lines), "r");
	return lines_read(in);
}

/* "name both now base" of each node in order, indented by depth. */
static void print_tree(const struct profile *p, uint32_t node, int depth, FILE *out)
{
	struct profile_node n = profile_node(p, node);
	fprintf(out, "%*s%s %lu %lu %lu\n", depth, "", profile_frame_get(p, n.frame).name,
		(unsigned long)profile_total(p, node, DIFF_BOTH),
		(unsigned long)profile_total(p, node, DIFF_NOW),
		(unsigned long)profile_total(p, node, DIFF_BASE));
	for (uint32_t c = n.first_child; c != PROFILE_NONE; c = profile_node(p, c).next)
		print_tree(p, c, depth + 1, out);
}

static void assert_diff(const char *base_lines, const char *now_lines, const char *want)
{
	CLEANUP(profile_free) struct profile *base = profile_of(base_lines);
	CLEANUP(profile_free) struct profile *now = profile_of(now_lines);
	CLEANUP(profile_free) struct profile *p = NULL;
	CLEANUP_FREE char *text = NULL;
	size_t size;

	assert_int_equal(profile_diff(base, 0, now, 0, &p), 0);
	FILE *out = open_memstream(&text, &size);
	print_tree(p, PROFILE_ROOT, 0, out);
	fclose(out);
	assert_string_equal(text, want);
}

static void changes(void **state)
{
	(void)state;
	/* 200 before, 100 now: before is halved. One frame vanished, one is new. */
	assert_diff("wall ns 120 n a;n x\nwall ns 60 n a;n old\nwall ns 20 n b\n",
		    "wall ns 70 n a;n x\nwall ns 20 n b\nwall ns 10 n new\n",
		    "all 130 100 100\n"
		    " a 100 70 90\n"
		    "  old 30 0 30\n"
		    "  x 70 70 60\n"
		    " b 20 20 10\n"
		    " new 10 10 0\n");
}

static void nothing_is_rounded_away(void **state)
{
	(void)state;
	assert_diff("s samples 1 n a\ns samples 1 n b\ns samples 1 n c\n", "s samples 100 n a\n",
		    "all 167 100 100\n"
		    " a 100 100 33\n"
		    " b 33 0 33\n"
		    " c 34 0 34\n");
}

static void lines_move(void **state)
{
	(void)state;
	assert_diff("s samples 5 y py::f (a.py:12) @a.py:12\ns samples 5 n g (x:3)\n",
		    "s samples 6 y py::f (a.py:14) @a.py:14\ns samples 4 n g (x:4)\n",
		    "all 15 10 10\n"
		    " g (x:3) 5 0 5\n"
		    " g (x:4) 4 4 0\n"
		    " py::f (a.py) 6 6 5\n");
}

static void processes_meet(void **state)
{
	(void)state;
	assert_diff("s samples 5 p python3 (41);n f\n", "s samples 5 p python3 (7);n f\n",
		    "all 5 5 5\n"
		    " python3 (*) 5 5 5\n"
		    "  f 5 5 5\n");
}

static void nothing_to_compare(void **state)
{
	(void)state;
	CLEANUP(profile_free) struct profile *some = profile_of("s samples 5 n f\n");
	CLEANUP(profile_free) struct profile *none = profile_of("s samples 0 n f\n");
	struct profile *p = NULL;
	assert_int_equal(profile_diff(some, 0, none, 0, &p), -ENODATA);
	assert_int_equal(profile_diff(none, 0, some, 0, &p), -ENODATA);
	assert_null(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes),
		cmocka_unit_test(nothing_is_rounded_away),
		cmocka_unit_test(lines_move),
		cmocka_unit_test(processes_meet),
		cmocka_unit_test(nothing_to_compare),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
