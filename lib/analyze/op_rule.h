/* SPDX-License-Identifier: Apache-2.0 */
/* Ways to count what operators do, by the kind of operator. Private to op_*.c. */
#pragma once

#include "analyze/op_inputs.h"

/*
 * One function for each way to count, and in op_cost.c the table of operators: `first` is the input
 * that the way begins with, `flops` how many each element of the output takes (of attention: each
 * pair of query and key, by the depth).
 */
struct op_rule {
	const char *op;
	bool (*cost)(const struct op_rule *r, const struct op_inputs *in,
		     const struct op_tensors *t, struct op_cost *ret);
	size_t first;
	unsigned flops;
};

/* NULL: an operator that nothing is known of. */
const struct op_rule *op_rule_find(struct span op);

/* Input @i where it is a tensor, else NULL. */
static inline const struct op_tensor *op_input(const struct op_tensors *t, size_t i)
{
	return i < t->count && t->list[i].is_tensor ? &t->list[i] : NULL;
}

static inline double op_element_bytes(const struct op_tensor *x)
{
	return x->type ? x->type->bits / 8.0 : 0;
}

static inline double op_bytes(const struct op_tensor *x)
{
	return x->elements * op_element_bytes(x);
}

/* A product of matrices: m x k by k x n, @batch times. */
struct op_product {
	double batch, m, n, k;
	const struct op_tensor *a, *b;
};
/* False where the rule or the shapes are not those of one. */
bool op_product_find(const struct op_rule *r, const struct op_tensors *t, struct op_product *ret);

/* op_matrix.c, op_vector.c: */
bool op_cost_product(const struct op_rule *r, const struct op_inputs *in,
		     const struct op_tensors *t, struct op_cost *ret);
bool op_cost_linear(const struct op_rule *r, const struct op_inputs *in, const struct op_tensors *t,
		    struct op_cost *ret);
bool op_cost_flash(const struct op_rule *r, const struct op_inputs *in, const struct op_tensors *t,
		   struct op_cost *ret);
bool op_cost_efficient(const struct op_rule *r, const struct op_inputs *in,
		       const struct op_tensors *t, struct op_cost *ret);
bool op_cost_scaled_dot_product(const struct op_rule *r, const struct op_inputs *in,
				const struct op_tensors *t, struct op_cost *ret);
bool op_cost_conv(const struct op_rule *r, const struct op_inputs *in, const struct op_tensors *t,
		  struct op_cost *ret);
bool op_cost_conv_backward(const struct op_rule *r, const struct op_inputs *in,
			   const struct op_tensors *t, struct op_cost *ret);
bool op_cost_elementwise(const struct op_rule *r, const struct op_inputs *in,
			 const struct op_tensors *t, struct op_cost *ret);
bool op_cost_compare(const struct op_rule *r, const struct op_inputs *in,
		     const struct op_tensors *t, struct op_cost *ret);
bool op_cost_copy(const struct op_rule *r, const struct op_inputs *in, const struct op_tensors *t,
		  struct op_cost *ret);
bool op_cost_norm(const struct op_rule *r, const struct op_inputs *in, const struct op_tensors *t,
		  struct op_cost *ret);
bool op_cost_reduce(const struct op_rule *r, const struct op_inputs *in, const struct op_tensors *t,
		    struct op_cost *ret);
bool op_cost_gather(const struct op_rule *r, const struct op_inputs *in, const struct op_tensors *t,
		    struct op_cost *ret);
bool op_cost_fused(const struct op_rule *r, const struct op_inputs *in, const struct op_tensors *t,
		   struct op_cost *ret);
