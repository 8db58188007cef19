/* SPDX-License-Identifier: Apache-2.0 */
#include "export/sheet.h"

#include "base/cleanup.h"
#include "base/utf8.h"
#include "export/csv.h"
#include "export/json.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>

#define GAP         2 /* between columns */
#define NOTE_INDENT 4

struct unit {
	double factor;
	const char *name;
};

static const struct unit time_units[] = { { 1, "ns" }, { 1e3, "us" }, { 1e6, "ms" }, { 1e9, "s" } };
static const struct unit byte_units[] = {
	{ 1, "B" }, { 1e3, "kB" }, { 1e6, "MB" }, { 1e9, "GB" }, { 1e12, "TB" },
};

void sheet_init(struct sheet *t, const char *name, const struct sheet_column *columns, size_t count)
{
	*t = (struct sheet){ .name = name, .columns = columns, .column_count = count };
}

void sheet_release(struct sheet *t)
{
	vec_release(&t->cells);
	vec_release(&t->notes);
	strtab_release(&t->texts);
}

size_t sheet_rows(const struct sheet *t)
{
	return t->column_count ? t->cells.len / t->column_count : 0;
}

void sheet_row(struct sheet *t)
{
	for (size_t i = 0; i < t->column_count && !t->failed; i++)
		t->failed = vec_push(&t->cells, (struct sheet_cell){ 0 }) < 0;
}

static struct sheet_cell *cell_last(struct sheet *t, size_t column)
{
	assert(column < t->column_count);
	if (t->failed || !t->cells.len)
		return &t->spare;
	struct sheet_cell *cell = &t->cells.data[t->cells.len - t->column_count + column];
	cell->is_known = true;
	return cell;
}

void sheet_text(struct sheet *t, size_t column, const char *text)
{
	uint32_t number = 0;
	if (strtab_add(&t->texts, text, &number) < 0)
		t->failed = true;
	cell_last(t, column)->text = number;
}

void sheet_number(struct sheet *t, size_t column, uint64_t number)
{
	cell_last(t, column)->number = number;
}

void sheet_decimal(struct sheet *t, size_t column, double value)
{
	cell_last(t, column)->ratio = value;
}

void sheet_share(struct sheet *t, size_t column, uint64_t part, uint64_t whole)
{
	if (whole)
		sheet_decimal(t, column, (double)part / (double)whole);
}

static void note_add(struct sheet *t, bool has_share, double share, const char *text)
{
	struct sheet_note note = { .has_share = has_share, .share = share };
	if (!sheet_rows(t))
		return;
	note.row = sheet_rows(t) - 1;
	if (strtab_add(&t->texts, text, &note.text) < 0 || vec_push(&t->notes, note) < 0)
		t->failed = true;
}

void sheet_note(struct sheet *t, const char *text)
{
	note_add(t, false, 0, text);
}

void sheet_note_share(struct sheet *t, uint64_t part, uint64_t whole, const char *text)
{
	note_add(t, whole, whole ? (double)part / (double)whole : 0, text);
}

static void append_row(struct sheet *to, const struct sheet *from, size_t row)
{
	const struct sheet_cell *cells = &from->cells.data[row * from->column_count];
	for (size_t c = 0; c < from->column_count; c++) {
		if (!cells[c].is_known)
			continue;
		if (from->columns[c].kind == SHEET_TEXT)
			sheet_text(to, c + 1, strtab_text(&from->texts, cells[c].text));
		else
			*cell_last(to, c + 1) = cells[c];
	}
}

void sheet_append(struct sheet *to, const char *first, const struct sheet *from)
{
	assert(to->column_count == from->column_count + 1);
	for (size_t row = 0, note = 0; row < sheet_rows(from); row++) {
		sheet_row(to);
		sheet_text(to, 0, first);
		append_row(to, from, row);
		for (; note < from->notes.len && from->notes.data[note].row == row; note++) {
			const struct sheet_note *n = &from->notes.data[note];
			note_add(to, n->has_share, n->share, strtab_text(&from->texts, n->text));
		}
	}
	to->failed |= from->failed;
}

/* ---- numbers ---- */

/* Put separators into the digits before the point, from @start on. */
static void group_digits(struct strbuf *out, const char *digits)
{
	size_t whole = strcspn(digits, ".");
	for (size_t i = 0; i < whole; i++) {
		if (i && (whole - i) % 3 == 0)
			strbuf_putc(out, ',');
		strbuf_putc(out, digits[i]);
	}
	strbuf_puts(out, digits + whole);
}

void text_count(struct strbuf *out, uint64_t number)
{
	char digits[24];
	snprintf(digits, sizeof(digits), "%" PRIu64, number);
	group_digits(out, digits);
}

