/* SPDX-License-Identifier: Apache-2.0 */
/* Which launch a device sample is charged to: each rule by hand, and sums that stay. */
#include "analyze/attribute.h"
#include "analyze/filter.h"
#include "scene.h"

static const struct analysis_profile_options all = { .full = true };

static void scene_toy(struct scene *s)
{
	scene_open(s);
	scene_process(s, 1, 10, "toy");
	scene_thread(s, 1, 1, 10);
	scene_thread(s, 2, 1, 11); /* a worker of the runtime's */
	scene_device(s, 1, 0);
	scene_kernel(s, 1, 1, "gemm");
	scene_kernel(s, 2, 1, "relu");
}

static void scene_pc(struct scene *s, struct record_pc_sample sample)
{
	scene_put(s, (struct record){ .type = RECORD_PC_SAMPLE, .pc_sample = sample });
}

static void assert_rules(struct scene *s, uint64_t correlation, uint64_t overlap, uint64_t launches,
			 uint64_t none)
{
	const struct attribution *t;
	struct filter f = { 0 };
	struct err err;
	assert_int_equal(filter_init(&f, s->a, &(struct analysis_filter){ 0 }, &err), 0);
	assert_int_equal(attribution_of(s->a, &f, &t), 0);
	assert_int_equal(t->by_rule[ATTRIBUTE_CORRELATION], correlation);
	assert_int_equal(t->by_rule[ATTRIBUTE_OVERLAP], overlap);
	assert_int_equal(t->by_rule[ATTRIBUTE_LAUNCHES], launches);
	assert_int_equal(t->by_rule[ATTRIBUTE_NONE], none);
	filter_release(&f);
}

/* The id decides, though another launch of the kernel was running at that time. */
static void test_correlation(void **state)
{
	(void)state;
	struct scene s;
	scene_toy(&s);
	scene_launch(&s, 1, 900, 1, "main;first", 1);
	scene_launch(&s, 2, 900, 1, "main;second", 1);
	scene_dispatch(&s, 1, 1, 1000, 1100);
	scene_dispatch(&s, 2, 1, 1200, 1300);
	scene_pc(&s, (struct record_pc_sample){ .time_ns = 1050,
						.device = 1,
						.kernel = 1,
						.offset = 0x40,
						.reason = scene_text(&s, "sbid"),
						.count = 7,
						.correlation = 2 });
	scene_load(&s);
	struct profile *p = scene_profile(&s, all);
	assert_int_equal(tree_self(p, "toy;main;second;-;gemm;jit;0x40;sbid", "device-samples"), 7);
	assert_int_equal(tree_self(p, "toy;main;second;-;gemm;jit;0x40;sbid", "stall:sbid"), 7);
	assert_int_equal(tree_total(p, "device-samples"), 7);
	assert_rules(&s, 7, 0, 0, 0);
	profile_free(p);
	scene_close(&s);
}

/*
 * 1000      1100      1200      1300
 *  |first    |         |second   |       gemm
 *       |third                     |     gemm, on another queue: 1050..1350
 *  |other                          |     relu
 * One sample at 1020: first. Four at 1070: first and third, two each. Ten over 1150..1250: third
 * covers 100, second 50 of it: 6.67 and 3.33.
 */
static void test_overlap(void **state)
{
	(void)state;
	struct scene s;
	scene_toy(&s);
	scene_launch(&s, 1, 900, 1, "main;first", 1);
	scene_launch(&s, 2, 900, 1, "main;second", 1);
	scene_launch(&s, 3, 900, 1, "main;third", 1);
	scene_launch(&s, 4, 900, 1, "main;other", 2);
	scene_dispatch(&s, 1, 1, 1000, 1100);
	scene_dispatch(&s, 4, 1, 1000, 1400);
	scene_dispatch(&s, 3, 1, 1050, 1350);
	scene_dispatch(&s, 2, 1, 1200, 1300);
	struct record_pc_sample pc = { .device = 1, .kernel = 1, .count = 1, .thread = 2 };
	pc.time_ns = 1020;
	pc.offset = 1;
	scene_pc(&s, pc);
	pc.time_ns = 1070;
	pc.offset = 2;
	pc.count = 4;
	scene_pc(&s, pc);
	pc.time_ns = 1150;
	pc.offset = 3;
	pc.interval_ns = 100;
	pc.count = 10;
	scene_pc(&s, pc);
	scene_load(&s);

	struct profile *p = scene_profile(&s, all);
	assert_int_equal(tree_self(p, "toy;main;first;-;gemm;jit;0x1", "device-samples"), 1);
	assert_int_equal(tree_self(p, "toy;main;first;-;gemm;jit;0x2", "device-samples"), 2);
	assert_int_equal(tree_self(p, "toy;main;third;-;gemm;jit;0x2", "device-samples"), 2);
	assert_int_equal(tree_self(p, "toy;main;third;-;gemm;jit;0x3", "device-samples"), 7);
	assert_int_equal(tree_self(p, "toy;main;second;-;gemm;jit;0x3", "device-samples"), 3);
	assert_int_equal(tree_total(p, "device-samples"), 15);
	assert_rules(&s, 0, 15, 0, 0);
	profile_free(p);
	scene_close(&s);
}

