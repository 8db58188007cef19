/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Python's frames of a stack: where python.bpf.c gets to know of interpreters, and how it is asked. */
#pragma once

#include "bpf/kernel.h"

#include "bpf/python.h"

/* Thread states of one thread that count: of the main interpreter and one below it. */
#define STATES_MAX 2

struct python_thread {
	u64 runtime, thread_id; /* for which it was found */
	u64 next_ns;            /* when to search again */
	u64 state[STATES_MAX];  /* the newest first; 0: none */
	u64 is_unreadable;      /* the search ended early */
};

/*
 * Process id -> its interpreter. Written by lib/collect/python.c, inherited and removed by
 * process.bpf.c. As large as `targets`.
 */
struct python_processes_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, __u32);
	__type(value, struct python_process);
};
extern struct python_processes_map python_processes SEC(".maps");

/* Written by lib/collect/python.c, each entry once. */
struct python_layouts_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PYTHON_LAYOUTS_MAX);
	__type(key, __u32);
	__type(value, struct python_layout);
};
extern struct python_layouts_map python_layouts SEC(".maps");
