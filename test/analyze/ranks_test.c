/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives of several ranks: hand-computed scenes, as torch.profiler's traces tell of them. */
#include "analyze/hints.h"
#include "analyze/ranks.h"
#include "analyze/summary.h"
#include "scene.h"

static void scene_ranks(struct scene *s, uint32_t count)
{
	scene_open(s);
	for (uint32_t i = 1; i <= count; i++) {
		scene_put(s, (struct record){ .type = RECORD_PROCESS,
					      .process = { .id = i,
							   .pid = 100 + i,
							   .comm = scene_text(s, "train"),
							   .rank = i } });
		scene_thread(s, i, i, 100 + i);
		scene_put(s,
			  (struct record){ .type = RECORD_DEVICE,
					   .device = { .id = i, .index = i - 1, .process = i } });
	}
	scene_kernel(s, 1, 0, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)");
}

static void collective(struct scene *s, uint32_t rank, const char *metadata, const char *stack,
		       uint64_t start_ns, uint64_t end_ns)
{
	uint64_t correlation = start_ns * 16 + rank;
	scene_put(s, (struct record){ .type = RECORD_LAUNCH,
				      .launch = { .time_ns = start_ns - 5,
						  .thread = rank,
						  .stack = scene_stack(s, stack),
						  .kind = LAUNCH_COLLECTIVE,
						  .kernel = 1,
						  .correlation = correlation,
						  .metadata = scene_text(s, metadata) } });
	scene_put(s, (struct record){ .type = RECORD_DISPATCH,
				      .dispatch = { .correlation = correlation,
						    .device = rank,
						    .kernel = 1,
						    .start_ns = start_ns,
						    .end_ns = end_ns,
						    .kind = LAUNCH_COLLECTIVE } });
}

static struct ranks_summary ranks_of(struct scene *s, const char *device)
{
	struct ranks_summary r;
	struct err err = { "" };
	scene_load(s);
	assert_int_equal(
		analysis_ranks(s->a, &(struct analysis_filter){ .device = device }, &r, &err), 0);
	return r;
}

/*
 * Rank 0 comes at 2000 and at 5000, rank 1 at 2300 and at 5050; all are done at 2400 and at 5150:
 * rank 0 waits for 300 and 50, the transfers take 100 each on both. One of rank 0 alone has no like.
 */
static void test_by_time(void **state)
{
	(void)state;
	struct scene s;
	scene_ranks(&s, 2);
	collective(&s, 1, "", "main;c10d::allreduce_;nccl:all_reduce;launch", 2000, 2400);
	collective(&s, 2, "", "main;c10d::allreduce_;nccl:all_reduce;launch", 2300, 2400);
	collective(&s, 1, "", "main;nccl:all_reduce;launch", 3000, 3700);
	collective(&s, 1, "", "main;nccl:all_reduce;launch", 5000, 5150);
	collective(&s, 2, "", "main;nccl:all_reduce;launch", 5050, 5150);
	struct ranks_summary r = ranks_of(&s, NULL);

	assert_int_equal(r.rank_count, 2);
	assert_int_equal(r.sets, 2);
	assert_int_equal(r.wait_ns, 350);
	assert_int_equal(r.ranks[0].rank, 1);
	assert_int_equal(r.ranks[0].collectives, 3);
	assert_int_equal(r.ranks[0].matched, 2);
	assert_int_equal(r.ranks[0].time_ns, 400 + 700 + 150);
	assert_int_equal(r.ranks[0].wait_ns, 350);
	assert_int_equal(r.ranks[0].transfer_ns, 200);
	assert_int_equal(r.ranks[0].last, 0);
	assert_int_equal(r.ranks[1].wait_ns, 0);
	assert_int_equal(r.ranks[1].transfer_ns, 200);
	assert_int_equal(r.ranks[1].last, 2);
	assert_int_equal(r.ranks[1].cost_ns, 350);
	assert_int_equal(r.count, 1);
	assert_string_equal(r.list[0].name, "all_reduce");
	assert_int_equal(r.list[0].slowest, 1);
	assert_int_equal(r.list[0].slowest_ns, 350);
	assert_int_equal(r.list[0].last, 2);
	analysis_ranks_release(&r);
	scene_close(&s);
}

/* Three ranks whose clocks have nothing in common, and traces that count their collectives: what
 * belongs together is told by number and group. */
