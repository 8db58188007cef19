/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The maps that all programs share, and the only ways to use them: is_target(), slot_claim(),
 * event_begin(), event_submit(). Defined in maps.bpf.c; the objects are linked into one.
 */
#pragma once

#include "bpf/kernel.h"

#include "bpf/events.h"
#include "bpf/ids.bpf.h"
#include "bpf/python.bpf.h"
#include "bpf/unwind.bpf.h"
#include "python/walk.h"

/*
 * Ring of events, written by all programs, read by lib/collect/ring.c every 50 ms. 16 MiB holds
 * 70 ms of a million launches a second with 25 frames each; the recorder may set another size.
 */
struct events_map {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20);
};

/*
 * Process id -> enum target_flag: whom we record. Written by lib/collect/target.c before the start
 * and by process.bpf.c afterwards; read by every program first. 32,768 is the kernel's default
 * pid_max: more processes than that cannot be alive at once without being configured for.
 */
struct targets_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, __u32);
	__type(value, __u32);
};

/* enum loss -> events lost; written by event_submit() and its callers, read once a second. */
struct losses_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LOSS_COUNT);
	__type(key, __u32);
	__type(value, __u64);
};

/* enum cost -> how often and how long programs ran; read at the end. */
struct costs_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COST_COUNT);
	__type(key, __u32);
	__type(value, struct cost_total);
};

/*
 * Where a program builds its event before it goes to the ring, as the length is known only then.
 *
 * A probe's program can be preempted by another task that hits a probe on the same CPU, and any
 * program can be interrupted by the sampler. So there are SLOTS_PER_CPU slots for each CPU, and a
 * program owns the one whose `busy` it changed from 0 to 1. The recorder sets max_entries to
 * SLOTS_PER_CPU times the number of possible CPUs.
 */
struct slot {
	__u32 busy;
	__u32 number; /* in the map; set when it is claimed */
	struct unwind_walk walk;
	/* Of python.bpf.c. Here, as the verifier would follow what it knows of numbers on the stack. */
	struct slot_python {
		struct python_thread thread;
		struct python_search search;
		uint64_t words[PYTHON_WORDS]; /* what a frame is read into */
		uint64_t frame;               /* the next one */
		u32 count;                    /* entries written */
		u32 flags;                    /* enum event_python_flag */
	} python;
	__u64 registers[32]; /* launch.bpf.c */
	/* The way through a text, of launch.bpf.c; here for the same reason. */
	struct slot_text {
		u64 address; /* of the next byte of the string that is being read; 0: open the next one */
		u64 left;    /* bytes left of it, where @is_counted; else it ends with a NUL */
		u32 string;  /* number of the next one */
		u32 strings; /* how many there are */
		u32 filled;  /* bytes in the event */
		u32 total;   /* bytes of the text so far */
		u32 is_counted;
		u32 flags; /* enum event_probe_flag */
	} text;
	__u64 words[EVENT_MAX_BYTES / 8];
};
struct slots_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SLOTS_PER_CPU);
	__type(key, __u32);
	__type(value, struct slot);
};

/* A thread that waits or has waited. */
struct blocked_thread {
	u64 start_ns;  /* since when; 0: it runs */
	u64 others_ns; /* it has waited without a stack */
	u64 due_ns;    /* as blocked.bpf.c has it */
	u32 state;
	u32 has_stack;
};

/*
 * Thread id as the kernel has it -> its waits. Written by blocked.bpf.c, removed by process.bpf.c
 * when the thread ends. As many as `targets` has processes; preallocated, as the scheduler is no
 * place to ask for memory.
 */
struct blocked_threads_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, __u32);
	__type(value, struct blocked_thread);
};

/* Thread id -> 1, of the targets. Written by lib/collect/target.c. */
struct target_threads_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u32);
};

extern struct target_threads_map target_threads SEC(".maps");
extern struct blocked_threads_map blocked_threads SEC(".maps");
extern struct events_map events SEC(".maps");
extern struct targets_map targets SEC(".maps");
extern struct losses_map losses SEC(".maps");
extern struct costs_map costs SEC(".maps");
extern struct slots_map slots SEC(".maps");

/* Wake the reader from this fill level on: a quarter of the ring. Set by the recorder. */
extern const volatile __u64 wakeup_bytes;

/* enum target_mode; of a cgroup, which and how deep; whether only some threads. Set by the recorder. */
extern const volatile __u32 target_mode;
extern const volatile __u64 target_cgroup;
extern const volatile __u32 target_level;
extern const volatile __u32 target_by_thread;

/* Is the current task's process, which is number @pid, one although it is not listed? Who is outside of
 * the recorder's own namespace has no number there, and no name, and is none. */
