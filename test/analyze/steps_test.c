/* SPDX-License-Identifier: Apache-2.0 */
/* Steps and calls that wait: hand-computed scenes. */
#include "analyze/summary.h"
#include "scene.h"

static void scene_toy(struct scene *s)
{
	scene_open(s);
	scene_process(s, 1, 10, "toy");
	scene_thread(s, 1, 1, 10);
	scene_device(s, 1, 0);
	scene_kernel(s, 1, 1, "gemm");
	scene_kernel(s, 2, 1, "relu");
	scene_kernel(s, 3, 1, "step");
}

static void scene_work(struct scene *s, uint64_t correlation, uint32_t kernel, uint64_t start_ns,
		       uint64_t end_ns)
{
	scene_launch(s, correlation, start_ns - 10, 1, "main;run", kernel);
	scene_dispatch(s, correlation, 1, start_ns, end_ns);
}

static void scene_step(struct scene *s, uint64_t iteration, uint64_t time_ns, uint64_t duration_ns)
{
	scene_put(s, (struct record){ .type = RECORD_MARK,
				      .mark = { .time_ns = time_ns,
						.duration_ns = duration_ns,
						.thread = 1,
						.kind = MARK_SPAN,
						.name = scene_text(s, "Step"),
						.iteration = iteration + 1 } });
}

static size_t list(struct scene *s, const char *step, struct step_summary **ret)
{
	struct err err = { "" };
	size_t count;
	assert_int_equal(analysis_step_list(s->a, &(struct analysis_filter){ .step = step }, ret,
					    &count, &err),
			 0);
	return count;
}

/*
 * Steps 7 (2000..3000) and 8 (3000..4500). gemm launched at 2090 runs 2100..2400; relu launched at
 * 2890 runs 2900..3200: 100 of it in step 7, 200 in step 8, its work is step 7's.
 */
static void test_marks(void **state)
{
	(void)state;
	struct step_summary *steps;
	struct scene s;
	scene_toy(&s);
	scene_step(&s, 7, 2000, 1000);
	scene_step(&s, 8, 3000, 1500);
	scene_work(&s, 1, 1, 2100, 2400);
	scene_work(&s, 2, 2, 2900, 3200);
	scene_work(&s, 3, 1, 4000, 4100);
	scene_load(&s);

	assert_int_equal(list(&s, NULL, &steps), 2);
	assert_int_equal(steps[0].number, 7);
	assert_int_equal(steps[0].busy_ns, 300 + 100);
	assert_int_equal(steps[0].device_ns, 300 + 300);
	assert_int_equal(steps[0].ops, 2);
	assert_int_equal(steps[1].number, 8);
	assert_int_equal(steps[1].busy_ns, 200 + 100);
	assert_int_equal(steps[1].device_ns, 100);
	free(steps);
	assert_int_equal(list(&s, "8", &steps), 1);
	assert_int_equal(steps[0].number, 8);
	free(steps);
	assert_int_equal(list(&s, "7-8", &steps), 2);
	free(steps);

	struct profile *p = scene_profile(
		&s, (struct analysis_profile_options){ .full = true, .filter = { .step = "8" } });
	assert_int_equal(tree_total(p, "wall"), 1500);
	/* The time before the first work is the host's that launched it: it is the step's window. */
	assert_int_equal(tree_self(p, "toy;main;run;-;gemm", "wall"), 100);
	assert_int_equal(tree_self(p, "toy;main;run;-;relu", "wall"), 200);
	profile_free(p);
	scene_close(&s);
}

static void test_bad_steps(void **state)
{
	(void)state;
	static const char *const bad[] = { "", "x", "1-", "-1", "1-2-3", "9", "8-7", "1,2" };
	struct step_summary *steps;
	struct err err = { "" };
	size_t count;
	struct scene s;
	scene_toy(&s);
	scene_step(&s, 7, 2000, 1000);
	scene_work(&s, 1, 1, 2100, 2400);
	scene_load(&s);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(analysis_step_list(s.a,
						    &(struct analysis_filter){ .step = bad[i] },
						    &steps, &count, &err),
				 -EINVAL);
	scene_close(&s);

	scene_toy(&s); /* no steps at all */
	scene_work(&s, 1, 1, 2100, 2400);
	scene_load(&s);
	assert_int_equal(list(&s, NULL, &steps), 0);
	free(steps);
	assert_int_equal(analysis_step_list(s.a, &(struct analysis_filter){ .step = "all" }, &steps,
					    &count, &err),
			 -EINVAL);
	assert_string_equal(err.text, "no steps in this capture");
	scene_close(&s);
}

