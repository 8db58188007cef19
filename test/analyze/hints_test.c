/* SPDX-License-Identifier: Apache-2.0 */
/* Each rule with facts it must speak up for, and with such that are nearly the same and healthy. */
#include "analyze/hints.h"
#include "unit.h"

#include <string.h>

#define MS 1000000ull
#define NO_PART                         \
	{                               \
		.text = "", .where = "" \
	}

/* A training run that keeps its device busy: 95 of 100 ms, 500 kernels of 0.19 ms. */
static struct hint_facts healthy(void)
{
	return (struct hint_facts){
		.verdict = VERDICT_KERNEL,
		.runtime = "cuda",
		.device = "NVIDIA H100 80GB HBM3",
		.arch = "sm90",
		.units = 132,
		.has_tensor_cores = true,
		.has_tf32 = true,
		.has_torch = true,
		.window_ns = 100 * MS,
		.busy_ns = 95 * MS,
		.kernel_ns = 95 * MS,
		.late_ns = 3 * MS,
		.flight_ns = 2 * MS,
		.is_idle_known = true,
		.ops = 500,
		.launched_idle = 20,
		.device_ns = 95 * MS,
		.function = { "time.sleep", "main (a.py:1)", 1 * MS, 1 },
		.loader = NO_PART,
		.compile = NO_PART,
		.allocate = NO_PART,
		.lock = NO_PART,
		.sync = { "item", "main (a.py:2)", 1 * MS, 5 },
		.is_sync_pure = true,
		.pageable = NO_PART,
		.kernel = { "gemm", "forward (a.py:3)", 30 * MS, 100 },
		.gemm = { "", "", 40 * MS, 150 },
		.gemm_fp32 = NO_PART,
		.gemm_old = NO_PART,
		.small = NO_PART,
		.memory = NO_PART,
		.serial = NO_PART,
		.slow_rank = NO_PART,
	};
}

/* An eager program: 1,000 kernels of 10 us that fill 10 of 100 ms. */
static struct hint_facts eager(void)
{
	struct hint_facts f = healthy();
	f.verdict = VERDICT_HOST;
	f.busy_ns = f.kernel_ns = f.device_ns = 10 * MS;
	f.late_ns = 80 * MS;
	f.flight_ns = 10 * MS;
	f.ops = 1000;
	f.launched_idle = 900;
	f.function.ns = 2 * MS;
	f.kernel.ns = 3 * MS;
	f.gemm.ns = 4 * MS;
	return f;
}

static const struct hint *find(const struct hints *h, const char *rule)
{
	for (size_t i = 0; i < h->count; i++) {
		if (!strcmp(h->list[i].rule, rule))
			return &h->list[i];
	}
	return NULL;
}

static void expect(struct hint_facts f, const char *rule, const char *text, uint64_t gain_ns)
{
	struct hints h;
	assert_int_equal(hints_choose(&f, &h), 0);
	const struct hint *found = find(&h, rule);
	if (text && !found) {
		fail_msg("no hint '%s'", rule);
	} else if (text && found) {
		assert_string_equal(found->text, text);
		assert_int_equal(found->gain_ns, gain_ns);
	} else if (found) {
		fail_msg("hint '%s': %s", rule, found->text);
	}
	hints_release(&h);
}

static void expect_silence(struct hint_facts f)
{
	struct hints h;
	assert_int_equal(hints_choose(&f, &h), 0);
	if (h.count)
		fail_msg("%s", h.list[0].text);
}

static void test_healthy(void **state)
{
	(void)state;
	struct hint_facts nothing = { .runtime = "", .device = "", .arch = "" };
	expect_silence(healthy());
	expect_silence(nothing);
}

