/* SPDX-License-Identifier: Apache-2.0 */
/* The inputs of an operator, read from the texts of a trace. Private to op_*.c. */
#pragma once

#include "analyze/op_cost.h"

/* More dimensions than tensors have; more inputs than an operator that is known has. */
#define OP_RANK_MAX   8
#define OP_INPUTS_MAX 32

struct op_type {
	const char *text;  /* as a trace has it */
	const char *brief; /* for people */
	unsigned bits;
	enum op_number number;
};

struct op_tensor {
	bool is_tensor; /* else a scalar, a list of scalars, nothing */
	uint32_t rank;
	double dims[OP_RANK_MAX];
	double elements;
	const struct op_type *type; /* NULL: not known */
};

struct op_tensors {
	struct op_tensor list[OP_INPUTS_MAX];
	size_t count;
};

/* What cannot be read is left out; never fails. */
void op_tensors_read(struct op_tensors *ret, const struct op_inputs *in);

/* The numbers of scalar input @index, "[1, 2]" or "3": how many; 0 when there are none. */
size_t op_scalars(const struct op_inputs *in, size_t index, double *ret, size_t max);
/* Whether scalar input @index is "True". */
bool op_scalar_is_true(const struct op_inputs *in, size_t index);
