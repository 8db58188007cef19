/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Once everything is read: device work is tied to the call that launched it, and everything gets
 * the name of its kernel.
 */
#include "analyze/sort.h"
#include "analyze/tables.h"

#include <errno.h>

uint32_t analysis_site_process(const struct analysis *a, uint32_t site)
{
	const struct site *s = &a->sites.data[site];
	return s->thread ? a->threads.data[s->thread].process : s->process;
}

bool analysis_launch_is_seen(const struct analysis *a, const struct launch *l)
{
	const struct stack *stack = &a->stacks.data[a->sites.data[l->site].stack];
	if (l->flags & LAUNCH_BEFORE_WINDOW)
		return false;
	if (l->thread || !stack->leaf)
		return l->thread;
	struct pair leaf = pairtab_get(&a->stack_nodes, stack->leaf);
	return a->objects.data[analysis_frame(a, leaf.second).object].kind != OBJECT_MISSING;
}

uint32_t analysis_op_process(const struct analysis *a, const struct op *op)
{
	const struct launch *l = analysis_op_launch(a, op);
	uint32_t process = l ? analysis_site_process(a, l->site) : 0;
	if (!process)
		process = a->queues.data[op->queue].process;
	if (!process)
		process = a->kernels.data[op->kernel].process;
	return process ? process : a->devices.data[op->device].process;
}

int analysis_op_site(struct analysis *a, const struct op *op, uint32_t *ret)
{
	const struct launch *l = analysis_op_launch(a, op);
	if (l && op->captured)
		return analysis_replayed_site(a, l->site, (uint32_t)op->captured, ret);
	if (l) {
		*ret = l->site;
		return 0;
	}
	struct site site = { .process = analysis_op_process(a, op), .kind = SITE_UNATTRIBUTED };
	return analysis_site(a, &site, ret);
}

/* Number of a kernel's or a piece of work's name, as the capture writes it. */
static int analysis_name(struct analysis *a, uint32_t text, uint32_t *ret)
{
	const uint64_t *known = hash_get(&a->name_of_text, text);
	if (known) {
		*ret = (uint32_t)*known;
		return 0;
	}
	struct span s = capture_reader_string(a->reader, text);
	if (strtab_intern(&a->names, s.data, s.size, ret, NULL) < 0)
		return -ENOMEM;
	return hash_set(&a->name_of_text, text, *ret);
}

static int ops_sort(struct analysis *a)
{
	size_t n = a->ops.len, i = 1;
	while (i < n && a->ops.data[i - 1].start_ns <= a->ops.data[i].start_ns)
		i++;
	if (i >= n)
		return 0;

	CLEANUP_FREE uint64_t *keys = calloc(n, sizeof(*keys));
	CLEANUP_FREE uint32_t *order = malloc(n * sizeof(*order));
	if (!keys || !order)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		keys[i] = a->ops.data[i].start_ns;
		order[i] = (uint32_t)i;
	}
	if (sort_by_key(keys, order, n) < 0)
		return -ENOMEM;
	struct op *sorted = malloc(a->ops.cap * sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		sorted[i] = a->ops.data[order[i]];
	free(a->ops.data);
	a->ops.data = sorted;
	return 0;
}

static uint64_t correlation_at(const struct analysis *a, size_t i)
{
	return a->launches.data[a->launch_order ? a->launch_order[i] : i].correlation;
}

/* Put the launches in order of their ids, which recorders give out one after the other. */
static int launches_order(struct analysis *a)
{
	size_t n = a->launches.len, i = 1;
	while (i < n && correlation_at(a, i - 1) < correlation_at(a, i))
		i++;
	if (i >= n)
		return 0;
	CLEANUP_FREE uint64_t *keys = calloc(n, sizeof(*keys));
	CLEANUP_FREE uint32_t *order = malloc(n * sizeof(*order));
	if (!keys || !order)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		keys[i] = a->launches.data[i].correlation;
		order[i] = (uint32_t)i;
	}
	if (sort_by_key(keys, order, n) < 0)
		return -ENOMEM;
	a->launch_order = TAKE(order);
	for (i = 1; i < n; i++) {
		uint64_t id = correlation_at(a, i);
		a->odd.correlations_reused += id && id == correlation_at(a, i - 1);
	}
	return 0;
}

const struct launch *analysis_launch(const struct analysis *a, uint64_t correlation)
{
	size_t n = a->launches.len, low = 0, high = n;
	if (!n || !correlation)
		return NULL;
	/* Where ids have no gaps, it is so many after the first. */
	uint64_t guess = correlation - correlation_at(a, 0);
	if (guess < n && correlation_at(a, guess) == correlation &&
	    (!guess || correlation_at(a, guess - 1) != correlation))
		low = high = guess;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (correlation_at(a, mid) < correlation)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == n || correlation_at(a, low) != correlation)
		return NULL;
	return &a->launches.data[a->launch_order ? a->launch_order[low] : low];
}