static void test_graph(void **state)
{
	(void)state;
	struct hint_facts f = eager();
	expect(f, "graph",
	       "CUDA graph or torch.compile(mode=\"reduce-overhead\"): 1,000 ops of 10.0 us each, "
	       "90 % of them launched on an idle GPU. Blocker: item in main (a.py:2).",
	       90 * MS);
	f.runtime = "opencl";
	f.has_torch = false;
	expect(f, "graph",
	       "Fewer, larger launches: 1,000 ops of 10.0 us each, 90 % of them launched on an idle "
	       "device.",
	       90 * MS);
	f = eager();
	f.replayed = 900; /* it has a graph */
	expect(f, "graph", NULL, 0);
	f = eager();
	f.ops = 100; /* of 0.1 ms: launching is not what takes time */
	f.launched_idle = 90;
	expect(f, "graph", NULL, 0);
	f = eager();
	f.ops = 50; /* 1.8 ms between them: launching takes no such time */
	f.launched_idle = 50;
	f.busy_ns = f.kernel_ns = f.device_ns = 1 * MS;
	f.function.ns = 0;
	expect(f, "graph", NULL, 0);
	f = eager(); /* queued, 0.18 ms between them: too much if the host is late, ... */
	f.ops = 500;
	f.device_ns = 5 * MS;
	f.launched_idle = 100;
	expect(f, "graph", NULL, 0);
	f.verdict = VERDICT_LAUNCH; /* ... and what a slow queue takes */
	expect(f, "graph",
	       "CUDA graph or torch.compile(mode=\"reduce-overhead\"): 500 ops of 10.0 us each. "
	       "Blocker: item in main (a.py:2).",
	       90 * MS);
	f = eager();
	f.is_idle_known = false;
	expect_silence(f);
}

static void test_host(void **state)
{
	(void)state;
	struct hint_facts f = eager();
	f.function.ns = 10 * MS;
	expect(f, "function",
	       "time.sleep in main (a.py:1): 10.0 ms of host time, as much as all GPU work (10.0 "
	       "ms).",
	       10 * MS);
	f.function.ns = 9 * MS; /* neither as much as the device's work nor a quarter of the time */
	expect(f, "function", NULL, 0);
	f.function.ns = 30 * MS;
	f.busy_ns = 40 * MS;
	expect(f, "function",
	       "time.sleep in main (a.py:1): 30.0 ms of host time while the GPU is idle (30.0 %).",
	       30 * MS);

	f = eager();
	f.loader = (struct hint_part){ "__next__", "", 20 * MS, 9 };
	expect(f, "loader",
	       "Load input ahead (num_workers, prefetch_factor): the GPU waits 20.0 ms (20.0 %) for "
	       "__next__.",
	       20 * MS);
	f.loader.ns = 5 * MS;
	expect(f, "loader", NULL, 0);

	f = eager();
	f.compile = (struct hint_part){ "libLLVM.so", "build (a.c:5)", 30 * MS, 10 };
	f.has_torch = false;
	expect(f, "compile",
	       "libLLVM.so in build (a.c:5) again and again: 30.0 ms (30.0 %) at 10 moments between "
	       "launches.",
	       30 * MS);
	f.has_torch = true;
	f.compile = (struct hint_part){ "compile", "", 30 * MS, 10 };
	expect(f, "compile",
	       "compile again and again: 30.0 ms (30.0 %) at 10 moments between launches; "
	       "TORCH_LOGS=recompiles says why, dynamic=True may help.",
	       30 * MS);
	f.compile.count = 1; /* the first time, it has to */
	expect(f, "compile", NULL, 0);

	f = eager();
	f.allocate = (struct hint_part){ "cudaMalloc", "main (a.py:9)", 8 * MS, 50 };
	expect(f, "allocate",
	       "Keep memory: cudaMalloc in main (a.py:9) takes 8.00 ms (8.0 %) while the GPU is "
	       "idle.",
	       8 * MS);
	f.allocate.count = 2;
	expect(f, "allocate", NULL, 0);

	f = eager();
	f.lock = (struct hint_part){ "take_gil", "main (a.py:9)", 40 * MS, 50 };
	expect(f, "lock",
	       "Lock contention: the launching thread waits 40.0 ms (40.0 %) in take_gil of main "
	       "(a.py:9).",
	       40 * MS);
	f.lock.ns = 4 * MS;
	expect(f, "lock", NULL, 0);
}

static void test_sync(void **state)
{
	(void)state;
	struct hint_facts f = healthy();
	f.busy_ns = f.device_ns = 60 * MS;
	f.sync = (struct hint_part){ "item", "main (a.py:2)", 30 * MS, 40 };
	expect(f, "sync",
	       "Wait less often: item in main (a.py:2), 40 times, leaves the GPU idle for 30.0 ms "
	       "(30.0 %).",
	       30 * MS);
	/* Both at the same time take no less than the host alone. */
	f.busy_ns = f.device_ns = 20 * MS;
	expect(f, "sync",
	       "Wait less often: item in main (a.py:2), 40 times, leaves the GPU idle for 30.0 ms "
	       "(30.0 %).",
	       20 * MS);
	f.busy_ns = f.device_ns = 4 * MS;
	expect(f, "sync", NULL, 0);
	f.busy_ns = f.device_ns = 60 * MS;
	f.sync.count = 2;
	expect(f, "sync", NULL, 0);
	f = healthy(); /* it waits, and the device has work */
	f.sync.count = 4000;
	expect(f, "sync", NULL, 0);
}