static void test_by_number(void **state)
{
	(void)state;
	struct scene s;
	scene_ranks(&s, 3);
	const char *first = "collective=allreduce;group=0;group-size=8;sequence=7";
	const char *second = "collective=allreduce;group=0;group-size=8;sequence=8";
	collective(&s, 1, first, "main;launch", 2000, 2900);
	collective(&s, 1, second, "main;launch", 3000, 3100);
	collective(&s, 2, second, "main;launch", 102000, 102500);
	collective(&s, 3, first, "main;launch", 2001, 2201);
	collective(&s, 3, "collective=allreduce;group=1;sequence=8", "main;launch", 3001, 3901);
	struct ranks_summary r = ranks_of(&s, NULL);

	/* Number 7: 900 and 200; number 8: 100 and 500. */
	assert_int_equal(r.sets, 2);
	assert_int_equal(r.world, 8);
	assert_int_equal(r.ranks[0].wait_ns, 700);
	assert_int_equal(r.ranks[0].transfer_ns, 200 + 100);
	assert_int_equal(r.ranks[0].cost_ns, 400);
	assert_int_equal(r.ranks[1].wait_ns, 400);
	assert_int_equal(r.ranks[2].cost_ns, 700);
	assert_int_equal(r.ranks[2].matched, 1);
	analysis_ranks_release(&r);
	scene_close(&s);
}

/* The same without numbers: the first is the first on all ranks. */
static void test_by_order(void **state)
{
	(void)state;
	struct scene s;
	scene_ranks(&s, 2);
	for (uint64_t i = 0; i < 5; i++) {
		collective(&s, 1, "collective=all_gather", "main", 2000 + i * 1000,
			   2100 + i * 1000);
		collective(&s, 2, "collective=all_gather", "main", 902000 + i * 1000,
			   902100 + i * 1000 + i);
	}
	struct ranks_summary r = ranks_of(&s, NULL);
	assert_int_equal(r.sets, 5);
	assert_int_equal(r.ranks[0].wait_ns, 0);
	assert_int_equal(r.ranks[0].transfer_ns, 500);
	assert_int_equal(r.ranks[1].wait_ns, 0 + 1 + 2 + 3 + 4);
	/* The first took both as long: nobody was last. */
	assert_int_equal(r.ranks[0].last, 4);
	assert_int_equal(r.ranks[1].last, 0);
	analysis_ranks_release(&r);
	scene_close(&s);
}

/* The root of a broadcast need not wait: its short time is no transfer of the others. */
static void test_rooted(void **state)
{
	(void)state;
	struct scene s;
	scene_ranks(&s, 2);
	collective(&s, 1, "collective=broadcast;sequence=1", "main", 2000, 2010);
	collective(&s, 2, "collective=broadcast;sequence=1", "main", 2000, 2900);
	struct ranks_summary r = ranks_of(&s, NULL);
	assert_int_equal(r.rank_count, 2);
	assert_int_equal(r.sets, 0);
	assert_int_equal(r.list[0].matched, 0);
	assert_int_equal(r.list[0].time_ns, 910);
	analysis_ranks_release(&r);
	scene_close(&s);
}

/* What a filter leaves of the other rank is not there to be compared with. */
static void test_one_rank(void **state)
{
	(void)state;
	struct scene s;
	scene_ranks(&s, 2);
	collective(&s, 1, "collective=allreduce", "main", 2000, 2400);
	collective(&s, 2, "collective=allreduce", "main", 2300, 2400);
	struct ranks_summary r = ranks_of(&s, "0");
	assert_int_equal(r.rank_count, 1);
	assert_int_equal(r.sets, 0);
	assert_int_equal(r.ranks[0].matched, 0);
	assert_int_equal(r.ranks[0].time_ns, 400);
	analysis_ranks_release(&r);

	struct analysis_summary sum;
	struct err err = { "" };
	assert_int_equal(analysis_summarize(s.a, &(struct analysis_filter){ 0 }, &sum, &err), 0);
	assert_int_equal(sum.ranks, 2);
	assert_int_equal(sum.rank_wait_ns, 300);
	assert_int_equal(sum.verdict, VERDICT_COMMUNICATION);
	analysis_summary_release(&sum);
	scene_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_time),  cmocka_unit_test(test_by_number),
		cmocka_unit_test(test_by_order), cmocka_unit_test(test_rooted),
		cmocka_unit_test(test_one_rank),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
