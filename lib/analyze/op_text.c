/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes and types as people write them. */
#include "analyze/op_rule.h"

#include <string.h>

static void add_number(struct strbuf *out, double n)
{
	strbuf_printf(out, "%.0f", n);
}

static void add_dims(struct strbuf *out, const struct op_tensor *x)
{
	if (!x->rank)
		strbuf_putc(out, '1');
	for (uint32_t i = 0; i < x->rank; i++) {
		if (i)
			strbuf_putc(out, 'x');
		add_number(out, x->dims[i]);
	}
}

static bool add_product(struct strbuf *out, const struct op_rule *r, const struct op_tensors *t)
{
	struct op_product p;
	if (!op_product_find(r, t, &p))
		return false;
	if (p.batch > 1) {
		add_number(out, p.batch);
		strbuf_putc(out, 'x');
	}
	add_number(out, p.m);
	strbuf_putc(out, 'x');
	add_number(out, p.n);
	strbuf_putc(out, 'x');
	add_number(out, p.k);
	return true;
}

void op_shape_text(const struct op_inputs *in, struct strbuf *out)
{
	const struct op_rule *r = op_rule_find(in->op);
	struct op_tensors t;
	const struct op_tensor *last = NULL;

	op_tensors_read(&t, in);
	if (r && add_product(out, r, &t))
		return;
	for (size_t i = 0; i < t.count; i++) {
		const struct op_tensor *x = op_input(&t, i);
		/* The same shape again tells nothing new. */
		if (!x || (last && last->rank == x->rank &&
			   !memcmp(last->dims, x->dims, sizeof(x->dims))))
			continue;
		if (last)
			strbuf_puts(out, ", ");
		add_dims(out, x);
		last = x;
	}
}

void op_types_text(const struct op_inputs *in, struct strbuf *out)
{
	struct op_tensors t;
	op_tensors_read(&t, in);
	for (size_t i = 0, shown = 0; i < t.count; i++) {
		const struct op_tensor *x = op_input(&t, i);
		bool is_new = x && x->type;
		for (size_t k = 0; k < i && is_new; k++)
			is_new = !op_input(&t, k) || !t.list[k].type ||
				 strcmp(t.list[k].type->brief, x->type->brief) != 0;
		if (!is_new)
			continue;
		strbuf_printf(out, "%s%s", shown++ ? ", " : "", x->type->brief);
	}
}