static void test_device(void **state)
{
	(void)state;
	struct hint_facts f = healthy();
	f.pageable = (struct hint_part){ "", "load (a.py:7)", 19 * MS, 10 };
	expect(f, "pageable",
	       "Pin host memory (pin_memory=True, non_blocking=True): 10 copies of pageable memory "
	       "take 19.0 ms (19.0 %) in load (a.py:7).",
	       19 * MS);
	f.pageable.ns = 1 * MS;
	expect(f, "pageable", NULL, 0);

	f = healthy();
	f.serial = (struct hint_part){ "", "", 20 * MS, 200 };
	expect(f, "serial",
	       "Streams take turns: 200 kernels that do not fill the GPU waited for another "
	       "stream's, 20.0 ms in all (20.0 %); look for work on the default stream.",
	       20 * MS);
	f.serial.count = 3;
	expect(f, "serial", NULL, 0);

	f = healthy();
	f.kernel.ns = 76 * MS;
	expect(f, "kernel",
	       "One kernel dominates: gemm takes 76.0 ms, 80.0 % of all device time for forward "
	       "(a.py:3).",
	       76 * MS);
	f.kernel.ns = 52 * MS; /* of two alike, one */
	expect(f, "kernel", NULL, 0);

	f = healthy();
	f.slow_rank = (struct hint_part){ "Rank 3", "", 12 * MS, 30 };
	expect(f, "rank",
	       "Rank 3 is last at 30 collectives; the others wait 12.0 ms for it (12.0 %).",
	       12 * MS);
	f.slow_rank.ns = 2 * MS;
	expect(f, "rank", NULL, 0);
}

static void test_kernels(void **state)
{
	(void)state;
	struct hint_facts f = healthy();
	f.gemm_fp32 = (struct hint_part){ "", "", 38 * MS, 100 };
	expect(f, "fp32",
	       "fp32 off the tensor cores: 100 matrix products, 38.0 ms (40.0 % of device time); use "
	       "torch.set_float32_matmul_precision(\"high\") or bf16.",
	       38 * MS);
	f.has_tensor_cores = false;
	expect(f, "fp32", NULL, 0);
	f = healthy();
	f.gemm_fp32.ns = 3 * MS;
	expect(f, "fp32", NULL, 0);

	f = healthy();
	f.gemm_old = (struct hint_part){ "sm80", "", 30 * MS, 100 };
	expect(f, "old-gemm",
	       "100 of 150 GEMM launches (30.0 ms of 40.0 ms) are sm80 kernels on sm90.", 30 * MS);
	f.gemm_old.ns = 10 * MS;
	expect(f, "old-gemm", NULL, 0);

	f = healthy();
	f.small = (struct hint_part){ "flash_fwd d64", "", 19 * MS, 16 };
	expect(f, "small", "flash_fwd d64 fills at most 16 of 132 SMs for 19.0 ms.", 19 * MS);
	f.units = 32; /* half of it */
	expect(f, "small", NULL, 0);
	f.units = 0;
	expect(f, "small", NULL, 0);

	f = healthy();
	f.memory = (struct hint_part){ "add bf16", "forward (a.py:3)", 38 * MS, 3 };
	f.memory_roof_ns = 30 * MS;
	expect(f, "memory",
	       "Memory-bound: add bf16 for forward (a.py:3) and 2 more kernels take 38.0 ms (40.0 % of "
	       "device time) at 79 % of the memory's speed; fuse (torch.compile) or move fewer bytes.",
	       38 * MS);
	f.memory.count = 1;
	f.has_torch = false;
	expect(f, "memory",
	       "Memory-bound: add bf16 for forward (a.py:3) takes 38.0 ms (40.0 % of device time) at 79 "
	       "% of the memory's speed; fuse kernels or move fewer bytes.",
	       38 * MS);
	f.memory.ns = 20 * MS;
	expect(f, "memory", NULL, 0);
}

