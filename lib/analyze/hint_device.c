/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels and copies that could be better. */
#include "analyze/costs.h"
#include "analyze/hint_facts.h"
#include "analyze/op_cost.h"
#include "analyze/paths.h"
#include "base/parse.h"

#include <ctype.h>
#include <errno.h>

struct work {
	uint32_t frame;
	uint32_t node; /* that with most time */
	uint64_t ns, count, node_ns;
	uint64_t memory_ps,
		compute_ps; /* that its bytes and flops would take at the device's peak */
};

struct works {
	VEC(struct work) list;
	struct hash by_frame;
};

static int work_add(struct works *w, const struct work *one)
{
	uint64_t *known = hash_get(&w->by_frame, one->frame);
	if (!known) {
		if (hash_set(&w->by_frame, one->frame, w->list.len) < 0)
			return -ENOMEM;
		return vec_push(&w->list, *one);
	}
	struct work *at = &w->list.data[*known];
	at->ns += one->ns;
	at->count += one->count;
	at->memory_ps += one->memory_ps;
	at->compute_ps += one->compute_ps;
	if (one->ns > at->node_ns) {
		at->node_ns = one->ns;
		at->node = one->node;
	}
	return 0;
}

static uint64_t self(const struct profile *p, uint32_t node, int metric)
{
	return metric < 0 ? 0 : profile_self(p, node, metric);
}

static int works_collect(struct facts *x, struct works *w)
{
	int time = profile_metric_find(x->p, "device-time");
	int launches = profile_metric_find(x->p, "launches");
	int memory = profile_metric_find(x->p, "memory-roof");
	int compute = profile_metric_find(x->p, "compute-roof");
	for (uint32_t n = 0; time >= 0 && n < profile_node_count(x->p); n++) {
		struct work one = {
			.frame = profile_node(x->p, n).frame,
			.node = n,
			.ns = profile_self(x->p, n, time),
			.count = self(x->p, n, launches),
			.memory_ps = self(x->p, n, memory),
			.compute_ps = self(x->p, n, compute),
		};
		one.node_ns = one.ns;
		if (!one.ns)
			continue;
		x->out->device_ns += one.ns;
		if (work_add(w, &one) < 0)
			return -ENOMEM;
	}
	return 0;
}

static bool has(const char *text, const char *part)
{
	return strcasestr(text, part) != NULL;
}

static bool is_copy(const char *name)
{
	return !strncasecmp(name, "Memcpy", 6) || !strncasecmp(name, "Copy", 4) ||
	       !strncasecmp(name, "Memset", 6);
}

static bool is_collective(const char *name)
{
	return has(name, "nccl") || has(name, "rccl") || has(name, "all_reduce");
}

static bool is_gemm(const char *brief, const char *full)
{
	return !strncmp(brief, "gemm", 4) || has(full, "gemm");
}

/* The architecture that a kernel's name says it was made for: "sm80" of "sm80_xmma_gemm_...". */
static bool arch_of(const char *full, char ret[8])
{
	const char *at = strstr(full, "sm");
	for (; at; at = strstr(at + 1, "sm")) {
		size_t digits = strspn(at + 2, "0123456789");
		if (digits < 2 || digits > 3 || (at > full && isalnum((unsigned char)at[-1])))
			continue;
		snprintf(ret, 8, "sm%.*s", (int)digits, at + 2);
		return true;
	}
	return false;
}

/* 80 of "sm80". */
static uint64_t arch_number(const char *arch)
{
	const char *at = arch + 2;
	uint64_t number;
	return parse_digits(&at, arch + strlen(arch), 10, &number) < 0 ? 0 : number;
}

static void part_add(struct hint_part *p, const struct work *w)
{
	p->ns += w->ns;
	p->count += w->count;
}

static void take_gemm(struct facts *x, const struct work *w, const char *brief, const char *full)
{
	struct hint_facts *o = x->out;
	char arch[8];

	part_add(&o->gemm, w);
	if (op_cost_is_plain_fp32(full))
		part_add(&o->gemm_fp32, w);
	/* Both are NVIDIA's, of which a newer one runs the older one's kernels. */
	if (!strncmp(o->arch, "sm", 2) && (arch_of(brief, arch) || arch_of(full, arch)) &&
	    arch_number(arch) < arch_number(o->arch)) {
		part_add(&o->gemm_old, w);
		if (!*o->gemm_old.text) {
			strbuf_reset(&x->text);
			strbuf_puts(&x->text, arch);
			o->gemm_old.text = facts_keep(x);
		}
	}
}

/* The host code above a kernel: beyond the boundary between both. */
static const char *launcher(struct facts *x, uint32_t node)
{
	return facts_where(x, profile_launcher(x->p, node));
}

/* Of the memory's speed, so many percent are as good as all of it; and no less than this is lost by
 * moving bytes that the operator's inputs and outputs do not tell of. */
