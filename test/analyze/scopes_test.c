/* SPDX-License-Identifier: Apache-2.0 */
/* Scopes of recorded programs in paths and filters, and filters by stream, by hand. */
#include "analyze/groups.h"
#include "scene.h"

static const struct analysis_profile_options all = { .full = true };

static void scene_toy(struct scene *s)
{
	scene_open(s);
	scene_process(s, 1, 10, "toy");
	scene_thread(s, 1, 1, 10);
	scene_thread(s, 2, 1, 11);
	scene_device(s, 1, 0);
	scene_kernel(s, 1, 1, "gemm");
}

static void put_mark(struct scene *s, uint64_t time_ns, uint32_t thread, enum mark_kind kind,
		     const char *name)
{
	scene_put(s, (struct record){ .type = RECORD_MARK,
				      .mark = { .time_ns = time_ns,
						.thread = thread,
						.kind = kind,
						.name = scene_text(s, name) } });
}

/*
 * Thread 1: train 100..500, inside it forward 200..300, and the state "cold" from 250 on until 450.
 * Thread 2 has no scopes. Launches on thread 1 at 50, 150, 260, 400 and 600, on thread 2 at 260.
 */
static void scene_scopes(struct scene *s)
{
	static const uint64_t launched[] = { 50, 150, 260, 400, 600 };
	scene_toy(s);
	put_mark(s, 100, 1, MARK_PUSH, "train");
	put_mark(s, 200, 1, MARK_PUSH, "forward");
	put_mark(s, 250, 1, MARK_STATE, "cold");
	put_mark(s, 300, 1, MARK_POP, "forward");
	put_mark(s, 450, 1, MARK_STATE, "");
	put_mark(s, 500, 1, MARK_POP, "train");
	for (size_t i = 0; i < 5; i++) {
		scene_launch(s, i + 1, launched[i], 1, "main;go", 1);
		scene_dispatch(s, i + 1, 1, 1000 + 10 * i, 1000 + 10 * i + i + 1);
	}
	scene_launch(s, 9, 260, 2, "main;go", 1);
	scene_dispatch(s, 9, 1, 1050, 1057);
	scene_put(s, (struct record){ .type = RECORD_CPU_SAMPLE,
				      .cpu_sample = { .time_ns = 270,
						      .thread = 1,
						      .stack = scene_stack(s, "main;work"),
						      .weight = 3 } });
	scene_load(s);
}

static void test_paths(void **state)
{
	(void)state;
	struct scene s;
	scene_scopes(&s);
	struct profile *p = scene_profile(&s, all);
	/* The first launch, the last, and that of the other thread. */
	assert_int_equal(tree_self(p, "toy;main;go;-;gemm", "device-time"), 1 + 5 + 7);
	assert_int_equal(tree_self(p, "toy;train;main;go;-;gemm", "device-time"), 2);
	assert_int_equal(tree_self(p, "toy;train;forward;main;go;-;cold;gemm", "device-time"), 3);
	assert_int_equal(tree_self(p, "toy;train;main;go;-;cold;gemm", "device-time"), 4);
	assert_int_equal(tree_self(p, "toy;train;forward;main;work", "cpu-samples"), 3);
	assert_int_equal(tree_total(p, "device-time"), 22);
	profile_free(p);
	scene_close(&s);
}

static uint64_t scoped(struct scene *s, const char *scope, const char *metric)
{
	struct analysis_profile_options opt = all;
	opt.filter.scope = scope;
	struct profile *p = scene_profile(s, opt);
	uint64_t total = tree_total(p, metric);
	profile_free(p);
	return total;
}

static void test_filter(void **state)
{
	(void)state;
	struct scene s;
	scene_scopes(&s);
	assert_int_equal(scoped(&s, "train", "device-time"), 2 + 3 + 4);
	assert_int_equal(scoped(&s, "forward", "device-time"), 3);
	assert_int_equal(scoped(&s, "f*,cold", "device-time"), 3); /* a state is no scope */
	assert_int_equal(scoped(&s, "forward", "launches"), 1);
	assert_int_equal(scoped(&s, "forward", "cpu-samples"), 3);
	assert_int_equal(scoped(&s, "cold", "cpu-samples"), 0);
	assert_int_equal(scoped(&s, "nothing", "device-time"), 0);
	/* A function is no scope. */
	assert_int_equal(scoped(&s, "main", "device-time"), 0);
	/* Busy 3 ns, and the gap before it, 1012..1020, that it ended. */
	assert_int_equal(scoped(&s, "forward", "wall"), 3 + 8);

	struct analysis_groups *g;
	struct err err = { "" };
	assert_int_equal(analysis_groups_new(&g, s.a, &all.filter, "scope", &err), 0);
	assert_string_equal(analysis_groups_get(g, 0)->label, "train");
	assert_null(analysis_groups_get(g, 1));
	analysis_groups_free(g);
	scene_close(&s);
}

