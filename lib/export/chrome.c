/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chrome's Trace Event Format, for Perfetto and chrome://tracing: a line of stacks for each thread,
 * one for each stream of a device and for what it waited for, arrows from launches to their work,
 * scopes and counters. Categories and arguments are those of PyTorch's traces, so that tools made
 * for those, and our own importer, understand it.
 *
 * Host code is known at moments (samples, launches): a frame is drawn from the first to the last of
 * those that have it, without a break. They come as B and E, whose order in the file says what is inside what
 * even where times are equal. Device work and scopes that would overlap get a further line. Memory: the open frames of each line, and each frame's text once.
 */
#include "base/cleanup.h"
#include "base/vec.h"
#include "export/formats.h"
#include "export/stacking.h"
#include "export/trace_text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct lane_end {
	VEC(uint64_t) open; /* ends of the spans that are still open, outermost first */
};

struct line {
	struct event_track track;
	struct stacking stack;      /* TRACK_THREAD */
	VEC(struct lane_end) lanes; /* of a device's work, and of scopes */
};

struct chrome {
	const struct export_options *opt;
	const struct profile *p;
	struct trace_text out;
	VEC(struct line) lines;
};

/* Numbers that no process has (PID_MAX_LIMIT of the kernel is 4,194,304), in an order that shows
 * the devices first. */
#define DEVICE_PID 10000000u
#define SCOPE_TID  100000000u
#define LANE_TID   1000000000u

static uint64_t line_pid(const struct line *l)
{
	return l->track.kind == TRACK_THREAD ? l->track.pid : DEVICE_PID + l->track.device_number;
}

/* A number of its own for each line of a process. Queues may be pointers, so theirs is the line's. */
static uint64_t line_tid(const struct chrome *x, const struct line *l)
{
	return l->track.kind == TRACK_THREAD ? l->track.tid : (uint64_t)(l - x->lines.data) + 1;
}

static void put_number(struct chrome *x, const char *key, uint64_t number)
{
	trace_text_puts(&x->out, key);
	trace_text_number(&x->out, number);
}

/* ---- metadata ---- */

static void put_metadata(struct chrome *x, const char *what, uint64_t pid, uint64_t tid,
			 const char *key, const char *text)
{
	trace_text_begin(&x->out, 'M', pid, tid);
	trace_text_printf(&x->out, ",\"name\":\"%s\",\"args\":{\"%s\":", what, key);
	trace_text_quote(&x->out, text);
	trace_text_puts(&x->out, "}}");
}

static void put_thread(struct chrome *x, const struct line *l)
{
	const struct event_track *t = &l->track;
	if (*t->process)
		put_metadata(x, "process_name", t->pid, t->tid, "name", t->process);
	if (*t->thread)
		put_metadata(x, "thread_name", t->pid, t->tid, "name", t->thread);
}

static void put_queue(struct chrome *x, const struct line *l)
{
	const struct event_track *t = &l->track;
	uint64_t pid = line_pid(l), tid = line_tid(x, l);
	char text[64];

	snprintf(text, sizeof(text), "GPU %" PRIu32, t->device);
	put_metadata(x, "process_labels", pid, tid, "labels", text);
	put_metadata(x, "process_name", pid, tid, "name",
		     *t->device_name ? t->device_name : "device");
	if (t->kind == TRACK_IDLE)
		snprintf(text, sizeof(text), "idle");
	else
		snprintf(text, sizeof(text),
			 t->queue < 1000000 ? "stream %" PRIu64 : "stream %#" PRIx64, t->queue);
	put_metadata(x, "thread_name", pid, tid, "name", text);
}

static int chrome_track(void *data, uint32_t number, const struct event_track *track)
{
	struct chrome *x = data;
	(void)number;
	if (vec_push(&x->lines, (struct line){ .track = *track }) < 0)
		return -ENOMEM;
	struct line *l = vec_last(&x->lines);
	if (track->kind == TRACK_THREAD)
		put_thread(x, l);
	else
		put_queue(x, l);
	return trace_text_error(&x->out);
}

/* ---- host code ---- */

/* The line whose frames open and close, and the event that they do so for. */
struct host {
	struct chrome *x;
	const struct line *line;
	uint64_t flow;
};

static void put_call(const struct host *h, const struct trace_start *start, uint32_t frame)
{
	struct trace_text *out = &h->x->out;

	trace_text_call(out, start, h->x->p, frame);
	if (h->flow)
		put_number(h->x, ",\"args\":{\"correlation\":", h->flow);
	trace_text_puts(out, h->flow ? "}}" : "}");
}

