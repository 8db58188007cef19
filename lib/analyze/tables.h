/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a capture says, as tables; private to this module. Numbers of the capture (ids) are turned
 * into row numbers as they are read: an id that nothing has defined yet gets an empty row, which a
 * later record may fill. Row 0 of every table stands for "none" and is empty.
 */
#pragma once

#include "analyze/analyze.h"
#include "analyze/idmap.h"
#include "analyze/phases.h"
#include "base/hash.h"
#include "base/pairtab.h"
#include "base/slots.h"
#include "base/strbuf.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "capture/reader.h"
#include "capture/record.h"
#include "symbolize/captured.h"
#include "symbolize/symbolize.h"

/* Rows of any struct, found by the capture's number. Works with the vec_* macros. */
#define TABLE(type)               \
	struct {                  \
		struct idmap ids; \
		type *data;       \
		size_t len, cap;  \
	}

/* The row of @id in *@ret_row, made when it is new: 0 or -ENOMEM. */
#define table_row(t, id, ret_row)                                                     \
	({                                                                            \
		uint32_t id_ = (id);                                                  \
		int rc_ = 0;                                                          \
		if (!id_) {                                                           \
			*(ret_row) = 0;                                               \
		} else if (!idmap_get(&(t)->ids, id_, (ret_row))) {                   \
			*(ret_row) = (uint32_t)(t)->len;                              \
			rc_ = idmap_set(&(t)->ids, id_, *(ret_row));                  \
			rc_ = rc_ ? rc_ : vec_push(t, (__typeof__(*(t)->data)){ 0 }); \
		}                                                                     \
		rc_;                                                                  \
	})

#define table_release(t)                  \
	do {                              \
		idmap_release(&(t)->ids); \
		vec_release(t);           \
	} while (0)

/* Strings called `text` are the reader's numbers, those called `name` are numbers in `names`. */

struct process {
	uint32_t id, pid, ns_pid;
	uint32_t parent; /* process */
	uint32_t comm, command, rank;
	uint32_t host, run; /* of a merged capture; host is a text */
};

struct thread {
	uint32_t process, tid;
	uint32_t comm;
};

struct object {
	uint32_t id, kind, flags;
	uint32_t name, path; /* texts */
	uint32_t build_id;   /* in `detail_blobs` */
	uint32_t code_object;
	uint32_t frame_kind; /* OBJECT_FRAME: enum frame_kind */
	uint64_t line;
};

struct device {
	uint32_t id, index;
	uint32_t text, runtime; /* texts */
	uint32_t process;
	uint64_t units;
};

struct queue {
	uint32_t device, process;
	uint64_t handle;
	uint32_t text;
};

struct kernel {
	uint32_t process, code_object;
	uint32_t text;
	uint64_t offset, size;
	uint32_t metadata; /* text */
};

struct code_object {
	uint32_t kind, process, device;
	uint32_t text;
	uint64_t load_address, total_bytes;
	VEC(uint8_t) bytes;         /* whole when len == total_bytes */
	struct device_object *code; /* opened by analysis_code() */
	bool is_opened;
};

struct frame_ref {
	uint64_t offset;
	uint32_t object; /* row */
};

/* Stacks are interned by content: the capture's numbers start over now and then. */
struct stack {
	uint32_t leaf; /* in `stack_nodes`: its leaf-most frame; 0: it has none */
	uint32_t count, flags;
	uint32_t device_frame; /* the leaf-most one that is accelerator code, + 1; 0: none */
	uint32_t place;        /* of such a stack, + 1 */
	uint32_t group;        /* the first sample group that has it, + 1; 0: none */
	uint32_t next;         /* that ends at the same leaf, with other flags; 0: none */
};

/* Why a site has no stack to show, or what stands between the process and its stack. */
enum site_kind {
	SITE_UNATTRIBUTED, /* device work or samples that nobody is known to have launched */
	SITE_STACK,
	SITE_BEFORE_WINDOW, /* launched before the recording or the trace began */
	SITE_PROCESS,       /* the process as a whole */
};

