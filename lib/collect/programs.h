/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our BPF programs in the kernel: loaded, sized and attached to what is there once per machine
 * (fork, exec, exit). Knows the maps; not who the targets are, nor what events mean.
 */
#pragma once

#include "base/cleanup.h"
#include "base/err.h"

#include "bpf/events.h"

#include <stdbool.h>
#include <stdint.h>

struct recorder_bpf; /* the skeleton, recorder.skel.h */

/* Which processes are targets besides those that are added; all-zero: none. */
struct programs_targets {
	enum target_mode mode;
	uint64_t cgroup; /* inode number of its folder */
	uint32_t level;  /* folders below the root of all control groups */
	bool by_thread;  /* only threads added, of the processes added */
};

/* Half of all that there is to load, which a process recorded may never need. */
enum programs_part {
	PROGRAMS_LAUNCHES, /* that are probed */
	PROGRAMS_WAITS,    /* told from programs_follow_waits() on */
};
#define PROGRAMS_PARTS 2

struct programs_options {
	struct programs_targets targets;
	uint64_t ring_bytes; /* 0: PROGRAMS_RING_BYTES; rounded up to what the kernel takes */
	enum stack_mode stacks;
	enum blocked_mode blocked;
	bool by_tracepoint; /* samples are hits of one, not only of perf events */
	bool by_tracepoint_only;
	uint32_t tracepoint_period;   /* 0: 1 */
	uint32_t max_stack;           /* user frames by tables; 0: EVENT_USER_FRAMES */
	uint32_t stack_share;         /* percent of a thread's time for stacks of launches; 0: 5 */
	bool single_uprobes;          /* probe as kernels before 6.6 do, for tests */
	bool is_late[PROGRAMS_PARTS]; /* left until programs_load() */
};
#define PROGRAMS_RING_BYTES (16u << 20)

/* All-zero: they are not loaded, and there is nothing to be had of them; no target is any of theirs. */
struct programs {
	struct recorder_bpf *skeleton;
	struct recorder_bpf *part[PROGRAMS_PARTS]; /* with the same maps; NULL: yet to be loaded */
	bool single_uprobes;
};

/* Loads the programs and follows processes; no sample or probe is armed yet. */
int programs_open(struct programs *ret, const struct programs_options *opt, struct err *err);
void programs_close(struct programs *p);
DEFINE_CLEANUP_EMBEDDED(programs_close, struct programs)

/* Load what was left, if it was. */
int programs_load(struct programs *p, enum programs_part part, struct err *err);

/* From here on waits are told; once is enough. */
int programs_follow_waits(struct programs *p);

/* Make process @pid a target. -E2BIG: more than the kernel's map holds. */
int programs_add_target(const struct programs *p, uint32_t pid, uint32_t flags, struct err *err);
int programs_add_thread(const struct programs *p, uint32_t tid, struct err *err);
/* It is no error when it was none. */
void programs_remove_target(const struct programs *p, uint32_t pid);

/* Totals since the start over all CPUs. */
int programs_losses(const struct programs *p, uint64_t ret[LOSS_COUNT]);
int programs_costs(const struct programs *p, struct cost_total ret[COST_COUNT]);