/* More pops than pushes, pushes that never end, far too many inside each other. */
static void test_unbalanced(void **state)
{
	(void)state;
	struct scene s;
	scene_toy(&s);
	put_mark(&s, 10, 1, MARK_POP, "x");
	put_mark(&s, 20, 1, MARK_POP, "x");
	put_mark(&s, 30, 1, MARK_PUSH, "open");
	for (uint64_t i = 0; i < 100; i++)
		put_mark(&s, 100 + i, 2, MARK_PUSH, "deep");
	for (uint64_t i = 0; i < 99; i++)
		put_mark(&s, 300 + i, 2, MARK_POP, "deep");
	scene_launch(&s, 1, 25, 1, "main", 1);
	scene_launch(&s, 2, 40, 1, "main", 1);
	scene_launch(&s, 3, 250, 2, "main", 1);
	scene_launch(&s, 4, 500, 2, "main", 1);
	for (uint64_t i = 1; i <= 4; i++)
		scene_dispatch(&s, i, 1, 1000 * i, 1000 * i + i);
	scene_load(&s);
	struct profile *p = scene_profile(&s, all);
	assert_int_equal(tree_self(p, "toy;main;-;gemm", "device-time"), 1);
	assert_int_equal(tree_self(p, "toy;open;main;-;gemm", "device-time"), 2);
	assert_int_equal(tree_self(p, "toy;deep;main;-;gemm", "device-time"), 4);
	assert_int_equal(tree_total(p, "device-time"), 10);
	profile_free(p);
	assert_int_equal(scoped(&s, "deep", "device-time"), 3 + 4);
	scene_close(&s);
}

static void put_on(struct scene *s, uint64_t correlation, uint32_t queue, uint64_t launched,
		   uint64_t start, uint64_t end)
{
	scene_put(s, (struct record){ .type = RECORD_LAUNCH,
				      .launch = { .time_ns = launched,
						  .thread = 1,
						  .stack = scene_stack(s, "main"),
						  .kind = LAUNCH_KERNEL,
						  .kernel = 1,
						  .queue = queue,
						  .correlation = correlation } });
	scene_put(s, (struct record){ .type = RECORD_DISPATCH,
				      .dispatch = { .correlation = correlation,
						    .device = 1,
						    .queue = queue,
						    .start_ns = start,
						    .end_ns = end,
						    .kind = LAUNCH_KERNEL } });
}

/*
 * Stream 7: 1000..1100 and 1300..1400 (launched at 1250). Stream 8: 1050..1350. Of stream 7 alone
 * the device is busy for 200 and idle for 200, of which 150 before the launch.
 */
static void test_streams(void **state)
{
	(void)state;
	struct scene s;
	scene_toy(&s);
	for (uint32_t i = 0; i < 2; i++)
		scene_put(&s, (struct record){
				      .type = RECORD_QUEUE,
				      .queue = { .id = i + 1,
						 .device = 1,
						 .handle = 7 + i,
						 .name = scene_text(&s, i ? "copies" : "") } });
	put_on(&s, 1, 1, 900, 1000, 1100);
	put_on(&s, 2, 2, 900, 1050, 1350);
	put_on(&s, 3, 1, 1250, 1300, 1400);
	scene_load(&s);

	struct analysis_profile_options opt = all;
	struct profile *p = scene_profile(&s, opt);
	assert_int_equal(tree_total(p, "wall"), 400);
	assert_int_equal(tree_self(p, "toy;main;-;gemm", "wall"), 400);
	profile_free(p);
	opt.filter.stream = "7";
	p = scene_profile(&s, opt);
	assert_int_equal(tree_self(p, "toy;main;-;gemm", "wall"), 200);
	assert_int_equal(tree_self(p, "toy;main;-;[idle: host late]", "wall"), 150);
	assert_int_equal(tree_self(p, "toy;main;-;[idle: launch in flight]", "wall"), 50);
	assert_int_equal(tree_total(p, "device-time"), 200);
	assert_int_equal(tree_total(p, "launches"), 2);
	profile_free(p);
	opt.filter.stream = "copies,9";
	p = scene_profile(&s, opt);
	assert_int_equal(tree_total(p, "device-time"), 300);
	profile_free(p);

	struct analysis_groups *g;
	struct err err = { "" };
	assert_int_equal(analysis_groups_new(&g, s.a, &all.filter, "stream", &err), 0);
	assert_string_equal(analysis_groups_get(g, 0)->label, "stream 8");
	assert_string_equal(analysis_groups_get(g, 1)->label, "stream 7");
	assert_string_equal(analysis_groups_get(g, 1)->filter.stream, "7");
	assert_null(analysis_groups_get(g, 2));
	analysis_groups_free(g);
	scene_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_filter),
		cmocka_unit_test(test_unbalanced),
		cmocka_unit_test(test_streams),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