/* Without marks: a warm-up of its own, then five turns of step, (gemm, relu) x 3; the turn is found
 * by what comes once in it, not by what comes three times. */
static void test_repeats(void **state)
{
	(void)state;
	struct step_summary *steps;
	uint64_t now = 5000, correlation = 1;
	struct scene s;
	scene_toy(&s);
	scene_work(&s, correlation++, 1, 3000, 3100);
	scene_work(&s, correlation++, 1, 3200, 3300);
	for (int turn = 0; turn < 5; turn++) {
		scene_work(&s, correlation++, 3, now, now + 10);
		for (int layer = 0; layer < 3; layer++) {
			scene_work(&s, correlation++, 1, now + 100, now + 150);
			scene_work(&s, correlation++, 2, now + 200, now + 220);
			now += 200;
		}
		now += 400;
	}
	scene_load(&s);
	/* Five begin; the end of the last one is not known. */
	assert_int_equal(list(&s, NULL, &steps), 4);
	for (uint64_t i = 0; i < 4; i++) {
		assert_int_equal(steps[i].number, i + 1);
		assert_int_equal(steps[i].begin_ns, 5000 + i * 1000);
		assert_int_equal(steps[i].end_ns, 6000 + i * 1000);
		assert_int_equal(steps[i].busy_ns, 10 + 3 * 70);
		assert_int_equal(steps[i].ops, 7);
	}
	free(steps);
	scene_close(&s);
}

/* Nothing repeats: no steps are made up. */
static void test_no_repeats(void **state)
{
	(void)state;
	static const uint32_t kernels[] = { 1, 1, 2, 3, 2, 2, 1, 3, 3, 1, 1, 1, 2, 3, 2, 1, 2, 2 };
	struct step_summary *steps;
	struct scene s;
	scene_toy(&s);
	for (uint64_t i = 0; i < ARRAY_SIZE(kernels); i++)
		scene_work(&s, i + 1, kernels[i], 2000 + i * 100, 2050 + i * 100);
	scene_load(&s);
	assert_int_equal(list(&s, NULL, &steps), 0);
	free(steps);
	scene_close(&s);
}

static void scene_sync(struct scene *s, uint64_t time_ns, uint64_t duration_ns, const char *stack)
{
	scene_put(s, (struct record){ .type = RECORD_SYNC,
				      .sync = { .time_ns = time_ns,
						.duration_ns = duration_ns,
						.thread = 1,
						.stack = scene_stack(s, stack),
						.name = scene_text(s, "wait") } });
}

/*
 * Work 1000..1100, 1500..1600, 2000..2100. A wait 1050..1120, in which the device runs dry at 1100:
 * it is idle for 400 until 1500. A second one in that gap, 1300..1350, takes over from there (from
 * 1300 on) and is charged its own 50. One after 1600 that begins at 1700 with the device idle: its
 * own 100. One at the end costs nothing.
 */
static void test_syncs(void **state)
{
	(void)state;
	struct scene s;
	scene_toy(&s);
	scene_work(&s, 1, 1, 1000, 1100);
	scene_work(&s, 2, 1, 1500, 1600);
	scene_work(&s, 3, 1, 2000, 2100);
	scene_sync(&s, 1050, 70, "main;first;wait");
	scene_sync(&s, 1300, 50, "main;second");
	scene_sync(&s, 1700, 100, "main;third");
	scene_sync(&s, 2050, 500, "main;last");
	scene_load(&s);

	struct profile *p = scene_profile(&s, (struct analysis_profile_options){ .full = true });
	assert_int_equal(tree_self(p, "toy;main;first;wait", "sync-idle"), 200);
	assert_int_equal(tree_self(p, "toy;main;second;wait", "sync-idle"), 50);
	assert_int_equal(tree_self(p, "toy;main;third;wait", "sync-idle"), 100);
	assert_int_equal(tree_self(p, "toy;main;last;wait", "sync-idle"), 0);
	assert_int_equal(tree_self(p, "toy;main;last;wait", "sync-wait"), 500);
	assert_int_equal(tree_total(p, "syncs"), 4);
	assert_int_equal(tree_total(p, "sync-wait"), 720);
	profile_free(p);
	scene_close(&s);
}

