/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source of a kernel, with samples per line. Paths in a code object are a stranger's word: files are
 * read only below --source-path, or the text is the one that the capture holds.
 */
#include "cmd/annotate.h"

#include "base/io.h"
#include "base/utf8.h"
#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Larger than any source file that people wrote. */
#define SOURCE_BYTES_MAX (16u << 20)
/* Lines shown around one that was hit. */
#define CONTEXT   3
#define HOT_SHARE 0.05

struct source_file {
	const char *path; /* as the code object has it; borrowed */
	struct span text;
	char *owned;
	bool is_found;
};

struct sources {
	int folder; /* of --source-path; -1: none */
	struct span program;
	VEC(struct source_file) files;
};

int sources_new(struct sources **ret, const char *path)
{
	struct sources *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->folder = -1;
	if (path) {
		s->folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (s->folder < 0) {
			int rc = -errno;
			free(s);
			return rc;
		}
	}
	*ret = s;
	return 0;
}

void sources_free(struct sources *s)
{
	if (!s)
		return;
	vec_for_each(&s->files, f)
		free(f->owned);
	vec_release(&s->files);
	if (s->folder >= 0)
		close(s->folder);
	free(s);
}

void sources_set_program(struct sources *s, struct span text)
{
	s->program = text;
}

static int read_below(const struct sources *s, const char *path, char **ret, size_t *ret_size)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};
	struct stat st;
	long rc = syscall(SYS_openat2, s->folder, path, &how, sizeof(how));
	if (rc < 0)
		return -errno;
	CLEANUP_CLOSE int fd = (int)rc;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -EINVAL;
	return io_read_all(fd, SOURCE_BYTES_MAX, ret, ret_size);
}

/* The longest end of @path that is there below the folder: "/build/x/src/a.cu" may be "src/a.cu". */
static int find_below(const struct sources *s, const char *path, char **ret, size_t *ret_size)
{
	for (const char *p = path; p && *p;) {
		while (*p == '/')
			p++;
		if (*p && read_below(s, p, ret, ret_size) == 0)
			return 0;
		p = strchr(p, '/');
	}
	return -ENOENT;
}

/* NULL: no memory. */
static const struct source_file *sources_get(struct sources *s, const char *path)
{
	vec_for_each(&s->files, f) {
		if (!strcmp(f->path, path))
			return f;
	}
	struct source_file file = { .path = path };
	size_t size;
	if (s->folder >= 0 && find_below(s, path, &file.owned, &size) == 0) {
		file.text = span_of(file.owned, size);
		file.is_found = true;
	} else if (strstr(path, "/tempfile_") && s->program.size) {
		/* POCL compiles from a copy that is gone when it is done. */
		file.text = s->program;
		file.is_found = true;
	}
	if (vec_push(&s->files, file) < 0) {
		free(file.owned);
		return NULL;
	}
	return vec_last(&s->files);
}

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

int annotate_source(struct strbuf *out, const struct annotated *k)
{
	struct line_table t = { 0 };
	int rc = collect(&t, k);
	if (!rc && !t.lines.len)
		strbuf_puts(out, "\nSource: jit, the code has no lines; "
				 "compile with -g or -lineinfo to have them.\n");
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
		const struct source_file *file = sources_get(k->sources, lines->file);
		if (!file) {
			rc = -ENOMEM;
			break;
		}
		strbuf_puts(out, "\n");
		utf8_append_safe(out, lines->file, strlen(lines->file));
		strbuf_puts(out,
			    file->is_found ? ":\n" : ": text not here; --source-path says where\n");
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
