/* SPDX-License-Identifier: Apache-2.0 */
/* The source of a kernel, with samples per line. */
#include "cmd/annotate.h"

#include "base/utf8.h"
#include "base/vec.h"
#include "cmd/annotate_files.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Lines shown around one that was hit. */
#define CONTEXT   3
#define HOT_SHARE 0.05

/* ---- samples by line ---- */

struct line_hits {
	const char *file;
	uint32_t line;
	uint64_t samples;
	uint32_t places;
};

struct line_table {
	VEC(struct line_hits) lines;
};

static int compare_lines(const void *va, const void *vb)
{
	const struct line_hits *a = va, *b = vb;
	int rc = strcmp(a->file, b->file);
	if (rc)
		return rc;
	return a->line < b->line ? -1 : a->line > b->line;
}

static int add_line(struct line_table *t, const char *file, uint32_t line, uint64_t samples)
{
	struct line_hits l = { .file = file, .line = line, .samples = samples, .places = 1 };
	/* Instructions of one line mostly follow each other. */
	if (t->lines.len && compare_lines(vec_last(&t->lines), &l) == 0) {
		vec_last(&t->lines)->samples += samples;
		vec_last(&t->lines)->places++;
		return 0;
	}
	return vec_push(&t->lines, l);
}

static void merge_lines(struct line_table *t)
{
	size_t kept = 0;
	if (t->lines.len)
		qsort(t->lines.data, t->lines.len, sizeof(*t->lines.data), compare_lines);
	vec_for_each(&t->lines, l) {
		if (kept && compare_lines(&t->lines.data[kept - 1], l) == 0) {
			t->lines.data[kept - 1].samples += l->samples;
			t->lines.data[kept - 1].places += l->places;
		} else {
			t->lines.data[kept++] = *l;
		}
	}
	t->lines.len = kept;
}