/*
 * Work 1000..1100, and 1500..1600 launched at 1040. A wait from 1050 on is not why that begins so
 * late, one from 1030 on may be.
 */
static void test_sync_behind_launch(void **state)
{
	(void)state;
	static const uint64_t begins[] = { 1050, 1030 }, expected[] = { 0, 400 };
	for (size_t i = 0; i < ARRAY_SIZE(begins); i++) {
		struct scene s;
		scene_toy(&s);
		scene_work(&s, 1, 1, 1000, 1100);
		scene_launch(&s, 2, 1040, 1, "main;run", 1);
		scene_dispatch(&s, 2, 1, 1500, 1600);
		scene_sync(&s, begins[i], 100, "main;wait");
		scene_load(&s);
		struct profile *p =
			scene_profile(&s, (struct analysis_profile_options){ .full = true });
		assert_int_equal(tree_total(p, "sync-idle"), expected[i]);
		profile_free(p);
		scene_close(&s);
	}
}

/* A copy that was done when its call came back. */
static void test_copy_waits(void **state)
{
	(void)state;
	struct scene s;
	scene_toy(&s);
	scene_work(&s, 1, 1, 1000, 1100);
	for (uint64_t i = 0; i < 2; i++) {
		/* The first call lasts until its copy is done, the second only asks for it. */
		scene_put(&s, (struct record){ .type = RECORD_LAUNCH,
					       .launch = { .time_ns = 1200 + i * 1000,
							   .duration_ns = i ? 20 : 120,
							   .thread = 1,
							   .stack = scene_stack(&s, "main;copy"),
							   .kind = LAUNCH_COPY,
							   .correlation = 2 + i } });
		scene_put(&s, (struct record){ .type = RECORD_COPY,
					       .copy = { .correlation = 2 + i,
							 .device = 1,
							 .kind = LAUNCH_COPY,
							 .bytes = 64,
							 .start_ns = 1210 + i * 1000,
							 .end_ns = 1310 + i * 1000 } });
	}
	scene_load(&s);
	struct profile *p = scene_profile(&s, (struct analysis_profile_options){ .full = true });
	assert_int_equal(tree_total(p, "syncs"), 1);
	assert_int_equal(tree_total(p, "sync-wait"), 120);
	profile_free(p);
	scene_close(&s);
}

/* A graph launched without its work in the capture may be what a profiler's full buffer lost. */
static void test_unrecorded_graphs(void **state)
{
	(void)state;
	for (uint64_t recorded = 1; recorded <= 4; recorded++) {
		struct analysis_summary sum;
		struct err err = { "" };
		struct scene s;
		scene_toy(&s);
		for (uint64_t i = 0; i < 4; i++) {
			scene_put(&s, (struct record){
					      .type = RECORD_LAUNCH,
					      .launch = { .time_ns = 1000 + i * 1000,
							  .thread = 1,
							  .stack = scene_stack(&s, "main;graph"),
							  .kind = LAUNCH_GRAPH,
							  .correlation = i + 1 } });
			if (i < recorded)
				scene_dispatch(&s, i + 1, 1, 1100 + i * 1000, 1200 + i * 1000);
		}
		scene_work(&s, 9, 1, 9000, 9100);
		scene_load(&s);
		assert_int_equal(analysis_summarize(s.a, &(struct analysis_filter){ .pid = NULL },
						    &sum, &err),
				 0);
		assert_int_equal(sum.graphs, 4);
		/* One alone may have run after the end of the window. */
		assert_int_equal(sum.graphs_unrecorded, recorded < 3 ? 4 - recorded : 0);
		assert_int_equal(sum.verdict == VERDICT_UNKNOWN, recorded < 3);
		analysis_summary_release(&sum);
		scene_close(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_bad_steps),
		cmocka_unit_test(test_repeats),
		cmocka_unit_test(test_no_repeats),
		cmocka_unit_test(test_syncs),
		cmocka_unit_test(test_copy_waits),
		cmocka_unit_test(test_sync_behind_launch),
		cmocka_unit_test(test_unrecorded_graphs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