/* A place in host code: what device work is charged to. */
struct site {
	uint32_t thread;
	uint32_t process; /* where the thread is not known */
	uint32_t stack, kind;
	uint32_t state; /* frame: of the thread when it launched; 0: none */
};

/* A CPU sample, or a span of @weight ns (CPU_SAMPLE_SPAN); @group is a (thread, stack) pair. */
struct sample {
	uint64_t time_ns, weight;
	uint32_t group, flags;
};

/* A sample on another event than the header's. */
struct event_sample {
	uint64_t time_ns, weight;
	uint32_t group, event; /* number among `sample_events` */
};

struct sample_group {
	uint32_t thread, stack;
};

struct blocked {
	uint64_t time_ns, duration_ns;
	uint64_t others_ns; /* of waits before it that it stands for */
	uint32_t thread, group;
};

/* What a device sample hit. From CPU samples: @stack; from hardware: the rest. */
struct place {
	uint32_t stack;
	uint32_t kernel, code_object, device; /* rows */
	uint64_t offset;
	uint32_t reason;               /* text */
	uint32_t name;                 /* of the kernel; set by analysis_join() */
	uint32_t object;               /* row: of the device frame in @stack */
	uint32_t function, file, line; /* texts, where an import knows them */
};

struct frame_list {
	uint32_t *data;
	size_t len, cap;
};

struct device_sample {
	uint64_t time_ns;
	uint64_t correlation;
	uint32_t interval_ns, thread;
	uint32_t place, count;
};

/* Of its row here: it has no stack of its own, see lend_stack(). */
#define LAUNCH_STACK_LENT (1 << 15)

struct launch_detail {
	uint64_t flops, bytes, count;
	uint32_t grid[3], block[3];
	uint32_t metadata; /* text */
	uint32_t graph;    /* what was recorded into it is in `captures`; 0: not known */
};

/* Work that was recorded into a graph. */
struct capture {
	uint64_t correlation;
	uint32_t site, name;
	uint32_t next; /* one of the same graph, + 1 */
};

struct launch {
	uint64_t time_ns, duration_ns;
	uint64_t correlation;
	uint32_t thread, queue;
	uint32_t site;
	uint32_t kernel;      /* row */
	uint32_t name;        /* the reader's text until analysis_join() */
	uint32_t detail;      /* in `detail_blobs` */
	uint32_t ops;         /* how many dispatches and copies it caused */
	uint16_t kind, flags; /* enum launch_flag, and LAUNCH_STACK_LENT */
};

/* One interval of device work: a dispatch or a copy. */
struct op {
	uint64_t start_ns, end_ns;
	uint64_t correlation;
	uint64_t bytes;
	uint32_t device, queue;
	uint32_t kernel;   /* row */
	uint32_t name;     /* the reader's text until analysis_join() */
	uint32_t launch;   /* + 1; 0: not known */
	uint32_t kind;     /* enum launch_kind */
	uint32_t count;    /* how many it stands for */
	uint64_t captured; /* as in DISPATCH; after analysis_join() in `captures`, + 1 */
};

struct sync {
	uint64_t time_ns, duration_ns;
	uint32_t thread, site, text, device;
};

/* Of an archive. */
struct source_text {
	uint32_t path; /* text */
	struct strbuf text;
};

struct mark {
	uint64_t time_ns, duration_ns, iteration;
	double value;
	uint32_t thread, kind, text, metadata;
};

/* One iteration of a training or inference loop. */
struct step {
	uint64_t begin_ns, end_ns;
	uint64_t iteration; /* + 1; 0: not known */
	uint32_t process, text;
	bool is_warmup; /* one of the first, and far longer than those after it */
};

struct phase_mark {
	uint64_t begin_ns, end_ns;
	uint32_t process;
	enum phase phase;
};

/* Work that took far longer than its like. */
struct outlier {
	uint32_t op; /* number */
	uint64_t median_ns;
};