static void text_decimal(struct strbuf *out, double value, int decimals)
{
	char digits[64];
	snprintf(digits, sizeof(digits), "%.*f", decimals, value);
	group_digits(out, digits);
}

/* The largest unit of which there is at least one. */
static const struct unit *unit_for(const struct unit *units, size_t count, uint64_t value)
{
	size_t i = count - 1;
	while (i && (double)value < units[i].factor)
		i--;
	return &units[i];
}

/* Three significant digits. */
static void text_unit(struct strbuf *out, const struct unit *units, size_t count, uint64_t value)
{
	const struct unit *u = unit_for(units, count, value);
	double scaled = (double)value / u->factor;
	int decimals = u == units ? 0 : scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0;
	text_decimal(out, scaled, decimals);
	strbuf_printf(out, " %s", u->name);
}

void text_duration(struct strbuf *out, uint64_t ns)
{
	text_unit(out, time_units, ARRAY_SIZE(time_units), ns);
}

void text_bytes(struct strbuf *out, uint64_t bytes)
{
	text_unit(out, byte_units, ARRAY_SIZE(byte_units), bytes);
}

/* ---- text for people ---- */

/* How a column is written: decided once, from all its cells. */
struct style {
	const struct unit *unit;
	int decimals;
	size_t width;
	bool is_hidden; /* nothing in it is known */
	struct strbuf title;
};

static const struct sheet_cell *cell_at(const struct sheet *t, size_t row, size_t column)
{
	return &t->cells.data[row * t->column_count + column];
}

static void style_unit(const struct sheet *t, size_t column, struct style *s)
{
	uint64_t most = 0;
	for (size_t row = 0; row < sheet_rows(t); row++) {
		const struct sheet_cell *c = cell_at(t, row, column);
		if (c->is_known && c->number > most)
			most = c->number;
	}
	s->unit = unit_for(time_units, ARRAY_SIZE(time_units), most);
	double scaled = (double)most / s->unit->factor;
	s->decimals = s->unit == time_units ? 0 : scaled < 9.9995 ? 3 : scaled < 99.995 ? 2 : 1;
}

static void format_cell(const struct sheet *t, size_t row, size_t column, const struct style *s,
			struct strbuf *out)
{
	const struct sheet_cell *c = cell_at(t, row, column);
	struct span text;

	if (!c->is_known) {
		strbuf_putc(out, '-');
		return;
	}
	switch (t->columns[column].kind) {
	case SHEET_TEXT:
		text = strtab_get(&t->texts, c->text);
		utf8_append_safe(out, (const char *)text.data, text.size);
		break;
	case SHEET_COUNT:
		text_count(out, c->number);
		break;
	case SHEET_ID:
		strbuf_printf(out, "%" PRIu64, c->number);
		break;
	case SHEET_NS:
		text_decimal(out, (double)c->number / s->unit->factor, s->decimals);
		break;
	case SHEET_DURATION:
		text_duration(out, c->number);
		break;
	case SHEET_BYTES:
		text_bytes(out, c->number);
		break;
	case SHEET_SHARE:
		text_decimal(out, c->ratio * 100, 1);
		break;
	case SHEET_DECIMAL:
		text_decimal(out, c->ratio, 2);
		break;
	case SHEET_FIGURE:
		text_decimal(out, c->ratio,
			     c->ratio < 0.9995  ? 3
			     : c->ratio < 9.995 ? 2
			     : c->ratio < 99.95 ? 1
						: 0);
		break;
	}
}

/* In characters; the texts have been made valid. */
static size_t text_width(const char *text)
{
	size_t width = 0;
	for (; *text; text++)
		width += ((uint8_t)*text & 0xc0) != 0x80;
	return width;
}

/* The head of @text, with ".." where it had to be cut. */
static void append_cut(struct strbuf *out, const char *text, size_t width)
{
	if (text_width(text) <= width) {
		strbuf_puts(out, text);
		return;
	}
	size_t keep = width > 2 ? width - 2 : 0, size = 0;
	for (size_t seen = 0; text[size]; size++) {
		if (((uint8_t)text[size] & 0xc0) != 0x80 && seen++ == keep)
			break;
	}
	strbuf_add(out, text, size);
	strbuf_puts(out, width > 1 ? ".." : ".");
}

static void append_padded(struct strbuf *out, const char *text, size_t width, bool is_right)
{
	size_t length = text_width(text);
	for (size_t i = length; is_right && i < width; i++)
		strbuf_putc(out, ' ');
	append_cut(out, text, width);
	for (size_t i = length; !is_right && i < width; i++)
		strbuf_putc(out, ' ');
}

