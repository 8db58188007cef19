/* SPDX-License-Identifier: Apache-2.0 */
/* What goes element by element. */
#include "analyze/op_rule.h"

/* ---- what goes element by element ---- */

/* Of operators on several tensors, the type that comes out: those with dimensions decide, floating
 * point before integers, then the wider one. */
static const struct op_type *result_type(const struct op_tensors *t, size_t first)
{
	const struct op_type *best = NULL;
	bool has_rank = false;
	for (size_t i = first; i < t->count; i++) {
		const struct op_tensor *x = op_input(t, i);
		if (!x || !x->type || (has_rank && !x->rank))
			continue;
		bool is_float = x->type->number != OP_NUMBER_NONE;
		bool was_float = best && best->number != OP_NUMBER_NONE;
		if (!best || (x->rank && !has_rank) || (is_float && !was_float) ||
		    (is_float == was_float && x->type->bits > best->bits))
			best = x->type;
		has_rank |= x->rank > 0;
	}
	return best;
}

static void set_vector(struct op_cost *ret, double flops, double bytes, const struct op_type *type)
{
	bool is_fp64 = type && type->number == OP_NUMBER_FP64;
	*ret = (struct op_cost){
		.flops = flops,
		.bytes = bytes,
		/* Ordinary units work in fp32 whatever memory holds. */
		.number = flops <= 0 ? OP_NUMBER_NONE
			  : is_fp64  ? OP_NUMBER_FP64
				     : OP_NUMBER_FP32,
	};
}

/* All tensors are read, the largest shape is written in @out, or in the type that they give. */
static bool elementwise(const struct op_rule *r, const struct op_tensors *t, double out_bits,
			struct op_cost *ret)
{
	const struct op_type *type = result_type(t, r->first);
	double read = 0, most = 0;
	for (size_t i = r->first; i < t->count; i++) {
		const struct op_tensor *x = op_input(t, i);
		if (!x)
			continue;
		if (!x->type)
			return false;
		read += op_bytes(x);
		most = x->elements > most ? x->elements : most;
	}
	if (!type || most <= 0)
		return false;
	bool counts = type->number != OP_NUMBER_NONE;
	set_vector(ret, counts ? r->flops * most : 0,
		   read + most * (out_bits > 0 ? out_bits : type->bits) / 8, type);
	return true;
}

bool op_cost_elementwise(const struct op_rule *r, const struct op_inputs *in,
			 const struct op_tensors *t, struct op_cost *ret)
{
	(void)in;
	return elementwise(r, t, 0, ret);
}

/* Comparisons give bytes. */
bool op_cost_compare(const struct op_rule *r, const struct op_inputs *in,
		     const struct op_tensors *t, struct op_cost *ret)
{
	(void)in;
	return elementwise(r, t, 8, ret);
}

/* (self, source, ...): the one is written, the other read; fill_ and zero_ have only the first. */
bool op_cost_copy(const struct op_rule *r, const struct op_inputs *in, const struct op_tensors *t,
		  struct op_cost *ret)
{
	const struct op_tensor *to = op_input(t, 0), *from = op_input(t, 1);
	(void)in;
	if (!to || !to->type)
		return false;
	set_vector(ret, 0, op_bytes(to) + (r->first && from ? op_bytes(from) : 0), to->type);
	return true;
}

/* A whole tensor in, as large a one out: norms, softmax; with what it is scaled by. */
bool op_cost_norm(const struct op_rule *r, const struct op_inputs *in, const struct op_tensors *t,
		  struct op_cost *ret)
{
	const struct op_tensor *x = op_input(t, r->first);
	double bytes = 0;
	(void)in;
	if (!x || !x->type)
		return false;
	for (size_t i = r->first; i < t->count; i++)
		bytes += op_input(t, i) ? op_bytes(&t->list[i]) : 0;
	set_vector(ret, 0, bytes + op_bytes(x), x->type);
	return true;
}

/* A whole tensor in and little out. */
bool op_cost_reduce(const struct op_rule *r, const struct op_inputs *in, const struct op_tensors *t,
		    struct op_cost *ret)
{
	const struct op_tensor *x = op_input(t, 0);
	(void)in;
	if (!x || !x->type)
		return false;
	bool counts = x->type->number != OP_NUMBER_NONE;
	set_vector(ret, counts ? r->flops * x->elements : 0, op_bytes(x), x->type);
	return true;
}

/* Rows of @first by an index, read and written: embedding (table, indices), index_select (table,
 * dimension, indices) along the first dimension. */
bool op_cost_gather(const struct op_rule *r, const struct op_inputs *in, const struct op_tensors *t,
		    struct op_cost *ret)
{
	const struct op_tensor *table = op_input(t, 0), *index = op_input(t, r->first);
	double dim = 0;
	if (!table || !index || !table->type || !table->rank || table->dims[0] <= 0)
		return false;
	if (r->first == 2 && (op_scalars(in, 1, &dim, 1) != 1 || dim > 0))
		return false;
	double row = op_bytes(table) / table->dims[0];
	set_vector(ret, 0, 2 * row * index->elements + op_bytes(index), table->type);
	return true;
}

/* A kernel of torch.compile: what it is given is read or written once. */
bool op_cost_fused(const struct op_rule *r, const struct op_inputs *in, const struct op_tensors *t,
		   struct op_cost *ret)
{
	double bytes = 0;
	(void)r;
	(void)in;
	for (size_t i = 0; i < t->count; i++)
		bytes += op_input(t, i) ? op_bytes(&t->list[i]) : 0;
	if (bytes <= 0)
		return false;
	set_vector(ret, 0, bytes, NULL);
	return true;
}
