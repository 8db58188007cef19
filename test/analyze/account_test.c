/* SPDX-License-Identifier: Apache-2.0 */
/* Device accounting: hand-computed scenes, and random ones against a loop over every nanosecond. */
#include "analyze/account.h"
#include "scene.h"

static const struct analysis_profile_options all = { .full = true };

static void scene_toy(struct scene *s)
{
	scene_open(s);
	scene_process(s, 1, 10, "toy");
	scene_thread(s, 1, 1, 10);
	scene_device(s, 1, 0);
	scene_kernel(s, 1, 1, "gemm");
	scene_kernel(s, 2, 1, "relu");
}

/*
 * t 1000       1100     1300     1350        1600     1700
 *   |gemm 1     |  idle  |gemm 2  |   idle    |relu 3  |
 * launch 2 at 1180: 80 late, 120 in flight. Launch 3 at 1200, before gemm 2 had begun: all of
 * 1350..1600 is in flight.
 */
static void test_late_and_in_flight(void **state)
{
	(void)state;
	struct scene s;
	scene_toy(&s);
	scene_launch(&s, 1, 900, 1, "main;first", 1);
	scene_launch(&s, 2, 1180, 1, "main;second", 1);
	scene_launch(&s, 3, 1200, 1, "main;third", 2);
	scene_dispatch(&s, 1, 1, 1000, 1100);
	scene_dispatch(&s, 2, 1, 1300, 1350);
	scene_dispatch(&s, 3, 1, 1600, 1700);
	scene_load(&s);

	struct profile *p = scene_profile(&s, all);
	assert_int_equal(tree_self(p, "toy;main;first;-;gemm", "wall"), 100);
	assert_int_equal(tree_self(p, "toy;main;second;-;gemm", "wall"), 50);
	assert_int_equal(tree_self(p, "toy;main;third;-;relu", "wall"), 100);
	assert_int_equal(tree_self(p, "toy;main;second;-;[idle: host late]", "wall"), 80);
	assert_int_equal(tree_self(p, "toy;main;second;-;[idle: launch in flight]", "wall"), 120);
	assert_int_equal(tree_self(p, "toy;main;third;-;[idle: launch in flight]", "wall"), 250);
	assert_int_equal(tree_total(p, "wall"), 700);
	assert_int_equal(tree_total(p, "device-time"), 250);
	assert_int_equal(tree_total(p, "launches"), 3);
	profile_free(p);
	scene_close(&s);
}

/*
 * Two dispatches overlap for 60 of their 100 and 300 ns: of those 60, a quarter (15) goes to the
 * short one, three quarters (45) to the long one.
 */
static void test_overlap_is_shared_by_duration(void **state)
{
	(void)state;
	struct scene s;
	scene_toy(&s);
	scene_launch(&s, 1, 900, 1, "main;short", 1);
	scene_launch(&s, 2, 900, 1, "main;long", 2);
	scene_dispatch(&s, 1, 1, 1000, 1100);
	scene_dispatch(&s, 2, 1, 1040, 1340);
	scene_load(&s);

	struct profile *p = scene_profile(&s, all);
	assert_int_equal(tree_self(p, "toy;main;short;-;gemm", "wall"), 40 + 15);
	assert_int_equal(tree_self(p, "toy;main;long;-;relu", "wall"), 240 + 45);
	assert_int_equal(tree_total(p, "wall"), 340);
	assert_int_equal(tree_total(p, "device-time"), 400);
	profile_free(p);
	scene_close(&s);
}

/* Three equal ones at once for 100 ns cannot get 33 each: the sum must stay. */
static void test_rounding_keeps_the_sum(void **state)
{
	(void)state;
	struct scene s;
	scene_toy(&s);
	scene_launch(&s, 1, 900, 1, "a", 1);
	scene_launch(&s, 2, 900, 1, "b", 1);
	scene_launch(&s, 3, 900, 1, "c", 1);
	for (uint64_t i = 1; i <= 3; i++)
		scene_dispatch(&s, i, 1, 1000, 1100);
	scene_load(&s);

	struct profile *p = scene_profile(&s, all);
	uint64_t a = tree_self(p, "toy;a;-;gemm", "wall"), b = tree_self(p, "toy;b;-;gemm", "wall"),
		 c = tree_self(p, "toy;c;-;gemm", "wall");
	assert_int_equal(a + b + c, 100);
	assert_in_range(a, 33, 34);
	assert_in_range(b, 33, 34);
	assert_in_range(c, 33, 34);
	profile_free(p);
	scene_close(&s);
}

