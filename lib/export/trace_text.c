/* SPDX-License-Identifier: Apache-2.0 */
#include "export/trace_text.h"

#include "export/formats.h"
#include "export/json.h"

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

void trace_text_init(struct trace_text *t, FILE *out, uint64_t base_ns)
{
	*t = (struct trace_text){ .out = out, .base_ns = base_ns, .words.make = make_words };
}

void trace_text_release(struct trace_text *t)
{
	strbuf_release(&t->text);
	words_release(&t->words);
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

void trace_text_puts(struct trace_text *t, const char *text)
{
	strbuf_puts(&t->text, text);
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

/* What was added to the text since @begin, kept. */
static void keep(struct trace_short *ret, const struct strbuf *text, size_t begin)
{
	size_t size = text->len - begin;
	if (text->failed || size > sizeof(ret->text))
		return;
	memcpy(ret->text, text->data + begin, size);
	ret->size = (uint8_t)size;
}

void trace_text_begin(struct trace_text *t, char phase, uint64_t pid, uint64_t tid)
{
	struct trace_start *start = &t->starts[(tid ^ (uint64_t)phase << 4) % TRACE_STARTS];

	strbuf_puts(&t->text, t->has_events ? ",\n" : "\n");
	t->has_events = true;
	if (start->text.size && start->phase == phase && start->pid == pid && start->tid == tid) {
		strbuf_add(&t->text, start->text.text, start->text.size);
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
	keep(&start->text, &t->text, begin);
}

static void put_us(struct trace_text *t, const char *key, uint64_t ns)
{
	strbuf_puts(&t->text, key);
	export_number(&t->text, ns / 1000, 1);
	strbuf_putc(&t->text, '.');
	export_number(&t->text, ns % 1000, 3);
}

void trace_text_time(struct trace_text *t, const char *key, uint64_t time_ns)
{
	strbuf_puts(&t->text, ",\"");
	strbuf_puts(&t->text, key);
	if (t->moment.size && t->moment_ns == time_ns) {
		strbuf_add(&t->text, t->moment.text, t->moment.size);
		return;
	}
	size_t begin = t->text.len;
	if (time_ns >= t->base_ns)
		put_us(t, "\":", time_ns - t->base_ns);
	else
		put_us(t, "\":-", t->base_ns - time_ns);
	t->moment_ns = time_ns;
	t->moment.size = 0;
	keep(&t->moment, &t->text, begin);
}

void trace_text_span(struct trace_text *t, uint64_t pid, uint64_t tid, uint64_t begin_ns,
		     uint64_t duration_ns)
{
	trace_text_begin(t, 'X', pid, tid);
	trace_text_time(t, "ts", begin_ns);
	put_us(t, ",\"dur\":", duration_ns);
}

void trace_text_frame(struct trace_text *t, const struct profile *p, uint32_t frame, bool is_call)
{
	struct frame f = { .kind = FRAME_PYTHON };

	if (is_call)
		f = profile_frame_get(p, frame);
	if (f.kind == FRAME_PYTHON || f.kind == FRAME_SCOPE) {
		words_put(&t->words, p, frame, &t->text);
		return;
	}
	strbuf_puts(&t->text, ",\"cat\":\"runtime\",\"name\":");
	json_escape(&t->text, *f.name ? f.name : "[unknown]");
}
