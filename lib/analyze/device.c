/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/device.h"

#include "analyze/attribute.h"
#include "analyze/code.h"
#include "analyze/filter.h"

#include <errno.h>
#include <string.h>

/* NVIDIA's disassembler takes 0.2 s for each; with more than so many all go without, so that all look alike. */
#define NVDISASM_OBJECTS_MAX 32

static bool has_few_cubins(const struct analysis *a)
{
	size_t count = 0;
	vec_for_each(&a->code_objects, c)
		count += c->kind == CODE_OBJECT_CUBIN;
	return count <= NVDISASM_OBJECTS_MAX;
}

/* The code object in row @row, opened; NULL where the capture does not hold one that is known here. */
static struct device_object *analysis_code(struct analysis *a, uint32_t row)
{
	struct code_object *c = &a->code_objects.data[row];
	if (!c->is_opened) {
		c->is_opened = true;
		if (c->kind != CODE_OBJECT_SOURCE && c->kind != CODE_OBJECT_SPIRV && c->bytes.len &&
		    c->bytes.len == c->total_bytes &&
		    device_open(&c->code, span_of(c->bytes.data, c->bytes.len),
				analysis_text(a, c->text), 0, NULL) < 0)
			c->code = NULL;
		if (c->code && c->kind == CODE_OBJECT_CUBIN && has_few_cubins(a))
			device_use_nvdisasm(c->code);
	}
	return c->code;
}

/* Row of the code object that @p lies in, and where there as lib/device counts; 0: none is there. */
static uint32_t place_code(struct analysis *a, const struct place *p, uint64_t *ret_offset)
{
	const struct kernel *k = &a->kernels.data[p->kernel];
	*ret_offset = p->offset;
	if (p->code_object || !k->code_object)
		return p->code_object;
	/* Counted from the start of the kernel, whose name is known. */
	struct device_object *o = analysis_code(a, k->code_object);
	size_t index;
	if (!o || device_function_find(o, strtab_text(&a->names, p->name), &index) < 0)
		return 0;
	*ret_offset += device_function_get(o, index)->offset;
	return k->code_object;
}

int analysis_place_resolve(struct analysis *a, const struct place *p, struct device_place *ret)
{
	uint64_t offset;
	uint32_t row = place_code(a, p, &offset);
	struct device_object *o = row ? analysis_code(a, row) : NULL;
	return o ? device_resolve(o, offset, ret) : -ENOENT;
}

/* Samples of one kernel in one code object. */
struct group {
	uint32_t name, code;
	uint64_t samples;
};

static bool counts(const struct filter *wanted, const struct analysis *a, const struct place *p)
{
	return wanted->name_passes[p->name] && *strtab_text(&a->names, p->name);
}

/* The hottest kernel of those wanted, and of its builds the hottest. */
static int find_hottest(struct analysis *a, const struct attribution *t,
			const struct filter *wanted, struct group *ret,
			struct analysis_kernel_hits *h)
{
	struct hash names = { 0 }, groups = { 0 };
	int rc = 0;

	for (size_t i = 0; i < t->list.len && !rc; i++) {
		const struct place *p = &a->places.data[t->list.data[i].place];
		uint64_t count = t->list.data[i].count, offset;
		h->all_samples += count;
		if (!counts(wanted, a, p))
			continue;
		uint64_t key = hash_pair(p->name, place_code(a, p, &offset));
		const uint64_t *name = hash_get(&names, p->name), *group = hash_get(&groups, key);
		rc = hash_set(&names, p->name, (name ? *name : 0) + count);
		rc = rc ? rc : hash_set(&groups, key, (group ? *group : 0) + count);
	}
	hash_for_each(&names, it) {
		if (it->value > h->kernel_samples ||
		    (it->value == h->kernel_samples && it->value && it->key < ret->name)) {
			h->kernel_samples = it->value;
			ret->name = (uint32_t)it->key;
		}
	}
	hash_for_each(&groups, it) {
		uint32_t code = (uint32_t)it->key;
		if (it->key >> 32 == ret->name &&
		    (it->value > ret->samples || (it->value == ret->samples && code < ret->code))) {
			ret->samples = it->value;
			ret->code = code;
		}
	}
	hash_release(&names);
	hash_release(&groups);
	return rc;
}

static int compare_hits(const void *va, const void *vb)
{
	const struct analysis_hit *a = va, *b = vb;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	int rc = strcmp(a->file, b->file);
	return rc ? rc : strcmp(a->reason, b->reason);
}