/* No gemm runs at 5000: its launches took 300 and 100 ns, so 4 samples are 3 and 1. Of relu there
 * are no times at all: 3 launches, 2 of them in one place. Of "ghost" there is nothing. */
static void test_launches_by_weight(void **state)
{
	(void)state;
	struct scene s;
	scene_toy(&s);
	scene_kernel(&s, 3, 1, "ghost");
	scene_launch(&s, 1, 900, 1, "main;long", 1);
	scene_launch(&s, 2, 901, 1, "main;short", 1);
	scene_launch(&s, 3, 902, 1, "main;twice", 2);
	scene_launch(&s, 4, 903, 1, "main;once", 2);
	scene_launch(&s, 5, 904, 1, "main;twice", 2);
	scene_dispatch(&s, 1, 1, 1000, 1300);
	scene_dispatch(&s, 2, 1, 1300, 1400);
	struct record_pc_sample pc = { .time_ns = 5000, .device = 1, .kernel = 1, .count = 1 };
	for (int i = 0; i < 4; i++)
		scene_pc(&s, pc);
	pc.kernel = 2;
	pc.count = 9;
	scene_pc(&s, pc);
	pc.kernel = 3;
	pc.count = 2;
	scene_pc(&s, pc);
	scene_load(&s);

	struct profile *p = scene_profile(&s, all);
	assert_int_equal(tree_self(p, "toy;main;long;-;gemm;jit", "device-samples"), 3);
	assert_int_equal(tree_self(p, "toy;main;short;-;gemm;jit", "device-samples"), 1);
	assert_int_equal(tree_self(p, "toy;main;twice;-;relu;jit", "device-samples"), 6);
	assert_int_equal(tree_self(p, "toy;main;once;-;relu;jit", "device-samples"), 3);
	assert_int_equal(tree_self(p, "toy;[unattributed];-;ghost;jit", "device-samples"), 2);
	assert_int_equal(tree_total(p, "device-samples"), 15);
	assert_rules(&s, 0, 0, 13, 2);
	profile_free(p);
	scene_close(&s);
}

/* Another process's dispatch of a kernel with that name is not ours. */
static void test_processes_are_apart(void **state)
{
	(void)state;
	struct scene s;
	scene_toy(&s);
	scene_process(&s, 2, 20, "other");
	scene_thread(&s, 3, 2, 20);
	scene_kernel(&s, 4, 2, "gemm");
	scene_launch(&s, 1, 900, 1, "main;mine", 1);
	scene_launch(&s, 2, 900, 3, "main;theirs", 4);
	scene_dispatch(&s, 2, 1, 1000, 1100);
	scene_dispatch(&s, 1, 1, 2000, 2100);
	scene_pc(&s, (struct record_pc_sample){
			     .time_ns = 1050, .device = 1, .kernel = 1, .thread = 2, .count = 5 });
	scene_load(&s);
	struct profile *p = scene_profile(&s, all);
	assert_int_equal(tree_self(p, "toy;main;mine;-;gemm;jit", "device-samples"), 5);
	assert_rules(&s, 0, 0, 5, 0);
	profile_free(p);
	scene_close(&s);
}

/* ---- POCL: CPU samples in a kernel's own shared object ---- */

static uint32_t pocl_object(struct scene *s, const char *kernel)
{
	char path[256];
	snprintf(path, sizeof(path), "/root/.cache/pocl/kcache/AB/hash/%s/16-16-1/%s.so", kernel,
		 kernel);
	return scene_object(s, OBJECT_ELF, OBJECT_HOLDS_DEVICE_CODE, path, path);
}

static void pocl_sample(struct scene *s, uint64_t time_ns, const struct record_frame *frames,
			uint32_t count)
{
	uint32_t stack;
	assert_int_equal(capture_writer_stack(s->w, frames, count, 0, &stack), 0);
	scene_put(s, (struct record){ .type = RECORD_CPU_SAMPLE,
				      .cpu_sample = { .time_ns = time_ns,
						      .thread = 2,
						      .stack = stack,
						      .weight = 1 } });
}

static void pocl_symbol(struct scene *s, uint32_t object, uint64_t offset,
			struct record_symbol_line *lines, uint32_t count)
{
	scene_put(s, (struct record){ .type = RECORD_SYMBOL,
				      .symbol = { .object = object,
						  .offset = offset,
						  .count = count,
						  .lines = lines } });
}

/*
 * A worker interrupted in the kernel of the OS on top of accelerator code is still device work; an
 * inlined function and its call's line are frames; what POCL wraps around a kernel is not.
 */
