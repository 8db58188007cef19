/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of a capture: what a recorder or an importer writes and a reader gets back. This
 * header depends on nothing but libc, so that the library injected into a target can use it too.
 * How records become bytes is told once, in record.c's table of fields, and described in FORMAT.md.
 *
 * Conventions:
 * - Times are nanoseconds of the capture's clock (CLOCK_MONOTONIC when recorded, see `clock` of
 *   RECORD_HEADER when imported); `_ns` durations are nanoseconds.
 * - `uint32_t` fields named after a table (string, object, stack, process, thread, device, queue,
 *   kernel, code_object) hold numbers that the writer or the recorder gave out. 0 is "none".
 * - Strings, objects and stacks are interned: capture_writer_string() and friends give the number
 *   and write the definition when it is needed. The reader resolves numbers whose definition was in
 *   a damaged part to "[damaged]", which has the number RECORD_DAMAGED.
 * - A process is ours: one (pid, start time); exec starts a new one.
 * - A frame is (object, offset), leaf first in a stack. What the offset means depends on the
 *   object's kind, so that nothing later has to know what was mapped where at that time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum record_type {
	RECORD_HEADER = 1,
	RECORD_INFO,
	RECORD_CLOCK,
	RECORD_STRING,
	RECORD_OBJECT,
	RECORD_PROCESS,
	RECORD_THREAD,
	RECORD_STACK,
	RECORD_SYMBOL,
	RECORD_CPU_SAMPLE,
	RECORD_BLOCKED,
	RECORD_DEVICE,
	RECORD_QUEUE,
	RECORD_CODE_OBJECT,
	RECORD_KERNEL,
	RECORD_LAUNCH,
	RECORD_DISPATCH,
	RECORD_PC_SAMPLE,
	RECORD_COPY,
	RECORD_SYNC,
	RECORD_MARK,
	RECORD_COUNTER,
	RECORD_LOST,
	RECORD_END,
	RECORD_FILE,
	RECORD_TYPE_COUNT
};

/* A string, object or stack that was in a damaged part; never in a file. */
#define RECORD_DAMAGED UINT32_MAX

/* A borrowed run of bytes inside a record. */
struct record_bytes {
	const void *data;
	size_t size;
};

/* First record of every capture. All but times and numbers are strings. */
struct record_header {
	uint64_t time_ns;     /* start of the recording, or of the imported window */
	uint64_t realtime_ns; /* the same moment, CLOCK_REALTIME; 0 unknown */
	uint32_t tool;        /* "accel-prof 0.1.0" */
	uint32_t source;      /* "record", or the imported format: "kineto", "hatchet", "folded" */
	uint32_t host;
	uint32_t kernel;  /* OS kernel release */
	uint32_t arch;    /* "x86_64" */
	uint32_t command; /* command line that made the capture */
	uint32_t clock;   /* "CLOCK_MONOTONIC", or what an import says of its clock */
	uint32_t
		event; /* what CPU samples count: "cycles", "cpu-clock"; none when there are none */
	uint64_t frequency; /* CPU samples per second asked for */
};

/*
 * What was asked, what could be collected and why not; metadata of imports by allow-list. Keys are
 * dotted: "asked.pid", "missing.device-time" (value: the reason and the mend), "import.dropped".
 */
struct record_info {
	uint32_t key, value; /* strings */
};

/* The same moment on several clocks; every second. */
struct record_clock {
	uint64_t time_ns;
	uint64_t realtime_ns, boottime_ns;
	uint32_t device; /* and that device's clock, when not 0 */
	uint64_t device_ns;
};

struct record_string {
	uint32_t id;
	struct record_bytes text;
};

enum object_kind {
	OBJECT_ELF = 1, /* a file; offset: virtual address in the file (ELF vaddr) */
	OBJECT_KERNEL,  /* the OS kernel and its modules; offset: address */
	OBJECT_VDSO,    /* offset: from the start of the vDSO */
	OBJECT_ANON,    /* memory without a file (JIT); offset: address */
	OBJECT_PYTHON,  /* one Python code object; offset: the line being executed */
	OBJECT_NATIVE,  /* a named host function of a foreign trace; offset: line or 0 */
	OBJECT_CXX,     /* the same, known to be C++ */
	OBJECT_SCOPE,   /* an annotation or step as a frame; offset 0 */
	OBJECT_OP,      /* a framework operator (aten::mm); offset 0 */
	OBJECT_MODULE,  /* a model's module instance (Linear_3), as a frame; offset 0 */
	OBJECT_MISSING, /* a frame that says what is missing: "[truncated]"; offset 0 */
	OBJECT_FRAME,   /* one of a foreign profile, of the kind it has there; offset 0 */
};

