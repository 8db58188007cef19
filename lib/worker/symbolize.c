/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder's side of symbolizing: makes the call and believes nothing of the answer. */
#include "worker/answer.h"
#include "worker/call.h"
#include "worker/debug_files.h"

#include <errno.h>
#include <string.h>

/* What names alone may take: 8 million symbols, the most there can be, take 4 s here. */
#define NAMES_TIMEOUT_NS (20ull * 1000000000)

/* An answer whose parts are where they should be. */
struct parsed {
	struct answer_head head;
	const struct answer_symbol *symbols;
	const struct answer_line *lines;
	const char *strings;
};

/* Each string ends within the heap and is at most as long as promised. */
static bool are_strings_sound(const char *strings, uint64_t size)
{
	if (!size || strings[size - 1] != '\0')
		return false;
	for (uint64_t at = 0; at < size;) {
		size_t n = strnlen(strings + at, SYMBOL_NAME_BYTES_MAX + 1);
		if (n > SYMBOL_NAME_BYTES_MAX)
			return false;
		at += n + 1;
	}
	return true;
}

static bool are_symbols_sound(const struct parsed *p, const struct worker_ask *ask)
{
	uint64_t lines = 0;
	int64_t last = -1;

	for (uint64_t i = 0; i < p->head.symbol_count; i++) {
		const struct answer_symbol *s = &p->symbols[i];
		if (s->offset_index >= ask->count || s->offset_index <= last || !s->line_count ||
		    s->line_count > SYMBOL_LINES_MAX)
			return false;
		last = s->offset_index;
		lines += s->line_count;
		uint64_t offset = ask->offsets[s->offset_index];
		if (s->size && (offset < s->start || offset - s->start >= s->size))
			return false;
	}
	if (lines != p->head.line_count)
		return false;
	for (uint64_t i = 0; i < lines; i++) {
		const struct answer_line *l = &p->lines[i];
		if (l->name >= p->head.string_bytes || !p->strings[l->name] ||
		    (l->file >= p->head.string_bytes && l->file != UINT32_MAX))
			return false;
	}
	return true;
}

/* The mapping is page-aligned, and each part's size a multiple of what the next one needs. */
static int parse(struct span data, const struct worker_ask *ask, struct parsed *ret)
{
	struct cursor c = cursor_of(data, NULL);
	struct span part;
	struct parsed p;

	if (cursor_bytes(&c, sizeof(p.head), &part, NULL) < 0)
		return -EPROTO;
	memcpy(&p.head, part.data, sizeof(p.head));
	if (p.head.symbol_count > ask->count ||
	    p.head.line_count > p.head.symbol_count * SYMBOL_LINES_MAX)
		return -EPROTO;
	if (cursor_bytes(&c, p.head.symbol_count * sizeof(*p.symbols), &part, NULL) < 0)
		return -EPROTO;
	p.symbols = (const void *)part.data;
	if (cursor_bytes(&c, p.head.line_count * sizeof(*p.lines), &part, NULL) < 0)
		return -EPROTO;
	p.lines = (const void *)part.data;
	if (cursor_bytes(&c, p.head.string_bytes, &part, NULL) < 0 || cursor_left(&c))
		return -EPROTO;
	p.strings = (const char *)part.data;
	if (!are_strings_sound(p.strings, p.head.string_bytes) || !are_symbols_sound(&p, ask))
		return -EPROTO;
	*ret = p;
	return 0;
}

static int deliver(const struct parsed *p, const struct worker_ask *ask, worker_symbol_fn fn,
		   void *data, struct worker_counts *counts)
{
	struct symbol_line lines[SYMBOL_LINES_MAX];
	const struct answer_line *next = p->lines;

	for (uint64_t i = 0; i < p->head.symbol_count; i++) {
		const struct answer_symbol *s = &p->symbols[i];
		for (uint32_t n = 0; n < s->line_count; n++, next++) {
			lines[n] = (struct symbol_line){
				.name = p->strings + next->name,
				.file = next->file == UINT32_MAX ? NULL : p->strings + next->file,
				.line = next->line,
				.column = next->column,
			};
		}
		struct symbol symbol = {
			.start = s->start,
			.size = s->size,
			.lines = lines,
			.count = s->line_count,
		};
		counts->named++;
		counts->with_lines += lines[s->line_count - 1].line != 0;
		int rc = fn(data, ask->offsets[s->offset_index], &symbol);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int open_debug_file(void *data, const struct elf_symbols_wanted *wanted, uint32_t attempt)
{
	return debug_files_open(data, wanted, attempt);
}

static int call_worker(struct worker *w, const struct worker_object *object,
		       const struct worker_ask *ask, bool want_lines, struct worker_reply *ret,
		       struct err *err)
{
	struct debug_files files = { .path = object->path, .root_fd = object->root_fd };
	struct symbolize_args args = {
		.kind = object->kind,
		.want_lines = want_lines,
		.budget_ns = ask->budget_ns,
	};
	struct worker_call call = {
		.op = WORKER_OP_SYMBOLIZE,
		.name = object->path ? object->path : "object",
		.fd = object->fd,
		.args = &args,
		.args_size = sizeof(args),
		.input = span_of(ask->offsets, ask->count * sizeof(*ask->offsets)),
		/* libdw cannot be interrupted in the middle of a table. */
		.timeout_ns = NAMES_TIMEOUT_NS + (want_lines ? 2 * ask->budget_ns : 0),
		.open = open_debug_file,
		.data = &files,
	};
	return worker_call(w, &call, ret, err);
}

int worker_symbolize(struct worker *w, const struct worker_object *object,
		     const struct worker_ask *ask, worker_symbol_fn fn, void *data,
		     struct worker_counts *ret, struct err *err)
{
	CLEANUP(worker_reply_release) struct worker_reply reply = { 0 };
	struct worker_counts counts = { 0 };
	struct symbolize_result result;
	struct parsed p;

	if (ask->count > WORKER_OFFSETS_MAX)
		return err_set(err, -E2BIG, "more than %u offsets", WORKER_OFFSETS_MAX);
	bool want_lines = ask->want_lines && ask->budget_ns;
	int rc = call_worker(w, object, ask, want_lines, &reply, err);
	/* DWARF is where a reader breaks first, and names are worth a second try. */
	if (rc == -EPROTO && want_lines) {
		counts.has_lines_failed = true;
		rc = call_worker(w, object, ask, false, &reply, err);
	}
	if (rc < 0)
		return rc;
	if (parse(reply.data, ask, &p) < 0)
		return worker_distrust(w, object->path ? object->path : "object", err);
	memcpy(&result, reply.args, sizeof(result));
	counts.is_budget_spent = result.is_budget_spent;
	counts.has_debug_file = result.has_debug_file;
	rc = deliver(&p, ask, fn, data, &counts);
	if (rc < 0)
		return rc;
	if (ret)
		*ret = counts;
	return 0;
}
