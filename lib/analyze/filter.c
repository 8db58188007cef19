/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/filter.h"

#include "analyze/kernel_name.h"
#include "analyze/steps.h"
#include "base/frame.h"
#include "base/parse.h"

#include <errno.h>
#include <fnmatch.h>

void filter_release(struct filter *f)
{
	free(f->thread_passes);
	free(f->process_passes);
	free(f->device_passes);
	free(f->queue_passes);
	free(f->name_passes);
	free(f->stack_passes);
	*f = (struct filter){ 0 };
}

/* The next of a comma-separated list; false at its end. */
static bool list_next(const char **text, struct span *ret)
{
	if (!**text)
		return false;
	size_t size = strcspn(*text, ",");
	*ret = span_of(*text, size);
	*text += size + ((*text)[size] == ',');
	return true;
}

static bool list_has_text(const char *list, const char *text)
{
	struct span item;
	while (list_next(&list, &item)) {
		if (item.size == strlen(text) && !memcmp(item.data, text, item.size))
			return true;
	}
	return false;
}

/* Numbers have been checked by list_check(). */
static bool list_has_number(const char *list, uint64_t number)
{
	struct span item;
	while (list_next(&list, &item)) {
		const char *at = (const char *)item.data;
		uint64_t n;
		if (!parse_digits(&at, at + item.size, 10, &n) && n == number)
			return true;
	}
	return false;
}

static int list_check(const char *option, const char *list, struct err *err)
{
	const char *rest = list;
	struct span item;
	while (list && list_next(&rest, &item)) {
		const char *at = (const char *)item.data, *end = at + item.size;
		uint64_t n;
		if (parse_digits(&at, end, 10, &n) < 0 || at != end)
			return err_set(err, -EINVAL,
				       "bad number '%.*s' in %s '%s'; give numbers and commas",
				       (int)item.size, (const char *)item.data, option, list);
	}
	return 0;
}

/* By what the threads of a process have in common. */
static bool process_passes(const struct analysis *a, uint32_t process,
			   const struct analysis_filter *texts)
{
	const struct process *p = &a->processes.data[process];
	const char *host = analysis_text(a, p->host ? p->host : a->header.host);

	if (!texts->pid && !texts->rank && !texts->host && !texts->run)
		return true;
	return process &&
	       (!texts->pid || list_has_number(texts->pid, p->pid) ||
		list_has_number(texts->pid, p->ns_pid)) &&
	       (!texts->rank || (p->rank && list_has_number(texts->rank, p->rank - 1))) &&
	       (!texts->host || list_has_text(texts->host, host)) &&
	       (!texts->run || list_has_number(texts->run, p->run ? p->run : 1));
}

static void filter_processes(struct filter *f, const struct analysis *a,
			     const struct analysis_filter *texts)
{
	for (uint32_t i = 0; i < a->processes.len; i++) {
		const struct process *p = &a->processes.data[i];
		bool passes = process_passes(a, i, texts);
		if (passes && texts->comm)
			passes = list_has_text(texts->comm, analysis_text(a, p->comm));
		f->process_passes[i] = passes && !texts->tid;
	}
	for (size_t i = 0; i < a->threads.len; i++) {
		const struct thread *t = &a->threads.data[i];
		const struct process *p = &a->processes.data[t->process];
		bool passes = process_passes(a, t->process, texts);
		if (passes && texts->tid)
			passes = i && list_has_number(texts->tid, t->tid);
		if (passes && texts->comm)
			passes = list_has_text(texts->comm, analysis_text(a, p->comm)) ||
				 list_has_text(texts->comm, analysis_text(a, t->comm));
		f->thread_passes[i] = passes;
	}
}

/* Whether one of the patterns means a kernel, by any of its names. */
static int name_matches(const char *patterns, const char *name, bool *ret)
{
	struct strbuf plain = { 0 }, brief = { 0 };
	struct span item;

	kernel_name_full(&plain, name);
	kernel_name_short(&brief, strbuf_text(&plain));
	int rc = strbuf_finish(&plain) < 0 || strbuf_finish(&brief) < 0 ? -ENOMEM : 0;
	*ret = false;
	while (!rc && !*ret && list_next(&patterns, &item)) {
		CLEANUP_FREE char *pattern = strndup((const char *)item.data, item.size);
		if (!pattern)
			rc = -ENOMEM;
		else
			*ret = !fnmatch(pattern, name, 0) ||
			       !fnmatch(pattern, strbuf_text(&plain), 0) ||
			       (brief.len && !fnmatch(pattern, strbuf_text(&brief), 0));
	}
	strbuf_release(&plain);
	strbuf_release(&brief);
	return rc;
}