/*
 * Idle 1100..2000, next launch at 1900. Meanwhile the launching thread synchronises 1100..1400,
 * is off the CPU 1300..1500 (of which 100 is the synchronising call's) and in a copy call
 * 1600..1650; another thread's waiting does not matter.
 */
static void test_what_the_host_waited_for(void **state)
{
	(void)state;
	struct scene s;
	scene_toy(&s);
	scene_thread(&s, 2, 1, 11);
	scene_launch(&s, 1, 900, 1, "main;first", 1);
	scene_put(&s, (struct record){ .type = RECORD_SYNC,
				       .sync = { .time_ns = 1050,
						 .duration_ns = 350,
						 .thread = 1,
						 .stack = scene_stack(&s, "main;wait") } });
	scene_put(&s, (struct record){ .type = RECORD_BLOCKED,
				       .blocked = { .time_ns = 1300,
						    .duration_ns = 200,
						    .others_ns = 30,
						    .thread = 1,
						    .stack = scene_stack(&s, "main;wait") } });
	scene_put(&s, (struct record){ .type = RECORD_BLOCKED,
				       .blocked = { .time_ns = 1000,
						    .duration_ns = 1000,
						    .thread = 2,
						    .stack = scene_stack(&s, "poll") } });
	scene_put(&s, (struct record){ .type = RECORD_LAUNCH,
				       .launch = { .time_ns = 1600,
						   .duration_ns = 50,
						   .thread = 1,
						   .stack = scene_stack(&s, "main;read"),
						   .kind = LAUNCH_COPY,
						   .correlation = 7 } });
	scene_launch(&s, 2, 1900, 1, "main;second", 1);
	scene_dispatch(&s, 1, 1, 1000, 1100);
	scene_dispatch(&s, 2, 1, 2000, 2100);
	scene_load(&s);

	struct profile *p = scene_profile(&s, all);
	assert_int_equal(tree_self(p, "toy;main;second;-;[idle: sync]", "wall"), 300);
	assert_int_equal(tree_self(p, "toy;main;second;-;[idle: blocked]", "wall"), 100);
	assert_int_equal(tree_self(p, "toy;main;second;-;[idle: copy]", "wall"), 50);
	assert_int_equal(tree_self(p, "toy;main;second;-;[idle: host late]", "wall"),
			 800 - 300 - 100 - 50);
	assert_int_equal(tree_self(p, "toy;main;second;-;[idle: launch in flight]", "wall"), 100);
	assert_int_equal(tree_total(p, "wall"), 1100);
	/* One thread waited 200, and 30 before in waits without a stack, another one 1000. */
	assert_int_equal(tree_self(p, "toy;main;wait", "blocked"), 230);
	assert_int_equal(tree_total(p, "blocked"), 1230);
	/* Of the launching thread's all lies in the gap. */
	assert_int_equal(tree_self(p, "toy;main;wait", "idle-host"), 200);
	assert_int_equal(tree_total(p, "idle-host"), 200);
	profile_free(p);
	scene_close(&s);
}

/* A step that begins 200 before the first work and ends 50 after the last: the time before belongs
 * to the step's own first launch. An op that reaches beyond the step is cut. */
