/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/answer.h"

#include <errno.h>
#include <string.h>

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

static bool are_symbols_sound(const struct answer *p, const struct worker_ask *ask)
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

int answer_check(struct span data, const struct worker_ask *ask, struct answer *ret)
{
	struct cursor c = cursor_of(data, NULL);
	struct span part;
	struct answer p;

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

int answer_deliver(const struct answer *p, const struct worker_ask *ask, worker_symbol_fn fn,
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
