/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A capture, read once into tables, and the profiles made from it. Knows what records mean and how
 * device work is joined to the host code that launched it; not where the capture came from, nor how
 * results are shown.
 *
 *	rc = analysis_load(&a, reader, &(struct analysis_options){ 0 }, err);
 *	rc = analysis_profile(a, &(struct analysis_profile_options){ 0 }, &profile, err);
 *
 * Nothing in a capture is trusted: unknown numbers, work that was never launched, times that run
 * backwards end up as counters and as frames in brackets, never as errors.
 */
#pragma once

#include "base/cleanup.h"
#include "base/err.h"
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct analysis;
struct capture_reader;
struct profile;

struct analysis_options {
	/* Called now and then while reading, with the number of records so far; may be NULL. */
	void (*on_progress)(void *data, uint64_t records);
	void *data;
};

/*
 * Read everything. The reader is borrowed and must outlive the analysis, whose strings are the
 * reader's; afterwards capture_reader_damage() is complete. Damage is no failure.
 */
int analysis_load(struct analysis **ret, struct capture_reader *r,
		  const struct analysis_options *opt, struct err *err);
void analysis_free(struct analysis *a);
DEFINE_CLEANUP(analysis_free, struct analysis *)

/*
 * What part of the capture is meant, each as its option is written; NULL: no restriction. A text
 * that cannot be understood is -EINVAL with the option's name in the error.
 */
struct analysis_filter {
	const char *pid;    /* "12,34": process ids, the recorder's or the process's own view */
	const char *tid;    /* "12,34" */
	const char *comm;   /* "python3,worker": names of processes or threads */
	const char *rank;   /* "0,3": of a distributed job */
	const char *host;   /* "node1,node2" */
	const char *run;    /* "1,2": of a capture that is several, merged */
	const char *device; /* "0,1": as the runtime counts */
	const char *stream; /* "7,13": streams or queues, by number or name */
	const char *scope; /* "ProfilerStep*,forward": work asked for inside such scopes, modules */
	const char *kernel; /* "gemm*,softmax": shell patterns on the short or the full name */
	const char *time;   /* "1.5,2.5", ",2": seconds since the start; "10%-20%": of the span */
	const char *step;   /* "6", "6-8", "all": iterations, by their numbers */
};

/* Below an accelerator kernel, from the kernel towards the leaf. */
enum analysis_leaf {
	ANALYSIS_LEAF_NONE,
	ANALYSIS_LEAF_FUNCTION,    /* inlined functions */
	ANALYSIS_LEAF_SOURCE,      /* source line, "jit" where there is none */
	ANALYSIS_LEAF_INSTRUCTION, /* offset, with the instruction's text where it is known */
	ANALYSIS_LEAF_STALL,       /* stall reason where the hardware gave one */
	ANALYSIS_LEAF_INSN,        /* the instruction's text alone, else its offset */
	ANALYSIS_LEAF_OFFSET,      /* its offset alone */
	ANALYSIS_LEAF_COUNT
};

enum analysis_detail {
	ANALYSIS_DETAIL_PROCESS = 1 << 0,
	ANALYSIS_DETAIL_DEVICE = 1 << 1,
	ANALYSIS_DETAIL_STREAM = 1 << 2,
	ANALYSIS_DETAIL_INLINED = 1 << 3,
};

