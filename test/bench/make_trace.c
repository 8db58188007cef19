/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A torch.profiler trace of any size, in Kineto's own layout: steps of a transformer with Python
 * stacks, modules, ops with shapes, runtime calls, kernels, arrows and memory events, in the shares
 * of a real one (of 100 events: 54 Python functions, 19 ops, 5 calls, 2 kernels, 8 arrows, 9 memory).
 *
 *	make_trace BYTES >trace.json
 */
#include "base/parse.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAYERS  4
#define PARTS   6
#define STEP_NS 4000000 /* long enough for what a step holds */
#define THREAD  19392

static const struct {
	const char *module, *file, *function;
	unsigned line;
} parts[PARTS] = {
	{ "Attention", "transformers/models/bert/modeling_bert.py", "forward", 364 },
	{ "SelfOutput", "transformers/models/bert/modeling_bert.py", "forward", 465 },
	{ "Intermediate", "transformers/models/bert/modeling_bert.py", "forward", 538 },
	{ "Output", "transformers/models/bert/modeling_bert.py", "forward", 551 },
	{ "LayerNorm", "torch/nn/modules/normalization.py", "forward", 217 },
	{ "Dropout", "torch/nn/modules/dropout.py", "forward", 70 },
};
static const char *const kernels[] = {
	"sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize32x32x64_stage6_warpsize2x2x1_tensor16x8x16_"
	"kernel",
	"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, "
	"std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, "
	"3ul>)",
	"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, "
	"float, c10::BFloat16 const*, c10::BFloat16 const*, c10::BFloat16 const*, float*, float*, "
	"c10::BFloat16*)",
};

struct writer {
	uint64_t bytes; /* written */
	uint64_t now_ns;
	uint64_t python, event, correlation;
	bool is_device_pass; /* calls, kernels and arrows come after all host events */
};

static void put(struct writer *w, int n)
{
	if (n > 0)
		w->bytes += (uint64_t)n;
}

static void span(struct writer *w, const char *category, const char *name, uint64_t start,
		 uint64_t end)
{
	put(w, printf("  {\n    \"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": %d, "
		      "\"tid\": %d,\n    \"ts\": %" PRIu64 ".%03" PRIu64 ", \"dur\": %" PRIu64
		      ".%03" PRIu64 ",\n    \"args\": {\n      ",
		      category, name, THREAD, THREAD, start / 1000, start % 1000,
		      (end - start) / 1000, (end - start) % 1000));
}

static void close_event(struct writer *w)
{
	put(w, printf("\n    }\n  },\n"));
}

static void python(struct writer *w, const char *name, uint64_t start, uint64_t end)
{
	if (w->is_device_pass)
		return;
	span(w, "python_function", name, start, end);
	w->python++;
	put(w, printf("\"Python parent id\": %" PRIu64 ", \"Python id\": %" PRIu64
		      ", \"Ev Idx\": %" PRIu64,
		      w->python - 1, w->python, w->event++));
	close_event(w);
}

static void op(struct writer *w, const char *name, unsigned rows, uint64_t start, uint64_t end)
{
	if (w->is_device_pass)
		return;
	span(w, "cpu_op", name, start, end);
	put(w,
	    printf("\"External id\": %" PRIu64 ",\"Record function id\": 0, \"Concrete Inputs\": "
		   "[\"\", \"\", \"1\"], \"Input type\": [\"c10::BFloat16\", \"c10::BFloat16\", "
		   "\"Scalar\"], \"Input Strides\": [[512, 1], [1, 512], []], \"Input Dims\": [[%u, "
		   "512], [512, 512], []], \"Ev Idx\": %" PRIu64,
		   w->event, rows, w->event));
	w->event++;
	close_event(w);
}

static void memory(struct writer *w, uint64_t at)
{
	if (w->is_device_pass)
		return;
	put(w,
	    printf("  {\n    \"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": "
		   "\"[memory]\",\n    \"pid\": %d, \"tid\": %d,\n    \"ts\": %" PRIu64
		   ".%03" PRIu64 ",\n    \"args\": {\n      \"Total Reserved\": 121634816, \"Total "
		   "Allocated\": %" PRIu64
		   ", \"Bytes\": 144384, \"Addr\": 128184607182336, \"Device "
		   "Id\": 0, \"Device Type\": 1, \"Ev Idx\": %" PRIu64,
		   THREAD, THREAD, at / 1000, at % 1000, w->event * 512 % 90000000, w->event));
	w->event++;
	close_event(w);
}

static void arrow(struct writer *w, char phase, int pid, int tid, uint64_t at)
{
	put(w, printf("  {\n    \"ph\": \"%c\", \"id\": %" PRIu64
		      ", \"pid\": %d, \"tid\": %d, \"ts\": "
		      "%" PRIu64 ".%03" PRIu64
		      ",\n    \"cat\": \"ac2g\", \"name\": \"ac2g\"%s\n  },\n",
		      phase, w->correlation, pid, tid, at / 1000, at % 1000,
		      phase == 'f' ? ", \"bp\": \"e\"" : ""));
}

