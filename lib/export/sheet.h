/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sheets: tables of names and numbers, as text for people, CSV and JSON. Knows how numbers are written and
 * what fits a line; not what they mean.
 *
 *	struct sheet t;
 *	sheet_init(&t, "kernels", columns, ARRAY_SIZE(columns));
 *	sheet_row(&t);
 *	sheet_text(&t, NAME, "gemm");
 *	sheet_number(&t, TIME, 1520000);
 *	rc = sheet_print(out, &t, 100);
 *	sheet_release(&t);
 *
 * A cell that is never set is not known: "-" as text, empty in CSV, null in JSON. A table remembers
 * that memory ran out; the functions that write it say so.
 */
#pragma once

#include "base/err.h"
#include "base/strbuf.h"
#include "base/strtab.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdio.h>

enum sheet_kind {
	SHEET_TEXT,
	SHEET_COUNT,    /* 1,234 */
	SHEET_ID,       /* 1234 */
	SHEET_NS,       /* one unit for the column, chosen by its largest value: 1.520 (ms) */
	SHEET_DURATION, /* ns, each cell with a unit of its own: 75.1 us */
	SHEET_BYTES,    /* the same for bytes: 12.0 MB, powers of 1000 */
	SHEET_SHARE,    /* 51.2, of 100; a fraction of 1 in CSV and JSON */
	SHEET_DECIMAL,  /* 3.14 */
	SHEET_FIGURE,   /* three significant digits: 1,234, 12.3, 0.123 */
};

struct sheet_column {
	const char *key; /* in CSV and JSON: "device_time_ns" */
	/* For people; a SHEET_NS column gets its unit behind it. NULL: only in CSV and JSON. */
	const char *title;
	enum sheet_kind kind;
	/* SHEET_TEXT: this one gives way when the line is too narrow, but keeps this many
	 * characters; 0: it never does. */
	unsigned min_width;
};

struct sheet_cell {
	bool is_known;
	union {
		uint64_t number;
		double ratio;
		uint32_t text; /* in `texts` */
	};
};

struct sheet {
	const char *name;
	const struct sheet_column *columns;
	size_t column_count;
	const char *note_key; /* JSON: the array of a row's notes; NULL: they are for people only */
	VEC(struct sheet_cell) cells;
	struct strtab texts;
	VEC(struct sheet_note) notes; /* by row */
	bool failed;
	struct sheet_cell spare; /* what is written once it has failed */
};

/* A line of its own below a row. */
struct sheet_note {
	size_t row;
	bool has_share;
	double share;
	uint32_t text;
};

/* @name and @columns are borrowed, and live as long as the table. */
void sheet_init(struct sheet *t, const char *name, const struct sheet_column *columns,
		size_t count);
void sheet_release(struct sheet *t);

/*
 * The rows and notes of @from behind those of @to, which has the same columns and one more before
 * them: that gets @first.
 */
void sheet_append(struct sheet *to, const char *first, const struct sheet *from);

/* Begin the next row; the functions below fill the last one. */
void sheet_row(struct sheet *t);
size_t sheet_rows(const struct sheet *t);
void sheet_text(struct sheet *t, size_t column, const char *text);
void sheet_number(struct sheet *t, size_t column, uint64_t number);
/* @part / @whole; not known when @whole is 0. */
void sheet_share(struct sheet *t, size_t column, uint64_t part, uint64_t whole);
void sheet_decimal(struct sheet *t, size_t column, double value);
void sheet_note(struct sheet *t, const char *text);
void sheet_note_share(struct sheet *t, uint64_t part, uint64_t whole, const char *text);

/*
 * For people: a line of titles, then the rows; texts left, numbers right, columns of which nothing
 * is known left out. At most @width columns
 * of a terminal wide, cutting the texts that may be cut; 0: as wide as it is. Control characters
 * are made harmless. 0 or a negative errno, here and below.
 */
int sheet_print(FILE *out, const struct sheet *t, unsigned width, struct err *err);
/* The same as lines in memory, to be set beside others. */
int sheet_render(const struct sheet *t, unsigned width, struct strbuf *ret);
/* RFC 4180, with a line of keys. */
int sheet_csv(FILE *out, const struct sheet *t, struct err *err);
/* An array of objects, by key. */
struct json;
void sheet_json(struct json *j, const struct sheet *t);

/* "1,234,567", "12.3 ms": numbers as they stand in texts around tables. */
void text_count(struct strbuf *out, uint64_t number);
void text_duration(struct strbuf *out, uint64_t ns);
void text_bytes(struct strbuf *out, uint64_t bytes);
