/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/hint_facts.h"

#include "analyze/peaks.h"

#include <errno.h>

const char *facts_keep(struct facts *x)
{
	uint32_t number;
	if (strbuf_finish(&x->text) < 0 ||
	    strtab_add(&x->texts, strbuf_text(&x->text), &number) < 0) {
		x->rc = -ENOMEM;
		return "";
	}
	return strtab_text(&x->texts, number);
}

const char *facts_where(struct facts *x, uint32_t node)
{
	for (; node != PROFILE_NONE; node = profile_node(x->p, node).parent) {
		struct frame f = profile_frame_get(x->p, profile_node(x->p, node).frame);
		if ((f.class != FRAME_CLASS_OWN && f.class != FRAME_CLASS_MODEL) ||
		    f.kind == FRAME_SCOPE)
			continue;
		strbuf_reset(&x->text);
		strbuf_puts(&x->text, strncmp(f.name, "py::", 4) ? f.name : f.name + 4);
		return facts_keep(x);
	}
	return "";
}

static void take_summary(struct facts *x, const struct analysis_summary *s)
{
	struct hint_facts *o = x->out;
	const struct device_summary *d = &s->all, *most = NULL;

	for (size_t i = 0; i < s->device_count; i++) {
		if (!most || s->devices[i].ops > most->ops)
			most = &s->devices[i];
	}
	o->verdict = s->verdict;
	o->runtime = most ? most->runtime : "";
	o->device = most ? most->name : "";
	o->busy_ns = d->ns[ACCOUNT_BUSY];
	o->kernel_ns = device_kernel_ns(d);
	o->late_ns = d->ns[ACCOUNT_LATE];
	o->flight_ns = d->ns[ACCOUNT_FLIGHT];
	o->sync_ns = d->ns[ACCOUNT_SYNC];
	o->blocked_ns = d->ns[ACCOUNT_BLOCKED];
	for (int i = 0; i < ACCOUNT_STATE_COUNT; i++)
		o->window_ns += d->ns[i];
	if (!s->device_count &&
	    __builtin_mul_overflow(s->end_ns - s->begin_ns, s->ranks, &o->window_ns))
		o->window_ns = UINT64_MAX;
	o->ops = d->ops;
	o->launched_idle = d->launched_idle;
	o->replayed = s->launches_replayed;
	o->is_idle_known = !s->graphs_unrecorded && s->device_count;
}

static void take_device(struct facts *x)
{
	struct hint_facts *o = x->out;
	const struct device_peaks *peaks = device_peaks_find(o->device);

	o->arch = "";
	/* What the runtime says, for devices that no table knows. */
	for (size_t i = 1; i < x->a->devices.len && !peaks; i++) {
		const struct device *d = &x->a->devices.data[i];
		if (!strcmp(analysis_text(x->a, d->text), o->device) && d->units <= UINT32_MAX)
			o->units = (uint32_t)d->units;
	}
	if (!peaks)
		return;
	o->arch = peaks->arch;
	o->units = peaks->units;
	o->has_tensor_cores = peaks->bf16 > 0;
	o->has_tf32 = peaks->tf32 > 0;
}

int analysis_hints(struct analysis *a, const struct profile *p, const struct analysis_summary *s,
		   const struct analysis_filter *filter, struct hints *ret, struct err *err)
{
	struct hint_facts out = { .verdict = VERDICT_NONE };
	struct filter f = { 0 };
	struct facts x = { .a = a, .p = p, .f = &f, .out = &out };

	*ret = (struct hints){ .count = 0 };
	bool is_cpu = !s->device_count && !s->ranks && !s->launches;
	/* Of a program without accelerator, what ranks do together can be judged. */
	if (!is_cpu && (!a->has_timeline || (!s->device_count && !s->ranks)))
		return 0;
	int rc = filter_init(&f, a, filter, err);
	if (rc < 0)
		return rc;
	take_summary(&x, s);
	take_device(&x);
	rc = is_cpu ? facts_cpu(&x, s) : facts_host(&x);
	rc = rc || is_cpu ? rc : facts_device(&x);
	rc = rc || is_cpu ? rc : facts_queues(&x);
	rc = rc || is_cpu ? rc : facts_ranks(&x);
	rc = rc ? rc : x.rc;
	rc = rc ? rc : hints_choose(&out, ret);
	strtab_release(&x.texts);
	strbuf_release(&x.text);
	filter_release(&f);
	return rc < 0 ? err_set(err, rc, "cannot find hints") : 0;
}
