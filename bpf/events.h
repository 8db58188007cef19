/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the BPF programs tell the recorder: the records of the ring buffer and the numbers both
 * sides share. Plain C for both; process and thread ids are as the recorder sees them (ids.bpf.h), times CLOCK_MONOTONIC.
 */
#pragma once

#ifndef __bpf__
#include <assert.h>
#include <linux/types.h>
#endif

enum event_type {
	EVENT_SAMPLE = 1, /* struct event_sample */
	EVENT_FORK,       /* struct event_fork: a target has a new thread or a new process */
	EVENT_EXEC,       /* struct event_exec: a target's new image is complete */
	EVENT_EXIT,       /* struct event_exit: a thread of a target ends */
	EVENT_PROBE,      /* bpf/probe.h: a target passed a probe site */
	EVENT_COPY, /* struct event_copy: what the next event's stack could not be walked by */
	EVENT_PYTHON_CODE, /* bpf/python.h: a code object that the next event names first */
	EVENT_BLOCK,       /* struct event_block: a thread of a target waits from now on */
	EVENT_RESUME,      /* struct event_resume: it runs again */
};

/* First in every event. */
struct event_header {
	__u16 type;         /* enum event_type */
	__u16 stack_offset; /* of the struct event_stack in this event, 0: it has none */
	__u32 size;         /* of the event, all included */
	__u64 time_ns;
	__u32 pid, tid; /* the thread that ran */
	__u32 cpu;
	__u32 reserved;
};

enum event_stack_flag {
	EVENT_STACK_ROOTED = 1 << 0,   /* ends in the thread's first function */
	EVENT_STACK_BY_TABLE = 1 << 1, /* by unwind tables; otherwise by frame pointers */
	EVENT_STACK_COPIED = 1 << 2, /* an EVENT_COPY of the same thread and time goes before it */
	/* Set by the recorder when it has gone on with a copy. */
	EVENT_STACK_BY_COPY = 1 << 3,
	EVENT_STACK_BY_SCAN = 1 << 4,
};

enum event_python_flag {
	EVENT_PYTHON_CUT = 1 << 0,   /* there are more frames, which could not be read or kept */
	EVENT_PYTHON_KNOWN = 1 << 1, /* the recorder had told of an interpreter by then */
};

/*
 * Always last in its event. ips[skip...] are the user frames, leaf first (of all but the first, the
 * byte before is in the instruction meant: a return address, or an interrupted one + 1), directly
 * behind them the
 * kernel frames, and behind those python_count of struct python_entry (python/walk.h): the frames
 * of the interpreter, innermost first. Each run of these, which ends with PYTHON_ENTRY_END, takes
 * the place of one call of the interpreter's loop among the user frames.
 */
struct event_stack {
	__u16 user_count, kernel_count;
	__u16 flags; /* enum event_stack_flag */
	__u8 status; /* why the user frames end: enum stack_cause of capture/record.h */
	__u8 skip;   /* unused entries before the first frame */
	__u16 python_count;
	__u16 python_flags; /* enum event_python_flag */
	__u32 reserved;
	__u64 ips[];
};

/* How user stacks are got. */
enum stack_mode {
	STACK_MODE_NONE, /* the program counter only */
	STACK_MODE_FP,   /* by the kernel's walk over frame pointers */
	STACK_MODE_TABLE,
};

/* Frames of one stack. The kernel's are what perf_event_max_stack allows by default. */
#define EVENT_USER_FRAMES   1024
#define EVENT_KERNEL_FRAMES 128
/* Python's: its own limit of recursion is 1000. */
#define EVENT_PYTHON_FRAMES 1024

enum event_sample_flag {
	EVENT_SAMPLE_IN_KERNEL = 1 << 0, /* interrupted in the kernel */
};

struct event_sample {
	struct event_header header;
	__u32 flags; /* enum event_sample_flag */
	__u32 event; /* its number among those that are sampled on */
	struct event_stack stack;
};
/* Events that can be sampled on at once. */
#define EVENT_KINDS 8

struct event_block {
	struct event_header header;
	__u32 state; /* of the task: 1 interruptible, 2 uninterruptible, more bits as the kernel has them */
	__u32 reserved;
	struct event_stack stack;
};

/* Its header is that of the thread that runs again. */
struct event_resume {
	struct event_header header;
	__u64 start_ns;  /* when it began to wait: the time of its EVENT_BLOCK */
	__u64 others_ns; /* it has waited that long since the one before, without EVENT_BLOCKs */
	__u32 state;
	__u32 reserved;
};

struct event_fork {
	struct event_header header; /* of the parent */
	__u32 child_pid, child_tid; /* child_pid == header.pid: a thread */
};

/* /proc is too slow for this: a process may be gone again within a millisecond. */
struct event_exec {
	struct event_header header;
	__u32 uid;            /* effective */
	__u32 arguments_size; /* bytes of its command line: strings, each with its NUL; may be cut */
	char arguments[];
};
#define EVENT_ARGUMENTS_MAX 2048

struct event_exit {
	struct event_header header;
	__u32 is_last; /* the process has no threads left */
	__u32 reserved;
};

