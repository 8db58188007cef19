/* SPDX-License-Identifier: Apache-2.0 */
/* How far the numbers are to be trusted, and which processes they are of. */
#include "base/cleanup.h"
#include "capture/field.h"
#include "cmd/view.h"

#include <errno.h>
#include <string.h>

enum {
	WHAT,
	COUNT,
	SHARE,
	TIME,
	DETAIL,
	QUALITY_COLUMNS
};

static const struct sheet_column quality_columns[] = {
	[WHAT] = { "what", "QUALITY", SHEET_TEXT, 24 },
	[COUNT] = { "count", "count", SHEET_COUNT, 0 },
	[SHARE] = { "share", "%", SHEET_SHARE, 0 },
	[TIME] = { "ns", "time", SHEET_DURATION, 0 },
	[DETAIL] = { "detail", "", SHEET_TEXT, 24 },
};

static void add_count(struct sheet *t, const char *what, uint64_t count)
{
	sheet_row(t);
	sheet_text(t, WHAT, what);
	sheet_number(t, COUNT, count);
}

static void add_part(struct sheet *t, const char *what, uint64_t part, uint64_t whole)
{
	add_count(t, what, part);
	sheet_share(t, SHARE, part, whole);
}

static void add_time(struct sheet *t, const char *what, uint64_t part, uint64_t whole)
{
	sheet_row(t);
	sheet_text(t, WHAT, what);
	sheet_number(t, TIME, part);
	sheet_share(t, SHARE, part, whole);
}

static void add_host(struct sheet *t, const struct analysis_summary *s)
{
	char text[64];
	if (s->cpu_samples) {
		add_count(t, "CPU samples", s->cpu_samples);
		add_part(t, "stack reaches the thread's start", s->cpu_rooted, s->cpu_samples);
		for (uint32_t i = 0; i < STACK_CAUSE_COUNT; i++) {
			const char *name = stack_cause_name(i);
			if (!s->cpu_by_cause[i])
				continue;
			snprintf(text, sizeof(text), "stack cut off: %s",
				 i && name ? name : "cause not known");
			add_part(t, text, s->cpu_by_cause[i], s->cpu_samples);
		}
		if (s->cpu_python_late)
			add_part(t, "Python not yet found", s->cpu_python_late, s->cpu_samples);
	}
	if (s->span_ns) {
		add_time(t, "host time traced", s->span_ns, 0);
		add_time(t, "stack reaches the thread's start", s->span_rooted_ns, s->span_ns);
	}
	if (s->launches) {
		add_count(t, "launches", s->launches);
		add_part(t, "launch stacks that are whole", s->launches_rooted, s->launches);
		if (s->launches_lent)
			add_part(t, "without a stack of their own (--stack-share)",
				 s->launches_lent, s->launches);
	}
	if (s->launches_before)
		add_part(t, "launched before recording", s->launches_before, s->launches);
	if (s->launches_replayed)
		add_part(t, "work of replayed graphs", s->launches_replayed, s->launches);
}

static void add_device(struct sheet *t, const struct analysis_summary *s)
{
	if (s->ops) {
		add_count(t, "dispatches and copies", s->ops);
		add_part(t, "linked to their launch", s->ops_linked, s->ops);
	}
	if (s->ops && s->has_python)
		add_part(t, "launched below Python code", s->ops_under_python, s->ops);
	if (s->all.clipped)
		add_part(t, "reaching beyond the window", s->all.clipped, s->all.ops);
	if (s->samples) {
		add_count(t, "samples in accelerator code", s->samples);
		add_part(t, "attributed by correlation id", s->by_correlation, s->samples);
		add_part(t, "attributed by overlap in time", s->by_overlap, s->samples);
		add_part(t, "attributed by all launches", s->by_launches, s->samples);
		add_part(t, "not attributed", s->by_nobody, s->samples);
	}
}

static void add_capture(struct sheet *t, const struct analysis_summary *s)
{
	char text[128];
	for (size_t i = 0; i < s->lost_count; i++) {
		snprintf(text, sizeof(text), "lost: %s", s->lost[i].what);
		add_count(t, text, s->lost[i].count);
		sheet_text(t, DETAIL, s->lost[i].why);
	}
	for (size_t i = 0; i < s->missing_count; i++) {
		snprintf(text, sizeof(text), "not collected: %s", s->missing[i].key);
		sheet_row(t);
		sheet_text(t, WHAT, text);
		sheet_text(t, DETAIL, s->missing[i].value);
	}
	if (s->odd_times)
		add_count(t, "times that cannot be", s->odd_times);
	if (s->reused_correlations)
		add_count(t, "correlation ids used twice", s->reused_correlations);
	if (s->incomplete_code_objects)
		add_count(t, "code objects cut off", s->incomplete_code_objects);
	uint64_t length = s->end_ns - s->begin_ns;
	if (s->recorder_cpu_ns)
		add_time(t, "CPU time of the recorder", s->recorder_cpu_ns, length);
	if (s->probe_ns)
		add_time(t, "CPU time in probes and samples", s->probe_ns, length);
	add_time(t, "length of the capture", length, 0);
}

int view_quality(struct sheet *t, const struct view *v, struct err *err)
{
	sheet_init(t, "quality", quality_columns, QUALITY_COLUMNS);
	if (v->sort)
		return err_set(err, -EINVAL, "the quality view has an order of its own");
	add_host(t, v->s);
	add_device(t, v->s);
	add_capture(t, v->s);
	return 0;
}

/* ---- processes ---- */

enum {
	COMM,
	PID,
	RANK,
	THREADS,
	CPU_SAMPLES,
	LAUNCHES,
	DEVICE_TIME,
	PROCESS_COLUMNS
};

static const struct sheet_column process_columns[] = {
	[COMM] = { "comm", "PROCESS", SHEET_TEXT, 15 },
	[PID] = { "pid", "pid", SHEET_ID, 0 },
	[RANK] = { "rank", "rank", SHEET_ID, 0 },
	[THREADS] = { "threads", "threads", SHEET_COUNT, 0 },
	[CPU_SAMPLES] = { "cpu_samples", "CPU samples", SHEET_COUNT, 0 },
	[LAUNCHES] = { "launches", "launches", SHEET_COUNT, 0 },
	[DEVICE_TIME] = { "device_time_ns", "device time", SHEET_NS, 0 },
};

int view_processes(struct sheet *t, const struct view *v, struct err *err)
{
	CLEANUP_FREE struct process_summary *list = NULL;
	size_t count;

	sheet_init(t, "processes", process_columns, PROCESS_COLUMNS);
	if (v->sort)
		return err_set(err, -EINVAL, "the processes view has an order of its own");
	int rc = analysis_processes(v->a, v->filter, &list, &count, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < count && i < v->limit; i++) {
		sheet_row(t);
		sheet_text(t, COMM, *list[i].comm ? list[i].comm : "[unknown process]");
		if (list[i].pid)
			sheet_number(t, PID, list[i].pid);
		if (list[i].rank)
			sheet_number(t, RANK, list[i].rank - 1);
		sheet_number(t, THREADS, list[i].threads);
		sheet_number(t, CPU_SAMPLES, list[i].cpu_samples);
		sheet_number(t, LAUNCHES, list[i].launches);
		if (v->s->ops)
			sheet_number(t, DEVICE_TIME, list[i].device_ns);
	}
	return 0;
}
