/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The maps of launch.bpf.c, defined in maps.bpf.c with the others. */
#pragma once

#include "bpf/maps.bpf.h"

#include "bpf/probe.h"

/* Attach cookie -> what to do. Written by lib/collect/probe.c before it attaches. */
struct probe_programs_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PROBE_PROGRAMS_MAX);
	__type(key, __u32);
	__type(value, struct probe_program);
};

struct call_key {
	__u32 tid;
	__u32 program;
};

/* What a call had at its entry. */
struct call {
	__u64 value[EVENT_PROBE_VALUES];
	__u64 flags; /* enum event_probe_flag */
};

/*
 * Calls that have not returned, by thread and program. Least recently used, because a call that
 * never returns (exit, longjmp) must not stay; 4,096 threads can create kernels at the same time.
 */
struct probe_calls_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct call_key);
	__type(value, struct call);
};

extern struct probe_programs_map probe_programs SEC(".maps");
extern struct probe_calls_map probe_calls SEC(".maps");
