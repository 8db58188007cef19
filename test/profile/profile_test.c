/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/profile.h"

#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t frame_named(struct profile *p, const char *name)
{
	uint32_t id;
	assert_int_equal(
		profile_frame(p, &(struct frame){ .kind = FRAME_NATIVE, .name = name }, &id), 0);
	return id;
}

/* "a;b;c": one letter a frame. */
static void add(struct profile *p, const char *path, int metric, uint64_t value)
{
	uint32_t frames[16];
	size_t count = 0;
	for (; *path; path++) {
		if (*path != ';')
			frames[count++] = frame_named(p, (char[]){ *path, 0 });
	}
	assert_int_equal(profile_add_path(p, frames, count, metric, value), 0);
}

/* "name self total" of each node in order, indented by depth. */
static void print_tree(const struct profile *p, uint32_t node, int depth, int metric, FILE *out)
{
	struct profile_node n = profile_node(p, node);
	fprintf(out, "%*s%s %lu %lu\n", depth, "", profile_frame_get(p, n.frame).name,
		(unsigned long)profile_self(p, node, metric),
		(unsigned long)profile_total(p, node, metric));
	for (uint32_t c = n.first_child; c != PROFILE_NONE; c = profile_node(p, c).next) {
		assert_int_equal(profile_node(p, c).parent, node);
		print_tree(p, c, depth + 1, metric, out);
	}
}

static char *tree_text(const struct profile *p, int metric)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	print_tree(p, PROFILE_ROOT, 0, metric, out);
	fclose(out);
	return text;
}

static void assert_tree(const struct profile *p, int metric, const char *want)
{
	CLEANUP_FREE char *text = tree_text(p, metric);
	assert_string_equal(text, want);
}

static void sums_and_order(void **state)
{
	(void)state;
	CLEANUP(profile_free) struct profile *p = NULL;
	assert_int_equal(profile_new(&p), 0);
	int time = profile_metric(p, "cpu-time", "ns");
	int launches = profile_metric(p, "launches", "launches");

	add(p, "m;z", time, 5);
	add(p, "m;a;x", time, 7);
	add(p, "m", time, 1);
	add(p, "m;a", launches, 3);
	add(p, "b", time, 2);
	add(p, "m;a;x", time, 10);
	assert_int_equal(profile_finish(p), 0);

	assert_tree(p, time,
		    "all 0 25\n"
		    " b 2 2\n"
		    " m 1 23\n"
		    "  a 0 17\n"
		    "   x 17 17\n"
		    "  z 5 5\n");
	assert_tree(p, launches,
		    "all 0 3\n"
		    " b 0 0\n"
		    " m 0 3\n"
		    "  a 3 3\n"
		    "   x 0 0\n"
		    "  z 0 0\n");

	/* Adding after the finish, and finishing again. */
	add(p, "m;A", time, 100);
	add(p, "m;a;x", time, 1);
	assert_int_equal(profile_finish(p), 0);
	assert_tree(p, time,
		    "all 0 126\n"
		    " b 2 2\n"
		    " m 1 124\n"
		    "  A 100 100\n"
		    "  a 0 18\n"
		    "   x 18 18\n"
		    "  z 5 5\n");
}

static void order_does_not_depend_on_arrival(void **state)
{
	(void)state;
	const char *const paths[] = { "a;b;c", "a;c;b", "c", "b;a;c;d", "b;a;b", "a", "d;d;d" };
	enum {
		COUNT = ARRAY_SIZE(paths)
	};
	CLEANUP_FREE char *first = NULL;

	for (size_t shift = 0; shift < COUNT; shift++) {
		CLEANUP(profile_free) struct profile *p = NULL;
		assert_int_equal(profile_new(&p), 0);
		int metric = profile_metric(p, "cpu-samples", "samples");
		for (size_t i = 0; i < COUNT; i++) {
			size_t k = (i * 3 + shift) % COUNT;
			add(p, paths[k], metric, k + 1);
		}
		assert_int_equal(profile_finish(p), 0);
		CLEANUP_FREE char *text = tree_text(p, metric);
		if (!first)
			first = TAKE(text);
		else
			assert_string_equal(text, first);
	}
}

static void frames_are_told_apart_by_content(void **state)
{
	(void)state;
	CLEANUP(profile_free) struct profile *p = NULL;
	assert_int_equal(profile_new(&p), 0);

	const struct frame base = { .kind = FRAME_PYTHON,
				    .class = FRAME_CLASS_OWN,
				    .name = "f",
				    .full = "long f",
				    .file = "f.py",
				    .module = "m",
				    .line = 3 };
	struct frame variants[8];
	for (size_t i = 0; i < ARRAY_SIZE(variants); i++)
		variants[i] = base;
	variants[1].kind = FRAME_CXX;
	variants[2].class = FRAME_CLASS_MODEL;
	variants[3].name = "g";
	variants[4].full = NULL;
	variants[5].file = "g.py";
	variants[6].module = "";
	variants[7].line = 4;

	uint32_t before = profile_frame_count(p);
	for (size_t i = 0; i < ARRAY_SIZE(variants); i++) {
		uint32_t id, again;
		assert_int_equal(profile_frame(p, &variants[i], &id), 0);
		assert_int_equal(profile_frame(p, &variants[i], &again), 0);
		assert_int_equal(id, again);
		assert_int_equal(id, before + i);
		struct frame f = profile_frame_get(p, id);
		assert_int_equal(f.kind, variants[i].kind);
		assert_int_equal(f.class, variants[i].class);
		assert_string_equal(f.name, variants[i].name);
		assert_string_equal(f.full, variants[i].full ? variants[i].full : "");
		assert_string_equal(f.file, variants[i].file);
		assert_string_equal(f.module, variants[i].module);
		assert_int_equal(f.line, variants[i].line);
	}

	/* NULL and "" are both "not known". */
	uint32_t with_null, with_empty;
	assert_int_equal(profile_frame(p, &(struct frame){ .name = "x" }, &with_null), 0);
	assert_int_equal(profile_frame(p, &(struct frame){ .name = "x", .file = "", .full = "" },
				       &with_empty),
			 0);
	assert_int_equal(with_null, with_empty);
}