static int styles_measure(const struct sheet *t, struct style *styles)
{
	struct strbuf text = { 0 };
	int rc = 0;

	for (size_t c = 0; c < t->column_count; c++) {
		struct style *s = &styles[c];
		if (!t->columns[c].title) {
			s->is_hidden = true;
			continue;
		}
		strbuf_puts(&s->title, t->columns[c].title);
		if (t->columns[c].kind == SHEET_NS) {
			style_unit(t, c, s);
			strbuf_printf(&s->title, "%s%s", s->title.len ? " " : "", s->unit->name);
		}
		s->width = text_width(strbuf_text(&s->title));
		s->is_hidden = sheet_rows(t) > 0;
		for (size_t row = 0; row < sheet_rows(t); row++) {
			s->is_hidden &= !cell_at(t, row, c)->is_known;
			strbuf_reset(&text);
			format_cell(t, row, c, s, &text);
			size_t width = text_width(strbuf_text(&text));
			s->width = width > s->width ? width : s->width;
		}
		rc = rc ? rc : strbuf_finish(&s->title);
		if (s->is_hidden)
			s->width = 0;
	}
	rc = rc ? rc : strbuf_finish(&text);
	strbuf_release(&text);
	return rc;
}

/* Make the line fit, a character at a time from the widest column that may give way. */
static void styles_fit(const struct sheet *t, struct style *styles, unsigned width)
{
	size_t total = 0;
	for (size_t c = 0; c < t->column_count; c++)
		total += styles[c].is_hidden ? 0 : styles[c].width + (total ? GAP : 0);
	while (width && total > width) {
		struct style *widest = NULL;
		for (size_t c = 0; c < t->column_count; c++) {
			if (t->columns[c].min_width && styles[c].width > t->columns[c].min_width &&
			    (!widest || styles[c].width > widest->width))
				widest = &styles[c];
		}
		if (!widest)
			return;
		widest->width--;
		total--;
	}
}

/* No line ends in blanks. */
static void end_line(struct strbuf *out)
{
	while (out->len && out->data[out->len - 1] == ' ')
		out->data[--out->len] = '\0';
	strbuf_putc(out, '\n');
}

static void render_cell(const struct sheet *t, const struct style *styles, size_t column,
			const char *text, bool *is_first, struct strbuf *out)
{
	if (styles[column].is_hidden)
		return;
	if (!*is_first)
		strbuf_printf(out, "%*s", GAP, "");
	append_padded(out, text, styles[column].width, t->columns[column].kind != SHEET_TEXT);
	*is_first = false;
}

static void render_titles(const struct sheet *t, const struct style *styles, struct strbuf *out)
{
	bool is_first = true;
	for (size_t c = 0; c < t->column_count; c++)
		render_cell(t, styles, c, strbuf_text(&styles[c].title), &is_first, out);
	end_line(out);
}

static void render_note(const struct sheet *t, const struct sheet_note *note, unsigned width,
			struct strbuf *out)
{
	struct strbuf line = { 0 };
	struct span text = strtab_get(&t->texts, note->text);

	if (note->has_share)
		strbuf_printf(&line, "%5.1f %%  ", note->share * 100);
	utf8_append_safe(&line, (const char *)text.data, text.size);
	strbuf_printf(out, "%*s", NOTE_INDENT, "");
	append_cut(out, strbuf_text(&line), width > NOTE_INDENT ? width - NOTE_INDENT : SIZE_MAX);
	end_line(out);
	strbuf_release(&line);
}

static void render_row(const struct sheet *t, const struct style *styles, size_t row,
		       struct strbuf *out)
{
	struct strbuf text = { 0 };
	bool is_first = true;
	for (size_t c = 0; c < t->column_count; c++) {
		if (styles[c].is_hidden)
			continue;
		strbuf_reset(&text);
		format_cell(t, row, c, &styles[c], &text);
		render_cell(t, styles, c, strbuf_text(&text), &is_first, out);
	}
	strbuf_release(&text);
	end_line(out);
}

int sheet_render(const struct sheet *t, unsigned width, struct strbuf *ret)
{
	CLEANUP_FREE struct style *styles = calloc(t->column_count, sizeof(*styles));
	if (!styles || t->failed)
		return -ENOMEM;
	int rc = styles_measure(t, styles);
	if (rc == 0) {
		styles_fit(t, styles, width);
		render_titles(t, styles, ret);
		for (size_t row = 0, note = 0; row < sheet_rows(t); row++) {
			render_row(t, styles, row, ret);
			for (; note < t->notes.len && t->notes.data[note].row == row; note++)
				render_note(t, &t->notes.data[note], width, ret);
		}
		rc = strbuf_finish(ret);
	}
	for (size_t c = 0; c < t->column_count; c++)
		strbuf_release(&styles[c].title);
	return rc;
}