static void open_frames(void *data, const struct stacking_frame *frames, size_t count,
			uint64_t time_ns, const struct stacking_step *step)
{
	const struct host *h = data;
	const struct event_track *track = &h->line->track;
	struct trace_text *out = &h->x->out;
	const struct trace_start *start =
		trace_text_start(out, 'B', track->pid, track->tid, time_ns);

	while (count--) {
		if (step->is_call && frames[count].node == step->node) {
			put_call(h, start, frames[count].frame);
			continue;
		}
		trace_text_open(out, start, h->x->p, frames[count].frame);
	}
}

static void close_frames(void *data, size_t count, uint64_t time_ns)
{
	const struct host *h = data;
	const struct event_track *track = &h->line->track;
	struct trace_text *out = &h->x->out;

	trace_text_close(out, trace_text_start(out, 'E', track->pid, track->tid, time_ns), count);
}

static void put_arrow(struct chrome *x, char phase, uint64_t pid, uint64_t tid,
		      const struct event *e)
{
	trace_text_at(&x->out, phase, pid, tid, e->time_ns);
	put_number(x, ",\"id\":", e->flow);
	trace_text_puts(&x->out, phase == 'f' ? ",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"bp\":\"e\"}"
					      : ",\"cat\":\"ac2g\",\"name\":\"ac2g\"}");
}

static int put_host(struct chrome *x, struct line *l, const struct event *e)
{
	struct host host = { x, l, e->flow };
	struct stacking_sink sink = { open_frames, close_frames, &host };
	struct stacking_step step = {
		.node = e->node,
		.time_ns = e->time_ns,
		.duration_ns = e->duration_ns,
		.is_call = e->kind == EVENT_KIND_LAUNCH || e->kind == EVENT_KIND_SYNC,
	};
	if (e->kind == EVENT_KIND_SAMPLE)
		step.duration_ns = step.slack_ns = x->opt->period_ns;
	int rc = stacking_step(&l->stack, x->p, &step, &sink);
	if (rc == 0 && e->flow)
		put_arrow(x, 's', l->track.pid, l->track.tid, e);
	return rc;
}

/* ---- lines of spans that may overlap ---- */

/* The first lane where [@begin, @end) is inside of what is open or after it. */
static int find_lane(struct line *l, uint64_t begin_ns, uint64_t end_ns, uint64_t *ret)
{
	for (size_t i = 0;; i++) {
		if (i == l->lanes.len && vec_push(&l->lanes, (struct lane_end){ 0 }) < 0)
			return -ENOMEM;
		struct lane_end *lane = &l->lanes.data[i];
		while (lane->open.len && *vec_last(&lane->open) <= begin_ns)
			lane->open.len--;
		if (lane->open.len && *vec_last(&lane->open) < end_ns)
			continue;
		*ret = i;
		return vec_push(&lane->open, end_ns);
	}
}

static int put_work(struct chrome *x, struct line *l, const struct event *e)
{
	static const char *const categories[] = {
		[EVENT_KIND_WORK] = "kernel",
		[EVENT_KIND_COPY] = "gpu_memcpy",
		[EVENT_KIND_IDLE] = "idle",
	};
	uint32_t frame = profile_node(x->p, e->node).frame;
	uint64_t lane, pid = line_pid(l);
	int rc = find_lane(l, e->time_ns, e->time_ns + e->duration_ns, &lane);
	if (rc < 0)
		return rc;
	uint64_t tid = line_tid(x, l) + lane * LANE_TID;
	bool is_fill = e->kind == EVENT_KIND_COPY &&
		       strcasestr(profile_frame_get(x->p, frame).name, "memset");

	trace_text_span(&x->out, pid, tid, e->time_ns, e->duration_ns);
	trace_text_puts(&x->out, ",\"cat\":\"");
	trace_text_puts(&x->out, is_fill ? "gpu_memset" : categories[e->kind]);
	trace_text_puts(&x->out, "\",\"name\":");
	trace_text_name(&x->out, x->p, frame);
	put_number(x, ",\"args\":{\"device\":", l->track.device);
	if (e->kind != EVENT_KIND_IDLE) {
		put_number(x, ",\"stream\":", l->track.queue);
		put_number(x, ",\"correlation\":", e->flow);
	}
	if (e->kind == EVENT_KIND_COPY && e->value)
		put_number(x, ",\"bytes\":", e->value);
	trace_text_puts(&x->out, "}}");
	if (e->kind != EVENT_KIND_IDLE && e->flow != EVENT_FLOW_BEFORE &&
	    e->flow != EVENT_FLOW_UNKNOWN)
		put_arrow(x, 'f', pid, tid, e);
	return 0;
}