static __always_inline bool is_unlisted_target(u32 pid)
{
	if (!pid)
		return false;
	if (target_mode == TARGET_MODE_CGROUP)
		return bpf_get_current_ancestor_cgroup_id(target_level) == target_cgroup;
	return target_mode == TARGET_MODE_ALL;
}

/* Is the current task, which @ids are of, to be recorded now? */
static __always_inline bool is_target(u64 ids)
{
	u32 pid = ids >> 32, tid = (u32)ids;
	u32 *flags;

	if (!pid)
		return false;
	if (target_mode != TARGET_MODE_LISTED)
		return is_unlisted_target(pid);
	flags = bpf_map_lookup_elem(&targets, &pid);
	if (!flags || *flags & TARGET_STARTING)
		return false;
	return !target_by_thread || bpf_map_lookup_elem(&target_threads, &tid);
}

/* The same; it uses an accelerator's runtime from now on. */
static __always_inline bool is_launching_target(u64 ids)
{
	u32 pid = ids >> 32, launches = TARGET_LAUNCHES;
	u32 *flags;

	if (!is_target(ids))
		return false;
	flags = bpf_map_lookup_elem(&targets, &pid);
	if (!flags)
		bpf_map_update_elem(&targets, &pid, &launches, BPF_ANY);
	else if (!(*flags & TARGET_LAUNCHES))
		*flags |= TARGET_LAUNCHES;
	return true;
}

static __always_inline void loss_add(u32 loss)
{
	u64 *count = bpf_map_lookup_elem(&losses, &loss);
	/* A sample can interrupt a probe between load and store, hence atomic. */
	if (count)
		__sync_fetch_and_add(count, 1);
}

static __always_inline void cost_add(u32 cost, u64 start_ns)
{
	struct cost_total *total = bpf_map_lookup_elem(&costs, &cost);
	if (!total)
		return;
	__sync_fetch_and_add(&total->runs, 1);
	__sync_fetch_and_add(&total->time_ns, bpf_ktime_get_ns() - start_ns);
}

/* The same for programs so short that the second look at the clock shows: one run in 16 counts for
 * all of them. */
static __always_inline void cost_add_sampled(u32 cost, u64 start_ns)
{
	struct cost_total *total;

	if (bpf_get_prandom_u32() & 15)
		return;
	total = bpf_map_lookup_elem(&costs, &cost);
	if (!total)
		return;
	__sync_fetch_and_add(&total->runs, 16);
	__sync_fetch_and_add(&total->time_ns, 16 * (bpf_ktime_get_ns() - start_ns));
}

/* The number of a slot of this CPU that is ours from now on, or negative. In maps.bpf.c: verified once
 * and not once for each way out of its loop with all that follows. */
int slot_take(void);

/* A slot of this CPU that is ours until slot_free(), or NULL. */
static __always_inline struct slot *slot_claim(void)
{
	u32 index = slot_take();
	struct slot *slot = bpf_map_lookup_elem(&slots, &index);

	if (slot)
		slot->number = index;
	return slot;
}

static __always_inline void slot_free(struct slot *slot)
{
	__sync_lock_test_and_set(&slot->busy, 0);
}

/* Fill in the header of an event of the current thread; its size comes with event_submit(). */
static __always_inline void event_begin(struct event_header *header, u16 type)
{
	u64 id = current_ids();

	header->type = type;
	header->stack_offset = 0;
	header->size = 0;
	header->time_ns = bpf_ktime_get_ns();
	header->pid = id >> 32;
	header->tid = (u32)id;
	header->cpu = bpf_get_smp_processor_id();
	header->reserved = 0;
}

/*
 * Copy the event to the ring. The reader drains on a timer: waking it for each event cost up to
 * 260 ms of CPU time per 12,000 samples instead of 3.5, so only a filling ring wakes it.
 */
static __always_inline void event_submit(struct event_header *header, u32 size, u32 loss)
{
	u64 flags = BPF_RB_NO_WAKEUP;

	header->size = size;
	if (bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) >= wakeup_bytes)
		flags = BPF_RB_FORCE_WAKEUP;
	if (bpf_ringbuf_output(&events, header, size, flags) < 0)
		loss_add(loss);
}

/*
 * Walk the user stack of the current thread, whose registers are in walk.regs of the slot with this
 * @number, into the struct event_stack at byte @at of the slot's words, where the event's header is
 * first. Where the tables give out, what is needed to go on is sent ahead as an EVENT_COPY. By number,
 * as the verifier before Linux 6.2 would not know a pointer for one into a map. In unwind.bpf.c.
 */
int unwind_user(__u32 number, __u32 at);

/*
 * Append the Python frames of the current thread to the event in the slot with this @number, which has
 * @size bytes and its struct event_stack at byte @at. Gives its size then. In python.bpf.c.
 */
int python_append(__u32 number, __u32 at, __u32 size);
