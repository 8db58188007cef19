/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Process and thread ids as the recorder sees them. In the machine's own pid namespace these are the
 * kernel's; a recorder in a container has a namespace of its own, in which a task has another number,
 * or none when it is outside. Maps, events and the side-band all speak of the recorder's view.
 */
#pragma once

#include "bpf/kernel.h"

/* How deep the recorder's namespace is (0: the machine's own), and which it is there; found out by
 * ids_measure(), which the recorder runs once on itself. */
extern __u32 ids_level;
extern __u64 ids_namespace;

static __always_inline u32 ids_of(struct pid *pid)
{
	u32 level = ids_level;
	struct upid id = { 0 };
	const char *numbers = (const char *)pid + bpf_core_field_offset(struct pid, numbers);

	if (BPF_CORE_READ(pid, level) < level)
		return 0;
	bpf_probe_read_kernel(&id, sizeof(id), numbers + level * sizeof(id));
	return (u64)id.ns == ids_namespace ? id.nr : 0;
}

/* Process id in the upper half, thread id in the lower: 0 for what the recorder cannot see. */
static __always_inline u64 task_ids(struct task_struct *task)
{
	if (!ids_level)
		return (u64)BPF_CORE_READ(task, tgid) << 32 | (u32)BPF_CORE_READ(task, pid);
	return (u64)ids_of(BPF_CORE_READ(task, group_leader, thread_pid)) << 32 |
	       ids_of(BPF_CORE_READ(task, thread_pid));
}

static __always_inline u64 current_ids(void)
{
	if (!ids_level)
		return bpf_get_current_pid_tgid();
	return task_ids((struct task_struct *)bpf_get_current_task());
}
