/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/work.h"

#include "analyze/costs.h"
#include "analyze/filter.h"
#include "analyze/metadata.h"
#include "analyze/outliers.h"
#include "analyze/paths.h"
#include "analyze/steps.h"
#include "base/bisect.h"

#include <errno.h>

struct adding {
	struct analysis *a;
	const struct filter *f;
	struct work *w;
	struct paths *paths;
	struct hash items; /* (node, texts) -> item */
	VEC(struct work_item) list;
	const struct step *steps;
	size_t step_count;
	bool is_by_run; /* the steps asked for are of several runs: outside of them nothing counts */
	uint64_t *covered_ns; /* by step: until when it is known to be busy */
	struct costs *costs;
};

void work_release(struct work *w)
{
	profile_free(w->p);
	free(w->items);
	free(w->steps);
	free(w->op_items);
	free(w->op_steps);
	free(w->op_ns);
	free(w->op_outliers);
	*w = (struct work){ .p = NULL };
}

/* A text that lives as long as the profile: that of a frame which is on no node. */
static int keep_text(struct adding *x, struct span text, const char **ret)
{
	uint32_t frame;
	CLEANUP_FREE char *copy = strndup((const char *)text.data, text.size);
	if (!copy || profile_frame(x->w->p, &(struct frame){ .kind = FRAME_SCOPE, .name = copy },
				   &frame) < 0)
		return -ENOMEM;
	*ret = profile_frame_get(x->w->p, frame).name;
	return 0;
}

static int find_item(struct adding *x, uint32_t node, const struct launch *l, uint32_t *ret)
{
	uint32_t metadata = 0;
	if (l) {
		metadata = analysis_launch_detail(x->a, l)->metadata;
	}
	uint64_t key = hash_pair(node, metadata);
	const uint64_t *known = hash_get(&x->items, key);
	if (known) {
		*ret = (uint32_t)*known;
		return 0;
	}
	const char *text = metadata ? analysis_text(x->a, metadata) : "";
	struct work_item item = { .node = node };
	if (keep_text(x, metadata_value(text, "op"), &item.op) < 0 ||
	    keep_text(x, metadata_value(text, "dims"), &item.dims) < 0 ||
	    keep_text(x, metadata_value(text, "types"), &item.types) < 0 ||
	    hash_set(&x->items, key, x->list.len) < 0 || vec_push(&x->list, item) < 0)
		return -ENOMEM;
	*ret = (uint32_t)(x->list.len - 1);
	return 0;
}

/* The step of @process at a moment, + 1; steps are in order of their beginning. */
static uint32_t find_step(const struct adding *x, uint32_t process, uint64_t time_ns)
{
	size_t below = bisect(x->step_count, i, x->steps[i].begin_ns <= time_ns);
	/* Those of other ranks lie between; a rank has few of them open at a time. */
	for (size_t i = below, tries = 0; i-- > 0 && tries < 1024; tries++) {
		const struct step *s = &x->steps[i];
		if ((!process || !s->process || s->process == process) && s->end_ns > time_ns)
			return (uint32_t)i + 1;
	}
	return 0;
}

/* Work comes in order of its beginning, so that what is covered of a step only grows. */
static void cover(struct adding *x, uint32_t step, const struct op *op)
{
	const struct step *s = &x->steps[step];
	uint64_t from = op->start_ns, to = op->end_ns < s->end_ns ? op->end_ns : s->end_ns;
	if (from < x->covered_ns[step])
		from = x->covered_ns[step];
	if (to <= from)
		return;
	x->w->steps[step].busy_ns += to - from;
	x->covered_ns[step] = to;
}

static uint64_t groups_of(const struct analysis *a, const struct launch *l)
{
	const struct launch_detail *d = analysis_launch_detail(a, l);
	return (uint64_t)d->grid[0] * (d->grid[1] ? d->grid[1] : 1) * (d->grid[2] ? d->grid[2] : 1);
}

static int add_cost(struct adding *x, struct work_item *item, const struct op *op)
{
	const struct launch *l = analysis_op_launch(x->a, op);
	struct launch_cost cost;
	item->kind = op->kind;
	if (!l)
		return 0;
	if (costs_of(x->costs, l, op->device, &cost) < 0)
		return -ENOMEM;
	/* Of a launch that became several pieces of work, each takes its part. */
	double part = 1.0 / (l->ops ? l->ops : 1);
	uint64_t groups = groups_of(x->a, l);
	item->flops += cost.flops * part;
	item->bytes += op->bytes && cost.bytes <= 0 ? (double)op->bytes : cost.bytes * part;
	item->compute_ns += cost.compute_ns * part;
	item->memory_ns += cost.memory_ns * part;
	item->units = (uint32_t)x->a->devices.data[op->device].units;
	if (groups && (!item->groups || groups < item->groups))
		item->groups = groups;
	return 0;
}