static void metrics_are_limited(void **state)
{
	(void)state;
	CLEANUP(profile_free) struct profile *p = NULL;
	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_metric_find(p, "wall"), -ENOENT);
	for (int i = 0; i < PROFILE_METRICS_MAX; i++) {
		char name[16];
		snprintf(name, sizeof(name), "m%d", i);
		assert_int_equal(profile_metric(p, name, "ns"), i);
		assert_int_equal(profile_metric(p, name, "ns"), i);
	}
	assert_int_equal(profile_metric(p, "one more", "ns"), -E2BIG);
	assert_int_equal(profile_metric_count(p), PROFILE_METRICS_MAX);
	assert_string_equal(profile_metric_get(p, 7).name, "m7");
	assert_string_equal(profile_metric_get(p, 7).unit, "ns");
}

static void sums_stop_at_the_top(void **state)
{
	(void)state;
	CLEANUP(profile_free) struct profile *p = NULL;
	assert_int_equal(profile_new(&p), 0);
	int metric = profile_metric(p, "bytes", "bytes");
	add(p, "a;b", metric, UINT64_MAX - 1);
	add(p, "a;b", metric, 5);
	add(p, "a;c", metric, UINT64_MAX / 2);
	assert_int_equal(profile_finish(p), 0);
	assert_true(profile_total(p, PROFILE_ROOT, metric) == UINT64_MAX);
}

/* A wide and deep tree against sums made by hand: node k of n under node (k - 1) / 3. */
static void many_nodes(void **state)
{
	(void)state;
	enum {
		NODES = 300000
	};
	CLEANUP(profile_free) struct profile *p = NULL;
	assert_int_equal(profile_new(&p), 0);
	int metric = profile_metric(p, "wall", "ns");
	CLEANUP_FREE uint32_t *frame = calloc(3, sizeof(*frame));
	CLEANUP_FREE uint64_t *want = calloc(NODES, sizeof(*want));
	for (int i = 0; i < 3; i++)
		frame[i] = frame_named(p, (char[]){ (char)('c' - i), 0 });

	for (uint32_t k = 1; k < NODES; k++) {
		uint32_t node;
		assert_int_equal(profile_child(p, (k - 1) / 3, frame[(k - 1) % 3], &node), 0);
		assert_int_equal(node, k);
		profile_add(p, node, metric, k % 7);
	}
	for (uint32_t k = NODES; k-- > 1;) {
		want[k] += k % 7;
		want[(k - 1) / 3] += want[k];
	}
	assert_int_equal(profile_finish(p), 0);
	assert_int_equal(profile_node_count(p), NODES);
	for (uint32_t k = 0; k < NODES; k++)
		assert_true(profile_total(p, k, metric) == want[k]);

	/* Found again rather than made again, and in the order a, b, c: the third was made last. */
	uint32_t node;
	assert_int_equal(profile_child(p, 1000, frame[1], &node), 0);
	assert_int_equal(node, 3002);
	assert_int_equal(profile_node(p, 1000).first_child, 3003);
	assert_int_equal(profile_node(p, 3003).next, 3002);
	assert_int_equal(profile_node(p, 3001).next, PROFILE_NONE);
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

/* Paths that share beginnings, come again and fork anywhere: the same path is the same node, and its
 * frames are those that were asked for. */
static void paths_are_found_again(void **state)
{
	(void)state;
	enum {
		HOSTS = 40,
		PATHS = 60000,
		DEPTH_MAX = 100
	};
	CLEANUP(profile_free) struct profile *p = NULL;
	CLEANUP_FREE uint32_t *leaves = calloc(PATHS, sizeof(*leaves));
	uint32_t frames[26], count = 0;
	assert_int_equal(profile_new(&p), 0);
	for (int i = 0; i < 26; i++)
		frames[i] = frame_named(p, (char[]){ (char)('a' + i), 0 });

	for (int again = 0; again < 2; again++) {
		uint64_t seed = 7;
		for (int n = 0; n < PATHS; n++) {
			uint32_t path[DEPTH_MAX], node = PROFILE_ROOT;
			size_t depth = 0;
			/* A beginning out of a few, of 0 to 79 frames, then up to 20 frames of its
			 * own. */
			uint64_t host = next_random(&seed) % HOSTS;
			for (; depth < host * 2; depth++)
				path[depth] = frames[(host * 7 + depth / 5) % 26];
			for (size_t own = next_random(&seed) % 21; own; own--)
				path[depth++] = frames[next_random(&seed) % 4];

			for (size_t i = 0; i < depth; i++)
				assert_int_equal(profile_child(p, node, path[i], &node), 0);
			if (again)
				assert_int_equal(node, leaves[n]);
			leaves[n] = node;
			for (; depth--; node = profile_node(p, node).parent)
				assert_int_equal(profile_node(p, node).frame, path[depth]);
			assert_int_equal(node, PROFILE_ROOT);
		}
		if (again)
			assert_int_equal(profile_node_count(p), count);
		count = profile_node_count(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_and_order),
		cmocka_unit_test(order_does_not_depend_on_arrival),
		cmocka_unit_test(frames_are_told_apart_by_content),
		cmocka_unit_test(metrics_are_limited),
		cmocka_unit_test(sums_stop_at_the_top),
		cmocka_unit_test(many_nodes),
		cmocka_unit_test(paths_are_found_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
