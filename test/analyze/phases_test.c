/* SPDX-License-Identifier: Apache-2.0 */
/* What a program is at: hand-computed scenes. */
#include "analyze/phases.h"
#include "analyze/summary.h"
#include "scene.h"

static void scene_toy(struct scene *s)
{
	scene_open(s);
	scene_process(s, 1, 10, "toy");
	scene_thread(s, 1, 1, 10);
	scene_thread(s, 2, 1, 11);
	scene_device(s, 1, 0);
	scene_kernel(s, 1, 1, "gemm");
}

static void scene_work(struct scene *s, uint64_t start_ns, uint64_t end_ns)
{
	scene_launch(s, start_ns, start_ns - 10, 1, "main;run", 1);
	scene_dispatch(s, start_ns, 1, start_ns, end_ns);
}

static void scene_mark(struct scene *s, const char *name, uint64_t iteration, uint64_t begin_ns,
		       uint64_t end_ns)
{
	scene_put(s, (struct record){ .type = RECORD_MARK,
				      .mark = { .time_ns = begin_ns,
						.duration_ns = end_ns - begin_ns,
						.thread = 1,
						.kind = MARK_SPAN,
						.name = scene_text(s, name),
						.iteration = iteration } });
}

static void scene_span(struct scene *s, uint32_t thread, const char *stack, uint64_t begin_ns,
		       uint64_t end_ns)
{
	scene_put(s, (struct record){ .type = RECORD_CPU_SAMPLE,
				      .cpu_sample = { .time_ns = begin_ns,
						      .weight = end_ns - begin_ns,
						      .thread = thread,
						      .stack = scene_stack(s, stack),
						      .flags = CPU_SAMPLE_SPAN } });
}

static struct phases_summary phases_of(struct scene *s)
{
	struct phases_summary p;
	struct err err = { "" };
	assert_int_equal(analysis_phases(s->a, &(struct analysis_filter){ 0 }, &p, &err), 0);
	return p;
}

static void expect(const struct phase_summary *p, const char *name, uint64_t ns, uint64_t steps,
		   uint64_t busy_ns, uint64_t launches)
{
	assert_string_equal(p->name, name);
	assert_int_equal(p->ns, ns);
	assert_int_equal(p->steps, steps);
	assert_int_equal(p->busy_ns, busy_ns);
	assert_int_equal(p->launches, launches);
}

/*
 * From 1000 (the header's time) on: 1000..1500 nothing known, 1500..2000 imports, 2000..3000 loads
 * a model while another thread compiles, 3000..3400 compiles. Steps of 900, 700, then six of 100
 * from 5600 on; in the first of them it compiles 4000..4600. The end is at 6300.
 */
static void test_steps(void **state)
{
	(void)state;
	struct scene s;
	scene_toy(&s);
	scene_span(&s, 1, "main;_find_and_load", 1500, 2000);
	scene_span(&s, 2, "start;clBuildProgram", 1500, 3000);
	scene_span(&s, 1, "main;from_pretrained", 2000, 3000);
	scene_span(&s, 1, "main;clBuildProgram", 3000, 3400);
	scene_span(&s, 1, "main;step;clBuildProgram", 4000, 4600);
	/* Of the steady phase it is no phase of its own. */
	scene_span(&s, 1, "main;step;clBuildProgram", 5810, 5820);
	scene_mark(&s, "Step", 1, 4000, 4900);
	scene_mark(&s, "Step", 2, 4900, 5600);
	for (uint64_t i = 0; i < 6; i++) {
		scene_mark(&s, "Step", 3 + i, 5600 + i * 100, 5700 + i * 100);
		scene_work(&s, 5620 + i * 100, 5670 + i * 100);
	}
	scene_work(&s, 4590, 4690); /* launched in the compilation */
	scene_span(&s, 1, "main;exit", 6200, 6300);
	scene_load(&s);

	struct phases_summary p = phases_of(&s);
	assert_int_equal(p.count, 7);
	assert_int_equal(p.ns, 5300);
	expect(&p.list[0], "start", 500 + 600, 0, 0, 0);
	expect(&p.list[1], "import", 500, 0, 0, 0);
	expect(&p.list[2], "load", 1000, 0, 0, 0);
	expect(&p.list[3], "compile", 400 + 600, 0, 10, 1);
	expect(&p.list[4], "warm-up", 300 + 700, 2, 90, 0);
	expect(&p.list[5], "steady", 600, 6, 300, 6);
	expect(&p.list[6], "end", 100, 0, 0, 0);

	/* The verdict is about the steady steps: 5600..6200, half of it busy. */
	struct analysis_summary sum;
	struct err err = { "" };
	assert_int_equal(analysis_summarize(s.a, &(struct analysis_filter){ 0 }, &sum, &err), 0);
	assert_int_equal(sum.steps, 6);
	assert_int_equal(sum.warmup_steps, 2);
	assert_int_equal(sum.devices[0].begin_ns, 5600);
	assert_int_equal(sum.devices[0].end_ns, 6200);
	assert_int_equal(sum.devices[0].ns[ACCOUNT_BUSY], 300);
	analysis_summary_release(&sum);
	/* Asked for, all of them count. */
	assert_int_equal(
		analysis_summarize(s.a, &(struct analysis_filter){ .step = "all" }, &sum, &err), 0);
	assert_int_equal(sum.steps, 8);
	assert_int_equal(sum.warmup_steps, 0);
	analysis_summary_release(&sum);
	scene_close(&s);
}

