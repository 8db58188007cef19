/* SPDX-License-Identifier: Apache-2.0 */
/* accel-prof dump: every record as a line of text, from the table of fields. */
#include "base/strbuf.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "capture/field.h"
#include "capture/reader.h"
#include "cmd/cmd.h"
#include "cmd/file_options.h"
#include "cmd/input.h"
#include "cmd/options.h"
#include "cmd/tell.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct dump {
	struct capture_reader *reader;
	VEC(uint32_t) object_names; /* string, by object */
	struct strbuf line;
};

/* What cannot stand in a line or on a terminal becomes \n, \xff or \u{202e}. */
static void add_quoted(struct strbuf *out, const char *text, size_t size)
{
	strbuf_putc(out, '"');
	for (size_t i = 0; i < size;) {
		uint32_t code;
		size_t len = utf8_next(text + i, size - i, &code);
		if (code == UINT32_MAX || code == 0)
			strbuf_printf(out, "\\x%02x", (uint8_t)text[i]);
		else if (code == '"' || code == '\\')
			strbuf_printf(out, "\\%c", (char)code);
		else if (code == '\n')
			strbuf_puts(out, "\\n");
		else if (code == '\t')
			strbuf_puts(out, "\\t");
		else if (utf8_is_unsafe(code))
			strbuf_printf(out, "\\u{%" PRIx32 "}", code);
		else
			strbuf_add(out, text + i, len);
		i += len;
	}
	strbuf_putc(out, '"');
}

static void add_string(struct dump *d, uint32_t id)
{
	struct span text = capture_reader_string(d->reader, id);
	strbuf_printf(&d->line, "%" PRIu32 ":", id);
	add_quoted(&d->line, (const char *)text.data, text.size);
}

static void add_object(struct dump *d, uint32_t id)
{
	uint32_t name = id < d->object_names.len ? d->object_names.data[id] : 0;
	if (id == RECORD_DAMAGED)
		name = RECORD_DAMAGED;
	struct span text = capture_reader_string(d->reader, name);
	strbuf_printf(&d->line, "%" PRIu32 ":", id);
	add_quoted(&d->line, (const char *)text.data, text.size);
}

static void add_time(struct strbuf *out, uint64_t ns)
{
	strbuf_printf(out, "%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
}

/* The shortest form that reads back as the same number. */
static void add_double(struct strbuf *out, double value)
{
	char text[32];
	snprintf(text, sizeof(text), "%.15g", value);
	if (strtod(text, NULL) != value)
		snprintf(text, sizeof(text), "%.17g", value);
	strbuf_puts(out, text);
}

/* Long ones are code: their start says what they are. */
static void add_bytes(struct strbuf *out, const struct record_bytes *bytes)
{
	enum {
		SHOWN = 32
	};
	const uint8_t *p = bytes->data;
	for (size_t i = 0; i < bytes->size && i < SHOWN; i++)
		strbuf_printf(out, "%02x", p[i]);
	if (bytes->size > SHOWN)
		strbuf_printf(out, "...(%zu bytes)", bytes->size);
}

static void add_enum(struct strbuf *out, const struct field *f, uint64_t value)
{
	if (value < f->word_count && f->words[value])
		strbuf_puts(out, f->words[value]);
	else
		strbuf_printf(out, "%" PRIu64, value);
}

static void add_flags(struct strbuf *out, const struct field *f, uint64_t value)
{
	const char *between = "";
	for (size_t bit = 0; bit < f->word_count; bit++) {
		if (!(value >> bit & 1))
			continue;
		strbuf_printf(out, "%s%s", between, f->words[bit]);
		value &= ~(1ull << bit);
		between = "|";
	}
	if (value)
		strbuf_printf(out, "%s0x%" PRIx64, between, value);
}

static void add_stack_flags(struct strbuf *out, const struct field *f, uint64_t value)
{
	uint32_t cause = (uint32_t)(value >> STACK_CAUSE_SHIFT);
	uint64_t flags = value & ((1u << STACK_CAUSE_SHIFT) - 1);
	const char *name = stack_cause_name(cause);

	add_flags(out, f, flags);
	if (!cause)
		return;
	strbuf_puts(out, flags ? "|ends:" : "ends:");
	if (name)
		strbuf_puts(out, name);
	else
		strbuf_printf(out, "%" PRIu32, cause);
}

static void add_frames(struct dump *d, const struct record_stack *stack)
{
	strbuf_putc(&d->line, '[');
	for (uint32_t i = 0; i < stack->count; i++) {
		if (i)
			strbuf_putc(&d->line, ' ');
		add_object(d, stack->frames[i].object);
		strbuf_printf(&d->line, "+0x%" PRIx64, stack->frames[i].offset);
	}
	strbuf_putc(&d->line, ']');
}

static void add_lines(struct dump *d, const struct record_symbol *symbol)
{
	strbuf_putc(&d->line, '[');
	for (uint32_t i = 0; i < symbol->count; i++) {
		if (i)
			strbuf_putc(&d->line, ' ');
		add_string(d, symbol->lines[i].name);
		strbuf_putc(&d->line, ' ');
		add_string(d, symbol->lines[i].file);
		strbuf_printf(&d->line, ":%" PRIu32, symbol->lines[i].line);
	}
	strbuf_putc(&d->line, ']');
}

static bool is_zero(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (data[i])
			return false;
	}
	return true;
}