enum object_flag {
	OBJECT_HOLDS_DEVICE_CODE = 1 << 0, /* POCL: samples inside are device samples */
	OBJECT_DELETED = 1 << 1,           /* the file was gone or replaced when first seen */
	OBJECT_LINE_IS_DEF = 1 << 2,       /* offset is the `def` line, not the executed one */
	OBJECT_IS_PROFILER = 1 << 3, /* a profiler's library: not part of what the target does */
};

struct record_object {
	uint32_t id;
	uint32_t kind; /* enum object_kind */
	uint32_t flags;
	uint32_t
		name; /* string: function name (PYTHON, NATIVE...), else what to show for the object */
	uint32_t path;        /* string: file; source file for PYTHON and NATIVE */
	uint32_t process;     /* ANON, PYTHON: whose; 0 for what processes share */
	uint64_t line;        /* PYTHON: first line of the code object */
	uint64_t size;        /* ELF: file size when opened */
	uint64_t generation;  /* ANON: counts reuse of an address range */
	uint32_t code_object; /* the CODE_OBJECT that keeps this file's bytes, if any */
	uint32_t frame_kind;  /* FRAME: enum frame_kind of base/frame.h */
	struct record_bytes build_id;
};

struct record_process {
	uint32_t id;
	uint32_t pid, ns_pid; /* as the recorder sees it, as the process itself does */
	uint32_t parent;      /* process */
	uint64_t start_ns;
	uint32_t comm, command, cgroup; /* strings */
	uint32_t rank;                  /* of a distributed job, + 1; 0: not known */
	/* Of a merged capture: where and in which of several runs it ran, for those that are not
	 * all of one. */
	uint32_t host; /* string; 0: that of HEADER */
	uint32_t run;  /* from 1; 0: there is only one */
};

struct record_thread {
	uint32_t id;
	uint32_t process;
	uint32_t tid;
	uint32_t name; /* string */
};

struct record_frame {
	uint32_t object;
	uint64_t offset;
};

enum stack_flag {
	STACK_ROOTED = 1 << 0, /* reaches the thread's first function */
	/* how frames were found; none: frame pointers or an import */
	STACK_BY_TABLE = 1 << 1,
	STACK_BY_COPY = 1 << 2,
	STACK_BY_SCAN = 1 << 3,
	/* goes through an interpreter that had not been found yet, so that its frames were not read */
	STACK_PYTHON_LATE = 1 << 4,
	/* an empty one of a launch: the thread's stacks had taken their share of its time; like that
	 * of the thread's last launch of the same kernel */
	STACK_NOT_TAKEN = 1 << 5,
	/* why it ends early, in STACK_CAUSE_SHIFT..: enum stack_cause */
	STACK_CAUSE_SHIFT = 8,
	STACK_FLAGS = 0xfff, /* all of the above */
};

enum stack_cause {
	STACK_CAUSE_NONE,
	STACK_CAUSE_FRAME_POINTER, /* the chain of frame pointers ended */
	STACK_CAUSE_NO_TABLE,      /* address in a mapping without unwind information */
	STACK_CAUSE_JIT,           /* anonymous code without CFI */
	STACK_CAUSE_UNSUPPORTED,   /* a rule the tables cannot express */
	STACK_CAUSE_UNREADABLE,    /* stack memory paged out or invalid */
	STACK_CAUSE_TOO_DEEP,      /* more frames than the limit */
	STACK_CAUSE_NO_STACK,      /* nothing could be walked at all */
	STACK_CAUSE_SIGNAL_STACK, /* what a handler on a stack of its own interrupted was not copied */
	STACK_CAUSE_COUNT
};

struct record_stack {
	uint32_t id;
	uint32_t flags; /* enum stack_flag */
	uint32_t count;
	/* Leaf first; OS kernel frames come first. A caller's offset lies within its call: one
	 * less than where the call returns to. */
	const struct record_frame *frames;
	/* Read only: the @kept root-most frames are those of the earlier stack @parent; 0: none. */
	uint32_t parent, kept;
	/* Read only, for capture_reader_leave_kept(): the tree of the stacks of one epoch has numbers
	 * from 1 on. @above is the node of the kept frame that is nearest to the leaf, 0: there is
	 * none; the others, from the root on, are @first and those behind it. */
	uint32_t above, first;
};

struct record_symbol_line {
	uint32_t name; /* string: as in the symbol table or DWARF, mangled */
	uint32_t file; /* string */
	uint32_t line;
};

/* What (object, offset) is called: the function's name, and the inline chain with lines where
 * there is debug information. Written by the recorder before END for every offset that was hit. */
struct record_symbol {
	uint32_t object;
	uint64_t offset;
	uint64_t start, size; /* of the function, in the object's offsets; 0 size: not known */
	uint32_t count;
	const struct record_symbol_line *lines; /* outermost function first; never empty */
};