static int write_out(FILE *out, const struct strbuf *text, int rc, struct err *err)
{
	if (rc < 0)
		return err_set(err, rc, "cannot write a table");
	if (fwrite(text->data ? text->data : "", 1, text->len, out) != text->len)
		return err_set(err, errno ? -errno : -EIO, "cannot write a table");
	return 0;
}

int sheet_print(FILE *out, const struct sheet *t, unsigned width, struct err *err)
{
	struct strbuf text = { 0 };
	int rc = sheet_render(t, width, &text);
	rc = write_out(out, &text, rc, err);
	strbuf_release(&text);
	return rc;
}

/* ---- for programs ---- */

/* In quotes where it must be. Control characters are no part of such a field, and whoever looks at it does so on a
 * terminal, too; JSON has them. */
static void csv_text(struct strbuf *out, const char *text)
{
	struct strbuf safe = { 0 };

	utf8_append_safe(&safe, text, strlen(text));
	out->failed |= safe.failed;
	if (strpbrk(text, ",\""))
		csv_quote(out, strbuf_text(&safe));
	else
		strbuf_puts(out, strbuf_text(&safe));
	strbuf_release(&safe);
}

static void csv_cell(struct strbuf *out, const struct sheet *t, size_t row, size_t column)
{
	const struct sheet_cell *c = cell_at(t, row, column);
	if (!c->is_known)
		return;
	switch (t->columns[column].kind) {
	case SHEET_TEXT:
		csv_text(out, strtab_text(&t->texts, c->text));
		break;
	case SHEET_COUNT:
	case SHEET_ID:
	case SHEET_NS:
	case SHEET_DURATION:
	case SHEET_BYTES:
		strbuf_printf(out, "%" PRIu64, c->number);
		break;
	case SHEET_SHARE:
	case SHEET_DECIMAL:
	case SHEET_FIGURE:
		strbuf_printf(out, "%.9g", c->ratio);
		break;
	}
}

int sheet_csv(FILE *out, const struct sheet *t, struct err *err)
{
	struct strbuf text = { 0 };
	for (size_t c = 0; c < t->column_count; c++)
		strbuf_printf(&text, "%s%s", c ? "," : "", t->columns[c].key);
	strbuf_puts(&text, "\r\n");
	for (size_t row = 0; row < sheet_rows(t) && !t->failed; row++) {
		for (size_t c = 0; c < t->column_count; c++) {
			if (c)
				strbuf_putc(&text, ',');
			csv_cell(&text, t, row, c);
		}
		strbuf_puts(&text, "\r\n");
	}
	int rc = write_out(out, &text, t->failed ? -ENOMEM : strbuf_finish(&text), err);
	strbuf_release(&text);
	return rc;
}

static void json_cell(struct json *j, const struct sheet *t, size_t row, size_t column)
{
	const struct sheet_cell *c = cell_at(t, row, column);
	if (!c->is_known) {
		json_null(j);
		return;
	}
	switch (t->columns[column].kind) {
	case SHEET_TEXT:
		json_text(j, strtab_text(&t->texts, c->text));
		break;
	case SHEET_COUNT:
	case SHEET_ID:
	case SHEET_NS:
	case SHEET_DURATION:
	case SHEET_BYTES:
		json_number(j, c->number);
		break;
	case SHEET_SHARE:
	case SHEET_DECIMAL:
	case SHEET_FIGURE:
		json_decimal(j, c->ratio);
		break;
	}
}

static size_t json_notes(struct json *j, const struct sheet *t, size_t row, size_t note)
{
	json_key(j, t->note_key);
	json_array(j);
	for (; note < t->notes.len && t->notes.data[note].row == row; note++) {
		const struct sheet_note *n = &t->notes.data[note];
		json_object(j);
		json_key(j, "text");
		json_text(j, strtab_text(&t->texts, n->text));
		if (n->has_share) {
			json_key(j, "share");
			json_decimal(j, n->share);
		}
		json_object_end(j);
	}
	json_array_end(j);
	return note;
}

void sheet_json(struct json *j, const struct sheet *t)
{
	size_t note = 0;
	json_array(j);
	for (size_t row = 0; row < sheet_rows(t) && !t->failed; row++) {
		json_object(j);
		for (size_t c = 0; c < t->column_count; c++) {
			json_key(j, t->columns[c].key);
			json_cell(j, t, row, c);
		}
		if (t->note_key)
			note = json_notes(j, t, row, note);
		json_object_end(j);
	}
	json_array_end(j);
}
