/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/window.h"

#include <errno.h>

void windows_release(struct windows *w)
{
	vec_release(&w->list);
}

int windows_start(struct windows *w, uint64_t now_ns, bool is_on)
{
	w->start_ns = now_ns;
	return is_on && !w->asked_count ? windows_switch(w, now_ns, true) : 0;
}

bool windows_are_open(const struct windows *w)
{
	return w->list.len && w->list.data[w->list.len - 1].end_ns == UINT64_MAX;
}

int windows_switch(struct windows *w, uint64_t now_ns, bool is_on)
{
	if (windows_are_open(w) == is_on)
		return 0;
	if (!is_on) {
		w->list.data[w->list.len - 1].end_ns = now_ns;
		return 1;
	}
	int rc = vec_push(&w->list, (struct session_window){ now_ns, UINT64_MAX });
	return rc < 0 ? rc : 1;
}

int windows_due(const struct windows *w, uint64_t now_ns, bool *ret_on)
{
	uint64_t at = now_ns - w->start_ns;
	bool is_on = false;

	if (!w->asked_count)
		return 0;
	for (size_t i = 0; i < w->asked_count; i++)
		is_on |= at >= w->asked[i].begin_ns && at < w->asked[i].end_ns;
	*ret_on = is_on;
	return is_on != windows_are_open(w);
}

uint64_t windows_next_ns(const struct windows *w, uint64_t now_ns)
{
	for (size_t i = 0; i < w->asked_count; i++) {
		const uint64_t edges[] = { w->asked[i].begin_ns, w->asked[i].end_ns };
		for (size_t k = 0; k < 2; k++) {
			if (edges[k] != UINT64_MAX && w->start_ns + edges[k] > now_ns)
				return w->start_ns + edges[k];
		}
	}
	return UINT64_MAX;
}

/* The moment of a record; 0: it has none that matters. */
static uint64_t moment_of(const struct record *r)
{
	switch (r->type) {
	case RECORD_CPU_SAMPLE:
		return r->cpu_sample.time_ns;
	case RECORD_BLOCKED:
		return r->blocked.time_ns;
	case RECORD_LAUNCH:
		return r->launch.time_ns;
	case RECORD_DISPATCH:
		return r->dispatch.start_ns;
	case RECORD_COPY:
		return r->copy.start_ns;
	case RECORD_SYNC:
		return r->sync.time_ns;
	case RECORD_PC_SAMPLE:
		/* The first ones of a recording began while it was being set up. */
		return r->pc_sample.time_ns + r->pc_sample.interval_ns;
	default:
		return 0;
	}
}

bool windows_want(void *windows, const struct record *record)
{
	struct windows *w = windows;
	uint64_t time_ns = moment_of(record);

	if (!time_ns || !w->start_ns)
		return true;
	/* Records come some milliseconds late, and windows are few. */
	for (size_t i = w->list.len; i-- > 0;) {
		if (time_ns >= w->list.data[i].begin_ns)
			if (time_ns < w->list.data[i].end_ns)
				return true;
	}
	return false;
}
