/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/costs.h"

#include "analyze/metadata.h"
#include "analyze/op_cost.h"
#include "analyze/peaks.h"
#include "base/parse.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct device_row {
	struct device_peaks peaks;
	bool is_known, is_asked;
};

struct costs {
	const struct analysis *a;
	struct device_row *devices; /* by row */
	struct hash known;          /* (metadata, name) -> in `list`, of one call */
	VEC(struct op_cost) list;
};

int costs_new(struct costs **ret, const struct analysis *a)
{
	CLEANUP(costs_free) struct costs *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->a = a;
	c->devices = calloc(a->devices.len, sizeof(*c->devices));
	if (!c->devices)
		return -ENOMEM;
	*ret = TAKE(c);
	return 0;
}

void costs_free(struct costs *c)
{
	if (!c)
		return;
	free(c->devices);
	hash_release(&c->known);
	vec_release(&c->list);
	free(c);
}

const struct launch_detail *analysis_launch_detail(const struct analysis *a, const struct launch *l)
{
	/* The arena behind it aligns for any type. */
	return (const void *)strtab_get(&a->detail_blobs, l->detail).data;
}

/* ---- peaks ---- */

static uint64_t clock_of(const struct analysis *a, const struct device *d, const char *what)
{
	char key[128];
	uint64_t value;
	snprintf(key, sizeof(key), "device.%s.%u.%s", analysis_text(a, d->runtime), d->index, what);
	const char *text = analysis_info(a, key);
	return text && parse_u64(text, 10, &value) == 0 ? value : 0;
}

const struct device_peaks *costs_peaks(struct costs *c, uint32_t device)
{
	struct device_row *row = &c->devices[device];
	const struct device *d = &c->a->devices.data[device];
	if (!row->is_asked) {
		const char *name = analysis_text(c->a, d->text);
		const struct device_peaks *listed = device_peaks_find(name);
		const struct device_clocks clocks = {
			.runtime = analysis_text(c->a, d->runtime),
			.name = name,
			.units = d->units,
			.clock_khz = clock_of(c->a, d, "clock_rate"),
			.memory_khz = clock_of(c->a, d, "memory_clock_rate"),
			.bus_bits = clock_of(c->a, d, "bus_width"),
		};
		row->is_asked = true;
		row->is_known = listed || device_peaks_by_clocks(&clocks, &row->peaks);
		if (listed)
			row->peaks = *listed;
	}
	return row->is_known ? &row->peaks : NULL;
}

/* TFLOP/s; 0: not known. */
static double peak_flops(const struct device_peaks *p, enum op_number number, bool is_matrix,
			 const char *kernel)
{
	switch (number) {
	case OP_NUMBER_FP64:
		return p->fp64;
	case OP_NUMBER_FP32:
		return is_matrix && p->tf32 > 0 && !op_cost_is_plain_fp32(kernel) ? p->tf32
										  : p->fp32;
	case OP_NUMBER_BF16:
		return p->bf16;
	case OP_NUMBER_FP8:
		return p->fp8;
	default:
		return 0;
	}
}

/* 1e12 a second are 1000 a nanosecond. */
static double time_at(double amount, double tera)
{
	return tera > 0 ? amount / tera / 1000 : 0;
}

/* ---- costs ---- */

static int cost_by_op(struct costs *c, uint32_t metadata, uint32_t name, struct op_cost *ret)
{
	const uint64_t *known = hash_get(&c->known, hash_pair(metadata, name));
	if (known) {
		*ret = c->list.data[*known];
		return 0;
	}
	const char *text = analysis_text(c->a, metadata);
	const struct op_inputs in = {
		.op = metadata_value(text, "op"),
		.dims = metadata_value(text, "dims"),
		.types = metadata_value(text, "types"),
		.scalars = metadata_value(text, "scalars"),
	};
	struct op_cost cost;
	if (!op_cost_find(&in, &cost) ||
	    (cost.is_matrix && !op_cost_is_main_kernel(strtab_text(&c->a->names, name))))
		cost = (struct op_cost){ .flops = 0 };
	*ret = cost;
	if (hash_set(&c->known, hash_pair(metadata, name), c->list.len) < 0)
		return -ENOMEM;
	return vec_push(&c->list, cost);
}

/* What Proton's hooks say, by the width of the numbers: "flops8=1e11". */
static void read_widths(const char *metadata, double ret[OP_NUMBER_COUNT])
{
	static const struct {
		const char *key;
		enum op_number number;
	} widths[] = {
		{ "flops8", OP_NUMBER_FP8 },
		{ "flops16", OP_NUMBER_BF16 },
		{ "flops32", OP_NUMBER_FP32 },
		{ "flops64", OP_NUMBER_FP64 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(widths); i++) {
		struct span value = metadata_value(metadata, widths[i].key);
		char text[64];
		snprintf(text, sizeof(text), "%.*s", (int)(value.size < 63 ? value.size : 63),
			 (const char *)value.data);
		double flops = strtod(text, NULL);
		ret[widths[i].number] = isfinite(flops) && flops > 0 ? flops : 0;
	}
}

/* 0 when part of it is not known. */
static double compute_time(const struct device_peaks *p, const struct launch_cost *c,
			   bool is_matrix, const char *kernel)
{
	double ns = 0, known = 0;
	for (int i = 0; i < OP_NUMBER_COUNT; i++) {
		double peak = peak_flops(p, (enum op_number)i, is_matrix, kernel);
		if (c->flops_by[i] <= 0 || peak <= 0)
			continue;
		ns += time_at(c->flops_by[i], peak);
		known += c->flops_by[i];
	}
	return known >= c->flops * 0.999 ? ns : 0;
}

int costs_of(struct costs *c, const struct launch *l, uint32_t device, struct launch_cost *ret)
{
	const struct launch_detail *d = analysis_launch_detail(c->a, l);
	const struct device_peaks *p = device ? costs_peaks(c, device) : NULL;
	struct op_cost cost = { .is_matrix = true };
	double times = d->count ? (double)d->count : 1;

	if (d->metadata && l->kind == LAUNCH_KERNEL && !d->flops &&
	    cost_by_op(c, d->metadata, l->name, &cost) < 0)
		return -ENOMEM;
	struct launch_cost sum = {
		.flops = d->flops ? (double)d->flops : cost.flops * times,
		.bytes = d->bytes ? (double)d->bytes : cost.bytes * times,
	};
	if (d->flops)
		read_widths(analysis_text(c->a, d->metadata), sum.flops_by);
	else if (cost.number != OP_NUMBER_NONE)
		sum.flops_by[cost.number] = sum.flops;
	if (p)
		sum.compute_ns =
			compute_time(p, &sum, cost.is_matrix, strtab_text(&c->a->names, l->name));
	/* Copies that leave the device are bound by what they go through; and of one roof alone it is
	 * not known whether it is the lower one. */
	bool is_known = l->kind == LAUNCH_KERNEL &&
			(sum.compute_ns > 0 || sum.flops <= 0 || !cost.is_matrix);
	if (p && is_known)
		sum.memory_ns = time_at(sum.bytes, p->bytes);
	*ret = sum;
	return 0;
}

bool analysis_has_shapes(const struct analysis *a)
{
	vec_for_each(&a->launches, l) {
		uint32_t metadata = analysis_launch_detail(a, l)->metadata;
		if (metadata && metadata_value(analysis_text(a, metadata), "dims").size)
			return true;
	}
	return false;
}