static int launch_name(struct analysis *a, struct launch *l)
{
	uint32_t text = l->kernel ? a->kernels.data[l->kernel].text : 0;

	if (l->kernel && !text && !l->name)
		return analysis_stub_name(a, l->site, &l->name);
	return analysis_name(a, text ? text : l->name, &l->name);
}

/* Where the thread is not known, the queue may say whose work it was. */
static int launch_process(struct analysis *a, struct launch *l)
{
	struct site site = a->sites.data[l->site];
	uint32_t process = a->queues.data[l->queue].process;
	if (site.thread ? a->threads.data[site.thread].process : !process)
		return 0;
	if (!process)
		return 0;
	site.thread = 0;
	site.process = process;
	return analysis_site(a, &site, &l->site);
}

/* What one of the two knows the other needs: the name, the queue, the device. */
static int op_join(struct analysis *a, struct op *op)
{
	uint32_t text = op->kernel ? a->kernels.data[op->kernel].text : 0;
	if (analysis_name(a, text ? text : op->name, &op->name) < 0)
		return -ENOMEM;
	if (!op->device)
		op->device = a->queues.data[op->queue].device;

	const uint64_t *capture = op->captured ? hash_get(&a->capture_of, op->captured) : NULL;
	op->captured = capture ? *capture : 0;

	const struct launch *launch = analysis_launch(a, op->correlation);
	if (!launch)
		return 0;
	size_t row = (size_t)(launch - a->launches.data);
	struct launch *l = &a->launches.data[row];
	op->launch = (uint32_t)row + 1;
	l->ops += l->ops < UINT32_MAX;
	if (!op->name)
		op->name = l->name;
	else if (!l->name)
		l->name = op->name;
	if (!op->queue)
		op->queue = l->queue;
	if (!op->device)
		op->device = a->queues.data[op->queue].device;
	return 0;
}

static int compare_kernels(const void *x, const void *y, void *analysis)
{
	const struct analysis *a = analysis;
	const struct kernel *k = &a->kernels.data[*(const uint32_t *)x];
	const struct kernel *l = &a->kernels.data[*(const uint32_t *)y];
	if (k->code_object != l->code_object)
		return k->code_object < l->code_object ? -1 : 1;
	return k->offset < l->offset ? -1 : k->offset > l->offset;
}

/* The kernel whose code holds the offset: the last that starts at or before it. */
static uint32_t kernel_at(const struct analysis *a, const uint32_t *order, const struct place *p)
{
	size_t low = 0, high = a->kernels.len;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct kernel *k = &a->kernels.data[order[mid]];
		if (k->code_object < p->code_object ||
		    (k->code_object == p->code_object && k->offset <= p->offset))
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return 0;
	const struct kernel *k = &a->kernels.data[order[low - 1]];
	bool inside =
		k->code_object == p->code_object && (!k->size || p->offset - k->offset < k->size);
	return inside ? order[low - 1] : 0;
}

static int places_join(struct analysis *a)
{
	size_t n = a->kernels.len;
	CLEANUP_FREE uint32_t *order = malloc(n * sizeof(*order));
	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, n, sizeof(*order), compare_kernels, a);

	vec_for_each(&a->places, p) {
		if (p->stack) {
			if (analysis_pocl_kernel(a, p, &p->name) < 0)
				return -ENOMEM;
			continue;
		}
		if (!p->kernel && p->code_object)
			p->kernel = kernel_at(a, order, p);
		if (analysis_name(a, a->kernels.data[p->kernel].text, &p->name) < 0)
			return -ENOMEM;
	}
	return 0;
}

int analysis_join(struct analysis *a)
{
	vec_for_each(&a->launches, l) {
		if (launch_name(a, l) < 0 || launch_process(a, l) < 0)
			return -ENOMEM;
	}
	vec_for_each(&a->captures, c) {
		if (c->name ? analysis_name(a, c->name, &c->name)
			    : analysis_stub_name(a, c->site, &c->name))
			return -ENOMEM;
	}
	if (ops_sort(a) < 0 || launches_order(a) < 0)
		return -ENOMEM;
	vec_for_each(&a->ops, op) {
		if (op_join(a, op) < 0)
			return -ENOMEM;
	}
	/* Only now, so that a name learnt from the device reaches every piece of the same launch. */
	vec_for_each(&a->ops, op) {
		if (op->launch && !op->name)
			op->name = a->launches.data[op->launch - 1].name;
	}
	vec_for_each(&a->code_objects, c) {
		a->odd.code_objects_incomplete += c->bytes.len != c->total_bytes;
	}
	return places_join(a);
}
