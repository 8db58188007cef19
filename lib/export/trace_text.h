/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a trace's events: punctuation, times, and each frame's words only made once. Errors
 * are remembered. */
#pragma once

#include "base/strbuf.h"
#include "export/words.h"
#include "profile/profile.h"

#include <stdio.h>

#define TRACE_STARTS 256u

struct trace_short {
	char text[120];
	uint8_t size; /* 0: nothing yet */
};

struct trace_start {
	char phase;
	uint64_t pid, tid;
	struct trace_short text;
};

struct trace_text {
	FILE *out;
	uint64_t base_ns;
	bool has_events;
	int error;
	struct strbuf text; /* not written yet */
	struct words words;
	/* What comes again and again: how events of a line begin, and the moment at hand. */
	struct trace_start starts[TRACE_STARTS];
	uint64_t moment_ns;
	struct trace_short moment;
};

void trace_text_init(struct trace_text *t, FILE *out, uint64_t base_ns);
void trace_text_release(struct trace_text *t);
/* 0 or a negative errno. */
int trace_text_error(struct trace_text *t);
int trace_text_flush(struct trace_text *t);

void trace_text_puts(struct trace_text *t, const char *text);
__attribute__((format(printf, 2, 3))) void trace_text_printf(struct trace_text *t, const char *fmt,
							     ...);
/* As JSON, with its quotes. */
void trace_text_quote(struct trace_text *t, const char *text);
/* {"ph":"M","pid":1,"tid":2 -- the members that follow and the brace are the caller's. */
void trace_text_begin(struct trace_text *t, char phase, uint64_t pid, uint64_t tid);
/* ,"ts":12.345 -- microseconds from the base on. */
void trace_text_time(struct trace_text *t, const char *key, uint64_t time_ns);
/* {"ph":"X",...,"ts":...,"dur":... */
void trace_text_span(struct trace_text *t, uint64_t pid, uint64_t tid, uint64_t begin_ns,
		     uint64_t duration_ns);
/* ,"cat":"python_function","name":"train.py(3): main" -- @is_call: into a runtime. */
void trace_text_frame(struct trace_text *t, const struct profile *p, uint32_t frame, bool is_call);