static uint64_t load_number(const struct field *f, const uint8_t *at)
{
	uint32_t narrow;
	uint64_t wide;
	if (f->size == sizeof(narrow)) {
		memcpy(&narrow, at, sizeof(narrow));
		return narrow;
	}
	memcpy(&wide, at, sizeof(wide));
	return wide;
}

static void add_number(struct dump *d, const struct field *f, uint64_t value)
{
	switch (f->kind) {
	case FIELD_TIME:
		add_time(&d->line, value);
		break;
	case FIELD_HEX:
		strbuf_printf(&d->line, "0x%" PRIx64, value);
		break;
	case FIELD_SIGNED:
		strbuf_printf(&d->line, "%" PRId64, (int64_t)value);
		break;
	case FIELD_ENUM:
		add_enum(&d->line, f, value);
		break;
	case FIELD_FLAGS:
		add_flags(&d->line, f, value);
		break;
	case FIELD_STACK_FLAGS:
		add_stack_flags(&d->line, f, value);
		break;
	case FIELD_STRING:
		add_string(d, (uint32_t)value);
		break;
	case FIELD_OBJECT:
		add_object(d, (uint32_t)value);
		break;
	default:
		strbuf_printf(&d->line, "%" PRIu64, value);
	}
}

static void add_value(struct dump *d, const struct field *f, const struct record *rec)
{
	const uint8_t *at = (const uint8_t *)record_body_const(rec) + f->offset;
	struct record_bytes bytes;
	uint32_t triple[3];
	double real;

	switch (f->kind) {
	case FIELD_BYTES:
		memcpy(&bytes, at, sizeof(bytes));
		if (rec->type == RECORD_STRING)
			add_quoted(&d->line, bytes.data, bytes.size);
		else
			add_bytes(&d->line, &bytes);
		break;
	case FIELD_TRIPLE:
		memcpy(triple, at, sizeof(triple));
		strbuf_printf(&d->line, "%" PRIu32 ",%" PRIu32 ",%" PRIu32, triple[0], triple[1],
			      triple[2]);
		break;
	case FIELD_F64:
		memcpy(&real, at, sizeof(real));
		add_double(&d->line, real);
		break;
	case FIELD_FRAMES:
		add_frames(d, &rec->stack);
		break;
	case FIELD_LINES:
		add_lines(d, &rec->symbol);
		break;
	default:
		add_number(d, f, load_number(f, at));
	}
}

/* Fields that are 0 say nothing, but for times. */
static bool is_shown(const struct field *f, const struct record *rec)
{
	const uint8_t *at = (const uint8_t *)record_body_const(rec) + f->offset;
	if (f->kind == FIELD_BYTES)
		return rec->type == RECORD_STRING ||
		       !is_zero(at + offsetof(struct record_bytes, size), sizeof(size_t));
	return f->kind == FIELD_TIME || f->kind == FIELD_FRAMES || !is_zero(at, f->size);
}

static int dump_record(struct dump *d, const struct record *rec)
{
	const struct record_layout *layout = record_layout(rec->type);

	if (rec->type == RECORD_OBJECT && rec->object.id != RECORD_DAMAGED) {
		if (vec_reserve(&d->object_names, rec->object.id + 1) < 0)
			return tell("out of memory");
		while (d->object_names.len <= rec->object.id)
			d->object_names.data[d->object_names.len++] = 0;
		d->object_names.data[rec->object.id] = rec->object.name;
	}
	strbuf_reset(&d->line);
	strbuf_puts(&d->line, layout->name);
	for (size_t i = 0; i < layout->count; i++) {
		const struct field *f = &layout->fields[i];
		if (!is_shown(f, rec))
			continue;
		/* time_ns is shown in seconds. */
		size_t size = strlen(f->name) - (f->kind == FIELD_TIME ? strlen("_ns") : 0);
		strbuf_printf(&d->line, " %.*s=", (int)size, f->name);
		add_value(d, f, rec);
	}
	strbuf_putc(&d->line, '\n');
	if (strbuf_finish(&d->line) < 0)
		return tell("out of memory");
	fwrite(d->line.data, 1, d->line.len, stdout);
	return tell_stdout_error();
}

static int dump_all(struct capture_reader *reader)
{
	struct dump d = { .reader = reader };
	struct record rec;
	struct err err;
	int rc, status = CMD_OK;

	while (status == CMD_OK && (rc = capture_reader_next(reader, &rec, &err)) != 0)
		status = rc < 0 ? tell_error(&err) : dump_record(&d, &rec);
	vec_release(&d.object_names);
	strbuf_release(&d.line);
	return status;
}

int cmd_dump(int argc, char **argv)
{
	static const struct argp_child children[] = { { .argp = &input_options }, { 0 } };
	static const struct argp argp = {
		.children = children, /* without a parser, the first has our input */
		.args_doc = "[FILE]",
		.doc = "Show the records of a capture, or of a trace that can be imported, as text, "
		       "one a line.",
	};
	struct file_options opt = { .path = NULL };
	struct input *in = NULL;
	struct err err;

	options_parse(&argp, argc, argv, &opt);
	if (input_open(&in, opt.path, &err) < 0)
		return tell_error(&err);
	int status = dump_all(in->reader);
	/* Before what is said on stderr, and not lost behind it. */
	fflush(stdout);
	if (status == CMD_OK)
		status = tell_stdout_error();
	return input_close(in, status);
}