static int put_scope(struct chrome *x, struct line *l, const struct event *e)
{
	uint64_t lane;
	int rc = find_lane(l, e->time_ns, e->time_ns + e->duration_ns, &lane);
	if (rc < 0)
		return rc;
	uint64_t tid = SCOPE_TID + l->track.tid + lane * LANE_TID;
	trace_text_span(&x->out, l->track.pid, tid, e->time_ns, e->duration_ns);
	trace_text_puts(&x->out, ",\"cat\":\"user_annotation\",\"name\":");
	trace_text_quote(&x->out, e->name);
	trace_text_puts(&x->out, "}");
	return 0;
}

static void put_counter(struct chrome *x, const struct line *l, const struct event *e)
{
	trace_text_at(&x->out, 'C', line_pid(l), l->track.tid, e->time_ns);
	trace_text_puts(&x->out, ",\"name\":");
	trace_text_quote(&x->out, e->name);
	trace_text_printf(&x->out, ",\"args\":{\"value\":%.15g}}", e->real);
}

static int chrome_event(void *data, const struct event *e)
{
	struct chrome *x = data;
	struct line *l = &x->lines.data[e->track];
	int rc = 0;

	switch (e->kind) {
	case EVENT_KIND_SAMPLE:
	case EVENT_KIND_SPAN:
	case EVENT_KIND_LAUNCH:
	case EVENT_KIND_SYNC:
		rc = put_host(x, l, e);
		break;
	case EVENT_KIND_WORK:
	case EVENT_KIND_COPY:
	case EVENT_KIND_IDLE:
		rc = put_work(x, l, e);
		break;
	case EVENT_KIND_SCOPE:
		rc = put_scope(x, l, e);
		break;
	case EVENT_KIND_COUNTER:
		put_counter(x, l, e);
		break;
	}
	return rc < 0 ? rc : trace_text_error(&x->out);
}

/* ---- the whole ---- */

static int chrome_begin(void *data, const struct profile *p)
{
	struct chrome *x = data;
	x->p = p;
	return 0;
}

static int chrome_end(void *data)
{
	struct chrome *x = data;
	vec_for_each(&x->lines, l) {
		struct host host = { x, l, 0 };
		stacking_end(&l->stack,
			     &(struct stacking_sink){ open_frames, close_frames, &host });
	}
	trace_text_puts(&x->out, "\n]}\n");
	return trace_text_flush(&x->out);
}

static void chrome_free(struct chrome *x)
{
	vec_for_each(&x->lines, l) {
		stacking_release(&l->stack);
		vec_for_each(&l->lanes, lane)
			vec_release(&lane->open);
		vec_release(&l->lanes);
	}
	vec_release(&x->lines);
	trace_text_release(&x->out);
	free(x);
}

static int chrome_start(FILE *out, const struct export_options *opt, struct event_sink *ret,
			struct err *err)
{
	struct chrome *x = calloc(1, sizeof(*x));
	if (!x)
		return err_set(err, -ENOMEM, "cannot write a trace");
	x->opt = opt;
	/* Times are written from there on: a calendar's would not fit the numbers of browsers. */
	trace_text_init(&x->out, out, opt->begin_ns);
	trace_text_printf(&x->out,
			  "{\"displayTimeUnit\":\"ns\",\"baseTimeNanoseconds\":%" PRIu64
			  ",\"exporter\":",
			  opt->begin_ns);
	trace_text_quote(&x->out, opt->version ? opt->version : "accel-prof");
	trace_text_puts(&x->out, ",\"title\":");
	trace_text_quote(&x->out, opt->title ? opt->title : "");
	trace_text_puts(&x->out, ",\"deviceProperties\":[");
	for (size_t i = 0; i < opt->device_count; i++) {
		const struct export_device *d = &opt->devices[i];
		trace_text_printf(&x->out, "%s{\"id\":%" PRIu32 ",\"name\":", i ? "," : "",
				  d->index);
		trace_text_quote(&x->out, d->name);
		trace_text_printf(&x->out, ",\"numSms\":%" PRIu64 "}", d->units);
	}
	trace_text_puts(&x->out, "],\"traceEvents\":[");
	*ret = (struct event_sink){ x, chrome_begin, chrome_track, chrome_event, chrome_end };
	return 0;
}

static int chrome_finish(struct event_sink *sink, bool failed, struct err *err)
{
	struct chrome *x = sink->data;
	int rc = failed ? 0 : x->out.error;
	chrome_free(x);
	return rc < 0 ? err_set(err, rc, "cannot write a trace") : 0;
}

const struct exporter chrome_exporter = {
	.name = "chrome",
	.what = "A trace for Perfetto and chrome://tracing",
	.start = chrome_start,
	.finish = chrome_finish,
};
