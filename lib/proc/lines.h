/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks the lines of a text and the fields of a line, within bounds. Knows no file's format.
 * The walk over a line is a cursor; its functions return 0 or -EBADMSG and set a text that names
 * the line: "/proc/1/maps: line 3: ...".
 */
#pragma once

#include "base/err.h"
#include "base/span.h"

#include <stdbool.h>

struct lines {
	struct span rest;
	const char *what; /* borrowed; for messages */
	size_t number;    /* of the line given last, from 1 */
};

static inline struct lines lines_of(struct span text, const char *what)
{
	return (struct lines){ .rest = text, .what = what };
}

/* The next line without its newline; false at the end. A last line needs no newline. */
bool lines_next(struct lines *l, struct span *ret);
/* Set "WHAT: line N: @text" and return -EBADMSG. */
int lines_fail(const struct lines *l, struct err *err, const char *text);

/* Fields: each takes what it names from the front of @line and fails without moving. */
bool field_number(struct span *line, int base, uint64_t *ret);
bool field_char(struct span *line, char c);
/* Everything up to the next space, tab or the end; false when that is nothing. */
bool field_word(struct span *line, struct span *ret);
/* Spaces and tabs, perhaps none. */
void field_skip_blanks(struct span *line);
/* The text @prefix. */
bool field_prefix(struct span *line, const char *prefix);