/* Registers of user space by DWARF number; 16 is the program counter. */
#define EVENT_REGS 17

/*
 * Where the tables gave out, so that user space can go on: the frame reached, with the memory from
 * its stack pointer on. The walk has given event_stack.user_count frames, of which it is the last.
 * More of the same stack, if there is more, follows in events with the same time and thread.
 */
struct event_copy {
	struct event_header header;
	__u64 pc, sp, fp;
	__u32 has_fp, is_return,
		is_leaf;  /* as in struct unwind_state; is_leaf: @regs are its own */
	__u32 stack_size; /* bytes that could be read, from @stack_address on */
	__u64 stack_address;
	__u32 part;             /* 0: the first, whose registers count */
	__u32 missing;          /* a bit for each EVENT_COPY_PIECE that could not be read */
	__u64 regs[EVENT_REGS]; /* of the innermost frame */
	__u8 stack[];
};

/* How much of a stack there is in one event, in pieces that never cross a page. */
#define EVENT_COPY_BYTES  (16u << 10)
#define EVENT_COPY_PIECE  1024u
#define EVENT_COPY_PIECES (EVENT_COPY_BYTES / EVENT_COPY_PIECE)
/* How many there are. 99 in 100 stacks of PyTorch and of Python are smaller than the usual two. Where
 * nothing is known of the code, as it was mapped just now, all frames are to be found from the copy. */
#define EVENT_COPY_PARTS_USUAL 2u
#define EVENT_COPY_PARTS       16u
/* Pages missing one after the other that count as the end of a stack: fewer can be inside of a large
 * frame that has not touched all of it. */
#define EVENT_COPY_HOLE 8u

/* Room for any event: a slot of the scratch map. */
#define EVENT_MAX_BYTES (32u << 10)

/* Slots of the scratch map for each possible CPU; maps.bpf.h tells why more than one. */
#define SLOTS_PER_CPU 8

/* Values of the `targets` map, by process id. */
enum target_flag {
	TARGET_INHERIT = 1 << 0, /* its children become targets when they are born */
	TARGET_STARTING =
		1 << 1, /* still the recorder's own code: nothing counts before its exec */
	TARGET_LAUNCHES = 1 << 2, /* it, or who started it, uses an accelerator's runtime */
	TARGET_TOLD = 1 << 3,     /* a library of ours inside it tells of its launches */
};

/* Which processes are targets. */
enum target_mode {
	TARGET_MODE_LISTED, /* those of the `targets` map, and if it is not empty only the threads of
			     * `target_threads` */
	TARGET_MODE_ALL,
	TARGET_MODE_CGROUP, /* those below a control group */
};

/* Whose waits are recorded. */
enum blocked_mode {
	BLOCKED_MODE_LAUNCHES, /* of processes that give accelerators work */
	BLOCKED_MODE_ALL,
	BLOCKED_MODE_NONE,
};

/* Events that did not reach the ring, by what and why: keys of the `losses` map. */
enum loss {
	LOSS_SAMPLE_RING_FULL,
	LOSS_SAMPLE_NO_SLOT,
	LOSS_PROBE_RING_FULL,
	LOSS_PROBE_NO_SLOT,
	LOSS_PROCESS_RING_FULL, /* fork, exec and exit */
	LOSS_TARGETS_FULL,      /* a child that could not become a target */
	LOSS_BLOCKED_RING_FULL,
	LOSS_BLOCKED_NO_SLOT,
	LOSS_BLOCKED_FULL, /* more threads than the map of waits holds */
	LOSS_COUNT
};

/* Time that our programs took in the targets: keys of the `costs` map. */
enum cost {
	COST_SAMPLE,
	COST_PROBE,
	COST_BLOCKED,
	COST_COUNT
};

struct cost_total {
	__u64 runs, time_ns;
};

/* A name in the kernel has 511 bytes at most (KSYM_NAME_LEN), and offset, size and module beside it. */
#define KERNEL_NAME_BYTES 640

#define EVENT_ASSERT(what) _Static_assert(what, #what)
EVENT_ASSERT(sizeof(struct event_header) == 32);
EVENT_ASSERT(sizeof(struct event_stack) == 16);
EVENT_ASSERT(sizeof(struct event_sample) == 56);
EVENT_ASSERT(sizeof(struct event_block) == 56);
EVENT_ASSERT(sizeof(struct event_resume) == 56);
EVENT_ASSERT(sizeof(struct event_fork) == 40);
EVENT_ASSERT(sizeof(struct event_exec) == 40);
EVENT_ASSERT(sizeof(struct event_exit) == 40);
EVENT_ASSERT(sizeof(struct event_copy) == 224);
EVENT_ASSERT(sizeof(struct event_copy) + EVENT_COPY_BYTES <= EVENT_MAX_BYTES);
EVENT_ASSERT(sizeof(struct event_sample) + (EVENT_USER_FRAMES + EVENT_KERNEL_FRAMES) * 8 +
		     EVENT_PYTHON_FRAMES * 16 <=
	     EVENT_MAX_BYTES);