struct lost {
	uint32_t what, why; /* texts */
	uint64_t count;
};

/* What was odd, for the quality view; nothing of it is an error. */
struct oddities {
	uint64_t times; /* beyond TIME_MAX_NS, or ending before they began */
	uint64_t correlations_reused;
	uint64_t code_objects_incomplete;
};

struct analysis {
	struct capture_reader *reader;
	struct record_header header;
	struct record_end end;
	bool has_end;
	bool holds_device_code; /* some object: POCL's kernels */
	bool holds_profiler;    /* some object: a library of ours in a target */
	bool has_runs;          /* of a merged capture: more than one */
	bool has_timeline;      /* else its times are totals, laid end to end by an import */
	uint64_t records, first_ns, last_ns;

	TABLE(struct process) processes;
	TABLE(struct thread) threads;
	TABLE(struct object) objects;
	TABLE(struct device) devices;
	TABLE(struct queue) queues;
	TABLE(struct kernel) kernels;
	TABLE(struct code_object) code_objects;
	VEC(struct source_text) sources;

	VEC(struct frame_ref) frames; /* [0] is not used */
	struct slots frame_slots;
	struct pairtab stack_nodes; /* the tree of all stacks: (caller's node, frame) */
	VEC(struct stack) stacks;
	VEC(uint32_t) stack_at;         /* by node: the stack that ends there; 0: none */
	VEC(uint32_t) nodes_read;       /* by the reader's number: the node */
	VEC(struct frame_ref) expanded; /* the last answer of analysis_stack() */
	struct idmap stack_ids;         /* the capture's number -> stack */
	struct strtab site_blobs;
	VEC(struct site) sites; /* same numbers */
	struct strtab place_blobs;
	struct place_slot *place_slots; /* of places seen lately */
	VEC(struct place) places;
	struct strtab detail_blobs;

	struct strtab names;      /* kernels and other device work: mangled names */
	struct hash name_of_text; /* the reader's text -> name */
	struct hash stub_of_site; /* site -> name; see stub.c */

	struct captured_symbols *captured; /* SYMBOL records, keyed by object row */
	struct symbolizer *symbolizer;     /* over them */

	VEC(struct record_info) info;
	VEC(struct sample_group) sample_groups;
	struct hash sample_group_of; /* (thread, stack) -> group, but for a stack's first one */
	VEC(struct sample) samples;
	VEC(struct event_sample) event_samples;
	VEC(uint32_t) sample_events; /* texts of their names */
	VEC(struct blocked) blocked;
	VEC(struct device_sample) device_samples;
	VEC(struct launch) launches;
	struct hash
		stack_of; /* thread and what it calls, hashed -> the last stack that was taken */
	uint32_t *launch_order; /* by correlation; NULL: as they are */
	VEC(struct op) ops;     /* after analysis_join(): by start */
	VEC(struct capture) captures;
	struct hash capture_of; /* correlation -> in `captures`, + 1 */
	struct hash graph_of;   /* number of a graph -> the last of its `captures`, + 1 */
	struct hash replays;    /* (launch's site, capture) -> site of the work */
	uint32_t replay_object; /* "[graph replay]"; 0: there is none */
	VEC(struct sync) syncs;
	VEC(struct mark) marks;
	VEC(struct step) steps; /* by begin */
	/* What marks say in so many words: "warm-up", "compile". */
	VEC(struct phase_mark) phase_marks;
	/* Where marks tell of none: the kernel sequence that repeats; see steps.h. */
	VEC(struct step) repeats;
	bool has_repeats;
	VEC(struct record_counter) counters;
	VEC(struct lost) lost;
	VEC(struct outlier) outliers; /* see outliers.h */
	struct oddities odd;

	/* What several questions need, made for the first of them. */
	struct work_index *work_index;
	struct attribution *attribution;
	struct account *account;
};

/* Times beyond this are nonsense; below it, sums and products of a few of them stay in range. */
#define TIME_MAX_NS ((uint64_t)1 << 62)

