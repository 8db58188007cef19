/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles: frames of every kind, metrics, filters, what is missing. */
#include "analyze/class.h"
#include "analyze/summary.h"
#include "scene.h"

static const struct analysis_profile_options all = { .full = true };

static void scene_sample(struct scene *s, uint64_t time_ns, uint32_t thread, uint32_t stack,
			 uint32_t flags, uint64_t weight)
{
	scene_put(s, (struct record){ .type = RECORD_CPU_SAMPLE,
				      .cpu_sample = { .time_ns = time_ns,
						      .thread = thread,
						      .stack = stack,
						      .flags = flags,
						      .weight = weight } });
}

static uint32_t stack_of(struct scene *s, const struct record_frame *frames, uint32_t count,
			 uint32_t flags)
{
	uint32_t id;
	assert_int_equal(capture_writer_stack(s->w, frames, count, flags, &id), 0);
	return id;
}

/* What a picture is headed by: what was asked for, else the one process there is. */
static void test_command(void **state)
{
	(void)state;
	static const struct {
		const char *asked, *commands[2], *want;
		uint32_t parent; /* of the second */
	} cases[] = {
		{ NULL, { "", "" }, NULL, 0 },
		{ NULL, { "", "python3 train.py" }, "python3 train.py", 0 },
		{ NULL, { "a", "b" }, NULL, 0 },
		{ NULL, { "a", "a" }, NULL, 0 },
		{ NULL, { "python3 train.py", "python3 train.py" }, "python3 train.py", 1 },
		{ "torchrun x", { "a", "b" }, "torchrun x", 0 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct scene s;
		scene_open(&s);
		if (cases[i].asked)
			scene_put(&s,
				  (struct record){
					  .type = RECORD_INFO,
					  .info = { .key = scene_text(&s, "asked.command"),
						    .value = scene_text(&s, cases[i].asked) } });
		for (uint32_t id = 1; id <= 2; id++)
			scene_put(&s,
				  (struct record){
					  .type = RECORD_PROCESS,
					  .process = { .id = id,
						       .pid = id,
						       .parent = id == 2 ? cases[i].parent : 0,
						       .command = scene_text(
							       &s, cases[i].commands[id - 1]) } });
		scene_load(&s);
		const char *command = analysis_command(s.a);
		if (cases[i].want)
			assert_string_equal(command, cases[i].want);
		else
			assert_null(command);
		scene_close(&s);
	}
}

/* User frames from the root on, then those of the OS; Python by line; inlined functions are frames;
 * names and kinds as the symbols say. */
static void test_host_frames(void **state)
{
	(void)state;
	struct scene s;
	scene_open(&s);
	scene_process(&s, 1, 10, "python3");
	scene_thread(&s, 1, 1, 10);
	uint32_t os = scene_object(&s, OBJECT_KERNEL, 0, "[kernel]", "");
	uint32_t lib = scene_object(&s, OBJECT_ELF, 0, "libx.so", "/opt/app/libx.so");
	uint32_t py = scene_object(&s, OBJECT_PYTHON, 0, "step", "/home/u/train.py");
	struct record_symbol_line lines[] = {
		{ scene_text(&s, "_ZN1x5outerEi"), scene_text(&s, "/src/x.cc"), 7 },
		{ scene_text(&s, "_ZN1x5innerEi"), scene_text(&s, "/src/x.h"), 3 },
	};
	scene_put(
		&s,
		(struct record){
			.type = RECORD_SYMBOL,
			.symbol = { .object = lib, .offset = 0x10, .count = 2, .lines = lines } });
	scene_sample(
		&s, 2000, 1,
		stack_of(&s,
			 (struct record_frame[]){
				 { os, 0xffff0000 }, { lib, 0x10 }, { lib, 0x99 }, { py, 42 } },
			 4, STACK_ROOTED),
		0, 3);
	scene_sample(&s, 2001, 1, stack_of(&s, (struct record_frame[]){ { lib, 0x10 } }, 1, 0), 0,
		     2);
	scene_load(&s);

	struct profile *p = scene_profile(&s, all);
	assert_int_equal(tree_self(p,
				   "python3;py::step (train.py:42);libx.so+0x99;x::outer;x::inner;"
				   "[kernel]+0xffff0000",
				   "cpu-samples"),
			 3);
	assert_int_equal(tree_self(p, "python3;[truncated];x::outer;x::inner", "cpu-samples"), 2);
	struct profile *outer = scene_profile(
		&s, (struct analysis_profile_options){ .full = true, .no_inline = true });
	assert_int_equal(tree_self(outer, "python3;[truncated];x::outer", "cpu-samples"), 2);
	assert_int_equal(tree_self(outer,
				   "python3;py::step (train.py:42);libx.so+0x99;x::outer;"
				   "[kernel]+0xffff0000",
				   "cpu-samples"),
			 3);
	profile_free(outer);
	/* 1000 Hz: a sample is a millisecond. */
	assert_int_equal(tree_total(p, "cpu-time"), 5000000);
	uint32_t node =
		tree_child(p, tree_child(p, PROFILE_ROOT, "python3"), "py::step (train.py:42)");
	struct frame f = profile_frame_get(p, profile_node(p, node).frame);
	assert_int_equal(f.kind, FRAME_PYTHON);
	assert_int_equal(f.class, FRAME_CLASS_OWN);
	assert_string_equal(f.file, "/home/u/train.py");
	assert_int_equal(f.line, 42);
	profile_free(p);

	struct analysis_summary sum;
	struct err err;
	assert_int_equal(analysis_summarize(s.a, &(struct analysis_filter){ 0 }, &sum, &err), 0);
	assert_int_equal(sum.cpu_samples, 5);
	assert_int_equal(sum.cpu_rooted, 3);
	assert_int_equal(sum.cpu_by_cause[STACK_CAUSE_NONE], 2);
	assert_int_equal(sum.verdict, VERDICT_NONE);
	analysis_summary_release(&sum);
	scene_close(&s);
}

/* What is lost has a frame, but nobody's name on it: not under a filter. */
static void test_lost(void **state)
{
	(void)state;
	struct scene s;
	scene_open(&s);
	scene_process(&s, 1, 10, "toy");
	scene_thread(&s, 1, 1, 10);
	scene_sample(&s, 2000, 1, scene_stack(&s, "main"), 0, 5);
	scene_put(&s, (struct record){ .type = RECORD_LOST,
				       .lost = { .what = scene_text(&s, "cpu-sample"),
						 .why = scene_text(&s, "ring full"),
						 .count = 3 } });
	scene_put(&s, (struct record){ .type = RECORD_LOST,
				       .lost = { .what = scene_text(&s, "cpu-sample"),
						 .why = scene_text(&s, "ring full"),
						 .count = 4 } });
	scene_load(&s);
	struct profile *p = scene_profile(&s, all);
	assert_int_equal(tree_self(p, "[lost]", "cpu-samples"), 7);
	assert_int_equal(tree_total(p, "cpu-samples"), 12);
	profile_free(p);
	struct analysis_profile_options opt = all;
	opt.filter.pid = "10";
	p = scene_profile(&s, opt);
	assert_int_equal(tree_total(p, "cpu-samples"), 5);
	profile_free(p);

	struct analysis_summary sum;
	struct err err;
	assert_int_equal(analysis_summarize(s.a, &(struct analysis_filter){ 0 }, &sum, &err), 0);
	assert_int_equal(sum.lost_count, 1);
	assert_int_equal(sum.lost[0].count, 7);
	assert_string_equal(sum.lost[0].why, "ring full");
	analysis_summary_release(&sum);
	scene_close(&s);
}

/*
 * Host code while the device is idle, 1100..1500, on the launching thread: of the span 1050..1250
 * 150, of 1250..1600 250. Another thread's span does not count, nor what runs after.
 */
static void test_idle_host(void **state)
{
	(void)state;
	struct scene s;
	scene_open(&s);
	scene_process(&s, 1, 10, "toy");
	scene_thread(&s, 1, 1, 10);
	scene_thread(&s, 2, 1, 11);
	scene_device(&s, 1, 0);
	scene_kernel(&s, 1, 1, "gemm");
	scene_sample(&s, 1050, 1, scene_stack(&s, "main;load"), CPU_SAMPLE_SPAN, 200);
	scene_sample(&s, 1250, 1, scene_stack(&s, "main;prepare"), CPU_SAMPLE_SPAN, 350);
	scene_sample(&s, 1000, 2, scene_stack(&s, "poll"), CPU_SAMPLE_SPAN, 1000);
	scene_launch(&s, 1, 900, 1, "main;first", 1);
	scene_launch(&s, 2, 1400, 1, "main;second", 1);
	scene_dispatch(&s, 1, 1, 1000, 1100);
	scene_dispatch(&s, 2, 1, 1500, 1600);
	scene_load(&s);
	struct profile *p = scene_profile(&s, all);
	assert_int_equal(tree_self(p, "toy;main;load", "idle-host"), 150);
	assert_int_equal(tree_self(p, "toy;main;prepare", "idle-host"), 250);
	assert_int_equal(tree_total(p, "idle-host"), 400);
	assert_int_equal(tree_total(p, "cpu-time"), 1550);
	assert_true(profile_metric_find(p, "cpu-samples") < 0);
	profile_free(p);
	scene_close(&s);
}

/*
 * The device is idle for 10 ms. The launching thread, sampled at 1000 Hz, was seen three times in it
 * and waited for 1 ms: where waits are known, it was ready to run in the 9 that are left, and each
 * sample stands for 3. Where they are not, it may have done anything.
 */
static void test_idle_host_without_cpu(void **state)
{
	(void)state;
	static const uint64_t ms = 1000000, expected[] = { 3, 9 };
	for (int has_waits = 0; has_waits < 2; has_waits++) {
		struct scene s;
		scene_open(&s);
		scene_process(&s, 1, 10, "toy");
		scene_thread(&s, 1, 1, 10);
		scene_device(&s, 1, 0);
		scene_kernel(&s, 1, 1, "gemm");
		scene_launch(&s, 1, 90 * ms, 1, "main;first", 1);
		scene_launch(&s, 2, 110 * ms, 1, "main;second", 1);
		scene_dispatch(&s, 1, 1, 91 * ms, 100 * ms);
		scene_dispatch(&s, 2, 1, 110 * ms, 120 * ms);
		for (uint64_t i = 0; i < 3; i++)
			scene_sample(&s, (103 + i) * ms, 1, scene_stack(&s, "main;load"), 0, 1);
		if (has_waits)
			scene_put(&s, (struct record){ .type = RECORD_BLOCKED,
						       .blocked = { .time_ns = 101 * ms,
								    .duration_ns = 1 * ms,
								    .thread = 1,
								    .stack = scene_stack(
									    &s, "main;wait") } });
		scene_load(&s);
		struct profile *p = scene_profile(&s, all);
		assert_int_equal(tree_self(p, "toy;main;load", "idle-host"),
				 expected[has_waits] * ms);
		assert_int_equal(tree_self(p, "toy;main;wait", "idle-host"), has_waits * ms);
		profile_free(p);
		scene_close(&s);
	}
}

/* bytes and flops of launches, bytes of copies of which the launch says nothing; launches and
 * dispatches that stand for several. */
static void test_amounts(void **state)
{
	(void)state;
	struct scene s;
	scene_open(&s);
	scene_process(&s, 1, 10, "toy");
	scene_thread(&s, 1, 1, 10);
	scene_device(&s, 1, 0);
	scene_kernel(&s, 1, 1, "gemm");
	scene_put(&s, (struct record){ .type = RECORD_LAUNCH,
				       .launch = { .time_ns = 1000,
						   .thread = 1,
						   .stack = scene_stack(&s, "main"),
						   .kind = LAUNCH_KERNEL,
						   .kernel = 1,
						   .correlation = 1,
						   .flops = 2000,
						   .bytes = 300,
						   .count = 5 } });
	scene_put(&s, (struct record){ .type = RECORD_LAUNCH,
				       .launch = { .time_ns = 1001,
						   .thread = 1,
						   .stack = scene_stack(&s, "main"),
						   .kind = LAUNCH_COPY,
						   .correlation = 2 } });
	scene_put(&s, (struct record){ .type = RECORD_COPY,
				       .copy = { .correlation = 2,
						 .device = 1,
						 .kind = LAUNCH_COPY,
						 .name = scene_text(&s, "Memcpy HtoD"),
						 .bytes = 4096,
						 .start_ns = 1100,
						 .end_ns = 1200 } });
	scene_load(&s);
	struct profile *p = scene_profile(&s, all);
	assert_int_equal(tree_self(p, "toy;main;-;gemm", "launches"), 5);
	assert_int_equal(tree_self(p, "toy;main;-;gemm", "flops"), 2000);
	assert_int_equal(tree_self(p, "toy;main;-;gemm", "bytes"), 300);
	/* The launch gets its name from what the device did. */
	assert_int_equal(tree_self(p, "toy;main;-;Memcpy HtoD", "launches"), 1);
	assert_int_equal(tree_self(p, "toy;main;-;Memcpy HtoD", "bytes"), 4096);
	assert_int_equal(tree_self(p, "toy;main;-;Memcpy HtoD", "device-time"), 100);
	profile_free(p);

	struct analysis_summary sum;
	struct err err;
	assert_int_equal(analysis_summarize(s.a, &(struct analysis_filter){ 0 }, &sum, &err), 0);
	assert_int_equal(sum.all.copy_ns, 100);
	assert_int_equal(sum.verdict, VERDICT_COPY);
	analysis_summary_release(&sum);
	scene_close(&s);
}

static uint64_t filtered(struct scene *s, struct analysis_filter f, const char *metric)
{
	struct analysis_profile_options opt = { .full = true, .filter = f };
	struct profile *p = scene_profile(s, opt);
	uint64_t value = tree_total(p, metric);
	profile_free(p);
	return value;
}

static void assert_bad(struct scene *s, struct analysis_filter f, const char *text)
{
	struct analysis_profile_options opt = { .filter = f };
	struct profile *p = NULL;
	struct err err = { "" };
	assert_int_equal(analysis_profile(s->a, &opt, &p, &err), -EINVAL);
	assert_non_null(strstr(err.text, text));
}

static void test_filters(void **state)
{
	(void)state;
	struct scene s;
	scene_open(&s);
	scene_process(&s, 1, 10, "train");
	scene_process(&s, 2, 20, "serve");
	scene_thread(&s, 1, 1, 10);
	scene_thread(&s, 2, 1, 11);
	scene_thread(&s, 3, 2, 20);
	scene_device(&s, 1, 0);
	scene_device(&s, 2, 5);
	scene_kernel(&s, 1, 1, "gemm_a");
	scene_kernel(&s, 2, 2, "_Z6gemm_bPf");
	scene_launch(&s, 1, 1000, 1, "a", 1);
	scene_launch(&s, 2, 2000, 2, "b", 1);
	scene_launch(&s, 3, 3000, 3, "c", 2);
	scene_dispatch(&s, 1, 1, 1100, 1101);
	scene_dispatch(&s, 2, 1, 2100, 2110);
	scene_dispatch(&s, 3, 2, 3100, 3200);
	scene_put(&s, (struct record){ .type = RECORD_END, .end = { .time_ns = 11000 } });
	scene_load(&s);

	assert_int_equal(filtered(&s, (struct analysis_filter){ 0 }, "device-time"), 111);
	assert_int_equal(filtered(&s, (struct analysis_filter){ .pid = "10" }, "device-time"), 11);
	assert_int_equal(filtered(&s, (struct analysis_filter){ .pid = "10,20" }, "device-time"),
			 111);
	assert_int_equal(filtered(&s, (struct analysis_filter){ .tid = "11" }, "device-time"), 10);
	assert_int_equal(filtered(&s, (struct analysis_filter){ .comm = "serve" }, "device-time"),
			 100);
	assert_int_equal(filtered(&s, (struct analysis_filter){ .comm = "worker" }, "device-time"),
			 111);
	assert_int_equal(filtered(&s, (struct analysis_filter){ .device = "5" }, "device-time"),
			 100);
	assert_int_equal(filtered(&s, (struct analysis_filter){ .kernel = "*_b*" }, "device-time"),
			 100);
	assert_int_equal(
		filtered(&s, (struct analysis_filter){ .kernel = "gemm_b(float*)" }, "device-time"),
		100);
	assert_int_equal(filtered(&s, (struct analysis_filter){ .pid = "30" }, "device-time"), 0);
	/* The capture is 1000..11000 long. */
	assert_int_equal(filtered(&s, (struct analysis_filter){ .time = "0%-20%" }, "device-time"),
			 11);
	assert_int_equal(
		filtered(&s, (struct analysis_filter){ .time = ",0.000001" }, "device-time"), 1);
	assert_int_equal(
		filtered(&s, (struct analysis_filter){ .time = "0.0000015" }, "device-time"), 100);
	assert_int_equal(filtered(&s, (struct analysis_filter){ .time = "15%-100%" }, "launches"),
			 1);

	assert_bad(&s, (struct analysis_filter){ .pid = "12x" }, "--pid");
	assert_bad(&s,
		   (struct analysis_filter){ .tid = ""
						    "1,,2" },
		   "--tid");
	assert_bad(&s, (struct analysis_filter){ .device = "gpu0" }, "--device");
	assert_bad(&s, (struct analysis_filter){ .time = "2,1" }, "ends before it begins");
	assert_bad(&s, (struct analysis_filter){ .time = "1s,2s" }, "bad time");
	assert_bad(&s, (struct analysis_filter){ .time = "," }, "bad time");
	assert_bad(&s, (struct analysis_filter){ .time = "50%-120%" }, "bad time");
	scene_close(&s);
}

static void test_unknown_metrics(void **state)
{
	(void)state;
	struct scene s;
	scene_open(&s);
	scene_put(&s, (struct record){ .type = RECORD_INFO,
				       .info = { scene_text(&s, "missing.device-time"),
						 scene_text(&s, "no runtime; add --inject") } });
	scene_load(&s);
	static const char *const wall[] = { "wall" }, *const odd[] = { "colour" };
	struct analysis_profile_options opt = { .metrics = wall, .metric_count = 1 };
	struct profile *p = NULL;
	struct err err = { "" };
	assert_int_equal(analysis_profile(s.a, &opt, &p, &err), -EINVAL);
	assert_string_equal(err.text, "no wall in this capture: no runtime; add --inject");
	opt.metrics = odd;
	assert_int_equal(analysis_profile(s.a, &opt, &p, &err), -EINVAL);
	assert_non_null(strstr(err.text, "unknown metric 'colour'"));
	assert_string_equal(analysis_default_metric(s.a), "cpu-samples");
	assert_string_equal(analysis_info(s.a, "missing.device-time"), "no runtime; add --inject");
	scene_close(&s);
}

static void test_classes(void **state)
{
	(void)state;
	static const struct {
		const char *path;
		enum frame_class class;
	} python[] = {
		{ "/home/u/train.py", FRAME_CLASS_OWN },
		{ "train.py", FRAME_CLASS_OWN },
		{ "torch/nn/modules/module.py", FRAME_CLASS_FRAMEWORK },
		{ "transformers/models/bert/modeling_bert.py", FRAME_CLASS_MODEL },
		{ "threading.py", FRAME_CLASS_STDLIB },
		{ "/usr/lib/python3.11/threading.py", FRAME_CLASS_STDLIB },
		{ "/opt/v/lib/python3.11/site-packages/torch/_ops.py", FRAME_CLASS_FRAMEWORK },
		{ "/opt/v/lib/python3.11/site-packages/somebody/x.py", FRAME_CLASS_MODEL },
		{ "<frozen importlib._bootstrap>", FRAME_CLASS_STDLIB },
		{ "<string>", FRAME_CLASS_NONE },
		{ "", FRAME_CLASS_NONE },
	}, binary[] = {
		{ "/home/u/a.out", FRAME_CLASS_OWN },
		{ "/usr/lib/x86_64-linux-gnu/libc.so.6", FRAME_CLASS_STDLIB },
		{ "/usr/bin/python3.11", FRAME_CLASS_INTERPRETER },
		{ "/v/lib/libpython3.13t.so.1.0", FRAME_CLASS_INTERPRETER },
		{ "/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", FRAME_CLASS_STDLIB },
		{ "/usr/lib/x86_64-linux-gnu/libpocl.so.2", FRAME_CLASS_NONE },
		{ "/v/site-packages/torch/lib/libtorch_cpu.so", FRAME_CLASS_FRAMEWORK },
		{ "/usr/lib/x86_64-linux-gnu/libtorch_cpu.so.1.13.0", FRAME_CLASS_FRAMEWORK },
		{ "/usr/lib/x86_64-linux-gnu/libc10.so", FRAME_CLASS_FRAMEWORK },
		{ "[vdso]", FRAME_CLASS_NONE },
	};
	for (size_t i = 0; i < ARRAY_SIZE(python); i++)
		assert_int_equal(class_of_python(python[i].path), python[i].class);
	for (size_t i = 0; i < ARRAY_SIZE(binary); i++)
		assert_int_equal(class_of_binary(binary[i].path), binary[i].class);
	assert_int_equal(class_of_function("std::vector<app::Row>::push_back", "/home/u/a.out"),
			 FRAME_CLASS_STDLIB);
	assert_int_equal(class_of_function("std::_Invoker<main::{lambda()#1}>", "/home/u/a.out"),
			 FRAME_CLASS_OWN);
	assert_int_equal(class_of_function("standard::run", "/home/u/a.out"), FRAME_CLASS_OWN);
	assert_int_equal(class_of_function("runtime.mallocgc", "/home/u/a.out"),
			 FRAME_CLASS_STDLIB);
	assert_int_equal(class_of_function("std::_Hash_bytes", "/usr/lib/libpocl.so.2"),
			 FRAME_CLASS_NONE);
}

/* Two kernels whose short names are the same stay two, in the order in which they came. */
static void test_short_names_collide(void **state)
{
	(void)state;
	struct scene s;
	scene_open(&s);
	scene_process(&s, 1, 10, "toy");
	scene_thread(&s, 1, 1, 10);
	scene_kernel(
		&s, 1, 1,
		"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align4>(int)");
	scene_kernel(
		&s, 2, 1,
		"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_16x6_nt_align4>(int)");
	scene_launch(&s, 1, 1000, 1, "main", 1);
	scene_launch(&s, 2, 1001, 1, "main", 2);
	scene_launch(&s, 3, 1002, 1, "main", 2);
	scene_load(&s);
	struct profile *p = scene_profile(&s, all);
	assert_int_equal(tree_self(p, "toy;main;-;gemm sm80 64x64", "launches"), 1);
	assert_int_equal(tree_self(p, "toy;main;-;gemm sm80 64x64 #2", "launches"), 2);
	profile_free(p);
	struct analysis_profile_options opt = all;
	opt.long_names = true;
	p = scene_profile(&s, opt);
	assert_int_equal(tree_self(p,
				   "toy;main;-;void cutlass::Kernel<"
				   "cutlass_80_tensorop_s1688gemm_64x64_16x6_nt_align4>(int)",
				   "launches"),
			 2);
	profile_free(p);
	scene_close(&s);
}

static void scene_launch_of(struct scene *s, struct record_launch launch)
{
	launch.kind = LAUNCH_KERNEL;
	scene_put(s, (struct record){ .type = RECORD_LAUNCH, .launch = launch });
}

static void scene_two_threads(struct scene *s)
{
	scene_open(s);
	scene_process(s, 1, 10, "toy");
	scene_thread(s, 1, 1, 10);
	scene_thread(s, 2, 1, 11);
	scene_device(s, 1, 0);
	scene_kernel(s, 1, 1, "gemm");
	scene_kernel(s, 2, 1, "relu");
}

/* A launch without a stack has that of the thread's launch of the same kernel before. */
static void test_lent_stacks(void **state)
{
	(void)state;
	struct scene s;
	scene_two_threads(&s);
	uint32_t none = stack_of(&s, NULL, 0, STACK_NOT_TAKEN);
	static const struct {
		uint32_t thread, kernel;
		const char *stack; /* NULL: none taken */
	} launches[] = {
		{ 1, 1, NULL }, /* nothing to lend */
		{ 1, 1, "main;first" },  { 1, 2, "main;other" }, { 1, 1, NULL }, /* first */
		{ 2, 1, NULL },                          /* another thread */
		{ 1, 1, "main;second" }, { 1, 1, NULL }, /* second */
		{ 1, 1, NULL },                          /* second */
		{ 1, 2, NULL },                          /* other */
	};
	for (uint32_t i = 0; i < ARRAY_SIZE(launches); i++)
		scene_launch_of(&s, (struct record_launch){
					    .time_ns = 1000 + i,
					    .thread = launches[i].thread,
					    .stack = launches[i].stack
							     ? scene_stack(&s, launches[i].stack)
							     : none,
					    .kernel = launches[i].kernel,
					    .correlation = 1 + i,
				    });
	scene_load(&s);
	struct profile *p = scene_profile(&s, all);
	assert_int_equal(tree_self(p, "toy;main;first;-;gemm", "launches"), 2);
	assert_int_equal(tree_self(p, "toy;main;second;-;gemm", "launches"), 3);
	assert_int_equal(tree_self(p, "toy;main;other;-;relu", "launches"), 2);
	assert_int_equal(tree_self(p, "toy;[stack not taken];-;gemm", "launches"), 2);
	assert_int_equal(tree_total(p, "launches"), ARRAY_SIZE(launches));
	profile_free(p);
	scene_close(&s);
}

/* Work of a graph is below its launch and below where it was recorded, from where that differs. */
static void test_graph(void **state)
{
	(void)state;
	struct scene s;
	scene_two_threads(&s);
	scene_object(&s, OBJECT_MISSING, 0, "[graph replay]", "");
	struct record_frame frame = { scene_object(&s, OBJECT_MISSING, 0, "[graph replay]", ""),
				      0 };
	stack_of(&s, &frame, 1, STACK_ROOTED);
	/* Numbers of what is recorded are not those of launches. */
	scene_launch_of(&s, (struct record_launch){ .time_ns = 500,
						    .thread = 1,
						    .kernel = 1,
						    .stack = scene_stack(&s, "main;warm;layer"),
						    .correlation = 1,
						    .flags = LAUNCH_CAPTURED,
						    .graph = 9 });
	scene_launch(&s, 1, 900, 1, "main;serve;replay", 0);
	scene_launch(&s, 2, 901, 1, "main;serve;alone", 1);
	for (uint64_t i = 0; i < 2; i++)
		scene_put(&s, (struct record){ .type = RECORD_DISPATCH,
					       .dispatch = { .correlation = 1 + i,
							     .device = 1,
							     .kernel = 1,
							     .start_ns = 1000 + 100 * i,
							     .end_ns = 1010 + 100 * i,
							     .captured = i ? 0 : 1 } });
	scene_load(&s);
	struct profile *p = scene_profile(&s, all);
	assert_int_equal(tree_self(p, "toy;main;serve;replay;[graph replay];warm;layer;-;gemm",
				   "device-time"),
			 10);
	assert_int_equal(tree_self(p, "toy;main;serve;alone;-;gemm", "device-time"), 10);
	assert_int_equal(tree_total(p, "launches"), 2);
	profile_free(p);
	scene_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_command),     cmocka_unit_test(test_host_frames),
		cmocka_unit_test(test_lost),        cmocka_unit_test(test_idle_host_without_cpu),
		cmocka_unit_test(test_idle_host),   cmocka_unit_test(test_amounts),
		cmocka_unit_test(test_filters),     cmocka_unit_test(test_unknown_metrics),
		cmocka_unit_test(test_classes),     cmocka_unit_test(test_short_names_collide),
		cmocka_unit_test(test_lent_stacks), cmocka_unit_test(test_graph),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
