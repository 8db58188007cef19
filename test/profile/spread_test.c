/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/filter.h"

#include "lines.h"

#include "unit.h"

static struct profile *profile_of(const char *lines)
{
	CLEANUP_FCLOSE FILE *in = fmemopen((void *)lines, strlen(lines), "r");
	return lines_read(in);
}

static uint32_t node_at(const struct profile *p, const char *const *names, size_t count)
{
	uint32_t node = PROFILE_ROOT;
	for (size_t i = 0; i < count; i++) {
		node = profile_node(p, node).first_child;
		while (strcmp(profile_frame_get(p, profile_node(p, node).frame).name, names[i]))
			node = profile_node(p, node).next;
	}
	return node;
}
#define SELF(p, metric, ...)                                                                 \
	profile_self(p,                                                                      \
		     node_at(p, (const char *const[]){ __VA_ARGS__ },                        \
			     sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *)), \
		     metric)

static void time_goes_where_the_samples_are(void **state)
{
	(void)state;
	/* 1000 ns over 1 + 3 + 6 samples; the host and a kernel without samples keep theirs. */
	CLEANUP(profile_free)
	struct profile *p = profile_of("wall ns 1000 n main;-;G gemm\n"
				       "wall ns 50 n main;-;G copy\n"
				       "wall ns 7 n main\n"
				       "wall ns 9 n main;-;i [idle: sync]\n"
				       "samples samples 1 n main;-;G gemm\n"
				       "samples samples 3 n main;-;G gemm;L a.cl:1\n"
				       "samples samples 2 n main;-;G gemm;L b.cl:2;R sbid\n"
				       "samples samples 4 n main;-;G gemm;L b.cl:2;R send\n"
				       "samples samples 80 n main\n");
	assert_int_equal(profile_spread(p, 0, 1), 0);
	assert_int_equal(SELF(p, 0, "main", "-", "gemm"), 100);
	assert_int_equal(SELF(p, 0, "main", "-", "gemm", "a.cl:1"), 300);
	assert_int_equal(SELF(p, 0, "main", "-", "gemm", "b.cl:2"), 0);
	assert_int_equal(SELF(p, 0, "main", "-", "gemm", "b.cl:2", "sbid"), 200);
	assert_int_equal(SELF(p, 0, "main", "-", "gemm", "b.cl:2", "send"), 400);
	assert_int_equal(SELF(p, 0, "main", "-", "copy"), 50);
	assert_int_equal(SELF(p, 0, "main"), 7);
	assert_int_equal(profile_total(p, PROFILE_ROOT, 0), 1066);
}

static void nothing_is_rounded_away(void **state)
{
	(void)state;
	CLEANUP(profile_free)
	struct profile *p = profile_of("wall ns 100 G k\n"
				       "wall ns 1 G k;L x\n"
				       "samples samples 1 G k;L x;R a\n"
				       "samples samples 1 G k;L x;R b\n"
				       "samples samples 1 G k;L y\n");
	assert_int_equal(profile_spread(p, 0, 1), 0);
	assert_int_equal(profile_total(p, PROFILE_ROOT, 0), 101);
	/* 2/3 of 100 is 66; with the line's own 1, 67, halved to 33 and 34. */
	assert_int_equal(SELF(p, 0, "k", "x", "a"), 33);
	assert_int_equal(SELF(p, 0, "k", "x", "b"), 34);
	assert_int_equal(SELF(p, 0, "k", "y"), 34);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_goes_where_the_samples_are),
		cmocka_unit_test(nothing_is_rounded_away),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
