/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The one definition of what maps.bpf.h and launch.bpf.h declare and explain. */
#include "bpf/maps.bpf.h"
#include "bpf/launch.bpf.h"
#include "bpf/pace.bpf.h"

struct events_map events SEC(".maps");
struct targets_map targets SEC(".maps");
struct target_threads_map target_threads SEC(".maps");
struct losses_map losses SEC(".maps");
struct costs_map costs SEC(".maps");
struct slots_map slots SEC(".maps");
struct unwind_processes_map unwind_processes SEC(".maps");
struct unwind_changes_map unwind_changes SEC(".maps");
struct python_processes_map python_processes SEC(".maps");
struct python_layouts_map python_layouts SEC(".maps");
struct blocked_threads_map blocked_threads SEC(".maps");
struct probe_programs_map probe_programs SEC(".maps");
struct probe_calls_map probe_calls SEC(".maps");
struct launch_paces_map launch_paces SEC(".maps");

const volatile __u64 wakeup_bytes = 4 << 20;
const volatile __u32 target_mode = TARGET_MODE_LISTED;
const volatile __u64 target_cgroup;
const volatile __u32 target_level;
const volatile __u32 target_by_thread;
const volatile __u32 stack_limit = 127;
const volatile __u32 stack_mode = STACK_MODE_FP;
const volatile __u32 launch_stack_price = 10000 / 5;

__u32 ids_level;
__u64 ids_namespace;

__noinline int slot_take(void)
{
	u32 first = bpf_get_smp_processor_id() * SLOTS_PER_CPU;

	for (u32 i = 0; i < SLOTS_PER_CPU; i++) {
		u32 index = first + i;
		struct slot *slot = bpf_map_lookup_elem(&slots, &index);
		if (slot && __sync_val_compare_and_swap(&slot->busy, 0, 1) == 0)
			return index;
	}
	return -1;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