enum cpu_sample_flag {
	CPU_SAMPLE_IN_KERNEL = 1 << 0, /* interrupted in the OS kernel */
	/* Not a sample but what an import knows exactly: the thread was in @stack from @time_ns on
	 * for @weight nanoseconds. Spans of one thread do not overlap. */
	CPU_SAMPLE_SPAN = 1 << 1,
};

struct record_cpu_sample {
	uint64_t time_ns;
	uint32_t thread, stack;
	uint32_t cpu;
	uint32_t flags;
	uint64_t weight; /* how many sampling periods it stands for; 1 but for aggregated ones */
	uint32_t event;  /* which, as a string; 0: the header's */
};

/* A thread did not run, for @duration_ns from @time_ns on; @stack is where it waited. */
struct record_blocked {
	uint64_t time_ns, duration_ns;
	uint32_t thread, stack;
	uint32_t state; /* task state as sched_switch gives it */
	/* Time that the thread waited before, since its last record, in waits so many that not each
	 * got a stack: this one stands for them. */
	uint64_t others_ns;
};

struct record_device {
	uint32_t id;
	uint32_t index;   /* as its runtime counts */
	uint32_t name;    /* string: "NVIDIA H100 80GB HBM3" */
	uint32_t runtime; /* string: "opencl", "levelzero", "cuda", "hip", or a foreign trace's */
	uint32_t vendor;  /* string */
	uint64_t units;   /* multiprocessors, EUs, CUs, cores; 0 unknown */
	uint64_t memory_bytes;
	uint32_t process; /* where device numbers are per process or rank, whose; else 0 */
};

struct record_queue {
	uint32_t id;
	uint32_t device, process;
	uint64_t handle; /* as the runtime names it: pointer or stream number */
	uint32_t name;   /* string */
};

enum code_object_kind {
	CODE_OBJECT_POCL = 1, /* x86-64 or aarch64 ELF made by POCL */
	CODE_OBJECT_ZEBIN,
	CODE_OBJECT_CUBIN,
	CODE_OBJECT_AMDGPU,
	CODE_OBJECT_SPIRV,
	CODE_OBJECT_SOURCE, /* text of a program, as given to the runtime */
};

/* Accelerator code, whole, once; in parts where it is larger than RECORD_PART_BYTES. */
struct record_code_object {
	uint32_t id;
	uint32_t kind; /* enum code_object_kind */
	uint32_t process, device;
	uint32_t name;         /* string: path or the runtime's name */
	uint64_t load_address; /* where offset 0 lies for the device; 0 unknown */
	uint64_t total_bytes, part_offset;
	struct record_bytes part;
};
#define RECORD_PART_BYTES (256u << 10)

struct record_kernel {
	uint32_t id;
	uint32_t process;
	uint32_t code_object;
	uint32_t name;   /* string: mangled, as in the code object */
	uint64_t offset; /* in the code object */
	uint64_t size;
	uint64_t handle;   /* as the runtime names it */
	uint64_t program;  /* handle of what it was made from */
	uint32_t metadata; /* string: "key=value;..." of static facts (registers, spills) */
};

enum launch_kind {
	LAUNCH_KERNEL = 1,
	LAUNCH_COPY,
	LAUNCH_FILL,
	LAUNCH_COLLECTIVE,
	LAUNCH_GRAPH,
	LAUNCH_OTHER,
};

enum launch_flag {
	LAUNCH_BEFORE_WINDOW = 1 << 0, /* made by the importer: the call is not in the trace */
	LAUNCH_REPLAY = 1 << 1,        /* work of a graph; the call was that of the graph */
	LAUNCH_AT_CAPTURE = 1 << 2,    /* and the stack is that of its capture */
	LAUNCH_BACKWARD = 1 << 3,      /* of a backward pass, under the stack of its forward op */
	/* Not launched but recorded into @graph; its correlation is one that @captured of DISPATCH
	 * and COPY names, and is none of a launch. */
	LAUNCH_CAPTURED = 1 << 4,
};

/* One piece of device work as the host asked for it. The stack is that of the call. */
struct record_launch {
	uint64_t time_ns;
	uint64_t duration_ns; /* of the call; 0 unknown */
	uint32_t thread, stack;
	uint32_t kind;   /* enum launch_kind */
	uint32_t kernel; /* kernel */
	uint32_t queue;
	uint64_t correlation; /* joins DISPATCH, COPY and PC_SAMPLE; unique in the capture, not 0 */
	uint32_t grid[3], block[3]; /* work groups and work items per group; 0 unknown */
	uint32_t flags;
	uint32_t name; /* string, where there is no kernel: "Memcpy HtoD", "clEnqueueReadBuffer" */
	uint32_t metadata;     /* string: "key=value;..." (shapes, dtypes, sequence, group) */
	uint64_t flops, bytes; /* of this launch (or of all @count), where known */
	uint64_t count;        /* how many launches it stands for; 0 is 1 */
	uint64_t graph; /* the same number for what was recorded into a graph and its launches */
};

