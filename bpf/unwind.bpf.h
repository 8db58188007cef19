/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Walking a user stack by unwind tables: what a walk needs, where it gets its tables from and how it
 * is asked for. unwind.bpf.c does it, once for the sampler and all probes.
 */
#pragma once

#include "bpf/kernel.h"

#include "bpf/events.h"
#include "bpf/memo.bpf.h"
#include "unwind/unwind_table.h"
#include "unwind/x86_64.h"

/* Tables of different files that there can be at once; a PyTorch process has 320. */
#define UNWIND_TABLES_MAX 8192
/* Address spaces with tables of their own; what is forked shares its parent's until it maps. */
#define UNWIND_SPACES_MAX 8192
/* Executable mappings of one address space: 2^16 > MAPPINGS_MAX of lib/collect/mapping.h. */
#define UNWIND_MAPPING_STEPS 16

/*
 * Process id -> number of its address space in unwind_spaces. Written by lib/collect/unwind.c,
 * inherited and removed by process.bpf.c. As large as `targets`.
 */
struct unwind_processes_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, __u32);
	__type(value, __u32);
};
extern struct unwind_processes_map unwind_processes SEC(".maps");

/*
 * Places where code was that a process uses for something else now. A library that takes another's
 * place within milliseconds must not be walked by the other's table: until the recorder has published
 * mappings that it has looked at later, addresses in these ranges count as unknown.
 */
#define UNWIND_CHANGES 8
struct unwind_range {
	u64 start, end;
	u64 time_ns;
};
struct unwind_changes {
	u64 count;                                /* ever */
	struct unwind_range last[UNWIND_CHANGES]; /* at count % UNWIND_CHANGES */
	struct unwind_range all; /* around all since the kernel last had everything */
};

/*
 * Process id -> its changes. Written by on_place(), removed by process.bpf.c. As large as `targets`.
 */
struct unwind_changes_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct unwind_changes);
};
extern struct unwind_changes_map unwind_changes SEC(".maps");

/* What is read of a frame at once: the return address and all registers that a function may push. A
 * power of two. */
#define UNWIND_WORDS 8

/* The state of a walk, in the slot of the program that wants it. */
struct unwind_walk {
	struct unwind_state state;
	struct unwind_mapping mapping; /* that the last frame was in */
	u64 regs[EVENT_REGS];          /* of the innermost frame, by DWARF number */
	u64 words[UNWIND_WORDS];       /* below the CFA of the last frame */
	u64 xol;       /* the page of uprobes: see fix_probed(); 0: this process has none */
	u64 looked_ns; /* when the recorder looked at the mappings */
	u32 pid;
	u32 mappings; /* that the address space has */
	u32 is_trap;  /* registers are those of an exception, not of a system call */
	u32 entry;    /* as in struct stack_regs */
	/* Of a walk from an entry, as long as it is one that can be kept: memo.bpf.h. */
	u32 has_memo;
	u32 mapping_steps; /* of a search among @mappings */
	u64 start_sp;
	u64 known_for; /* which mappings rows are remembered for; 0: none may be */
	struct unwind_memo_key key;
	struct unwind_memo memo;
	/* How far the copy of the stack is. */
	struct unwind_copying {
		u64 address;     /* of the next part */
		u64 hole;        /* where the page behind a missing one begins */
		u32 holes;       /* missing pages, one after the other */
		u32 parts, sent; /* how many there may be, and are */
		u32 is_awaited;  /* what is missing is made when the recorder sees it */
	} copying;
};