/* A program without accelerator: 100 ms of CPU time in as much time. */
static void test_cpu(void **state)
{
	(void)state;
	struct hint_facts f = { .runtime = "", .device = "", .arch = "" };
	f.cpu_ns = f.window_ns = f.elapsed_ns = 100 * MS;
	expect_silence(f);
	f.fp64 = (struct hint_part){ "dgemm_", "attend (a.py:9)", 24 * MS, 0 };
	expect(f, "fp64",
	       "Double precision: dgemm_ takes 24.0 ms (24.0 %) in attend (a.py:9); float32 takes half.",
	       12 * MS);
	f.fp64.ns = 9 * MS;
	f.spin_ns = 9 * MS;
	expect_silence(f);
	f.spin_ns = 30 * MS;
	expect(f, "spin",
	       "Fewer threads (OMP_NUM_THREADS): 30.0 ms (30.0 %) of CPU time goes into waiting for "
	       "each other.",
	       30 * MS);
	f.spin_ns = 0;
	f.elapsed_ns = 400 * MS;
	expect(f, "waits",
	       "On a CPU for 100 ms of 400 ms only: 'record --off-cpu' shows what it waits for.",
	       100 * MS);
	f.has_waits = true;
	expect_silence(f);
	f.gil = (struct hint_part){ "", "step (a.py:3)", 60 * MS, 0 };
	expect(f, "gil",
	       "Python's GIL: threads wait 60.0 ms of 400 ms for it, most in step (a.py:3); let other "
	       "processes run what other threads do in Python.",
	       60 * MS);
	f.gil.ns = 30 * MS;
	expect_silence(f);
}

/* Three lines at most; what the device could do better comes last while the host is what limits. */
static void test_order(void **state)
{
	(void)state;
	struct hint_facts f = eager();
	struct hints h;
	f.function.ns = 20 * MS;
	f.gemm_old = (struct hint_part){ "sm80", "", 3 * MS, 100 };
	f.small = (struct hint_part){ "flash_fwd", "", 2 * MS, 16 };
	assert_int_equal(hints_choose(&f, &h), 0);
	assert_int_equal(h.count, 3);
	assert_string_equal(h.list[0].rule, "graph");
	assert_true(h.list[0].ceiling > 9.99 && h.list[0].ceiling < 10.01);
	assert_string_equal(h.list[1].rule, "function");
	assert_true(h.list[1].ceiling > 1.249 && h.list[1].ceiling < 1.251);
	assert_string_equal(h.list[2].text,
			    "Later: 100 of 150 GEMM launches (3.00 ms of 4.00 ms) are sm80 kernels "
			    "on sm90. flash_fwd fills at most 16 of 132 SMs for 2.00 ms.");
	assert_true(h.list[2].ceiling == 0);
	hints_release(&h);

	f.loader = (struct hint_part){ "__next__", "", 30 * MS, 9 };
	f.lock = (struct hint_part){ "take_gil", "", 15 * MS, 50 };
	assert_int_equal(hints_choose(&f, &h), 0);
	assert_int_equal(h.count, HINTS_MAX);
	assert_string_equal(h.list[1].rule, "loader");
	assert_string_equal(h.list[2].rule, "function");
	hints_release(&h);
}

/* Nobody adds a rule and no case. */
static void test_every_rule_is_tested(void **state)
{
	(void)state;
	static const char *const tested[] = { "graph",    "sync",   "function", "loader",
					      "compile",  "lock",   "allocate", "rank",
					      "pageable", "serial", "fp32",     "kernel",
					      "old-gemm", "small",  "memory",   "fp64",
					      "spin",     "gil",    "waits" };
	size_t rules = 0;
	for (; hints_rule(rules); rules++) {
		bool known = false;
		for (size_t i = 0; i < ARRAY_SIZE(tested); i++)
			known |= !strcmp(tested[i], hints_rule(rules));
		if (!known)
			fail_msg("no test of rule '%s'", hints_rule(rules));
	}
	assert_int_equal(rules, ARRAY_SIZE(tested));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_healthy),
		cmocka_unit_test(test_graph),
		cmocka_unit_test(test_host),
		cmocka_unit_test(test_sync),
		cmocka_unit_test(test_device),
		cmocka_unit_test(test_kernels),
		cmocka_unit_test(test_cpu),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_every_rule_is_tested),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
