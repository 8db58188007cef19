/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products, attention, convolution. */
#include "analyze/op_rule.h"

#include <math.h>

static void set_matrix(struct op_cost *ret, double flops, double bytes, const struct op_tensor *x)
{
	*ret = (struct op_cost){
		.flops = flops,
		.bytes = x->type ? bytes : 0,
		.number = x->type ? x->type->number : OP_NUMBER_NONE,
		.is_matrix = true,
	};
}

/* ---- matrix products: 2 m n k, each matrix once ---- */

/* [..., m, k] times [..., k, n]; one of them may be without a batch. */
static bool find_multiply(const struct op_tensors *t, size_t first, struct op_product *ret)
{
	const struct op_tensor *a = op_input(t, first), *b = op_input(t, first + 1);
	if (!a || !b || !a->rank || !b->rank)
		return false;
	double k = a->dims[a->rank - 1];
	struct op_product p = { .batch = 1, .m = 1, .n = 1, .k = k, .a = a, .b = b };
	if (b->rank > 1)
		p.n = b->dims[b->rank - 1];
	if (a->rank > 1)
		p.m = a->dims[a->rank - 2];
	if (b->dims[b->rank > 1 ? b->rank - 2 : 0] != k || p.m * p.n * k <= 0)
		return false;
	double batch_a = a->elements / (p.m * k), batch_b = b->elements / (p.n * k);
	if (batch_b > 1 && batch_a > 1 && batch_a != batch_b)
		return false; /* broadcast against each other */
	if (batch_b > 1)
		p.batch = batch_b;
	else
		p.m *= batch_a;
	*ret = p;
	return true;
}

/* x [..., k] and a weight [n, k]. */
static bool find_linear(const struct op_tensors *t, struct op_product *ret)
{
	const struct op_tensor *a = op_input(t, 0), *b = op_input(t, 1);
	if (!a || !b || !a->rank || b->rank != 2 || b->dims[1] <= 0 ||
	    a->dims[a->rank - 1] != b->dims[1])
		return false;
	double k = b->dims[1];
	*ret = (struct op_product){
		.batch = 1, .m = a->elements / k, .n = b->dims[0], .k = k, .a = a, .b = b
	};
	return true;
}

bool op_product_find(const struct op_rule *r, const struct op_tensors *t, struct op_product *ret)
{
	if (r->cost == op_cost_linear)
		return find_linear(t, ret);
	return r->cost == op_cost_product && find_multiply(t, r->first, ret);
}

bool op_cost_product(const struct op_rule *r, const struct op_inputs *in,
		     const struct op_tensors *t, struct op_cost *ret)
{
	struct op_product p;
	(void)in;
	if (!op_product_find(r, t, &p))
		return false;
	/* What is added is read, too. */
	const struct op_tensor *added = r->first ? op_input(t, 0) : NULL;
	double out = p.batch * p.m * p.n;
	set_matrix(ret, 2 * out * p.k,
		   op_bytes(p.a) + op_bytes(p.b) + (added ? op_bytes(added) : 0) +
			   out * op_element_bytes(p.a),
		   p.a);
	return true;
}

bool op_cost_linear(const struct op_rule *r, const struct op_inputs *in, const struct op_tensors *t,
		    struct op_cost *ret)
{
	return op_cost_product(r, in, t, ret);
}

/* ---- attention: two products for each pair of query and key ---- */

enum {
	LAYOUT_BSHD, /* batch, sequence, heads, depth */
	LAYOUT_BHSD,
};

static bool attention(const struct op_rule *r, const struct op_tensors *t, int layout,
		      bool is_causal, struct op_cost *ret)
{
	const struct op_tensor *q = op_input(t, r->first), *k = op_input(t, r->first + 1);
	const struct op_tensor *v = op_input(t, r->first + 2);
	/* Of sequences of different lengths, packed, the shapes do not tell. */
	if (!q || !k || !v || q->rank != 4 || k->rank != 4)
		return false;
	double s = q->dims[layout == LAYOUT_BSHD ? 1 : 2];
	double h = q->dims[layout == LAYOUT_BSHD ? 2 : 1];
	double keys = k->dims[layout == LAYOUT_BSHD ? 1 : 2];
	double pairs = s * keys;
	/* The last query sees all keys, each one before it one less. */
	if (is_causal && keys >= s)
		pairs -= s * (s - 1) / 2;
	double moved = 2 * op_bytes(q) + op_bytes(k) + op_bytes(v);
	/* Backward: what came out, its gradient, and those of all three inputs. */
	if (r->flops > 4)
		moved = 4 * op_bytes(q) + 2 * op_bytes(k) + 2 * op_bytes(v);
	set_matrix(ret, r->flops * q->dims[0] * h * pairs * q->dims[3], moved, q);
	return true;
}

