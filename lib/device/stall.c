/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources: NVIDIA, "Kernel Profiling Guide", warp stall reasons; Intel's meanings of the fields in
 * drm/xe and of the names in Level Zero's metrics; AMD, rocprofiler-sdk's "Using PC sampling" and the CDNA3 ISA guide.
 */
#include "device/stall.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

static const struct {
	const char *reason, *meaning;
} meanings[] = {
	/* NVIDIA, without prefix and "_not_issued" */
	{ "selected", "issued: no stall" },
	{ "not_selected", "could issue, another warp was chosen: fewer warps would do as well" },
	{ "long_scoreboard",
	  "waits for global, local or texture memory; load earlier, reuse through shared memory, "
	  "coalesce" },
	{ "short_scoreboard",
	  "waits for shared memory or a special function; avoid bank conflicts, use fewer" },
	{ "wait", "waits a fixed latency of the instruction before; give it independent work" },
	{ "barrier",
	  "waits at a barrier for other warps of the block; balance them, use fewer barriers" },
	{ "membar", "waits for a memory fence; use fewer or narrower fences" },
	{ "branch_resolving", "waits for a branch to be decided; branch less" },
	{ "no_instructions", "waits for code to be fetched; shorten or unroll less" },
	{ "no_instruction", "waits for code to be fetched; shorten or unroll less" },
	{ "math_pipe_throttle",
	  "the arithmetic unit is full: it is well used, or use another one" },
	{ "mio_throttle", "the queue for shared memory and special functions is full; use fewer" },
	{ "lg_throttle",
	  "the queue for global and local memory is full; use fewer, wider accesses" },
	{ "tex_throttle", "the queue for textures is full; use fewer, wider fetches" },
	{ "imc_miss", "waits for a constant that is not cached; use the same constants in a warp" },
	{ "drain", "waits for stores before the end; store less at the end, and coalesced" },
	{ "dispatch_stall",
	  "the dispatcher held it back, often for a conflict of registers; the compiler's matter" },
	{ "sleeping", "sleeps, by its own nanosleep; wait for less, or otherwise" },
	{ "misc", "another reason of the hardware, which does not say more" },
	{ "warpgroup_arrive",
	  "waits for the warps of its group before a matrix operation; balance them" },
	{ "gmma", "waits for a matrix operation (wgmma); keep more of them in flight" },
	/* NVIDIA, CUPTI's activity interface (CUpti_ActivityPCSamplingStallReason) */
	{ "none", "issued: no stall" },
	{ "exec_dependency",
	  "waits for the result of an instruction before; give it independent work" },
	{ "memory_dependency",
	  "waits for memory; load earlier, reuse through shared memory, coalesce" },
	{ "texture", "the texture unit is full; use fewer, wider fetches" },
	{ "constant_memory_dependency",
	  "waits for a constant that is not cached; use the same constants in a warp" },
	{ "pipe_busy", "the arithmetic unit is full: it is well used, or use another one" },
	{ "memory_throttle", "too much memory traffic is under way; use fewer, wider accesses" },
	/* Intel, as the driver's fields are called, then as Level Zero calls them before "Stall" */
	{ "active", "issued: no stall" },
	{ "control", "waits for the branch unit; branch less" },
	{ "pipestall",
	  "was chosen, and the arithmetic pipe could not take it, often for a conflict of register "
	  "banks; mix kinds of instructions" },
	{ "send", "waits for the unit that sends messages to memory; send fewer, wider ones" },
	{ "dist_acc",
	  "waits for the result of an instruction just before; give it independent work" },
	{ "sbid",
	  "waits for the answer to a message (memory, sampler); load earlier, use caches or SLM" },
	{ "sync", "waits at a barrier or fence; balance the threads, use fewer" },
	{ "inst_fetch", "waits for code to be fetched; shorten or unroll less" },
	{ "other", "another reason of the hardware, which does not say more" },
	{ "tdr", "waits for an earlier pixel of the same place; kernels that compute do not" },
	{ "pipe",
	  "was chosen, and the arithmetic pipe could not take it, often for a conflict of register "
	  "banks; mix kinds of instructions" },
	{ "dist", "waits for the result of an instruction just before; give it independent work" },
	{ "instrfetch", "waits for code to be fetched; shorten or unroll less" },
	{ "psdep", "waits for an earlier pixel of the same place; kernels that compute do not" },
	/* AMD */
	{ "no_instruction_available", "waits for code to be fetched; shorten or unroll less" },
	{ "alu_dependency",
	  "waits for the result of an instruction just before; give it independent work" },
	{ "waitcnt", "waits for memory (s_waitcnt); load earlier, use LDS, coalesce" },
	{ "internal_instruction",
	  "an instruction that the hardware carries out itself; the compiler's matter" },
	{ "barrier_wait", "waits at a barrier for other waves; balance them, use fewer barriers" },
	{ "arbiter_not_win", "could issue, another wave was chosen: the unit is well used" },
	{ "arbiter_win_ex_stall", "was chosen, and the unit was full; use another one" },
	{ "other_wait", "another reason of the hardware, which does not say more" },
	{ "sleep_wait", "sleeps, by its own s_sleep; wait for less, or otherwise" },
};

static const char *const prefixes[] = {
	"smsp__pcsamp_warps_issue_stalled_",
	"smsp__pcsamp_sample_",
	"ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_",
	"stalled_",
	"stall:",
	"stall_",
};

const char *device_stall_meaning(const char *reason)
{
	/* Of NVIDIA's; of Level Zero's; of its metrics. */
	static const char *const suffixes[] = { "[Events]", "_not_issued", "Stall" };

	if (!strncasecmp(reason, "issued", 6))
		return "issued: no stall";
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		size_t size = strlen(prefixes[i]);
		if (!strncasecmp(reason, prefixes[i], size)) {
			reason += size;
			break;
		}
	}
	size_t size = strlen(reason);
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		size_t own = strlen(suffixes[i]);
		/* Not of "pipestall", which is a name of its own. */
		if (size > own && !strncmp(reason + size - own, suffixes[i], own))
			size -= own;
	}
	for (size_t i = 0; i < ARRAY_SIZE(meanings); i++) {
		if (strlen(meanings[i].reason) == size &&
		    !strncasecmp(meanings[i].reason, reason, size))
			return meanings[i].meaning;
	}
	return NULL;
}

/* The tokens that an instruction's "{...$N...}" names: bit N. @is_set: those it takes, else those it
 * waits for (".dst", ".src"). */
static uint32_t tokens(const char *text, bool is_set)
{
	uint32_t found = 0;
	const char *p = text ? strrchr(text, '{') : NULL;

	while (p && (p = strchr(p, '$'))) {
		unsigned n = 0, digits = 0;
		for (p++; *p >= '0' && *p <= '9' && digits < 2; p++, digits++)
			n = n * 10 + (unsigned)(*p - '0');
		bool is_wait = !strncmp(p, ".dst", 4) || !strncmp(p, ".src", 4);
		if (digits && n < 32 && is_wait != is_set)
			found |= 1u << n;
	}
	return found;
}

int64_t device_stall_source(struct device_object *o, size_t function, size_t index)
{
	struct device_place place;

	if (device_format(o) != DEVICE_ZEBIN)
		return -ENOENT;
	device_place_get(o, function, index, &place);
	uint32_t waits = tokens(place.text, false);
	for (size_t i = index; waits && i-- > 0;) {
		device_place_get(o, function, i, &place);
		if (tokens(place.text, true) & waits)
			return (int64_t)i;
	}
	return -ENOENT;
}
