/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Which launches get a stack. A thread that launches a million times a second would spend most of
 * its time on being walked: its stacks may take a share of its time, and beyond that every n-th
 * launch has one, at random, as a loop that launches the same few kernels by turns must not always
 * be met at the same one. Launches are told all the same, without a stack.
 *
 * What a stack costs is measured. A thread may be preempted meanwhile; so no stack counts for much
 * more than those before it.
 */
#pragma once

#include "bpf/maps.bpf.h"

struct launch_pace {
	u64 paid_ns;  /* until then the thread's stacks are paid for, by its time */
	u64 since_ns; /* when the last stack was taken */
	u32 cost_ns;  /* of a stack, on average */
	u32 gap_ns;   /* from launch to launch, on average */
	u32 launches; /* since then */
	u32 left;     /* launches up to the next stack; 0: the next one gets one */
};

/* Thread -> its pace. Least recently used, as threads end unseen; one that is dropped begins anew. */
struct launch_paces_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, struct launch_pace);
};
extern struct launch_paces_map launch_paces SEC(".maps");

/* 10,000 / the share in percent: each nanosecond of a stack has to be paid for with a hundredth of so
 * many of the thread's. Set by the recorder. */
extern const volatile __u32 launch_stack_price;

/* A second's worth can be saved, for programs that launch at times only. */
#define PACE_SAVED_NS 1000000000ull
/* A loop of nothing but launches has a million a second. */
#define PACE_EVERY_MAX (1u << 16)
#define PACE_SLACK_NS  2000

/* The pace of thread @tid, which launches at @now_ns; NULL: it has none, as there is no memory. */
static __always_inline struct launch_pace *pace_get(u32 tid, u64 now_ns)
{
	static const struct launch_pace none; /* not on the stack, of which there are 512 bytes */
	struct launch_pace *pace = bpf_map_lookup_elem(&launch_paces, &tid);

	if (pace)
		return pace;
	bpf_map_update_elem(&launch_paces, &tid, &none, BPF_NOEXIST);
	pace = bpf_map_lookup_elem(&launch_paces, &tid);
	if (pace)
		pace->since_ns = now_ns;
	return pace;
}

/* Whether this launch gets a stack. */
static __always_inline bool pace_wants(struct launch_pace *pace)
{
	if (!pace)
		return true;
	pace->launches++;
	if (pace->left > 1) {
		pace->left--;
		return false;
	}
	return true;
}

/* It got one, which was begun at @start_ns and is complete. */
static __always_inline void pace_pay(struct launch_pace *pace, u64 start_ns)
{
	u64 cost, gap, price, every;

	if (!pace)
		return;
	cost = bpf_ktime_get_ns() - start_ns;
	if (pace->cost_ns && cost > 2 * (u64)pace->cost_ns + PACE_SLACK_NS)
		cost = 2 * (u64)pace->cost_ns + PACE_SLACK_NS;
	if (cost > 1000000)
		cost = 1000000;
	gap = (start_ns - pace->since_ns) / (pace->launches ? pace->launches : 1);
	if (gap > 1000000000)
		gap = 1000000000;
	pace->cost_ns = pace->cost_ns ? (7 * (u64)pace->cost_ns + cost) / 8 : cost;
	pace->gap_ns = pace->gap_ns ? (3 * (u64)pace->gap_ns + gap) / 4 : gap;
	pace->since_ns = start_ns;
	pace->launches = 0;
	pace->left = 0;
	if (pace->paid_ns + PACE_SAVED_NS < start_ns)
		pace->paid_ns = start_ns - PACE_SAVED_NS;
	price = (u64)pace->cost_ns * launch_stack_price / 100;
	pace->paid_ns += cost * launch_stack_price / 100;
	if (pace->paid_ns <= start_ns)
		return;
	every = price / (pace->gap_ns + 1) + 1;
	/* What is owed is paid back within a second. */
	every += every * ((pace->paid_ns - start_ns) >> 20) / (PACE_SAVED_NS >> 20);
	if (every > PACE_EVERY_MAX)
		every = PACE_EVERY_MAX;
	pace->left = 1 + bpf_get_prandom_u32() % (2 * (u32)every - 1);
}