/* (query, key, value, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal, ...), the backward
 * one (grad_out, query, key, value, out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p,
 * is_causal, ...) */
bool op_cost_flash(const struct op_rule *r, const struct op_inputs *in, const struct op_tensors *t,
		   struct op_cost *ret)
{
	return attention(r, t, LAYOUT_BSHD, op_scalar_is_true(in, r->first ? 11 : 8), ret);
}

/* (query, key, value, bias, ...): whether it is causal stands in too many places. */
bool op_cost_efficient(const struct op_rule *r, const struct op_inputs *in,
		       const struct op_tensors *t, struct op_cost *ret)
{
	(void)in;
	return attention(r, t, LAYOUT_BSHD, false, ret);
}

/* (query, key, value, dropout_p, is_causal, ...) */
bool op_cost_scaled_dot_product(const struct op_rule *r, const struct op_inputs *in,
				const struct op_tensors *t, struct op_cost *ret)
{
	return attention(r, t, LAYOUT_BHSD, !r->first && op_scalar_is_true(in, 4), ret);
}

/* ---- convolution: 2 C/groups K for each element of the output ---- */

/* What each element of the output takes: the weight's elements for one channel that comes out. */
static double weights_each(const struct op_tensor *weight)
{
	return weight->dims[0] > 0 ? weight->elements / weight->dims[0] : 0;
}

/* The size of one dimension of the output; 0 when it is not known. */
static double conv_extent(double size, double kernel, double stride, double padding,
			  double dilation)
{
	double reach = dilation * (kernel - 1) + 1;
	double room = size + 2 * padding - reach;
	return stride > 0 && room >= 0 ? floor(room / stride) + 1 : 0;
}

/* @flops: which scalar the padding is; the stride is the other one. */
bool op_cost_conv(const struct op_rule *r, const struct op_inputs *in, const struct op_tensors *t,
		  struct op_cost *ret)
{
	const struct op_tensor *x = op_input(t, 0), *w = op_input(t, 1);
	double stride[OP_RANK_MAX], padding[OP_RANK_MAX], dilation[OP_RANK_MAX];
	size_t at_padding = r->flops, at_stride = r->first;

	if (!x || !w || x->rank < 3 || w->rank != x->rank)
		return false;
	size_t n = x->rank - 2;
	if (op_scalars(in, at_stride, stride, n) != n ||
	    op_scalars(in, at_padding, padding, n) != n ||
	    op_scalars(in, (at_padding > at_stride ? at_padding : at_stride) + 1, dilation, n) != n)
		return false;
	double out = x->dims[0] * w->dims[0];
	for (size_t i = 0; i < n; i++)
		out *= conv_extent(x->dims[i + 2], w->dims[i + 2], stride[i], padding[i],
				   dilation[i]);
	if (out <= 0)
		return false;
	set_matrix(ret, 2 * out * weights_each(w),
		   op_bytes(x) + op_bytes(w) + out * op_element_bytes(x), x);
	return true;
}

/* (grad_output, input, weight, ...): as much for the input's gradient as for the weight's, each
 * with kernels of its own. */
bool op_cost_conv_backward(const struct op_rule *r, const struct op_inputs *in,
			   const struct op_tensors *t, struct op_cost *ret)
{
	const struct op_tensor *grad = op_input(t, 0), *x = op_input(t, 1), *w = op_input(t, 2);
	(void)r;
	(void)in;
	if (!grad || !x || !w || w->rank < 3 || x->rank != w->rank)
		return false;
	set_matrix(ret, 2 * grad->elements * weights_each(w),
		   op_bytes(grad) + op_bytes(x) + op_bytes(w), x);
	return true;
}