/* Streams have numbers, queues of some runtimes names. */
static void filter_queues(struct filter *f, const struct analysis *a, const char *list)
{
	for (size_t i = 0; i < a->queues.len; i++) {
		const struct queue *q = &a->queues.data[i];
		f->queue_passes[i] =
			!list || (i && (list_has_number(list, q->handle) ||
					list_has_text(list, analysis_text(a, q->text))));
	}
	f->queues = list ? f->queue_passes : NULL;
}

static bool text_matches(const char *patterns, const char *text)
{
	struct span item;
	char pattern[256];
	while (list_next(&patterns, &item)) {
		snprintf(pattern, sizeof(pattern), "%.*s", (int)item.size, (const char *)item.data);
		if (item.size < sizeof(pattern) && !fnmatch(pattern, text, 0))
			return true;
	}
	return false;
}

/* Stacks that have a scope or a module of such a name in them. */
static int filter_scopes(struct filter *f, const struct analysis *a, const char *patterns)
{
	uint32_t count = pairtab_count(&a->stack_nodes);
	if (!patterns)
		return 0;
	CLEANUP_FREE bool *objects = calloc(a->objects.len, sizeof(*objects));
	CLEANUP_FREE bool *nodes = calloc(count, sizeof(*nodes));
	f->stack_passes = calloc(a->stacks.len, sizeof(*f->stack_passes));
	if (!objects || !nodes || !f->stack_passes)
		return -ENOMEM;
	for (size_t i = 0; i < a->objects.len; i++) {
		const struct object *o = &a->objects.data[i];
		bool is_scope = o->kind == OBJECT_SCOPE || o->kind == OBJECT_MODULE ||
				(o->kind == OBJECT_FRAME && o->frame_kind == FRAME_SCOPE);
		objects[i] = is_scope && text_matches(patterns, analysis_text(a, o->name));
	}
	/* A caller's node comes before those that it called. */
	for (uint32_t i = 1; i < count; i++) {
		struct pair step = pairtab_get(&a->stack_nodes, i);
		nodes[i] = nodes[step.first] || objects[analysis_frame(a, step.second).object];
	}
	for (size_t i = 0; i < a->stacks.len; i++)
		f->stack_passes[i] = nodes[a->stacks.data[i].leaf];
	return 0;
}