struct analysis_profile_options {
	/*
	 * Metrics by name; NULL or none: every one that has data:
	 *
	 *	wall            ns of each device's window, busy and idle; sums exactly to the window
	 *	device-time     ns of dispatches and copies, each with its whole duration
	 *	device-samples  samples taken inside accelerator code
	 *	stall:REASON    the same by stall reason
	 *	launches        pieces of device work asked for
	 *	cpu-samples     samples of host code
	 *	cpu-time        ns, from the samples' frequency
	 *	event:NAME      samples on another event, where several were sampled on
	 *	idle-host       ns of host code that ran or waited while a device was idle, on the thread that
	 *	                launched what ended the gap
	 *	blocked         ns that threads did not run
	 *	syncs           calls that waited for a device
	 *	sync-wait       ns that they took
	 *	sync-idle       ns that the device then was idle, until its next work began
	 *	energy          microjoules that the devices took, where counters tell of power
	 *	memory-peak     bytes in use when the devices' memory is at its peak
	 *	memory-allocated  bytes asked for
	 *	allocations     how often
	 *	bytes, flops    of launches and copies, where an import says so; else as much as the
	 *	                operator that launched needs at least for inputs of those shapes
	 *	flops8, flops16, flops32, flops64
	 *	                the same by the width of the numbers; on request only
	 *	compute-roof    ps that the flops would take at the device's peak; on request only
	 *	memory-roof     the same for the bytes
	 *
	 * wall and device-time stand on the kernel's node; device-samples on the leaves below it.
	 * A name without data or not known is -EINVAL, with a text that says why.
	 */
	const char *const *metrics;
	size_t metric_count;
	struct analysis_filter filter;
	/* Every frame as it was; else runs of framework frames are folded into one and layers that
	 * differ only in their number are merged. */
	bool full;
	/* Kernels by their whole names, else by a short form ("gemm sm80 32x32 bf16"), the whole one
	 * being the frame's `full`. */
	bool long_names;
	/* Of host functions inlined into each other, only the outermost: the one that was called. */
	bool no_inline;
	/*
	 * For formats that have a place for it; of ANALYSIS_DETAIL_*. What is told makes otherwise
	 * equal frames different: those of processes have the host in `module` and rank + 1 in
	 * `line`, the boundary the device in `module`, its index + 1 in `line` and the stream
	 * in `full`, what was inlined says so.
	 */
	unsigned details;
	/* Device samples stand on their kernel's node: `leaf` and stall metrics have no meaning. */
	bool kernels_only;
	/* ANALYSIS_LEAF_NONE first: the default, function source instruction stall. */
	enum analysis_leaf leaf[ANALYSIS_LEAF_COUNT];
};

/* The tree, finished (profile_finish()). */
int analysis_profile(struct analysis *a, const struct analysis_profile_options *opt,
		     struct profile **ret, struct err *err);

/*
 * What happened when, told to @sink, on a tree that is made for it; of @opt the filter and
 * long_names count. What the sink returns below 0 is returned, with a text if it set one.
 */
struct event_sink;
int analysis_events(struct analysis *a, const struct analysis_profile_options *opt,
		    const struct event_sink *sink, struct err *err);

/* "source,stall" -> leaf order; -EINVAL with a text. */
int analysis_leaf_parse(const char *text, enum analysis_leaf ret[ANALYSIS_LEAF_COUNT],
			struct err *err);

/* The names of all metrics that are known but those of stall reasons; NULL behind the last. */
const char *analysis_metric(size_t i);

/* Whether launches tell of the shapes of their operators' inputs. */
bool analysis_has_shapes(const struct analysis *a);

/* Whether there is data for a metric: false for one that is not known, too. */
bool analysis_has_metric(const struct analysis *a, const char *name);

/*
 * What to show when no metric is asked for: wall where there is device time, else the first with
 * data of device-samples, launches, cpu-samples, cpu-time. Never NULL.
 */
const char *analysis_default_metric(const struct analysis *a);

/* The time that records cover, in the capture's clock; both 0 when there are none. */
void analysis_span(const struct analysis *a, uint64_t *ret_begin_ns, uint64_t *ret_end_ns);

/* Value of an INFO record, NULL when there is none of that key ("missing.device-time"). */
const char *analysis_info(const struct analysis *a, const char *key);
/* The command that was recorded: the one that was asked for, else that of the only process there was
 * that is no other one's child; NULL: not known. */
const char *analysis_command(const struct analysis *a);

/* The INFO records one by one; false behind the last. */
bool analysis_info_get(const struct analysis *a, size_t i, const char **ret_key,
		       const char **ret_value);

/* The text of a source file that the capture brings along, by what lines call the file; empty: it does
 * not. */
struct span analysis_source(const struct analysis *a, const char *path);

/* The build-id of a binary by what frames have for its `module`, "" when it is not known. Valid
 * until the next call with the same @ret. */
#define ANALYSIS_BUILD_ID_MAX 64 /* bytes; GNU ld's are 20 */
const char *analysis_build_id(const struct analysis *a, const char *module,
			      char ret[2 * ANALYSIS_BUILD_ID_MAX + 1]);

struct analysis_device {
	const char *name, *runtime; /* borrowed, "" when not known */
	uint32_t index;
	uint64_t units;
};
/* The devices with work that a filter leaves, malloc'ed. -EINVAL for a bad filter, -ENOMEM. */
int analysis_devices(struct analysis *a, const struct analysis_filter *filter,
		     struct analysis_device **ret, size_t *ret_count, struct err *err);
