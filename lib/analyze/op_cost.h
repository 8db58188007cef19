/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an operator of a framework has to do at least: its floating-point operations, and the bytes
 * that it reads and writes when each input and output crosses memory once. Knows operators by name
 * and the texts in which torch.profiler writes their inputs; no capture and no device.
 */
#pragma once

#include "base/span.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

/* As the metadata of a launch has them: "aten::mm", "[[8,16],[16,4]]", "[\"float\",\"float\"]",
 * "[\"\",\"\"]"; empty where they are not known. */
struct op_inputs {
	struct span op, dims, types, scalars;
};

/* What does the arithmetic, hence which peak counts. */
enum op_number {
	OP_NUMBER_NONE,
	OP_NUMBER_FP64,
	OP_NUMBER_FP32,
	OP_NUMBER_BF16, /* and fp16 */
	OP_NUMBER_FP8,  /* and 8 bit integers */
	OP_NUMBER_COUNT
};

struct op_cost {
	double flops, bytes; /* 0: not known */
	enum op_number number;
	bool is_matrix; /* matrix products: for matrix units; else for the ordinary ones */
};

/* The cost of one call; false, @ret untouched, when nothing is known of it. */
bool op_cost_find(const struct op_inputs *in, struct op_cost *ret);

/*
 * Whether a kernel does the work of the matrix product, attention or convolution that launched it,
 * and not something on the side (sums of parts, other layouts, clearing).
 */
bool op_cost_is_main_kernel(const char *kernel);
/* Of a matrix product: fp32 by the ordinary units. What a tensor core does says so in its name. */
bool op_cost_is_plain_fp32(const char *kernel);

/* For people: "141x512x512" (m, n, k of a product), else the tensors, "1x141x512, 512"; "" */
void op_shape_text(const struct op_inputs *in, struct strbuf *out);
/* "bf16", "fp32, i64": the tensors' types, each once. */
void op_types_text(const struct op_inputs *in, struct strbuf *out);