/* Steps that differ as steps do are no warm-up, nor is a first one that takes little of the whole,
 * nor the first of three. */
static void test_no_warmup(void **state)
{
	(void)state;
	static const uint64_t lengths[][12] = {
		{ 140, 100, 110, 90, 130, 100 },
		{ 160, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100 }, /* 12 %: matters */
		{ 151, 100, 100, 100 },
		{ 900, 100, 100 },
		{ 149, 100, 100, 100, 100 },
	};
	static const uint64_t expected[] = { 0, 1, 1, 0, 0 };
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		struct scene s;
		uint64_t now = 2000;
		scene_toy(&s);
		scene_work(&s, 2010, 2020);
		for (size_t k = 0; k < 12 && lengths[i][k]; k++) {
			scene_mark(&s, "Step", 1 + k, now, now + lengths[i][k]);
			now += lengths[i][k];
			scene_work(&s, now - 50, now - 40);
		}
		scene_load(&s);
		struct phases_summary p = phases_of(&s);
		uint64_t steps = 0;
		for (size_t k = 0; k < p.count; k++)
			steps += !strcmp(p.list[k].name, "warm-up") ? p.list[k].steps : 0;
		assert_int_equal(steps, expected[i]);
		scene_close(&s);
	}
}

/* What marks say goes before what names say, however it is spelt. */
static void test_marked(void **state)
{
	(void)state;
	struct scene s;
	scene_toy(&s);
	scene_span(&s, 1, "main;_find_and_load", 1000, 2000);
	scene_mark(&s, "Warm_Up", 0, 1500, 2000);
	scene_mark(&s, "phase: steady", 0, 2000, 2600);
	scene_mark(&s, "warmed", 0, 2600, 2700);
	scene_work(&s, 2100, 2200);
	scene_work(&s, 2550, 2700);
	scene_load(&s);
	struct phases_summary p = phases_of(&s);
	assert_int_equal(p.count, 4);
	expect(&p.list[0], "import", 500, 0, 0, 0);
	expect(&p.list[1], "warm-up", 500, 0, 0, 0);
	expect(&p.list[2], "steady", 600, 0, 150, 2);
	expect(&p.list[3], "device work", 100, 0, 100, 0);
	scene_close(&s);
}

/* Between two samples of the same the thread was in it; where they differ, for three periods. */
static void test_samples(void **state)
{
	(void)state;
	static const uint64_t ms = 1000000;
	struct scene s;
	scene_toy(&s); /* 1000 Hz */
	for (uint64_t i = 0; i < 4; i++)
		scene_put(&s, (struct record){ .type = RECORD_CPU_SAMPLE,
					       .cpu_sample = {
						       .time_ns = (100 + i * 20) * ms,
						       .weight = 1,
						       .thread = 1,
						       .stack = scene_stack(
							       &s, i < 3 ? "main;dlopen" : "main"),
					       } });
	scene_work(&s, 200 * ms, 210 * ms);
	scene_load(&s);
	struct phases_summary p = phases_of(&s);
	assert_int_equal(p.count, 3);
	expect(&p.list[1], "import", (20 + 20 + 3) * ms, 0, 0, 0);
	scene_close(&s);
}

/* A graph is captured between two calls. */
static void test_capture(void **state)
{
	(void)state;
	struct scene s;
	scene_toy(&s);
	scene_span(&s, 1, "main;cudaStreamBeginCapture", 2000, 2010);
	scene_span(&s, 1, "main;cudaStreamEndCapture", 2500, 2520);
	scene_work(&s, 3000, 3100);
	scene_load(&s);
	struct phases_summary p = phases_of(&s);
	assert_int_equal(p.count, 3);
	expect(&p.list[1], "capture", 500, 0, 0, 0);
	scene_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),   cmocka_unit_test(test_no_warmup),
		cmocka_unit_test(test_marked),  cmocka_unit_test(test_samples),
		cmocka_unit_test(test_capture),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
