/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/kernel_facts.h"

#include "analyze/op_cost.h"
#include "base/hash.h"
#include "base/strtab.h"
#include "capture/record.h"

#include <errno.h>
#include <string.h>

struct kernel_facts {
	struct work w;
	struct strtab names;  /* of kernels; a fact each, of the same number */
	struct strtab shapes; /* texts */
	VEC(struct kernel_fact) list;
};

void kernel_facts_free(struct kernel_facts *k)
{
	if (!k)
		return;
	work_release(&k->w);
	strtab_release(&k->names);
	strtab_release(&k->shapes);
	vec_release(&k->list);
	free(k);
}

static const char *item_name(const struct kernel_facts *k, const struct work_item *item)
{
	return profile_frame_get(k->w.p, profile_node(k->w.p, item->node).frame).name;
}

static int add_shape(struct kernel_facts *k, struct kernel_fact *f, const struct work_item *item)
{
	const struct op_inputs in = {
		.op = span_of(item->op, strlen(item->op)),
		.dims = span_of(item->dims, strlen(item->dims)),
		.types = span_of(item->types, strlen(item->types)),
	};
	struct strbuf text = { 0 };
	uint32_t number = 0;

	if (item->kind != LAUNCH_KERNEL)
		return 0;
	op_shape_text(&in, &text);
	int rc = strbuf_finish(&text);
	rc = rc ? rc : strtab_add(&k->shapes, strbuf_text(&text), &number);
	strbuf_release(&text);
	if (rc < 0)
		return rc;
	const char *shape = strtab_text(&k->shapes, number);
	if (!*shape)
		return 0;
	f->has_shapes |= f->shape_ns && strcmp(shape, f->shape) != 0;
	if (item->ns > f->shape_ns) {
		f->shape = shape;
		f->shape_ns = item->ns;
	}
	return 0;
}

static int add_item(struct kernel_facts *k, const struct work_item *item, uint32_t *ret)
{
	if (strtab_add(&k->names, item_name(k, item), ret) < 0)
		return -ENOMEM;
	while (k->list.len <= *ret) {
		if (vec_push(&k->list, (struct kernel_fact){ .shape = "" }) < 0)
			return -ENOMEM;
	}
	struct kernel_fact *f = &k->list.data[*ret];
	double roof = item->compute_ns > item->memory_ns ? item->compute_ns : item->memory_ns;
	f->outlier_ns += item->outlier_ns;
	f->outliers += item->outliers;
	if (item->flops > 0 || roof > 0) {
		f->flops += item->flops;
		f->roof_ns += roof;
		f->work_ns += (double)item->ns;
	}
	return add_shape(k, f, item);
}

static int find_spreads(struct kernel_facts *k, const uint32_t *groups)
{
	CLEANUP_FREE struct spread *spreads = calloc(k->list.len + 1, sizeof(*spreads));
	if (!spreads || work_spreads(&k->w, groups, k->list.len, spreads) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < k->list.len; i++)
		k->list.data[i].spread = spreads[i];
	return 0;
}

int kernel_facts_new(struct kernel_facts **ret, struct analysis *a,
		     const struct analysis_filter *filter, struct err *err)
{
	CLEANUP(kernel_facts_free) struct kernel_facts *k = calloc(1, sizeof(*k));
	if (!k)
		return err_set(err, -ENOMEM, "cannot list kernels");
	int rc = analysis_work(a, filter, &k->w, err);
	if (rc < 0)
		return rc;
	CLEANUP_FREE uint32_t *groups = calloc(k->w.item_count + 1, sizeof(*groups));
	rc = groups ? 0 : -ENOMEM;
	for (size_t i = 0; i < k->w.item_count && !rc; i++)
		rc = add_item(k, &k->w.items[i], &groups[i]);
	rc = rc ? rc : find_spreads(k, groups);
	if (rc < 0)
		return err_set(err, rc, "cannot list kernels");
	*ret = TAKE(k);
	return 0;
}

const struct kernel_fact *kernel_facts_get(struct kernel_facts *k, const char *name)
{
	static const struct kernel_fact none = { .shape = "" };
	uint32_t number;
	bool is_known = k && strtab_add(&k->names, name, &number) == 0 && number < k->list.len;
	return is_known ? &k->list.data[number] : &none;
}