#define MEMORY_BOUND_PERCENT 50

static bool is_memory_bound(const struct work *w)
{
	return w->memory_ps > w->compute_ps &&
	       (double)w->memory_ps / 1000 * 100 >= (double)w->ns * MEMORY_BOUND_PERCENT;
}

static void take_memory(struct facts *x, const struct work *w, const char *name)
{
	struct hint_facts *o = x->out;
	if (!*o->memory.text || w->ns > x->memory_ns) {
		strbuf_reset(&x->text);
		strbuf_puts(&x->text, name);
		o->memory.text = facts_keep(x);
		o->memory.where = launcher(x, w->node);
		x->memory_ns = w->ns;
	}
	o->memory.ns += w->ns;
	o->memory.count++;
	o->memory_roof_ns += w->memory_ps / 1000;
}

static void take_work(struct facts *x, const struct work *w)
{
	struct frame f = profile_frame_get(x->p, w->frame);
	const char *full = f.full && *f.full ? f.full : f.name;
	struct hint_facts *o = x->out;

	if (is_copy(f.name)) {
		if (!has(f.name, "pageable"))
			return;
		if (w->ns > o->pageable.ns)
			o->pageable.where = launcher(x, w->node);
		part_add(&o->pageable, w);
		return;
	}
	if (is_collective(full))
		return;
	if (is_gemm(f.name, full))
		take_gemm(x, w, f.name, full);
	if (is_memory_bound(w))
		take_memory(x, w, f.name);
	if (w->ns > o->kernel.ns) {
		strbuf_reset(&x->text);
		strbuf_puts(&x->text, f.name);
		o->kernel =
			(struct hint_part){ facts_keep(x), launcher(x, w->node), w->ns, w->count };
	}
}

/* ---- grids ---- */

/* The largest grid that each name was launched with, in groups; 0: one of them is not known. */
static uint64_t *grids_of(const struct analysis *a)
{
	uint32_t names = strtab_count(&a->names);
	uint64_t *most = calloc(names + 1, sizeof(*most));
	CLEANUP_FREE bool *unknown = calloc(names + 1, sizeof(*unknown));
	if (!most || !unknown) {
		free(most);
		return NULL;
	}
	vec_for_each(&a->launches, l) {
		const struct launch_detail *d = analysis_launch_detail(a, l);
		uint64_t groups = (uint64_t)d->grid[0] * d->grid[1] * d->grid[2];
		if (l->kind != LAUNCH_KERNEL || l->name >= names)
			continue;
		unknown[l->name] |= !groups;
		most[l->name] = groups > most[l->name] ? groups : most[l->name];
	}
	for (uint32_t i = 0; i < names; i++)
		most[i] = unknown[i] ? 0 : most[i];
	return most;
}

/* Of the kernels that cannot fill the device, the dearest. */
static int take_small(struct facts *x)
{
	const struct analysis *a = x->a;
	uint32_t names = strtab_count(&a->names), best = 0;
	CLEANUP_FREE uint64_t *grids = grids_of(a);
	CLEANUP_FREE uint64_t *sums = calloc(names + 1, sizeof(*sums));
	if (!grids || !sums)
		return -ENOMEM;
	vec_for_each(&a->ops, op) {
		if (op->kind == LAUNCH_KERNEL && op->name < names &&
		    filter_time(x->f, op->start_ns))
			sums[op->name] += op->end_ns - op->start_ns;
	}
	for (uint32_t i = 1; i < names; i++) {
		if (grids[i] && grids[i] * 4 <= x->out->units && sums[i] > sums[best])
			best = i;
	}
	if (!best || is_collective(strtab_text(&a->names, best)))
		return 0;
	strbuf_reset(&x->text);
	CLEANUP(profile_free) struct profile *p = NULL;
	CLEANUP(frames_free) struct frames *frames = NULL;
	uint32_t frame;
	if (profile_new(&p) < 0 || frames_new(&frames, x->a, p, false) < 0 ||
	    frames_kernel(frames, best, &frame) < 0)
		return -ENOMEM;
	strbuf_puts(&x->text, profile_frame_get(p, frame).name);
	x->out->small = (struct hint_part){ facts_keep(x), "", sums[best], grids[best] };
	return 0;
}

int facts_device(struct facts *x)
{
	struct works w = { 0 };
	struct hint_facts *o = x->out;

	o->pageable = o->kernel = o->gemm = o->gemm_fp32 = o->gemm_old = o->small = o->memory =
		(struct hint_part){ .text = "", .where = "" };
	int rc = works_collect(x, &w);
	vec_for_each(&w.list, work)
		take_work(x, work);
	if (!rc && o->units)
		rc = take_small(x);
	vec_release(&w.list);
	hash_release(&w.by_frame);
	return rc;
}
