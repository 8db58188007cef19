/* SPDX-License-Identifier: Apache-2.0 */
/* Queues, overlap and outliers, by hand. */
#include "analyze/queueing.h"
#include "analyze/summary.h"
#include "analyze/work.h"
#include "scene.h"

static const struct analysis_filter everything = { .pid = NULL };

static void scene_toy(struct scene *s)
{
	scene_open(s);
	scene_process(s, 1, 10, "toy");
	scene_thread(s, 1, 1, 10);
	scene_device(s, 1, 0);
	scene_kernel(s, 1, 1, "gemm");
	scene_kernel(s, 2, 1, "all_reduce");
}

static void put(struct scene *s, uint64_t correlation, uint64_t launched, uint64_t start,
		uint64_t end)
{
	scene_launch(s, correlation, launched, 1, "main", 1);
	scene_dispatch(s, correlation, 1, start, end);
}

static void test_spread(void **state)
{
	(void)state;
	struct spread s;
	uint64_t values[] = { 7, 1, 4, 4 };
	spread_of(values, 4, &s);
	assert_int_equal(s.median, 4);
	assert_int_equal(s.p95, 7);
	/* mean 4, squares 9 + 9, divided by 3: the root of 6 */
	assert_int_equal(s.deviation, 2);
	uint64_t hundred[100];
	for (uint64_t i = 0; i < 100; i++)
		hundred[i] = 100 - i;
	spread_of(hundred, 100, &s);
	assert_int_equal(s.median, 50); /* between 50 and 51 */
	assert_int_equal(s.p95, 95);
	spread_of(hundred, 1, &s);
	assert_int_equal(s.median, 1);
	assert_int_equal(s.deviation, 0);
	spread_of(NULL, 0, &s);
	assert_int_equal(s.count, 0);
}

/*
 *          1000  1100   1200   1300   1400   1500   1600   1700   1800   1900  2000
 * work       |---1---|---2---|---3---|                           |----4---------|
 * launches  1:980  2:1050 3:1060                            4:1700
 * The window is 1000..2000. 1 and 4 meet an idle device, after 20 and 100.
 */
static void test_queue(void **state)
{
	(void)state;
	struct scene s;
	struct queue_slice *list;
	size_t count;
	struct err err = { "" };

	scene_toy(&s);
	put(&s, 1, 980, 1000, 1100);
	put(&s, 2, 1050, 1100, 1200);
	put(&s, 3, 1060, 1200, 1300);
	put(&s, 4, 1700, 1800, 2000);
	scene_load(&s);
	assert_int_equal(analysis_queueing(s.a, &everything, 2, &list, &count, &err), 0);
	assert_int_equal(count, 3);
	/* 1000..1500; the launch of 1 was before. Depth 1 for 50, 2 for 10, 3 for 40, 2 for 100, 1 for
	 * 100. */
	assert_int_equal(list[0].launches, 2);
	assert_int_equal(list[0].on_idle, 0);
	assert_int_equal(list[0].latency.count, 0);
	assert_int_equal(list[0].depth_ns, 50 + 20 + 120 + 200 + 100);
	assert_int_equal(list[0].depth_max, 3);
	assert_int_equal(list[0].idle_ns, 200);
	assert_int_equal(list[1].launches, 1);
	assert_int_equal(list[1].on_idle, 1);
	assert_int_equal(list[1].latency.median, 100);
	assert_int_equal(list[1].depth_ns, 300);
	assert_int_equal(list[1].depth_max, 1);
	assert_int_equal(list[1].idle_ns, 200);
	assert_true(list[2].is_whole);
	assert_int_equal(list[2].depth_ns, 490 + 300);
	assert_int_equal(list[2].begin_ns, 1000);
	assert_int_equal(list[2].end_ns, 2000);
	free(list);
	scene_close(&s);
}

static void put_copy(struct scene *s, uint64_t correlation, uint64_t start, uint64_t end)
{
	scene_put(s, (struct record){ .type = RECORD_COPY,
				      .copy = { .correlation = correlation,
						.device = 1,
						.kind = LAUNCH_COPY,
						.start_ns = start,
						.end_ns = end } });
}

static void put_collective(struct scene *s, uint64_t correlation, uint64_t start, uint64_t end)
{
	scene_put(s, (struct record){ .type = RECORD_DISPATCH,
				      .dispatch = { .correlation = correlation,
						    .device = 1,
						    .kernel = 2,
						    .start_ns = start,
						    .end_ns = end,
						    .kind = LAUNCH_COLLECTIVE } });
}

/*
 * kernels        1000..1300 (two that overlap)        1900..2000
 * copies               1200..1400
 * communication              1250..1500    1600..1700
 */