static void test_window_of_steps(void **state)
{
	(void)state;
	struct scene s;
	scene_toy(&s);
	scene_put(&s, (struct record){ .type = RECORD_MARK,
				       .mark = { .time_ns = 2000,
						 .duration_ns = 1000,
						 .thread = 1,
						 .kind = MARK_SPAN,
						 .name = scene_text(&s, "ProfilerStep#6") } });
	scene_launch(&s, 9, 100, 1, "main;warmup", 1);
	scene_launch(&s, 1, 2150, 1, "main;first", 1);
	scene_launch(&s, 2, 2600, 1, "main;second", 2);
	scene_dispatch(&s, 9, 1, 1000, 1500);
	scene_dispatch(&s, 1, 1, 2200, 2300);
	scene_dispatch(&s, 2, 1, 2700, 2950);
	scene_load(&s);

	struct profile *p = scene_profile(&s, all);
	assert_int_equal(tree_total(p, "wall"), 1000);
	assert_int_equal(tree_self(p, "toy;main;first;-;[idle: host late]", "wall"), 150);
	assert_int_equal(tree_self(p, "toy;main;first;-;[idle: launch in flight]", "wall"), 50);
	assert_int_equal(tree_self(p, "toy;main;second;-;[idle: host late]", "wall"), 300);
	assert_int_equal(tree_self(p, "toy;-;[idle: after last]", "wall"), 50);
	assert_int_equal(tree_self(p, "toy;main;warmup;-;gemm", "wall"), 0);
	assert_int_equal(tree_self(p, "toy;main;warmup;-;gemm", "device-time"), 500);
	profile_free(p);

	/* A window of the user's: before the first work nobody is known to be to blame. */
	struct analysis_profile_options opt = all;
	opt.filter.time = "0.000001,0.00000225"; /* 1100..2350: the first moment is 100 */
	p = scene_profile(&s, opt);
	assert_int_equal(tree_total(p, "wall"), 1250);
	assert_int_equal(tree_self(p, "toy;main;warmup;-;gemm", "wall"), 400);
	assert_int_equal(tree_self(p, "toy;main;first;-;[idle: host late]", "wall"), 650);
	assert_int_equal(tree_self(p, "toy;main;first;-;[idle: launch in flight]", "wall"), 50);
	assert_int_equal(tree_self(p, "toy;main;first;-;gemm", "wall"), 100);
	assert_int_equal(tree_self(p, "toy;-;[idle: after last]", "wall"), 50);
	profile_free(p);

	opt.filter.time = "0.0000015,0.0000023"; /* 1600..2400 */
	p = scene_profile(&s, opt);
	assert_int_equal(tree_total(p, "wall"), 800);
	assert_int_equal(tree_self(p, "toy;-;[idle: before first]", "wall"), 600);
	assert_int_equal(tree_self(p, "toy;-;[idle: after last]", "wall"), 100);
	profile_free(p);
	scene_close(&s);
}

/* Work that nobody launched, an unknown device, ends before starts: all in the tree, none lost. */
static void test_nonsense_is_shown(void **state)
{
	(void)state;
	struct scene s;
	scene_toy(&s);
	scene_launch(&s, 1, UINT64_MAX, 99, "lost", 77);
	scene_dispatch(&s, 4711, 1, 1000, 1100);
	scene_dispatch(&s, 0, 1, 1300, 1400);
	scene_dispatch(&s, 1, 3000000000u, 500, 400);
	scene_dispatch(&s, 1, 3000000000u, 600, 700);
	scene_load(&s);

	struct profile *p = scene_profile(&s, all);
	assert_int_equal(tree_self(p, "[unattributed];-;[unknown kernel]", "wall"), 200);
	assert_int_equal(tree_self(p, "[unattributed];-;[idle: unknown]", "wall"), 200);
	/* The other device: from the empty op at 500 to 700; launched "later", so all late. */
	assert_int_equal(tree_self(p, "lost;-;[unknown kernel]", "wall"), 100);
	assert_int_equal(tree_self(p, "lost;-;[idle: host late]", "wall"), 100);
	assert_int_equal(tree_total(p, "wall"), 600);
	profile_free(p);
	scene_close(&s);
}

/* A launch that an import made up, without a thread and a stack, says nothing of the host. */
static void test_made_up_launch(void **state)
{
	(void)state;
	struct scene s;
	scene_toy(&s);
	struct record_frame frame = { scene_object(&s, OBJECT_MISSING, 0, "[unattributed]", ""),
				      0 };
	uint32_t stack;
	assert_int_equal(capture_writer_stack(s.w, &frame, 1, STACK_ROOTED, &stack), 0);
	scene_put(&s, (struct record){ .type = RECORD_LAUNCH,
				       .launch = { .time_ns = 1300,
						   .stack = stack,
						   .kind = LAUNCH_KERNEL,
						   .kernel = 1,
						   .correlation = 2 } });
	scene_launch(&s, 1, 900, 1, "main;first", 1);
	scene_dispatch(&s, 1, 1, 1000, 1100);
	scene_dispatch(&s, 2, 1, 1300, 1400);
	scene_load(&s);
	struct profile *p = scene_profile(&s, all);
	assert_int_equal(tree_self(p, "[unattributed];-;[idle: unknown]", "wall"), 200);
	assert_int_equal(tree_self(p, "[unattributed];-;gemm", "wall"), 100);
	assert_int_equal(tree_total(p, "wall"), 400);
	profile_free(p);
	scene_close(&s);
}

/* ---- random sets against the definition ---- */

#define OPS    24
#define LENGTH 600

