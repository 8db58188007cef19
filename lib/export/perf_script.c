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
#include "export/words.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define FLUSH_BYTES (256u << 10)
/* Whole stacks, as many have the same: 2 KB each for 30 frames, so that this is some megabytes. */
#define KEPT_STACKS 4096u

struct kept_stack {
	uint32_t node; /* 0: none */
	struct strbuf text;
};

struct script {
	const struct profile *p;
	FILE *out;
	struct strbuf text; /* not written yet */
	struct words words; /* lines without the number */
	struct kept_stack kept[KEPT_STACKS];
	VEC(struct event_track) tracks;
};

static int script_flush(struct script *x)
{
	int rc = strbuf_finish(&x->text);
	if (!rc && fwrite(strbuf_text(&x->text), 1, x->text.len, x->out) != x->text.len)
		rc = errno ? -errno : -EIO;
	strbuf_reset(&x->text);
	return rc;
}

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

static void make_line(struct strbuf *out, const struct frame *f)
{
	const char *name = *f->name ? f->name : "[unknown]";
	const char *module = f->module && *f->module ? f->module
			     : f->file && *f->file   ? f->file
						     : "[unknown]";

	strbuf_putc(out, ' ');
	utf8_append_safe(out, name, strlen(name));
	strbuf_puts(out, " (");
	utf8_append_safe(out, module, strlen(module));
	strbuf_puts(out, ")\n");
}

static void put_hex(struct strbuf *out, uint32_t number)
{
	char text[8];
	size_t i = sizeof(text);
	do
		text[--i] = "0123456789abcdef"[number & 15];
	while (number >>= 4);
	strbuf_add(out, text + i, sizeof(text) - i);
}

static void put_frame(struct script *x, uint32_t number, struct strbuf *out)
{
	strbuf_putc(out, '\t');
	put_hex(out, number + 1);
	words_put(&x->words, x->p, number, out);
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
	strbuf_putc(&x->text, ' ');
	export_number(&x->text, t->pid, 1);
	strbuf_putc(&x->text, '/');
	export_number(&x->text, t->tid, 1);
}

static void make_stack(struct script *x, uint32_t node, struct strbuf *out)
{
	for (uint32_t n = node; n != PROFILE_ROOT;) {
		struct profile_node at = profile_node(x->p, n);
		if (at.parent == PROFILE_ROOT &&
		    profile_frame_get(x->p, at.frame).kind == FRAME_PROCESS)
			break;
		put_frame(x, at.frame, out);
		n = at.parent;
	}
}

static void put_stack(struct script *x, uint32_t node)
{
	struct kept_stack *kept = &x->kept[node % KEPT_STACKS];
	if (kept->node != node) {
		strbuf_reset(&kept->text);
		make_stack(x, node, &kept->text);
		kept->node = node;
	}
	x->text.failed |= kept->text.failed;
	strbuf_add(&x->text, strbuf_text(&kept->text), kept->text.len);
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
	put_who(x, &x->tracks.data[e->track]);
	strbuf_putc(&x->text, ' ');
	export_number(&x->text, e->time_ns / 1000000000, 1);
	strbuf_putc(&x->text, '.');
	export_number(&x->text, e->time_ns % 1000000000, 9);
	strbuf_puts(&x->text, ": ");
	export_number(&x->text, period, 1);
	strbuf_putc(&x->text, ' ');
	strbuf_puts(&x->text, name);
	strbuf_puts(&x->text, ": \n");
	put_stack(x, e->node);
	strbuf_putc(&x->text, '\n');
	return x->text.len < FLUSH_BYTES && !x->text.failed ? 0 : script_flush(x);
}

static int script_end(void *data)
{
	return script_flush(data);
}

static int script_start(FILE *out, const struct export_options *opt, struct event_sink *ret,
			struct err *err)
{
	struct script *x = calloc(1, sizeof(*x));
	(void)opt;
	if (!x)
		return err_set(err, -ENOMEM, "cannot write events");
	x->out = out;
	x->words.make = make_line;
	*ret = (struct event_sink){ x, script_begin, script_track, script_event, script_end };
	return 0;
}

static int script_finish(struct event_sink *sink, bool failed, struct err *err)
{
	struct script *x = sink->data;
	FILE *out = x->out;
	strbuf_release(&x->text);
	words_release(&x->words);
	for (size_t i = 0; i < KEPT_STACKS; i++)
		strbuf_release(&x->kept[i].text);
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