static void test_overlap(void **state)
{
	(void)state;
	struct scene s;
	struct overlap *list;
	size_t count;
	struct err err = { "" };

	scene_toy(&s);
	put(&s, 1, 900, 1000, 1200);
	put(&s, 2, 900, 1100, 1300);
	put(&s, 3, 900, 1900, 2000);
	put_copy(&s, 4, 1200, 1400);
	put_collective(&s, 5, 1250, 1500);
	put_collective(&s, 6, 1600, 1700);
	scene_load(&s);
	assert_int_equal(analysis_overlap(s.a, &everything, &list, &count, &err), 0);
	assert_int_equal(count, 1);
	const uint64_t *ns = list[0].ns;
	assert_int_equal(ns[OVERLAP_COMPUTE], 200 + 100);
	assert_int_equal(ns[OVERLAP_COMPUTE | OVERLAP_COPY], 50);
	assert_int_equal(ns[OVERLAP_COMPUTE | OVERLAP_COPY | OVERLAP_COMMUNICATION], 50);
	assert_int_equal(ns[OVERLAP_COPY | OVERLAP_COMMUNICATION], 100);
	assert_int_equal(ns[OVERLAP_COMMUNICATION], 100 + 100);
	assert_int_equal(ns[OVERLAP_COPY], 0);
	assert_int_equal(ns[OVERLAP_COMPUTE | OVERLAP_COMMUNICATION], 0);
	assert_int_equal(ns[0], 100 + 200);
	free(list);
	scene_close(&s);
}

/*
 * Six collectives of 10, the first of which waits 20,000 for a rank that begins later: it is no
 * time of communication, and in no mean.
 */
static void test_outlier(void **state)
{
	(void)state;
	struct scene s;
	struct analysis_summary sum;
	struct err err = { "" };

	scene_toy(&s);
	put_collective(&s, 1, 1000, 21000);
	for (uint64_t i = 0; i < 5; i++)
		put_collective(&s, 2 + i, 30000 + 1000 * i, 30010 + 1000 * i);
	for (uint64_t i = 0; i < 5; i++)
		put(&s, 20 + i, 30010 + 1000 * i, 30020 + 1000 * i, 30900 + 1000 * i);
	scene_load(&s);
	assert_int_equal(analysis_summarize(s.a, &everything, &sum, &err), 0);
	assert_int_equal(sum.outlier_count, 1);
	assert_string_equal(sum.outliers[0].name, "all_reduce");
	assert_int_equal(sum.outliers[0].ns, 20000);
	assert_int_equal(sum.outliers[0].median_ns, 10);
	assert_int_equal(sum.all.outlier_ns, 20000);
	assert_int_equal(sum.all.collective_ns, 50);
	assert_int_equal(device_kernel_ns(&sum.all), 5 * 880);
	assert_int_equal(sum.all.ns[ACCOUNT_BUSY], 20000 + 50 + 5 * 880);
	assert_int_not_equal(sum.verdict, VERDICT_COMMUNICATION);
	analysis_summary_release(&sum);

	struct work w;
	assert_int_equal(analysis_work(s.a, &everything, &w, &err), 0);
	uint32_t groups[8] = { 0 };
	struct spread spreads[2];
	size_t outliers = 0;
	assert_true(w.item_count <= 8);
	for (size_t i = 0; i < w.item_count; i++) {
		struct frame f = profile_frame_get(w.p, profile_node(w.p, w.items[i].node).frame);
		groups[i] = strcmp(f.name, "gemm") != 0;
		outliers += w.items[i].outliers;
	}
	assert_int_equal(outliers, 1);
	assert_int_equal(work_spreads(&w, groups, 2, spreads), 0);
	assert_int_equal(spreads[0].count, 5);
	assert_int_equal(spreads[0].median, 880);
	assert_int_equal(spreads[1].count, 5); /* not six */
	assert_int_equal(spreads[1].p95, 10);
	assert_int_equal(spreads[1].deviation, 0);
	work_release(&w);
	scene_close(&s);
}

/* A long one in the middle is the program's own, and of few nobody knows what is usual. */
static void test_no_outlier(void **state)
{
	(void)state;
	struct scene s;
	struct analysis_summary sum;
	struct err err = { "" };

	scene_toy(&s);
	for (uint64_t i = 0; i < 6; i++)
		put_collective(&s, 1 + i, 100000 * i + 1000, 100000 * i + (i == 3 ? 21000 : 1010));
	put(&s, 20, 900, 700000, 800000);
	put(&s, 21, 900, 800000, 800010);
	scene_load(&s);
	assert_int_equal(analysis_summarize(s.a, &everything, &sum, &err), 0);
	assert_int_equal(sum.outlier_count, 0);
	assert_int_equal(sum.all.outlier_ns, 0);
	analysis_summary_release(&sum);
	scene_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spread),     cmocka_unit_test(test_queue),
		cmocka_unit_test(test_overlap),    cmocka_unit_test(test_outlier),
		cmocka_unit_test(test_no_outlier),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