struct toy {
	uint64_t start, end, launched;
	double busy;
};

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* The definition, nanosecond by nanosecond. */
static void reference(struct toy *ops, size_t n, double *late, double *flight)
{
	uint64_t first = UINT64_MAX, last = 0;
	for (size_t i = 0; i < n; i++) {
		first = ops[i].start < first ? ops[i].start : first;
		last = ops[i].end > last ? ops[i].end : last;
	}
	for (uint64_t t = first; t < last; t++) {
		double sum = 0;
		const struct toy *next = NULL;
		for (size_t i = 0; i < n; i++) {
			if (ops[i].start <= t && t < ops[i].end)
				sum += (double)(ops[i].end - ops[i].start);
			if (ops[i].start > t && (!next || ops[i].start < next->start))
				next = &ops[i];
		}
		for (size_t i = 0; i < n && sum > 0; i++) {
			if (ops[i].start <= t && t < ops[i].end)
				ops[i].busy += (double)(ops[i].end - ops[i].start) / sum;
		}
		if (sum == 0)
			*(t < next->launched ? late : flight) += 1;
	}
}

static void check_random(uint32_t seed)
{
	struct toy ops[OPS];
	size_t n = 1 + next_random(&seed) % OPS;
	/* Sparse sets have gaps, dense ones long chains. */
	uint64_t longest = 1 + next_random(&seed) % 120;
	double late = 0, flight = 0;
	struct scene s;

	scene_toy(&s);
	for (size_t i = 0; i < n; i++) {
		char stack[32];
		ops[i].start = 5000 + next_random(&seed) % LENGTH;
		ops[i].end = ops[i].start + next_random(&seed) % longest;
		ops[i].launched = ops[i].start - next_random(&seed) % 60;
		ops[i].busy = 0;
		for (size_t k = 0; k < i; k++) { /* of equal starts it does not matter which */
			if (ops[k].start == ops[i].start)
				ops[i].launched = ops[k].launched;
		}
		snprintf(stack, sizeof(stack), "op%zu", i);
		scene_launch(&s, i + 1, ops[i].launched, 1, stack, 1);
	}
	for (size_t i = 0; i < n; i++)
		scene_dispatch(&s, i + 1, 1, ops[i].start, ops[i].end);
	scene_load(&s);
	reference(ops, n, &late, &flight);

	struct profile *p = scene_profile(&s, all);
	uint64_t first = UINT64_MAX, last = 0, got_late = 0, got_flight = 0;
	for (size_t i = 0; i < n; i++) {
		char path[64];
		snprintf(path, sizeof(path), "toy;op%zu;-;gemm", i);
		double busy = (double)tree_self(p, path, "wall");
		assert_true(busy > ops[i].busy - 1.01 && busy < ops[i].busy + 1.01);
		assert_true(busy <= (double)(ops[i].end - ops[i].start));
		snprintf(path, sizeof(path), "toy;op%zu;-;[idle: host late]", i);
		got_late += tree_self(p, path, "wall");
		snprintf(path, sizeof(path), "toy;op%zu;-;[idle: launch in flight]", i);
		got_flight += tree_self(p, path, "wall");
		first = ops[i].start < first ? ops[i].start : first;
		last = ops[i].end > last ? ops[i].end : last;
	}
	assert_int_equal(got_late, (uint64_t)late);
	assert_int_equal(got_flight, (uint64_t)flight);
	assert_int_equal(tree_total(p, "wall"), last - first);
	profile_free(p);
	scene_close(&s);
}

static void test_random_sets(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= 300; seed++)
		check_random(seed);
}

/* Times at the end of what is possible do not overflow. */
static void test_huge_times(void **state)
{
	(void)state;
	struct scene s;
	scene_toy(&s);
	scene_launch(&s, 1, 1, 1, "a", 1);
	scene_launch(&s, 2, 2, 1, "b", 1);
	scene_dispatch(&s, 1, 1, 1, UINT64_MAX);
	scene_dispatch(&s, 2, 1, 0, UINT64_MAX - 1);
	scene_load(&s);
	struct profile *p = scene_profile(&s, all);
	assert_int_equal(tree_total(p, "wall"), TIME_MAX_NS);
	profile_free(p);
	scene_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_late_and_in_flight),
		cmocka_unit_test(test_overlap_is_shared_by_duration),
		cmocka_unit_test(test_rounding_keeps_the_sum),
		cmocka_unit_test(test_what_the_host_waited_for),
		cmocka_unit_test(test_window_of_steps),
		cmocka_unit_test(test_nonsense_is_shown),
		cmocka_unit_test(test_made_up_launch),
		cmocka_unit_test(test_random_sets),
		cmocka_unit_test(test_huge_times),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
