/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of `diff` share: two captures, read, and what is made of both. */
#pragma once

#include "analyze/match.h"
#include "analyze/summary.h"
#include "analyze/work.h"
#include "cmd/input.h"
#include "export/sheet.h"

struct diff_side {
	struct input *in;
	struct analysis *a;
	struct analysis_summary s;
	struct work work;
	/* Pieces of work by item: those of item i stand from item_first[i] on, up to the next one's. */
	uint32_t *item_ops;
	size_t *item_first;
	struct analysis_device *devices; /* with work, a timeline or none */
	size_t device_count;
	size_t step_count; /* in the part of the capture that is meant */
	bool has_marks;    /* for them */
	bool has_runs;     /* it is several recordings of the same, merged */
	char steady_steps[48];
	struct analysis_filter filter; /* of this side */
	struct profile *p; /* wall, or device-time where there is no timeline; cpu-time */
	uint64_t divisor;  /* steps and devices that times are divided by */
};

struct diff {
	struct diff_side sides[MATCH_SIDES];
	struct match match;
	struct analysis_filter filter;
	bool is_per_step;
	bool is_host; /* neither has device work: the CPU time of code is compared */
	double noise; /* changes of a smaller share are none */
	size_t limit;
};

/* ---- diff_header.c ---- */

/* How comparable the two are: facts of both, and whether they differ. */
int diff_header(struct sheet *t, const struct diff *d, struct err *err);

/* ---- diff_tables.c ---- */

/* The time of a step and its parts, which add up to it. */
int diff_parts(struct sheet *t, const struct diff *d, struct err *err);
/* Device work by kernel family, and everything by code; each adds up as well. */
int diff_families(struct sheet *t, const struct diff *d, struct err *err);
int diff_code(struct sheet *t, const struct diff *d, struct err *err);
/* What changed, op by op; and by what it was found in both. */
int diff_rows(struct sheet *t, const struct diff *d, struct err *err);
int diff_levels(struct sheet *t, const struct diff *d, struct err *err);
/* Kernels, copies and communication, then what the device waited for; of the whole side. */
#define DIFF_PARTS (ACCOUNT_STATE_COUNT + 2)
void diff_side_parts(const struct diff_side *s, uint64_t ret[DIFF_PARTS]);
void diff_part_name(int part, char *ret, size_t size);
/* Whose code a node is of; always true. */
bool diff_code_name(struct strbuf *out, const struct profile *p, uint32_t node);
/* Nothing is different in any of them. */
bool diff_is_none(const struct diff *d);

/* ---- diff_verdict.c ---- */

/* Time of a step, or of all; of device work in it. */
uint64_t diff_step_ns(const struct diff_side *s);
uint64_t diff_device_ns(const struct diff_side *s);
/* In a few lines: how much, whether it is more than noise, and what most of it is. */
int diff_verdict(const struct diff *d, struct strbuf *out, struct err *err);

/* ---- diff_spread.c ---- */

/* Fewer steps tell nothing about their spread. */
#define DIFF_STEPS_MIN 5

struct diff_values {
	uint64_t *steps;
	size_t step_count;
	/* By run, of captures that were merged; else there is one. What the same work took at its
	 * fastest, per step. */
	double *means, *fastest;
	size_t run_count;
};

struct diff_change {
	double base, now;              /* means of the steps, ns */
	double percent, error_percent; /* of base; error: standard, of the difference */
	size_t counts[MATCH_SIDES];    /* of steps */
	bool is_known;                 /* enough steps on both sides */
	bool is_certain;               /* beyond the spread of the steps, or of the runs */
	bool has_runs;                 /* of which there are several */
	bool is_fastest; /* the percents are those of the fastest, as the means tell nothing */
};

struct diff_change diff_change(const struct diff_values values[MATCH_SIDES]);
/* "+5.1 %", "new" or "gone" */
void diff_add_percent(struct strbuf *out, const struct diff_change *c);

/* ---- diff_values.c ---- */

/* Before all of these: `item_ops`. 0 or -ENOMEM. */
int diff_side_index(struct diff_side *s);
/* 0 or -ENOMEM: the items of a row of `match`, those that are meant, the step and what of it is idle. */
typedef bool (*diff_meant_fn)(const struct diff *d, int side, size_t item, const void *data);
int diff_row_change(const struct diff *d, uint32_t row, struct diff_change *ret);
int diff_items_change(const struct diff *d, diff_meant_fn meant, const void *data,
		      struct diff_change *ret);
int diff_step_change(const struct diff *d, struct diff_change *ret);
int diff_idle_change(const struct diff *d, struct diff_change *ret);

/* ---- diff_gate.c ---- */

/* "kernel gemm* > +5%", "step > +3%", "idle > +10%", "module encoder* > +5%". */
struct diff_gate {
	char subject[16];
	char pattern[256];
	bool is_less;
	double percent;
};
/* -EINVAL with a text. */
int diff_gate_parse(const char *text, struct diff_gate *ret, struct err *err);

enum diff_verdict {
	DIFF_PASSES,
	DIFF_FAILS,
	DIFF_CANNOT_TELL
};
/* One line about it in @text. 0 or a negative errno. */
int diff_gate_check(const struct diff *d, const struct diff_gate *gate, enum diff_verdict *ret,
		    struct strbuf *text, struct err *err);
