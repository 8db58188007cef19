/* SPDX-License-Identifier: Apache-2.0 */
#include "export/trace_text.h"

#include "export/formats.h"
#include "export/json.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#define FLUSH_BYTES (256u << 10)

static const char *category(const struct frame *f)
{
	switch (f->kind) {
	case FRAME_PYTHON:
		return "python_function";
	case FRAME_SCOPE:
		return "user_annotation";
	case FRAME_CXX:
		return f->class == FRAME_CLASS_FRAMEWORK ? "cpu_op" : "native";
	default:
		return "native";
	}
}

/* Python's as PyTorch writes it: "train.py(3): main". */
static void make_words(struct strbuf *out, const struct frame *f)
{
	strbuf_puts(out, ",\"cat\":\"");
	strbuf_puts(out, category(f));
	strbuf_puts(out, "\",\"name\":");
	if (f->kind != FRAME_PYTHON || !f->file || !*f->file) {
		json_escape(out, *f->name ? f->name : "[unknown]");
		return;
	}
	struct strbuf name = { 0 };
	size_t size;
	const char *function = export_python_name(f->name, &size);
	strbuf_printf(&name, "%s(%" PRIu32 "): %.*s", f->file, f->line, (int)size, function);
	out->failed |= name.failed;
	json_escape(out, strbuf_text(&name));
	strbuf_release(&name);
}

static void make_opening(struct strbuf *out, const struct frame *f)
{
	make_words(out, f);
	strbuf_putc(out, '}');
}

static void make_call(struct strbuf *out, const struct frame *f)
{
	if (f->kind == FRAME_PYTHON || f->kind == FRAME_SCOPE) {
		make_words(out, f);
		return;
	}
	strbuf_puts(out, ",\"cat\":\"runtime\",\"name\":");
	json_escape(out, *f->name ? f->name : "[unknown]");
}

static void make_name(struct strbuf *out, const struct frame *f)
{
	json_escape(out, f->full && *f->full ? f->full : f->name);
}

void trace_text_init(struct trace_text *t, FILE *out, uint64_t base_ns)
{
	*t = (struct trace_text){
		.out = out,
		.base_ns = base_ns,
		.words.make = make_opening,
		.calls.make = make_call,
		.names.make = make_name,
	};
}

void trace_text_release(struct trace_text *t)
{
	strbuf_release(&t->text);
	words_release(&t->words);
	words_release(&t->calls);
	words_release(&t->names);
}

int trace_text_flush(struct trace_text *t)
{
	if (!t->error && strbuf_finish(&t->text) < 0)
		t->error = -ENOMEM;
	if (!t->error && t->text.len && fwrite(t->text.data, 1, t->text.len, t->out) != t->text.len)
		t->error = errno ? -errno : -EIO;
	strbuf_reset(&t->text);
	return t->error;
}

int trace_text_error(struct trace_text *t)
{
	return t->text.len >= FLUSH_BYTES || t->text.failed ? trace_text_flush(t) : t->error;
}

void trace_text_printf(struct trace_text *t, const char *fmt, ...)
{
	char text[512]; /* of ours alone: names go through trace_text_quote() */
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	strbuf_puts(&t->text, text);
}

void trace_text_quote(struct trace_text *t, const char *text)
{
	json_escape(&t->text, text);
}

void trace_text_number(struct trace_text *t, uint64_t number)
{
	export_number(&t->text, number, 1);
}

static bool is_kept(const struct trace_start *s, char phase, uint64_t pid, uint64_t tid)
{
	return s->size && s->phase == phase && s->pid == pid && s->tid == tid;
}

/* What was added to the text since @begin. */
static void keep(struct trace_start *ret, const struct strbuf *text, size_t begin)
{
	size_t size = text->len - begin;
	assert(size < sizeof(ret->text));
	if (text->failed)
		return;
	memcpy(ret->text, text->data + begin, size);
	ret->size = (uint8_t)size;
}

static void put_start(struct trace_text *t, char phase, uint64_t pid, uint64_t tid)
{
	struct trace_start *start = &t->starts[(tid ^ (uint64_t)phase << 4) % TRACE_STARTS];

	if (is_kept(start, phase, pid, tid)) {
		strbuf_add(&t->text, start->text, start->size);
		return;
	}
	size_t begin = t->text.len;
	strbuf_puts(&t->text, "{\"ph\":\"");
	strbuf_putc(&t->text, phase);
	strbuf_puts(&t->text, "\",\"pid\":");
	export_number(&t->text, pid, 1);
	strbuf_puts(&t->text, ",\"tid\":");
	export_number(&t->text, tid, 1);
	*start = (struct trace_start){ .phase = phase, .pid = pid, .tid = tid };
	keep(start, &t->text, begin);
}

static void put_comma(struct trace_text *t)
{
	strbuf_puts(&t->text, t->has_events ? ",\n" : "\n");
	t->has_events = true;
}

void trace_text_begin(struct trace_text *t, char phase, uint64_t pid, uint64_t tid)
{
	put_comma(t);
	put_start(t, phase, pid, tid);
}

static void put_us(struct trace_text *t, const char *key, uint64_t ns)
{
	strbuf_puts(&t->text, key);
	export_number(&t->text, ns / 1000, 1);
	strbuf_putc(&t->text, '.');
	export_number(&t->text, ns % 1000, 3);
}

static void put_time(struct trace_text *t, uint64_t time_ns)
{
	if (time_ns >= t->base_ns)
		put_us(t, ",\"ts\":", time_ns - t->base_ns);
	else
		put_us(t, ",\"ts\":-", t->base_ns - time_ns);
}

void trace_text_at(struct trace_text *t, char phase, uint64_t pid, uint64_t tid, uint64_t time_ns)
{
	trace_text_begin(t, phase, pid, tid);
	put_time(t, time_ns);
}

const struct trace_start *trace_text_start(struct trace_text *t, char phase, uint64_t pid,
					   uint64_t tid, uint64_t time_ns)
{
	struct trace_start *start = phase == 'B' ? &t->opening : &t->closing;

	if (is_kept(start, phase, pid, tid) && start->time_ns == time_ns)
		return start;
	size_t begin = t->text.len;
	strbuf_puts(&t->text, ",\n");
	put_start(t, phase, pid, tid);
	put_time(t, time_ns);
	if (phase == 'E')
		strbuf_putc(&t->text, '}');
	*start = (struct trace_start){ phase, .pid = pid, .tid = tid, .time_ns = time_ns };
	keep(start, &t->text, begin);
	t->text.len = begin;
	return start;
}

void trace_text_close(struct trace_text *t, const struct trace_start *start, size_t count)
{
	for (; count; count--)
		trace_text_put_start(t, start);
}

void trace_text_call(struct trace_text *t, const struct trace_start *start, const struct profile *p,
		     uint32_t frame)
{
	trace_text_put_start(t, start);
	words_put(&t->calls, p, frame, &t->text);
}

void trace_text_span(struct trace_text *t, uint64_t pid, uint64_t tid, uint64_t begin_ns,
		     uint64_t duration_ns)
{
	trace_text_at(t, 'X', pid, tid, begin_ns);
	put_us(t, ",\"dur\":", duration_ns);
}

void trace_text_name(struct trace_text *t, const struct profile *p, uint32_t frame)
{
	words_put(&t->names, p, frame, &t->text);
}
