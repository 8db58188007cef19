/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel for programs: every instruction with its lines and samples. */
#include "cmd/annotate.h"

#include "device/occupancy.h"

#include <errno.h>

static void json_pair(struct json *j, const char *key, const char *text)
{
	json_key(j, key);
	json_text(j, text);
}

static void json_count(struct json *j, const char *key, uint64_t number)
{
	json_key(j, key);
	json_number(j, number);
}

static void add_lines(struct json *j, const struct device_place *p)
{
	json_key(j, "lines");
	json_array(j);
	for (size_t i = 0; i < p->line_count; i++) {
		json_object(j);
		json_pair(j, "function", p->lines[i].name);
		json_pair(j, "file", analysis_source_name(p->lines[i].file));
		json_count(j, "line", p->lines[i].line);
		json_count(j, "column", p->lines[i].column);
		json_object_end(j);
	}
	json_array_end(j);
}

static void add_samples(struct json *j, const struct analysis_kernel_hits *h, uint64_t from,
			uint64_t to)
{
	json_count(j, "samples", hits_between(h, from, to));
	json_key(j, "stalls");
	json_object(j);
	for (size_t i = 0; i < h->hit_count; i++) {
		const struct analysis_hit *hit = &h->hits[i];
		/* One hit a reason and offset; an instruction has one offset that is sampled. */
		if (hit->offset >= from && hit->offset < to && *hit->reason)
			json_count(j, hit->reason, hit->samples);
	}
	json_object_end(j);
}

static void add_place(struct json *j, const struct annotated *k, const struct device_place *p,
		      uint64_t end)
{
	json_object(j);
	json_count(j, "offset", p->offset);
	json_count(j, "length", p->length);
	if (p->text)
		json_pair(j, "text", p->text);
	if (p->assembly)
		json_pair(j, "assembly", p->assembly);
	add_lines(j, p);
	if (k->hits)
		add_samples(j, k->hits, p->offset, end);
	json_object_end(j);
}

static int add_function(struct json *j, const struct annotated *k, size_t function)
{
	const struct device_function *f = device_function_get(k->object, function);
	int64_t count = device_place_count(k->object, function);
	struct device_occupancy occupancy;
	if (count < 0)
		return -ENOMEM;
	json_object(j);
	json_pair(j, "name", f->name);
	json_key(j, "kernel");
	if (f->kernel)
		json_text(j, f->kernel);
	else
		json_null(j);
	json_key(j, "is_kernel");
	json_bool(j, f->is_kernel);
	json_count(j, "offset", f->offset);
	json_count(j, "size", f->size);
	json_count(j, "registers", f->facts.registers);
	json_count(j, "scalar_registers", f->facts.scalar_registers);
	json_count(j, "shared_bytes", f->facts.shared_bytes);
	json_count(j, "private_bytes", f->facts.private_bytes);
	json_count(j, "spill_bytes", f->facts.spill_bytes);
	json_count(j, "simd", f->facts.simd);
	if (device_occupancy(k->object, &f->facts, &occupancy) == 0) {
		json_key(j, "occupancy");
		json_object(j);
		json_count(j, "possible", occupancy.possible);
		json_count(j, "most", occupancy.most);
		json_pair(j, "unit", occupancy.unit);
		json_object_end(j);
	}
	json_key(j, "instructions");
	json_array(j);
	for (size_t i = 0; i < (size_t)count; i++) {
		struct device_place p;
		device_place_get(k->object, function, i, &p);
		add_place(j, k, &p, annotate_end(k, function, i, (size_t)count, &p));
	}
	json_array_end(j);
	json_object_end(j);
	return 0;
}

int annotate_json(struct json *j, const struct annotated *k)
{
	int rc = 0;

	json_object(j);
	if (k->kernel)
		json_pair(j, "kernel", k->kernel);
	json_pair(j, "object", k->object_name);
	if (k->object)
		json_pair(j, "arch", device_arch(k->object));
	if (k->hits) {
		json_count(j, "samples", k->hits->samples);
		json_count(j, "kernel_samples", k->hits->kernel_samples);
		json_count(j, "all_samples", k->hits->all_samples);
	}
	json_key(j, "functions");
	json_array(j);
	for (size_t i = 0; k->object && i < device_function_count(k->object) && !rc; i++) {
		if (!k->kernel || annotated_has(k, device_function_get(k->object, i)))
			rc = add_function(j, k, i);
	}
	json_array_end(j);
	json_object_end(j);
	return rc;
}