/* The device worked on @correlation from @start_ns to @end_ns. */
struct record_dispatch {
	uint64_t correlation;
	uint32_t device, queue;
	uint32_t kernel;
	uint64_t start_ns, end_ns;
	uint32_t name;     /* string, where there is no kernel */
	uint32_t kind;     /* enum launch_kind */
	uint32_t metadata; /* string */
	uint64_t count;    /* how many it stands for, one after the other; 0 is 1 */
	uint64_t captured; /* of a graph: the LAUNCH_CAPTURED that recorded it */
};

/* @count samples of one instruction, at @time_ns or within @interval_ns from there. */
struct record_pc_sample {
	uint64_t time_ns, interval_ns;
	uint32_t device;
	uint32_t kernel, code_object; /* either may be 0 */
	uint64_t offset;              /* in the code object, or in the kernel where there is none */
	uint32_t reason;              /* string; 0: none given */
	uint64_t count;
	uint64_t correlation;
	uint32_t thread;
	uint32_t function, file, line; /* strings and line, where an import has no code object */
};

struct record_copy {
	uint64_t correlation;
	uint32_t device, queue;
	uint32_t name; /* string: "Memcpy HtoD (Pinned -> Device)" */
	uint32_t kind; /* LAUNCH_COPY or LAUNCH_FILL */
	uint64_t bytes;
	uint64_t start_ns, end_ns;
	uint64_t captured; /* as of a DISPATCH */
};

/* The host waited for the device. */
struct record_sync {
	uint64_t time_ns, duration_ns;
	uint32_t thread, stack;
	uint32_t name; /* string: the call */
	uint32_t device, queue;
	uint64_t correlation;
};

enum mark_kind {
	MARK_PUSH = 1, /* a scope opens on this thread */
	MARK_POP,
	MARK_STATE, /* the thread's state is now @name */
	MARK_INSTANT,
	MARK_METRIC, /* @value of metric @name, for the enclosing scope */
	MARK_SPAN,   /* a scope of @duration_ns, whole */
};

struct record_mark {
	uint64_t time_ns, duration_ns;
	uint32_t thread;
	uint32_t kind;      /* enum mark_kind */
	uint32_t name;      /* string */
	uint64_t iteration; /* + 1; 0: none */
	double value;
	uint32_t metadata; /* string */
};

struct record_counter {
	uint64_t time_ns;
	uint32_t device, process;
	uint32_t name, unit; /* strings */
	double value;
	uint32_t thread;  /* memory events: who allocated */
	uint64_t address; /* memory events */
};

struct record_lost {
	uint64_t time_ns;
	uint32_t what; /* string: "cpu-sample", "launch", ... */
	uint32_t why;  /* string: "ring full" */
	uint64_t count;
};

/* Last record. Its absence means that the recording was cut off. */
struct record_end {
	uint64_t time_ns;
	uint64_t samples, launches, lost;
	uint64_t recorder_cpu_ns; /* CPU time the recorder itself took */
	uint64_t probe_ns;        /* CPU time spent in probes and samples, where measured */
	int64_t exit_status;      /* of the command recorded; -1: none, or not known */
};

enum file_kind {
	FILE_BINARY = 1, /* the very file that was mapped: its build-id is that of @object */
	FILE_DEBUG,      /* debug information for it */
	FILE_SOURCE,
};

/* Of an archive: a file of the machine where it was made, in parts as code objects are. */
struct record_file {
	uint32_t kind;   /* enum file_kind */
	uint32_t path;   /* string: what lines and objects call it */
	uint32_t object; /* that it belongs to; 0: source */
	uint64_t total_bytes, part_offset;
	struct record_bytes part;
};

struct record {
	enum record_type type;
	union {
		struct record_header header;
		struct record_info info;
		struct record_clock clock;
		struct record_string string;
		struct record_object object;
		struct record_process process;
		struct record_thread thread;
		struct record_stack stack;
		struct record_symbol symbol;
		struct record_cpu_sample cpu_sample;
		struct record_blocked blocked;
		struct record_device device;
		struct record_queue queue;
		struct record_code_object code_object;
		struct record_kernel kernel;
		struct record_launch launch;
		struct record_dispatch dispatch;
		struct record_pc_sample pc_sample;
		struct record_copy copy;
		struct record_sync sync;
		struct record_mark mark;
		struct record_counter counter;
		struct record_lost lost;
		struct record_end end;
		struct record_file file;
	};
};
