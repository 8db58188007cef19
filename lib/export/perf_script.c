/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of `perf script`, which stackcollapse-perf.pl, FlameScope, speedscope and the Firefox
 * Profiler read: a line of who and when, then the stack, leaf first. Three events: samples of host
 * code, launches, and device work with its time as the period.
 *
 * perf's lines begin with an address; a frame of ours may have none, so it is the frame's number:
 * equal for equal frames, which is what readers use it for.
 */
#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "export/formats.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct words {
	size_t begin, size; /* size 0: not made yet */
};

struct script {
	const struct profile *p;
	FILE *out;
	struct strbuf text;      /* of one event */
	struct strbuf frames;    /* the lines of frames */
	VEC(struct words) words; /* by frame */
	VEC(struct event_track) tracks;
};

static int script_begin(void *data, const struct profile *p)
{
	struct script *x = data;
	x->p = p;
	return 0;
}

static int script_track(void *data, uint32_t number, const struct event_track *track)
{
	struct script *x = data;
	(void)number;
	return vec_push(&x->tracks, *track);
}

static void put_line(struct script *x, uint32_t number)
{
	struct frame f = profile_frame_get(x->p, number);
	const char *module = f.module && *f.module ? f.module : f.file && *f.file ? f.file : NULL;

	strbuf_printf(&x->frames, "\t%16" PRIx32 " ", number + 1);
	utf8_append_safe(&x->frames, *f.name ? f.name : "[unknown]",
			 *f.name ? strlen(f.name) : strlen("[unknown]"));
	strbuf_puts(&x->frames, " (");
	utf8_append_safe(&x->frames, module ? module : "[unknown]",
			 strlen(module ? module : "[unknown]"));
	strbuf_puts(&x->frames, ")\n");
}

static int put_frame(struct script *x, uint32_t number)
{
	while (x->words.len <= number) {
		if (vec_push(&x->words, (struct words){ 0 }) < 0)
			return -ENOMEM;
	}
	struct words *w = &x->words.data[number];
	if (!w->size) {
		w->begin = x->frames.len;
		put_line(x, number);
		if (strbuf_finish(&x->frames) < 0)
			return -ENOMEM;
		w->size = x->frames.len - w->begin;
	}
	strbuf_add(&x->text, x->frames.data + w->begin, w->size);
	return 0;
}

/* "python3 12/34": the name is of the process that the path starts with, which has no line then. */
static void put_who(struct script *x, const struct event_track *t)
{
	char device[32];
	const char *name = *t->thread ? t->thread : t->process;
	if (t->kind != TRACK_THREAD) {
		snprintf(device, sizeof(device), "GPU-%" PRIu32, t->device);
		name = device;
	}
	if (!*name)
		name = "unknown";
	size_t start = x->text.len;
	utf8_append_safe(&x->text, name, strlen(name));
	/* A blank would end the name for some readers. */
	for (size_t i = start; !x->text.failed && i < x->text.len; i++) {
		if (x->text.data[i] == ' ')
			x->text.data[i] = '_';
	}
	strbuf_printf(&x->text, " %" PRIu32 "/%" PRIu32, t->pid, t->tid);
}

static int script_event(void *data, const struct event *e)
{
	struct script *x = data;
	const char *name;
	uint64_t period = e->value;

	switch (e->kind) {
	case EVENT_KIND_SAMPLE:
		name = "cpu-samples";
		break;
	case EVENT_KIND_SPAN:
		name = "cpu-time";
		period = e->duration_ns;
		break;
	case EVENT_KIND_LAUNCH:
		name = "launches";
		break;
	case EVENT_KIND_WORK:
	case EVENT_KIND_COPY:
		name = "device-time";
		period = e->duration_ns;
		break;
	default:
		return 0; /* no stack, or none of code that runs */
	}
	strbuf_reset(&x->text);
	put_who(x, &x->tracks.data[e->track]);
	strbuf_printf(&x->text, " %" PRIu64 ".%09" PRIu64 ": %10" PRIu64 " %s: \n",
		      e->time_ns / 1000000000, e->time_ns % 1000000000, period, name);
	for (uint32_t n = e->node; n != PROFILE_ROOT;) {
		struct profile_node node = profile_node(x->p, n);
		if (node.parent == PROFILE_ROOT &&
		    profile_frame_get(x->p, node.frame).kind == FRAME_PROCESS)
			break;
		if (put_frame(x, node.frame) < 0)
			return -ENOMEM;
		n = node.parent;
	}
	strbuf_putc(&x->text, '\n');
	if (strbuf_finish(&x->text) < 0)
		return -ENOMEM;
	return fwrite(x->text.data, 1, x->text.len, x->out) == x->text.len ? 0
	       : errno                                                     ? -errno
									   : -EIO;
}

static int script_end(void *data)
{
	(void)data;
	return 0;
}

static int script_start(FILE *out, const struct export_options *opt, struct event_sink *ret,
			struct err *err)
{
	struct script *x = calloc(1, sizeof(*x));
	(void)opt;
	if (!x)
		return err_set(err, -ENOMEM, "cannot write events");
	x->out = out;
	*ret = (struct event_sink){ x, script_begin, script_track, script_event, script_end };
	return 0;
}

static int script_finish(struct event_sink *sink, bool failed, struct err *err)
{
	struct script *x = sink->data;
	FILE *out = x->out;
	strbuf_release(&x->text);
	strbuf_release(&x->frames);
	vec_release(&x->words);
	vec_release(&x->tracks);
	free(x);
	return !failed && ferror(out) ? err_set(err, -EIO, "cannot write events") : 0;
}

const struct exporter perf_script_exporter = {
	.name = "perf-script",
	.what = "The text of 'perf script', one event after the other",
	.start = script_start,
	.finish = script_finish,
};
