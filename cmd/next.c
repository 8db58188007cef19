/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/next.h"

#include "base/utf8.h"

#include <string.h>

#define INDENT 2
/* Of one hint: names of functions have no limit. */
#define LINES_MAX 3

/* Break at spaces; a word that is longer than a line stays whole up to its end. */
static void add_broken(struct strbuf *out, const char *text, unsigned width)
{
	unsigned column = INDENT, lines = 1;
	while (*text) {
		size_t size = strcspn(text, " ");
		if (column > INDENT && column + 1 + size + (lines == LINES_MAX ? 2 : 0) > width) {
			if (lines++ == LINES_MAX) {
				strbuf_puts(out, "..");
				return;
			}
			strbuf_printf(out, "\n%*s", INDENT, "");
			column = INDENT;
		} else if (column > INDENT) {
			strbuf_putc(out, ' ');
			column++;
		}
		size_t shown = INDENT + size > width ? width - INDENT : size;
		utf8_append_safe(out, text, shown);
		column += (unsigned)shown;
		text += size + (text[size] == ' ');
	}
}

void next_lines(struct strbuf *out, const struct hints *hints, unsigned width)
{
	struct strbuf text = { 0 };
	if (hints->count)
		strbuf_puts(out, "\nNEXT\n");
	for (size_t i = 0; i < hints->count; i++) {
		const struct hint *h = &hints->list[i];
		strbuf_reset(&text);
		strbuf_puts(&text, h->text);
		/* Such a factor says nothing any more but that nearly all of the time is lost. */
		if (h->ceiling >= 1000)
			strbuf_puts(&text, " Ceiling > 1000x.");
		else if (h->ceiling > 0)
			strbuf_printf(&text, " Ceiling %.*fx.", h->ceiling >= 2 ? 1 : 2,
				      h->ceiling);
		strbuf_printf(out, "%zu ", i + 1);
		add_broken(out, strbuf_text(&text), width);
		strbuf_putc(out, '\n');
	}
	strbuf_release(&text);
}

void next_json(struct json *j, const struct hints *hints)
{
	json_key(j, "hints");
	json_array(j);
	for (size_t i = 0; i < hints->count; i++) {
		const struct hint *h = &hints->list[i];
		json_object(j);
		json_key(j, "rule");
		json_text(j, h->rule);
		json_key(j, "text");
		json_text(j, h->text);
		json_key(j, "gain_ns");
		json_number(j, h->gain_ns);
		json_object_end(j);
	}
	json_array_end(j);
}
