/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/layout.h"

#include "lines.h"

#include "unit.h"

#include <errno.h>

static struct profile *profile_of(const char *lines)
{
	CLEANUP_FCLOSE FILE *in = fmemopen((void *)lines, strlen(lines), "r");
	return lines_read(in);
}

static void assert_rect(const struct profile *p, const struct flame_layout *l, size_t i,
			const char *name, uint32_t row, uint32_t x, uint32_t width)
{
	assert_true(i < l->rects.len);
	const struct flame_rect *r = &l->rects.data[i];
	assert_string_equal(profile_frame_get(p, profile_node(p, r->node).frame).name, name);
	assert_int_equal(r->row, row);
	assert_int_equal(r->x, x);
	assert_int_equal(r->width, width);
}

static void by_hand(void **state)
{
	(void)state;
	/* 8 samples on 100 units: 12.5 each, edges rounded down. */
	CLEANUP(profile_free)
	struct profile *p = profile_of("s samples 1 n a;n b\n"
				       "s samples 2 n a;n c\n"
				       "s samples 1 n a\n"
				       "s samples 4 n d\n");
	CLEANUP(flame_layout_release) struct flame_layout l = { 0 };
	assert_int_equal(flame_layout_make(p, 0, 100, &l), 0);
	assert_int_equal(l.rects.len, 5);
	assert_int_equal(l.rows, 3);
	assert_rect(p, &l, 0, "all", 0, 0, 100);
	assert_rect(p, &l, 1, "a", 1, 0, 50);
	assert_rect(p, &l, 2, "b", 2, 0, 12);
	assert_rect(p, &l, 3, "c", 2, 12, 25);
	assert_rect(p, &l, 4, "d", 1, 50, 50);
}

static void too_thin_to_see(void **state)
{
	(void)state;
	/* b ends where it starts; c, three times as wide, takes the unit that both touch. */
	CLEANUP(profile_free)
	struct profile *p = profile_of("s samples 1 n a;n b;n x\n"
				       "s samples 3 n a;n c\n"
				       "s samples 396 n d\n");
	CLEANUP(flame_layout_release) struct flame_layout l = { 0 };
	assert_int_equal(flame_layout_make(p, 0, 100, &l), 0);
	assert_int_equal(l.rects.len, 4);
	assert_rect(p, &l, 1, "a", 1, 0, 1);
	assert_rect(p, &l, 2, "c", 2, 0, 1);
	assert_rect(p, &l, 3, "d", 1, 1, 99);
	assert_int_equal(l.rows, 3);
}

static void nothing(void **state)
{
	(void)state;
	CLEANUP(profile_free) struct profile *p = profile_of("s samples 0 n a\n");
	CLEANUP(flame_layout_release) struct flame_layout l = { 0 };
	assert_int_equal(flame_layout_make(p, 0, 100, &l), -ENODATA);
}

/* Whatever the numbers: children lie within their parent, in order, and do not overlap. */
static void nesting(void **state)
{
	(void)state;
	uint64_t seed = 42;
	CLEANUP(profile_free) struct profile *p = NULL;
	uint32_t frames[7];
	assert_int_equal(profile_new(&p), 0);
	int metric = profile_metric(p, "wall", "ns");
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++)
		assert_int_equal(
			profile_frame(p,
				      &(struct frame){ .kind = FRAME_NATIVE,
						       .name = (char[]){ (char)('a' + i), 0 } },
				      &frames[i]),
			0);
	for (int n = 0; n < 20000; n++) {
		uint32_t path[12];
		size_t depth = 0;
		do {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			path[depth++] = frames[(seed >> 33) % ARRAY_SIZE(frames)];
		} while (depth < ARRAY_SIZE(path) && (seed >> 60) > 2);
		/* Up to 2^58, so that sums times the width need more than 64 bits. */
		assert_int_equal(profile_add_path(p, path, depth, metric, seed >> (6 + n % 50)), 0);
	}
	assert_int_equal(profile_finish(p), 0);

	CLEANUP(flame_layout_release) struct flame_layout l = { 0 };
	assert_int_equal(flame_layout_make(p, metric, 11800, &l), 0);
	assert_true(l.rects.len > 1000);
	uint32_t begin[16] = { 0 }, end[16] = { 0 };
	vec_for_each(&l.rects, r) {
		assert_true(r->width > 0);
		assert_true(r->x + r->width <= 11800);
		if (r->row) {
			assert_true(r->x >= begin[r->row - 1]);
			assert_true(r->x + r->width <= end[r->row - 1]);
		}
		/* Right of the one before it in its row. */
		assert_true(r->x >= end[r->row]);
		begin[r->row] = r->x;
		end[r->row] = r->x + r->width;
	}
	assert_int_equal(end[0], 11800);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_hand),
		cmocka_unit_test(too_thin_to_see),
		cmocka_unit_test(nothing),
		cmocka_unit_test(nesting),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