/* Add up what is equal. */
static void merge_hits(struct analysis_kernel_hits *h)
{
	size_t kept = 0;
	if (h->hit_count)
		qsort(h->hits, h->hit_count, sizeof(*h->hits), compare_hits);
	for (size_t i = 0; i < h->hit_count; i++) {
		if (kept && compare_hits(&h->hits[kept - 1], &h->hits[i]) == 0)
			h->hits[kept - 1].samples += h->hits[i].samples;
		else
			h->hits[kept++] = h->hits[i];
	}
	h->hit_count = kept;
}

static int collect_hits(struct analysis *a, const struct attribution *t, const struct group *g,
			struct analysis_kernel_hits *h)
{
	h->hits = calloc(t->list.len, sizeof(*h->hits));
	if (!h->hits)
		return -ENOMEM;
	for (size_t i = 0; i < t->list.len; i++) {
		const struct place *p = &a->places.data[t->list.data[i].place];
		uint64_t offset;
		if (p->name != g->name || place_code(a, p, &offset) != g->code)
			continue;
		h->hits[h->hit_count++] = (struct analysis_hit){
			.offset = offset,
			.reason = analysis_text(a, p->reason),
			.samples = t->list.data[i].count,
			.file = analysis_text(a, p->file),
			.line = p->line,
		};
		h->samples += t->list.data[i].count;
		h->device =
			p->device ? analysis_text(a, a->devices.data[p->device].text) : h->device;
		h->metadata = p->kernel ? analysis_text(a, a->kernels.data[p->kernel].metadata)
					: h->metadata;
		if (!h->process)
			h->process = analysis_site_process(a, t->list.data[i].site);
	}
	merge_hits(h);
	return 0;
}

void analysis_kernel_hits_release(struct analysis_kernel_hits *h)
{
	free(h->hits);
	h->hits = NULL;
}

static int fill_hits(struct analysis *a, const char *kernel, const struct attribution *t,
		     const struct filter *wanted, struct analysis_kernel_hits *ret, struct err *err)
{
	CLEANUP(analysis_kernel_hits_release)
	struct analysis_kernel_hits h = { .object_name = "", .device = "", .metadata = "" };
	struct group g = { .name = UINT32_MAX };

	if (find_hottest(a, t, wanted, &g, &h) < 0)
		return err_set(err, -ENOMEM, "cannot add up samples");
	if (!h.kernel_samples)
		return err_set(err, -EINVAL, "no samples inside %s%s%s",
			       kernel ? "'" : "any kernel", kernel ? kernel : "",
			       kernel ? "'" : "");
	h.kernel = strtab_text(&a->names, g.name);
	if (g.code) {
		h.object = analysis_code(a, g.code);
		h.object_name = analysis_text(a, a->code_objects.data[g.code].text);
	}
	if (collect_hits(a, t, &g, &h) < 0)
		return err_set(err, -ENOMEM, "cannot add up samples");
	*ret = h;
	h.hits = NULL;
	return 0;
}

int analysis_kernel_hits(struct analysis *a, const char *kernel,
			 const struct analysis_filter *filter, struct analysis_kernel_hits *ret,
			 struct err *err)
{
	struct analysis_filter all = *filter, only = *filter;
	struct filter f = { 0 }, wanted = { 0 };
	const struct attribution *t = NULL;

	all.kernel = NULL;
	only.kernel = kernel;
	int rc = filter_init(&f, a, &all, err);
	if (rc == 0)
		rc = filter_init(&wanted, a, &only, err);
	if (rc == 0) {
		rc = attribution_of(a, &f, &t);
		if (rc < 0)
			err_set(err, rc, "cannot attribute samples");
	}
	if (rc == 0)
		rc = fill_hits(a, kernel, t, &wanted, ret, err);
	filter_release(&f);
	filter_release(&wanted);
	return rc;
}

int analysis_kernel_source(struct analysis *a, const struct analysis_kernel_hits *h,
			   struct span *ret, const char **ret_name)
{
	const struct code_object *found = NULL;
	vec_for_each(&a->code_objects, c) {
		if (c->kind != CODE_OBJECT_SOURCE || !c->bytes.len ||
		    (h->process && c->process && c->process != h->process) ||
		    !memmem(c->bytes.data, c->bytes.len, h->kernel, strlen(h->kernel)))
			continue;
		/* The last one given is the one in use, where a program was built again. */
		found = c;
	}
	if (!found)
		return -ENOENT;
	*ret = span_of(found->bytes.data, found->bytes.len);
	*ret_name = analysis_text(a, found->text);
	return 0;
}
