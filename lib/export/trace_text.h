/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a trace's events: punctuation, times, and each frame's words only made once. Errors
 * are remembered. */
#pragma once

#include "base/strbuf.h"
#include "export/words.h"
#include "profile/profile.h"

#include <stdio.h>

#define TRACE_STARTS 256u

/* How an event begins, kept for the next ones that begin alike. */
struct trace_start {
	char phase;
	uint8_t size; /* 0: nothing yet */
	uint64_t pid, tid, time_ns;
	char text[104]; /* at least STRBUF_SHORT more than the comma */
};

struct trace_text {
	FILE *out;
	uint64_t base_ns;
	bool has_events;
	int error;
	struct strbuf text; /* not written yet */
	struct words words, calls, names;
	struct trace_start starts[TRACE_STARTS]; /* of lines, without a time */
	struct trace_start opening, closing;     /* of the frames of one moment */
};

void trace_text_init(struct trace_text *t, FILE *out, uint64_t base_ns);
void trace_text_release(struct trace_text *t);
/* 0 or a negative errno. */
int trace_text_error(struct trace_text *t);
int trace_text_flush(struct trace_text *t);

static inline void trace_text_puts(struct trace_text *t, const char *text)
{
	strbuf_puts(&t->text, text);
}

__attribute__((format(printf, 2, 3))) void trace_text_printf(struct trace_text *t, const char *fmt,
							     ...);
/* As JSON, with its quotes. */
void trace_text_quote(struct trace_text *t, const char *text);
void trace_text_number(struct trace_text *t, uint64_t number);
/* {"ph":"M","pid":1,"tid":2 -- the members that follow and the brace are the caller's. */
void trace_text_begin(struct trace_text *t, char phase, uint64_t pid, uint64_t tid);
/* {"ph":"s",...,"ts":12.345 -- microseconds from the base on. */
void trace_text_at(struct trace_text *t, char phase, uint64_t pid, uint64_t tid, uint64_t time_ns);
/* {"ph":"X",...,"ts":...,"dur":... */
void trace_text_span(struct trace_text *t, uint64_t pid, uint64_t tid, uint64_t begin_ns,
		     uint64_t duration_ns);
/* The same for frames of one line that open, phase B, or close, phase E, at one moment. */
const struct trace_start *trace_text_start(struct trace_text *t, char phase, uint64_t pid,
					   uint64_t tid, uint64_t time_ns);
void trace_text_close(struct trace_text *t, const struct trace_start *start, size_t count);

static inline void trace_text_put_start(struct trace_text *t, const struct trace_start *start)
{
	size_t skip = t->has_events ? 0 : 1; /* the comma */

	strbuf_add_short(&t->text, start->text + skip, start->size - skip);
	t->has_events = true;
}

/* With ,"cat":"python_function","name":"train.py(3): main"} */
static inline void trace_text_open(struct trace_text *t, const struct trace_start *start,
				   const struct profile *p, uint32_t frame)
{
	trace_text_put_start(t, start);
	words_put(&t->words, p, frame, &t->text);
}

/* The same for a call into a runtime, without the brace. */
void trace_text_call(struct trace_text *t, const struct trace_start *start, const struct profile *p,
		     uint32_t frame);
/* "gemm(float*)" -- a kernel's name in full, quoted. */
void trace_text_name(struct trace_text *t, const struct profile *p, uint32_t frame);
