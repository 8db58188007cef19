/* SPDX-License-Identifier: Apache-2.0 */
/*
 * generate COUNT > FILE: folded stacks with the shape of AI programs, nearly all different and of
 * about a kilobyte each: a process, 8 to 16 Python frames, 10 to 18 C++ frames, two of the runtime, the
 * boundary, one of 200 kernels, source line, instruction, stall reason, offset. Host stacks share
 * their beginnings; sample counts are heavy-tailed. The same COUNT gives the same bytes.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KERNELS      200
#define INSTRUCTIONS 600 /* of a kernel, 16 bytes each */
#define HOST_BYTES   4096

static const char *const verbs[] = { "forward",  "attention",   "linear", "_call_impl", "__call__",
				     "generate", "decode_step", "mlp",    "norm",       "rope",
				     "softmax",  "matmul",      "sample", "step",       "run" };
static const char *const scopes[] = { "at::native::", "c10::cuda::", "torch::autograd::",
				      "at::_ops::",   "c10::impl::", "torch::jit::" };
static const char *const stalls[] = { "long_scoreboard", "short_scoreboard", "math_pipe_throttle",
				      "mio_throttle",    "barrier",          "wait",
				      "not_selected",    "selected",         "lg_throttle",
				      "no_instruction",  "branch_resolve",   "dispatch_stall" };
static const char *const instructions[] = { "HGMMA.64x128x16.F32.BF16",
					    "LDG.E.128.CONSTANT",
					    "STS.128",
					    "LDS.128",
					    "FFMA",
					    "IMAD.MOV.U32",
					    "BAR.SYNC.DEFER_BLOCKING",
					    "LDGSTS.E.BYPASS.128",
					    "ISETP.GE.AND",
					    "BRA",
					    "WARPGROUP.DEPBAR",
					    "MUFU.EX2",
					    "FADD.FTZ",
					    "STG.E.128",
					    "DEPBAR.LE" };
static const char *const layouts[] = { "tn", "nn", "nt" };
#define COUNT(a)      (sizeof(a) / sizeof((a)[0]))
#define PICK(a, seed) ((a)[mix(seed) % COUNT(a)])

/* A number that looks random and depends on nothing but @x (splitmix64's finalizer). */
static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static char *make_host(uint64_t number)
{
	char text[HOST_BYTES] = "python3-4242";
	size_t len = strlen(text);
	uint64_t depth = 8 + mix(number / 3) % 9;

	/* Neighbours differ only towards the leaf. */
	for (uint64_t k = 0; k < depth; k++) {
		uint64_t seed = (number >> (depth - k) / 2) * 31 + k;
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					";py::%s (modeling_llama.py:%d)", PICK(verbs, seed),
					(int)(mix(seed + 1) % 900) + 1);
	}
	depth = 10 + mix(number) % 9;
	for (uint64_t k = 0; k < depth; k++) {
		uint64_t seed = (number >> 1) * 17 + k;
		len += (size_t)snprintf(text + len, sizeof(text) - len, ";%s%s_%s",
					PICK(scopes, seed), PICK(verbs, seed + 1),
					PICK(verbs, seed + 2));
	}
	snprintf(text + len, sizeof(text) - len,
		 ";libcudart.so.12`cudaLaunchKernel;libcuda.so.1`cuLaunchKernel;-;");
	return strdup(text);
}

static void print_leaf(uint64_t kernel, uint64_t at, uint64_t stall)
{
	static const int sizes[] = { 16, 32, 64, 128 };

	printf("void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_%dx%d_128x2_"
	       "%s_align8>(Params)_[G];",
	       PICK(sizes, kernel), PICK(sizes, kernel + 1000), PICK(layouts, kernel));
	printf("gemm_%d.cu:%d_[G];%s_[g];%s_[g];0x%x_[g]", (int)kernel, (int)(at / 3),
	       PICK(instructions, kernel * 1000 + at), stalls[stall], (unsigned)at * 16);
}

int main(int argc, char **argv)
{
	uint64_t count = argc == 2 ? strtoull(argv[1], NULL, 10) : 0;
	uint64_t hosts = count / 500 > 50 ? count / 500 : 50;
	uint64_t places = hosts * KERNELS * INSTRUCTIONS * COUNT(stalls);
	char **host = calloc(hosts, sizeof(*host));
	if (!count || !host)
		return 2;

	for (uint64_t i = 0; i < hosts; i++)
		host[i] = make_host(i);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t rest = mix(i) % places;
		uint64_t kernel = rest / hosts % KERNELS,
			 at = rest / hosts / KERNELS % INSTRUCTIONS;
		fputs(host[rest % hosts], stdout);
		print_leaf(kernel, at, rest / hosts / KERNELS / INSTRUCTIONS);
		double uniform = ((double)(mix(~i) >> 11) + 1) / 9007199254740993.0;
		printf(" %d\n", (int)pow(uniform, -1 / 1.1));
	}
	return 0;
}