static void call(struct writer *w, const char *name, const char *kernel, uint64_t start,
		 uint64_t end)
{
	w->correlation++;
	if (!w->is_device_pass)
		return;
	span(w, "cuda_runtime", name, start, end);
	put(w, printf("\"External id\": %" PRIu64 ", \"cbid\": 211, \"correlation\": %" PRIu64,
		      w->correlation, w->correlation));
	close_event(w);
	arrow(w, 's', THREAD, THREAD, start);
	arrow(w, 'f', THREAD, THREAD, start);
	if (!kernel)
		return;
	uint64_t begin = end + 2000;
	put(w,
	    printf("  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"%s\", \"pid\": 0, \"tid\": "
		   "7,\n    \"ts\": %" PRIu64 ".%03" PRIu64
		   ", \"dur\": 5.312,\n    \"args\": {\n      "
		   "\"External id\": %" PRIu64 ", \"queued\": 0, \"device\": 0, \"context\": 1,\n"
		   "      \"stream\": 7, \"correlation\": %" PRIu64
		   ",\n      \"registers per thread\": "
		   "56, \"shared memory\": 49152, \"blocks per SM\": 0.606061, \"warps per SM\": "
		   "2.424242,\n      \"grid\": [80, 1, 1], \"block\": [128, 1, 1],\n      \"est. "
		   "achieved occupancy %%\": 4",
		   kernel, begin / 1000, begin % 1000, w->correlation, w->correlation));
	close_event(w);
	arrow(w, 'f', 0, 7, begin);
}

/* One part of a layer: nine frames of Python, ops in each other, and their launch. */
static void part(struct writer *w, unsigned layer, unsigned i, unsigned rows)
{
	char name[160];
	uint64_t t = w->now_ns, end = t + STEP_NS / (LAYERS * PARTS + 8);

	snprintf(name, sizeof(name), "nn.Module: %s_%u", parts[i].module, layer);
	python(w, name, t, end);
	python(w, "torch/nn/modules/module.py(1747): _wrapped_call_impl", t + 100, end - 100);
	python(w, "torch/nn/modules/module.py(1755): _call_impl", t + 200, end - 200);
	snprintf(name, sizeof(name), "%s(%u): %s", parts[i].file, parts[i].line, parts[i].function);
	python(w, name, t + 300, end - 300);
	for (unsigned k = 0; k < 3; k++) {
		uint64_t a = t + 1000 + k * 40000, b = a + 39000;
		snprintf(name, sizeof(name), "nn.Module: Linear_%u", layer * 3 + k);
		python(w, name, a, b);
		python(w, "torch/nn/modules/module.py(1747): _wrapped_call_impl", a + 100, b - 100);
		python(w, "torch/nn/modules/module.py(1755): _call_impl", a + 200, b - 200);
		python(w, "torch/nn/modules/linear.py(124): forward", a + 300, b - 300);
		python(w, "<built-in function linear>", a + 400, b - 400);
		for (unsigned p = 0; p < 9; p++) {
			snprintf(name, sizeof(name),
				 "<built-in method size of Tensor object at 0x%08" PRIx64 ">",
				 0x7f0000000000 + w->python * 64);
			python(w, name, a + 500 + p * 100, a + 580 + p * 100);
		}
		op(w, "aten::linear", rows, a + 2000, b - 2000);
		op(w, "aten::t", rows, a + 2100, a + 2500);
		op(w, "aten::transpose", rows, a + 2150, a + 2450);
		op(w, "aten::as_strided", rows, a + 2200, a + 2400);
		op(w, "aten::addmm", rows, a + 3000, b - 3000);
		memory(w, a + 3100);
		memory(w, a + 3200);
		if (k == 0)
			call(w, "cudaLaunchKernel", kernels[i % 3], a + 8000, a + 14000);
		else
			call(w, "cudaFuncSetAttribute", NULL, a + 8000, a + 9000);
	}
	w->now_ns = end;
}

static void step(struct writer *w, uint64_t number)
{
	char name[64];
	uint64_t start = w->now_ns;

	w->now_ns += 10000;
	for (unsigned layer = 0; layer < LAYERS; layer++) {
		for (unsigned i = 0; i < PARTS; i++)
			part(w, layer, i, (unsigned)(number % 7) + 128);
	}
	w->now_ns = start + STEP_NS;
	if (w->is_device_pass)
		return;
	snprintf(name, sizeof(name), "ProfilerStep#%" PRIu64, number);
	span(w, "user_annotation", name, start, start + STEP_NS);
	put(w, printf("\"External id\": 1"));
	close_event(w);
	python(w, "train.py(42): step", start + 1000, start + STEP_NS - 1000);
}

int main(int argc, char **argv)
{
	uint64_t wanted, steps = 0;
	struct writer w = { 0 };

	if (argc != 2 || parse_size(argv[1], &wanted) < 0) {
		fprintf(stderr, "usage: make_trace BYTES\n");
		return 2;
	}
	put(&w,
	    printf("{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n    {\n      \"id\": 0, "
		   "\"name\": \"NVIDIA H100 80GB HBM3\", \"totalGlobalMem\": 85018279936, \"numSms\": "
		   "132\n    }\n  ],\n  \"cuda_runtime_version\": 12040,\n  \"with_stack\": 1,\n  "
		   "\"traceEvents\": [\n"));
	/* Host events take five sixths of a step's bytes. */
	for (; !steps || w.bytes < wanted / 100 * 87; steps++)
		step(&w, steps);
	w.is_device_pass = true;
	w.now_ns = w.correlation = 0;
	for (uint64_t i = 0; i < steps; i++)
		step(&w, i);
	printf("  {\n    \"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\", \"pid\": \"\", \"tid\": "
	       "\"\", \"ts\": %" PRIu64 "\n  }\n  ],\n  \"displayTimeUnit\": \"ms\",\n  "
	       "\"baseTimeNanoseconds\": 1751410836000000000\n}\n",
	       w.now_ns / 1000);
	return ferror(stdout) ? 1 : 0;
}