static int add_op(struct adding *x, size_t i)
{
	const struct op *op = &x->a->ops.data[i];
	uint32_t site, node, item;
	if (!filter_on(x->f, op->device, op->queue) || !x->f->name_passes[op->name] ||
	    !filter_time(x->f, op->start_ns))
		return 0;
	if (analysis_op_site(x->a, op, &site) < 0)
		return -ENOMEM;
	if (!filter_site(x->f, &x->a->sites.data[site]))
		return 0;
	if (paths_kernel(x->paths, site, op->name, &node) < 0 ||
	    find_item(x, node, analysis_op_launch(x->a, op), &item) < 0)
		return -ENOMEM;
	uint32_t step = find_step(x, analysis_op_process(x->a, op), op->start_ns);
	if (x->is_by_run && (!step || x->w->steps[step - 1].is_left_out))
		return 0;
	x->list.data[item].ns += op->end_ns - op->start_ns;
	x->list.data[item].count += op->count ? op->count : 1;
	if (add_cost(x, &x->list.data[item], op) < 0)
		return -ENOMEM;
	x->w->op_items[i] = item + 1;
	x->w->op_steps[i] = step;
	x->w->op_ns[i] = op->end_ns - op->start_ns;
	x->w->op_outliers[i] = analysis_outlier(x->a, (uint32_t)i) != NULL;
	if (x->w->op_outliers[i]) {
		x->list.data[item].outlier_ns += x->w->op_ns[i];
		x->list.data[item].outliers++;
	}
	if (step)
		cover(x, step - 1, op);
	return 0;
}

static int add_all(struct adding *x, const struct analysis *a, struct work *w)
{
	if (steps_of(x->a, &x->steps, &x->step_count) < 0)
		return -ENOMEM;
	x->is_by_run = x->f->source == WINDOW_STEPS && x->f->has_time && steps_have_runs(x->a);
	w->op_count = a->ops.len;
	w->step_count = a->has_timeline ? x->step_count : 0;
	w->op_items = calloc(w->op_count + 1, sizeof(*w->op_items));
	w->op_steps = calloc(w->op_count + 1, sizeof(*w->op_steps));
	w->op_ns = calloc(w->op_count + 1, sizeof(*w->op_ns));
	w->op_outliers = calloc(w->op_count + 1, sizeof(*w->op_outliers));
	w->steps = calloc(x->step_count + 1, sizeof(*w->steps));
	x->covered_ns = calloc(x->step_count + 1, sizeof(*x->covered_ns));
	if (!w->op_items || !w->op_steps || !w->op_ns || !w->op_outliers || !w->steps ||
	    !x->covered_ns)
		return -ENOMEM;
	for (size_t i = 0; i < x->step_count; i++)
		w->steps[i] = (struct work_step){
			.ns = x->steps[i].end_ns - x->steps[i].begin_ns,
			.run = steps_run(a, x->steps[i].process),
			.is_left_out = x->steps[i].is_warmup ||
				       (x->f->has_time && (x->steps[i].begin_ns < x->f->begin_ns ||
							   x->steps[i].end_ns > x->f->end_ns)),
		};
	for (size_t i = 0; i < a->ops.len; i++) {
		if (add_op(x, i) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Of several devices, the one that worked longest. */
static int take_device(struct adding *x)
{
	CLEANUP_FREE uint64_t *ns = calloc(x->a->devices.len, sizeof(*ns));
	uint32_t most = 0;
	if (!ns)
		return -ENOMEM;
	for (size_t i = 0; i < x->a->ops.len; i++) {
		uint32_t device = x->a->ops.data[i].device;
		ns[device] += x->w->op_ns[i];
		most = ns[device] > ns[most] ? device : most;
	}
	const struct device *d = &x->a->devices.data[most];
	const struct device_peaks *peaks = most ? costs_peaks(x->costs, most) : NULL;
	x->w->device = analysis_text(x->a, d->text);
	x->w->units = (uint32_t)d->units;
	x->w->has_peaks = peaks;
	if (peaks)
		x->w->peaks = *peaks;
	return 0;
}

int analysis_work(struct analysis *a, const struct analysis_filter *filter, struct work *ret,
		  struct err *err)
{
	struct filter f = { 0 };
	struct adding x = { .a = a, .f = &f, .w = ret };

	*ret = (struct work){ .p = NULL };
	int rc = filter_init(&f, a, filter, err);
	if (rc < 0)
		return rc;
	rc = profile_new(&ret->p);
	rc = rc ? rc : paths_new(&x.paths, a, ret->p, false);
	rc = rc ? rc : costs_new(&x.costs, a);
	rc = rc ? rc : add_all(&x, a, ret);
	rc = rc ? rc : take_device(&x);
	ret->items = x.list.data;
	ret->item_count = x.list.len;
	paths_free(x.paths);
	costs_free(x.costs);
	hash_release(&x.items);
	free(x.covered_ns);
	filter_release(&f);
	return rc < 0 ? err_set(err, rc, "cannot add up the device work") : 0;
}

int work_spreads(const struct work *w, const uint32_t *groups, size_t count, struct spread *ret)
{
	CLEANUP_FREE uint64_t *values = calloc(w->op_count + 1, sizeof(*values));
	CLEANUP_FREE size_t *ends = calloc(count + 1, sizeof(*ends));
	if (!values || !ends)
		return -ENOMEM;
	for (size_t i = 0; i < w->op_count; i++) {
		if (w->op_items[i] && !w->op_outliers[i])
			ends[groups[w->op_items[i] - 1] + 1]++;
	}
	/* Where each begins, in the place of the one before it, which then moves to its end. */
	for (size_t g = 0; g < count; g++)
		ends[g + 1] += ends[g];
	for (size_t i = 0; i < w->op_count; i++) {
		if (w->op_items[i] && !w->op_outliers[i])
			values[ends[groups[w->op_items[i] - 1]]++] = w->op_ns[i];
	}
	for (size_t g = 0; g < count; g++) {
		size_t begin = g ? ends[g - 1] : 0;
		spread_of(values + begin, ends[g] - begin, &ret[g]);
	}
	return 0;
}