/* replay.c: one record into its table. 0 or -ENOMEM. */
int analysis_replay(struct analysis *a, const struct record *rec);

/* A frame by its number in the tree of stacks. */
static inline struct frame_ref analysis_frame(const struct analysis *a, uint32_t frame)
{
	return a->frames.data[frame];
}
/* The frames of a stack's row, leaf first, as many as it counts; until the next call. NULL for none,
 * or without memory. */
const struct frame_ref *analysis_stack(struct analysis *a, uint32_t row);

/* The number of a frame in `frames`. 0 or -ENOMEM, here and below. */
int analysis_frame_intern(struct analysis *a, struct frame_ref ref, uint32_t *ret);
/* A STACK record, and the row of what one has defined: 0, the empty stack, for a number that none has. */
int analysis_stack_define(struct analysis *a, const struct record_stack *s);
uint32_t analysis_stack_row(const struct analysis *a, uint32_t id);
/* The row of a stack with these frames and flags. */
int analysis_stack_intern(struct analysis *a, const struct stack *stack, uint32_t *ret);
/* The stack @row, called from the frames of a node in the tree of stacks. */
int analysis_stack_within(struct analysis *a, uint32_t row, uint32_t node, uint32_t *ret);
/* The number of a (thread, stack) pair. */
int analysis_sample_group(struct analysis *a, uint32_t thread, uint32_t row, uint32_t *ret);
/* A number for a site: 0 or -ENOMEM. */
int analysis_site(struct analysis *a, const struct site *site, uint32_t *ret);
/* The process row of a site; 0: not known. */
uint32_t analysis_site_process(const struct analysis *a, uint32_t site);

/* NULL: the capture does not say who launched it. */
static inline const struct launch *analysis_op_launch(const struct analysis *a, const struct op *op)
{
	return op->launch ? &a->launches.data[op->launch - 1] : NULL;
}
/* Whether a launch is one that was seen: imports make one up for work whose launch is not in the
 * trace, so that its time and stack ("[unattributed]") say nothing of the host. */
bool analysis_launch_is_seen(const struct analysis *a, const struct launch *l);
/* The process row whose work it was; 0: not known. */
uint32_t analysis_op_process(const struct analysis *a, const struct op *op);
/* The site that launched it, one of kind SITE_UNATTRIBUTED where that is not known. */
int analysis_op_site(struct analysis *a, const struct op *op, uint32_t *ret);

/* graph.c: the site of what was recorded as @capture (+ 1), when a graph with it is launched from @site. */
int analysis_replayed_site(struct analysis *a, uint32_t site, uint32_t capture, uint32_t *ret);

/*
 * join.c: after the last record, once. Sorts the ops by start, ties each to its launch, and gives
 * launches, ops and places the name of their kernel. 0 or -ENOMEM.
 */
int analysis_join(struct analysis *a);
/* The launch with this correlation id, the first one where there are several; NULL: none. */
const struct launch *analysis_launch(const struct analysis *a, uint64_t correlation);

/* stub.c: the name of the kernel that a site launches, by the function that launches it; 0: not known. */
int analysis_stub_name(struct analysis *a, uint32_t site, uint32_t *ret);

/* pocl.c: the name of the kernel that a place in POCL's code belongs to. 0 or -ENOMEM. */
int analysis_pocl_kernel(struct analysis *a, const struct place *p, uint32_t *ret);

/* steps.c: find the steps that marks tell of. 0 or -ENOMEM. */
int analysis_find_steps(struct analysis *a);

/*
 * symbols.c: what a frame in compiled code (OBJECT_ELF and the like) is called; as symbolize_frame().
 */
int analysis_symbolize(struct analysis *a, uint32_t object, uint64_t offset,
		       struct symbol_frames *ret);

static inline const char *analysis_text(const struct analysis *a, uint32_t text)
{
	return capture_reader_text(a->reader, text);
}
