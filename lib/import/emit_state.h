/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of emit.c share: what is being written, and how a record gets written. */
#pragma once

#include "base/strbuf.h"
#include "import/emit.h"

/* What else than a host span happens at one time. */
enum point_type {
	POINT_LAUNCH,
	POINT_DISPATCH,
	POINT_GRAPH, /* the call that launches one */
	POINT_SYNC,
	POINT_SCOPE,
	POINT_INSTANT,
	POINT_COUNTER,
};

struct point {
	int64_t time_ns;
	uint32_t index;
	uint32_t type; /* enum point_type */
};

struct emit {
	struct session *session;
	struct trace *trace;
	struct nest *nest;
	const struct emit_paths *paths;
	VEC(struct point) points;
	VEC(uint32_t) order;        /* of points */
	VEC(uint64_t) correlations; /* the capture's, by device event; given out as launches are */
	struct hash process_by_pid; /* pid (string) -> the capture's number */
	uint32_t only_pid;          /* string: of all lanes but those of "0", if it is one */
	VEC(struct sweep) sweeps;   /* of host lanes */
	VEC(struct span_ns) heads;  /* the next span of each */
	VEC(uint32_t) heap;         /* of sweeps, by their head's time */
	uint32_t main_process;
	struct strbuf text;
};

/* Clocks that start below zero are moved as a whole, see process.c; nothing is below it here. */
static inline uint64_t emit_time(const struct emit *m, int64_t time_ns)
{
	return m->trace->base_ns + (uint64_t)time_ns;
}

static inline int emit_put(struct emit *m, const struct record *rec)
{
	return capture_writer_put(m->session->writer, rec);
}

static inline int emit_string(struct emit *m, uint32_t string, uint32_t *ret)
{
	return frames_written(&m->session->frames, m->session->writer, string, ret);
}

/* emit_define.c: processes, threads, devices and queues of the trace, before what refers to them. */
int emit_definitions(struct emit *m);

/* emit_device.c; @i: device event */
int64_t emit_launch_time(const struct trace *t, const struct device_event *d);
/* The capture's number that joins a launch with its work, given out when it is first asked for. */
uint64_t emit_correlation(struct emit *m, uint32_t device);
int emit_launch(struct emit *m, uint32_t i);
int emit_dispatch(struct emit *m, uint32_t i);

/* emit_host.c: host events, instants and counters that are records of their own; @i: which. */
int emit_graph_launch(struct emit *m, uint32_t i);
int emit_sync(struct emit *m, uint32_t i);
int emit_scope(struct emit *m, uint32_t i);
int emit_instant(struct emit *m, uint32_t i);
int emit_counter(struct emit *m, uint32_t i);

/* emit_span.c: what each thread did, from all lanes in order of time. */
int emit_spans_start(struct emit *m);
/* All that begin at or before @time_ns. */
int emit_spans_until(struct emit *m, int64_t time_ns);
