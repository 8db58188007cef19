/* SPDX-License-Identifier: Apache-2.0 */
/* What launch.bpf.c sends back. */
#include "collect/probe_internal.h"

#include <errno.h>
#include <string.h>

/* Threads that create programs at the same time; of more, the text of the oldest is given up. */
#define PARTIAL_MAX 64

static void partial_release(struct partial_text *partial)
{
	strbuf_release(&partial->text);
}

void probe_texts_release(struct probes *p)
{
	vec_for_each(&p->partial, it)
		partial_release(it);
	vec_release(&p->partial);
	strbuf_release(&p->text);
}

static bool probe_is_valid(const struct event_header *event)
{
	size_t least = offsetof(struct event_probe, value);
	struct event_probe probe;

	if (event->type != EVENT_PROBE || event->size < least)
		return false;
	memcpy(&probe, event, least);
	if (probe.values > EVENT_PROBE_VALUES || probe.text_size > EVENT_PROBE_TEXT_BYTES)
		return false;
	if (event->stack_offset || probe.text_size || probe.flags & EVENT_PROBE_MORE)
		least = sizeof(probe) + probe.text_size;
	else
		least += probe.values * sizeof(probe.value[0]);
	return event->size >= least;
}

static struct partial_text *partial_find(struct probes *p, const struct event_probe *probe)
{
	vec_for_each(&p->partial, it) {
		if (it->tid == probe->header.tid && it->site == probe->site &&
		    it->time_ns == probe->header.time_ns)
			return it;
	}
	return NULL;
}

static void partial_remove(struct probes *p, struct partial_text *partial)
{
	size_t index = (size_t)(partial - p->partial.data);

	partial_release(partial);
	memmove(partial, partial + 1, (p->partial.len - index - 1) * sizeof(*partial));
	p->partial.len--;
}

static void append(struct strbuf *text, bool *has_gap, const struct event_probe *probe)
{
	if (probe->text_start != text->len)
		*has_gap = true;
	if (!*has_gap)
		strbuf_add(text, probe + 1, probe->text_size);
}

/* Keep one part; the rest follows. */
static int partial_add(struct probes *p, const struct event_probe *probe)
{
	struct partial_text *partial = partial_find(p, probe);

	if (!partial) {
		struct partial_text fresh = {
			.tid = probe->header.tid,
			.site = probe->site,
			.time_ns = probe->header.time_ns,
		};
		if (p->partial.len == PARTIAL_MAX)
			partial_remove(p, p->partial.data);
		if (vec_push(&p->partial, fresh) < 0)
			return -ENOMEM;
		partial = vec_last(&p->partial);
	}
	append(&partial->text, &partial->has_gap, probe);
	return strbuf_finish(&partial->text);
}

/* The whole text of a hit whose last part is here, into p->text. */
static int text_finish(struct probes *p, const struct event_probe *probe, bool *ret_has_gap)
{
	struct partial_text *partial = partial_find(p, probe);

	strbuf_reset(&p->text);
	*ret_has_gap = false;
	if (partial) {
		struct strbuf swap = p->text;
		p->text = partial->text;
		partial->text = swap;
		*ret_has_gap = partial->has_gap;
		partial_remove(p, partial);
	}
	append(&p->text, ret_has_gap, probe);
	return strbuf_finish(&p->text);
}

int probes_take(struct probes *p, const struct event_header *event, struct accel_event *ret)
{
	const struct event_probe *probe = (const struct event_probe *)event;
	struct accel_event hit;
	bool has_gap;
	int rc;

	if (!probe_is_valid(event) || probe->site >= accel_site_count(p->accel))
		return -EBADMSG;
	if (probe->flags & EVENT_PROBE_MORE)
		return partial_add(p, probe);
	hit = (struct accel_event){
		.time_ns = event->time_ns,
		.pid = event->pid,
		.tid = event->tid,
		.site = accel_site(p->accel, probe->site),
	};
	rc = text_finish(p, probe, &has_gap);
	if (rc < 0)
		return rc;
	if (probe->flags & EVENT_PROBE_CUT || has_gap)
		hit.flags |= ACCEL_EVENT_CUT;
	if (probe->flags & EVENT_PROBE_FAILED)
		hit.flags |= ACCEL_EVENT_FAILED;
	if (probe->flags & EVENT_PROBE_UNSTACKED)
		hit.flags |= ACCEL_EVENT_UNSTACKED;
	memcpy(hit.value, probe->value, probe->values * sizeof(hit.value[0]));
	hit.text = strbuf_text(&p->text);
	hit.text_size = p->text.len;
	*ret = hit;
	return 1;
}