static int filter_names(struct filter *f, const struct analysis *a, const char *patterns)
{
	for (uint32_t i = 0; i < strtab_count(&a->names); i++) {
		f->name_passes[i] = true;
		if (patterns &&
		    name_matches(patterns, strtab_text(&a->names, i), &f->name_passes[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* One end of a range: seconds since the start, or a share of the whole. */
static int time_parse(const struct analysis *a, const char *text, size_t size, uint64_t *ret)
{
	char copy[64];
	uint64_t ns;
	if (!size || size >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, text, size);
	copy[size] = '\0';
	bool is_percent = copy[size - 1] == '%';
	if (is_percent)
		copy[size - 1] = '\0';
	/* Digits and a dot: parse_duration() would take a unit, which a range must not have. */
	if (strspn(copy, "0123456789.") != strlen(copy) || parse_duration(copy, &ns) < 0)
		return -EINVAL;

	uint64_t start = a->first_ns;
	if (is_percent) {
		if (ns > 100 * 1000000000ull)
			return -EINVAL;
		uint64_t span = a->last_ns - a->first_ns;
		*ret = start + (uint64_t)((unsigned __int128)span * ns / (100 * 1000000000ull));
	} else {
		*ret = ns > TIME_MAX_NS ? TIME_MAX_NS : start + ns;
	}
	return 0;
}

static int filter_range(struct filter *f, const struct analysis *a, const char *text,
			struct err *err)
{
	f->end_ns = UINT64_MAX;
	if (!text)
		return 0;
	f->has_time = true;
	f->source = WINDOW_GIVEN;
	f->begin_ns = a->first_ns;
	f->end_ns = a->last_ns + 1;

	size_t size = strlen(text);
	const char *split = strchr(text, ',');
	if (!split)
		split = strchr(text, '-');
	size_t first = split ? (size_t)(split - text) : size;
	bool has_end = split && split[1];
	int rc = 0;
	if (first)
		rc = time_parse(a, text, first, &f->begin_ns);
	/* "90%-100%" means to the end, which is the last moment itself. */
	if (!rc && has_end && strcmp(split + 1, "100%"))
		rc = time_parse(a, split + 1, size - first - 1, &f->end_ns);
	if (rc < 0 || (!first && !has_end))
		return err_set(err, -EINVAL,
			       "bad time '%s'; give seconds as '1.5,2.5' or shares as '10%%-20%%'",
			       text);
	if (f->begin_ns > a->last_ns && (!has_end || f->begin_ns < f->end_ns))
		return err_set(err, -EINVAL, "time '%s' is behind the end: the capture has %.3f s",
			       text, (double)(a->last_ns - a->first_ns) / 1e9);
	if (f->begin_ns >= f->end_ns)
		return err_set(err, -EINVAL, "time '%s' is empty: it ends before it begins", text);
	return 0;
}

/* "3", "3-5", "all"; a number is the iteration's own where it has one, else it counts from 1. */
static int step_parse(const char *text, uint64_t *ret_first, uint64_t *ret_last)
{
	const char *at = text, *end = text + strlen(text);
	*ret_first = 0;
	*ret_last = UINT64_MAX;
	if (!strcmp(text, "all"))
		return 0;
	if (parse_digits(&at, end, 10, ret_first) < 0)
		return -EINVAL;
	*ret_last = *ret_first;
	if (at < end && *at == '-') {
		at++;
		if (parse_digits(&at, end, 10, ret_last) < 0)
			return -EINVAL;
	}
	return at == end ? 0 : -EINVAL;
}

/* From the first of the steps asked for to the last, on all ranks. */
static int filter_steps(struct filter *f, struct analysis *a, const char *text, struct err *err)
{
	uint64_t first, last, begin = UINT64_MAX, end = 0;
	const struct step *steps;
	size_t count;

	if (!text)
		return 0;
	if (step_parse(text, &first, &last) < 0)
		return err_set(err, -EINVAL, "bad step '%s'; give a number, '3-5' or 'all'", text);
	if (steps_of(a, &steps, &count) < 0)
		return err_set(err, -ENOMEM, "cannot find steps");
	for (size_t i = 0; i < count; i++) {
		uint64_t number = step_number(steps, i);
		if (number < first || number > last)
			continue;
		begin = steps[i].begin_ns < begin ? steps[i].begin_ns : begin;
		end = steps[i].end_ns > end ? steps[i].end_ns : end;
	}
	if (!count)
		return err_set(err, -EINVAL, "no steps in this capture");
	if (begin >= end)
		return err_set(err, -EINVAL, "no step '%s': they go from %llu to %llu", text,
			       (unsigned long long)step_number(steps, 0),
			       (unsigned long long)step_number(steps, count - 1));
	if (!f->has_time)
		f->source = WINDOW_STEPS;
	f->begin_ns = !f->has_time || begin > f->begin_ns ? begin : f->begin_ns;
	f->end_ns = !f->has_time || end < f->end_ns ? end : f->end_ns;
	f->has_time = true;
	if (f->begin_ns >= f->end_ns)
		return err_set(err, -EINVAL, "step '%s' lies outside of the time asked for", text);
	return 0;
}

int filter_init(struct filter *f, struct analysis *a, const struct analysis_filter *texts,
		struct err *err)
{
	int rc = list_check("--pid", texts->pid, err);
	rc = rc ? rc : list_check("--tid", texts->tid, err);
	rc = rc ? rc : list_check("--rank", texts->rank, err);
	rc = rc ? rc : list_check("--run", texts->run, err);
	rc = rc ? rc : list_check("--device", texts->device, err);
	if (rc < 0)
		return rc;

	f->texts = *texts;
	f->thread_passes = calloc(a->threads.len, sizeof(bool));
	f->process_passes = calloc(a->processes.len, sizeof(bool));
	f->device_passes = calloc(a->devices.len, sizeof(bool));
	f->queue_passes = calloc(a->queues.len, sizeof(bool));
	f->name_passes = calloc(strtab_count(&a->names), sizeof(bool));
	if (!f->thread_passes || !f->process_passes || !f->device_passes || !f->queue_passes ||
	    !f->name_passes || filter_names(f, a, texts->kernel) < 0 ||
	    filter_scopes(f, a, texts->scope) < 0) {
		filter_release(f);
		return err_set(err, -ENOMEM, "cannot filter");
	}
	filter_processes(f, a, texts);
	filter_queues(f, a, texts->stream);
	for (size_t i = 0; i < a->devices.len; i++)
		f->device_passes[i] =
			!texts->device ||
			(i && list_has_number(texts->device, a->devices.data[i].index));
	rc = filter_range(f, a, texts->time, err);
	rc = rc ? rc : filter_steps(f, a, texts->step, err);
	if (rc < 0)
		filter_release(f);
	return rc;
}