static void test_pocl(void **state)
{
	(void)state;
	struct scene s;
	scene_toy(&s);
	scene_kernel(&s, 5, 1, "mm_tiled");
	scene_kernel(&s, 6, 1, "odd_workgroup");
	scene_launch(&s, 1, 900, 1, "main;tiled", 5);
	scene_launch(&s, 2, 901, 1, "main;odd", 6);
	scene_dispatch(&s, 1, 1, 1000, 1100);
	scene_dispatch(&s, 2, 1, 2000, 2100);
	uint32_t tiled = pocl_object(&s, "mm_tiled"), odd = pocl_object(&s, "odd_workgroup");
	uint32_t os = scene_object(&s, OBJECT_KERNEL, 0, "[kernel]", "");
	uint32_t pocl = scene_object(&s, OBJECT_ELF, 0, "libpocl.so.2", "/usr/lib/libpocl.so.2");
	uint32_t file = scene_text(&s, "/tmp/mm.cl");
	struct record_symbol_line lines[] = {
		{ scene_text(&s, "_pocl_kernel_mm_tiled_workgroup"), file, 38 },
		{ scene_text(&s, "dot_tile"), file, 21 },
	};
	struct record_symbol_line plain[] = {
		{ scene_text(&s, "_pocl_kernel_odd_workgroup_workgroup"), 0, 0 },
	};
	pocl_sample(&s, 1050, (struct record_frame[]){ { tiled, 0x120 }, { pocl, 0x1000 } }, 2);
	pocl_sample(&s, 1060, (struct record_frame[]){ { os, 0x99 }, { tiled, 0x120 } }, 2);
	pocl_sample(&s, 2050, (struct record_frame[]){ { odd, 0x40 } }, 1);
	/* Code of the runtime is host code. */
	pocl_sample(&s, 2060, (struct record_frame[]){ { pocl, 0x1000 } }, 1);
	pocl_symbol(&s, tiled, 0x120, lines, 2);
	pocl_symbol(&s, odd, 0x40, plain, 1);
	scene_load(&s);

	struct profile *p = scene_profile(&s, all);
	assert_int_equal(tree_self(p, "toy;main;tiled;-;mm_tiled;mm.cl:38;dot_tile;mm.cl:21;0x120",
				   "device-samples"),
			 2);
	assert_int_equal(tree_self(p, "toy;main;odd;-;odd_workgroup;jit;0x40", "device-samples"),
			 1);
	assert_int_equal(tree_total(p, "device-samples"), 3);
	assert_int_equal(tree_total(p, "cpu-samples"), 1);
	assert_rules(&s, 0, 3, 0, 0);
	profile_free(p);

	struct analysis_profile_options opt = all;
	struct err err;
	assert_int_equal(analysis_leaf_parse("instruction,source", opt.leaf, &err), 0);
	p = scene_profile(&s, opt);
	assert_int_equal(tree_self(p, "toy;main;tiled;-;mm_tiled;0x120;mm.cl:21", "device-samples"),
			 2);
	profile_free(p);
	assert_int_equal(analysis_leaf_parse("source,colour", opt.leaf, &err), -EINVAL);
	assert_int_equal(analysis_leaf_parse("stall,stall", opt.leaf, &err), -EINVAL);
	scene_close(&s);
}

/* Any sets of samples and dispatches: nothing is lost by splitting, with every filter the parts
 * add up to the whole. */
static void test_sums_stay(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed < 60; seed++) {
		uint32_t r = seed;
		struct scene s;
		uint64_t total = 0;
		scene_toy(&s);
		for (uint64_t i = 1; i < 30; i++) {
			char stack[32];
			r = r * 1664525u + 1013904223u;
			snprintf(stack, sizeof(stack), "f%u", r >> 29);
			scene_launch(&s, i, 900 + i, 1 + (r >> 20) % 2, stack, 1 + (r >> 12) % 2);
			r = r * 1664525u + 1013904223u;
			uint64_t start = 1000 + (r >> 8) % 500;
			scene_dispatch(&s, i, 1, start, start + (r >> 4) % 90);
		}
		for (int i = 0; i < 50; i++) {
			r = r * 1664525u + 1013904223u;
			uint64_t count = 1 + (r >> 28);
			scene_pc(&s, (struct record_pc_sample){ .time_ns = 950 + (r >> 8) % 600,
								.interval_ns = (r >> 4) % 60,
								.device = 1,
								.kernel = 1 + (r >> 20) % 3,
								.offset = (r >> 22) % 4,
								.count = count });
			total += count;
		}
		scene_load(&s);
		struct profile *p = scene_profile(&s, all);
		assert_int_equal(tree_total(p, "device-samples"), total);
		profile_free(p);
		scene_close(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_correlation),
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_launches_by_weight),
		cmocka_unit_test(test_processes_are_apart),
		cmocka_unit_test(test_pocl),
		cmocka_unit_test(test_sums_stay),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