static int collect_function(struct line_table *t, const struct annotated *k, size_t function)
{
	int64_t count = device_place_count(k->object, function);
	if (count < 0)
		return -ENOMEM;
	for (size_t i = 0; i < (size_t)count; i++) {
		struct device_place p;
		device_place_get(k->object, function, i, &p);
		if (!p.line_count)
			continue;
		const struct device_line *l = &p.lines[p.line_count - 1];
		uint64_t end = annotate_end(k, function, i, (size_t)count, &p);
		if (add_line(t, l->file, l->line, hits_between(k->hits, p.offset, end)) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int collect(struct line_table *t, const struct annotated *k)
{
	for (size_t i = 0; k->object && i < device_function_count(k->object); i++) {
		if (annotated_has(k, device_function_get(k->object, i)) &&
		    collect_function(t, k, i) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; !k->object && k->hits && i < k->hits->hit_count; i++) {
		const struct analysis_hit *h = &k->hits->hits[i];
		if (*h->file && add_line(t, h->file, h->line, h->samples) < 0)
			return -ENOMEM;
	}
	merge_lines(t);
	return 0;
}

/* ---- text ---- */

static void add_hits(struct strbuf *out, const struct annotated *k, const struct line_hits *l,
		     uint32_t line)
{
	uint64_t samples = l ? l->samples : 0;
	bool is_hot = k->hits && samples && (double)samples >= HOT_SHARE * (double)k->hits->samples;

	annotate_share(out, k, samples);
	if (!k->hits && l) /* how many instructions it became */
		strbuf_printf(out, "%5" PRIu32 "  ", l->places);
	else if (!k->hits)
		strbuf_printf(out, "%7s", "");
	strbuf_printf(out, "%s%5" PRIu32 "  ", is_hot ? "> " : "  ", line);
}

/* A tab is a control character to a terminal's defences; here it is layout. */
static void add_text(struct strbuf *out, const char *text, size_t size)
{
	unsigned column = 0;
	for (size_t at = 0; at < size;) {
		const char *tab = memchr(text + at, '\t', size - at);
		size_t run = tab ? (size_t)(tab - text) - at : size - at;
		utf8_append_safe(out, text + at, run);
		column += (unsigned)run;
		at += run;
		for (; at < size && text[at] == '\t'; at++) {
			strbuf_printf(out, "%*s", 8 - (int)(column % 8), "");
			column = 0;
		}
	}
}

/* The lines of one file that have code, or samples, in their surroundings. */
static void add_file(struct strbuf *out, const struct annotated *k, const struct line_hits *lines,
		     size_t count, const struct source_file *file)
{
	const char *p = (const char *)file->text.data, *end = p + file->text.size;
	size_t i = 0;
	uint32_t last = 0;

	for (uint32_t number = 1; p && p < end; number++) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		size_t size = newline ? (size_t)(newline - p) : (size_t)(end - p);
		while (i < count && lines[i].line + CONTEXT < number)
			i++;
		if (i < count && (lines[i].line <= number + CONTEXT)) {
			const struct line_hits *hit = NULL;
			for (size_t n = i; n < count && lines[n].line <= number; n++)
				hit = lines[n].line == number ? &lines[n] : hit;
			if (last && number > last + 1)
				strbuf_puts(out, "    ...\n");
			last = number;
			add_hits(out, k, hit, number);
			add_text(out, p, size);
			strbuf_putc(out, '\n');
		}
		p += size + 1;
	}
}

static void add_missing(struct strbuf *out, const struct annotated *k,
			const struct line_hits *lines, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (k->hits && !lines[i].samples)
			continue;
		add_hits(out, k, &lines[i], lines[i].line);
		strbuf_putc(out, '\n');
	}
}

static const char *heading(const struct source_file *f)
{
	if (!f->is_found)
		return f->is_other ? ": the file there is not the one that was compiled; "
				     "--source-path shows it all the same\n"
				   : ": text not here; --source-path says where\n";
	if (f->match == DEVICE_SOURCE_DIFFERS)
		return ": the text differs from the one that was compiled; lines may be off\n";
	return f->is_of_capture ? ", from the capture:\n" : ":\n";
}

/* What brings lines, at no cost in speed but with POCL 3.1. */
static const char *mend(const struct annotated *k)
{
	switch (k->object ? device_format(k->object) : 0) {
	case DEVICE_CUBIN:
		return "compile with -lineinfo";
	case DEVICE_POCL:
		return "record with --lines";
	case DEVICE_AMDGPU:
	case DEVICE_ZEBIN:
		return "compile with -g";
	default:
		return "compile with -g or -lineinfo";
	}
}

int annotate_source(struct strbuf *out, const struct annotated *k)
{
	struct line_table t = { 0 };
	int rc = collect(&t, k);
	if (!rc && !t.lines.len)
		strbuf_printf(out, "\nSource: jit, the code has no lines; %s to have them.\n",
			      mend(k));
	for (size_t i = 0; i < t.lines.len && !rc;) {
		size_t n = i;
		uint64_t samples = 0;
		for (; n < t.lines.len && !strcmp(t.lines.data[n].file, t.lines.data[i].file); n++)
			samples += t.lines.data[n].samples;
		const struct line_hits *lines = &t.lines.data[i];
		size_t count = n - i;
		i = n;
		if (k->hits && !samples)
			continue;
		const struct source_file *file = sources_get(k->sources, k->object, lines->file);
		if (!file) {
			rc = -ENOMEM;
			break;
		}
		strbuf_puts(out, "\n");
		const char *name = analysis_source_name(lines->file);
		utf8_append_safe(out, name, strlen(name));
		strbuf_puts(out, heading(file));
		strbuf_puts(out, k->hits ? "     %   samples     line\n" : " code      line\n");
		if (!lines->line) { /* line 0: code that belongs to no line */
			add_hits(out, k, lines, 0);
			strbuf_puts(out, "(no line)\n");
			lines++;
			count--;
		}
		if (file->is_found)
			add_file(out, k, lines, count, file);
		else
			add_missing(out, k, lines, count);
	}
	vec_release(&t.lines);
	return rc;
}
