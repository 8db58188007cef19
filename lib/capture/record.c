/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/record.h"

#include "base/cleanup.h"
#include "capture/field.h"

#include <assert.h>

/*
 * To add a field: append it to its record here and to the struct in record.h, and say in FORMAT.md
 * what it means. Old readers ignore it, and it reads as 0 from old files. Nothing is ever removed
 * or moved. What is mostly 0 stands last, because trailing zeros are not written.
 */
#define FIELD(rec, member, what)                                      \
	{                                                             \
		.name = #member, .kind = FIELD_##what,                \
		.offset = offsetof(struct record_##rec, member),      \
		.size = sizeof(((struct record_##rec *)NULL)->member) \
	}
#define FIELD_WORDS(rec, member, what, list)                                            \
	{                                                                               \
		.name = #member, .kind = FIELD_##what,                                  \
		.offset = offsetof(struct record_##rec, member),                        \
		.size = sizeof(((struct record_##rec *)NULL)->member), .words = (list), \
		.word_count = ARRAY_SIZE(list)                                          \
	}

/* A pointer and, beside it, `count`. */
#define FIELD_ARRAY(rec, member, what)                                                  \
	{                                                                               \
		.name = #member, .kind = FIELD_##what,                                  \
		.offset = offsetof(struct record_##rec, member), .size = sizeof(void *) \
	}

static const struct field header_fields[] = {
	FIELD(header, time_ns, TIME),       FIELD(header, realtime_ns, UNSIGNED),
	FIELD(header, tool, STRING),        FIELD(header, source, STRING),
	FIELD(header, host, STRING),        FIELD(header, kernel, STRING),
	FIELD(header, arch, STRING),        FIELD(header, command, STRING),
	FIELD(header, clock, STRING),       FIELD(header, event, STRING),
	FIELD(header, frequency, UNSIGNED),
};

static const struct field info_fields[] = {
	FIELD(info, key, STRING),
	FIELD(info, value, STRING),
};

static const struct field clock_fields[] = {
	FIELD(clock, time_ns, TIME),         FIELD(clock, realtime_ns, UNSIGNED),
	FIELD(clock, boottime_ns, UNSIGNED), FIELD(clock, device, DEVICE),
	FIELD(clock, device_ns, UNSIGNED),
};

static const struct field string_fields[] = {
	FIELD(string, id, ID),
	FIELD(string, text, BYTES),
};

static const char *const object_kinds[] = {
	[OBJECT_ELF] = "elf",       [OBJECT_KERNEL] = "kernel",   [OBJECT_VDSO] = "vdso",
	[OBJECT_ANON] = "anon",     [OBJECT_PYTHON] = "python",   [OBJECT_NATIVE] = "native",
	[OBJECT_CXX] = "cxx",       [OBJECT_SCOPE] = "scope",     [OBJECT_OP] = "op",
	[OBJECT_MODULE] = "module", [OBJECT_MISSING] = "missing", [OBJECT_FRAME] = "frame",
};
static const char *const object_flags[] = { "holds-device-code", "deleted", "line-is-def",
					    "is-profiler" };

static const struct field object_fields[] = {
	FIELD(object, id, ID),
	FIELD_WORDS(object, kind, ENUM, object_kinds),
	FIELD_WORDS(object, flags, FLAGS, object_flags),
	FIELD(object, name, STRING),
	FIELD(object, path, STRING),
	FIELD(object, process, PROCESS),
	FIELD(object, line, UNSIGNED),
	FIELD(object, size, UNSIGNED),
	FIELD(object, generation, UNSIGNED),
	FIELD(object, code_object, CODE_OBJECT),
	FIELD(object, build_id, BYTES),
	FIELD(object, frame_kind, UNSIGNED),
};

static const struct field process_fields[] = {
	FIELD(process, id, ID),
	FIELD(process, pid, UNSIGNED),
	FIELD(process, ns_pid, UNSIGNED),
	FIELD(process, parent, PROCESS),
	FIELD(process, start_ns, UNSIGNED),
	FIELD(process, comm, STRING),
	FIELD(process, command, STRING),
	FIELD(process, cgroup, STRING),
	FIELD(process, rank, UNSIGNED),
	FIELD(process, host, STRING),
	FIELD(process, run, UNSIGNED),
};

static const struct field thread_fields[] = {
	FIELD(thread, id, ID),
	FIELD(thread, process, PROCESS),
	FIELD(thread, tid, UNSIGNED),
	FIELD(thread, name, STRING),
};

static const char *const stack_flags[] = { "rooted",  "by-table",    "by-copy",
					   "by-scan", "python-late", "not-taken" };

static const struct field stack_fields[] = {
	FIELD(stack, id, ID),
	FIELD_WORDS(stack, flags, STACK_FLAGS, stack_flags),
	FIELD_ARRAY(stack, frames, FRAMES),
};

static const struct field symbol_fields[] = {
	FIELD(symbol, object, OBJECT), FIELD(symbol, offset, HEX),        FIELD(symbol, start, HEX),
	FIELD(symbol, size, UNSIGNED), FIELD_ARRAY(symbol, lines, LINES),
};

static const char *const cpu_sample_flags[] = { "in-kernel", "span" };

static const struct field cpu_sample_fields[] = {
	FIELD(cpu_sample, time_ns, TIME),
	FIELD(cpu_sample, thread, THREAD),
	FIELD(cpu_sample, stack, STACK),
	FIELD(cpu_sample, cpu, UNSIGNED),
	FIELD(cpu_sample, weight, UNSIGNED),
	FIELD_WORDS(cpu_sample, flags, FLAGS, cpu_sample_flags),
	FIELD(cpu_sample, event, STRING),
};

static const struct field blocked_fields[] = {
	FIELD(blocked, time_ns, TIME),   FIELD(blocked, duration_ns, UNSIGNED),
	FIELD(blocked, thread, THREAD),  FIELD(blocked, stack, STACK),
	FIELD(blocked, state, UNSIGNED), FIELD(blocked, others_ns, UNSIGNED),
};

static const struct field device_fields[] = {
	FIELD(device, id, ID),
	FIELD(device, index, UNSIGNED),
	FIELD(device, name, STRING),
	FIELD(device, runtime, STRING),
	FIELD(device, vendor, STRING),
	FIELD(device, units, UNSIGNED),
	FIELD(device, memory_bytes, UNSIGNED),
	FIELD(device, process, PROCESS),
};

static const struct field queue_fields[] = {
	FIELD(queue, id, ID),      FIELD(queue, device, DEVICE), FIELD(queue, process, PROCESS),
	FIELD(queue, handle, HEX), FIELD(queue, name, STRING),
};

static const char *const code_object_kinds[] = {
	[CODE_OBJECT_POCL] = "pocl",   [CODE_OBJECT_ZEBIN] = "zebin",
	[CODE_OBJECT_CUBIN] = "cubin", [CODE_OBJECT_AMDGPU] = "amdgpu",
	[CODE_OBJECT_SPIRV] = "spirv", [CODE_OBJECT_SOURCE] = "source",
};

static const struct field code_object_fields[] = {
	FIELD(code_object, id, ID),
	FIELD_WORDS(code_object, kind, ENUM, code_object_kinds),
	FIELD(code_object, process, PROCESS),
	FIELD(code_object, device, DEVICE),
	FIELD(code_object, name, STRING),
	FIELD(code_object, load_address, HEX),
	FIELD(code_object, total_bytes, UNSIGNED),
	FIELD(code_object, part_offset, UNSIGNED),
	FIELD(code_object, part, BYTES),
};

static const struct field kernel_fields[] = {
	FIELD(kernel, id, ID),
	FIELD(kernel, process, PROCESS),
	FIELD(kernel, code_object, CODE_OBJECT),
	FIELD(kernel, name, STRING),
	FIELD(kernel, offset, HEX),
	FIELD(kernel, size, UNSIGNED),
	FIELD(kernel, handle, HEX),
	FIELD(kernel, program, HEX),
	FIELD(kernel, metadata, STRING),
};

static const char *const launch_kinds[] = {
	[LAUNCH_KERNEL] = "kernel",         [LAUNCH_COPY] = "copy",   [LAUNCH_FILL] = "fill",
	[LAUNCH_COLLECTIVE] = "collective", [LAUNCH_GRAPH] = "graph", [LAUNCH_OTHER] = "other",
};
static const char *const launch_flags[] = { "before-window", "replay", "at-capture", "backward",
					    "captured" };

static const struct field launch_fields[] = {
	FIELD(launch, time_ns, TIME),
	FIELD(launch, duration_ns, UNSIGNED),
	FIELD(launch, thread, THREAD),
	FIELD(launch, stack, STACK),
	FIELD_WORDS(launch, kind, ENUM, launch_kinds),
	FIELD(launch, kernel, KERNEL),
	FIELD(launch, queue, QUEUE),
	FIELD(launch, correlation, CORRELATION),
	FIELD(launch, grid, TRIPLE),
	FIELD(launch, block, TRIPLE),
	FIELD_WORDS(launch, flags, FLAGS, launch_flags),
	FIELD(launch, name, STRING),
	FIELD(launch, metadata, STRING),
	FIELD(launch, flops, UNSIGNED),
	FIELD(launch, bytes, UNSIGNED),
	FIELD(launch, count, UNSIGNED),
	FIELD(launch, graph, UNSIGNED),
};

static const struct field dispatch_fields[] = {
	FIELD(dispatch, correlation, CORRELATION),
	FIELD(dispatch, device, DEVICE),
	FIELD(dispatch, queue, QUEUE),
	FIELD_WORDS(dispatch, kind, ENUM, launch_kinds),
	FIELD(dispatch, kernel, KERNEL),
	FIELD(dispatch, start_ns, TIME),
	FIELD(dispatch, end_ns, TIME),
	FIELD(dispatch, name, STRING),
	FIELD(dispatch, metadata, STRING),
	FIELD(dispatch, count, UNSIGNED),
	FIELD(dispatch, captured, CORRELATION),
};

static const struct field pc_sample_fields[] = {
	FIELD(pc_sample, time_ns, TIME),
	FIELD(pc_sample, interval_ns, UNSIGNED),
	FIELD(pc_sample, device, DEVICE),
	FIELD(pc_sample, kernel, KERNEL),
	FIELD(pc_sample, code_object, CODE_OBJECT),
	FIELD(pc_sample, offset, HEX),
	FIELD(pc_sample, reason, STRING),
	FIELD(pc_sample, count, UNSIGNED),
	FIELD(pc_sample, correlation, CORRELATION),
	FIELD(pc_sample, thread, THREAD),
	FIELD(pc_sample, function, STRING),
	FIELD(pc_sample, file, STRING),
	FIELD(pc_sample, line, UNSIGNED),
};

static const struct field copy_fields[] = {
	FIELD(copy, correlation, CORRELATION),
	FIELD(copy, device, DEVICE),
	FIELD(copy, queue, QUEUE),
	FIELD(copy, name, STRING),
	FIELD_WORDS(copy, kind, ENUM, launch_kinds),
	FIELD(copy, bytes, UNSIGNED),
	FIELD(copy, start_ns, TIME),
	FIELD(copy, end_ns, TIME),
	FIELD(copy, captured, CORRELATION),
};

static const struct field sync_fields[] = {
	FIELD(sync, time_ns, TIME),  FIELD(sync, duration_ns, UNSIGNED),
	FIELD(sync, thread, THREAD), FIELD(sync, stack, STACK),
	FIELD(sync, name, STRING),   FIELD(sync, device, DEVICE),
	FIELD(sync, queue, QUEUE),   FIELD(sync, correlation, CORRELATION),
};

static const char *const mark_kinds[] = {
	[MARK_PUSH] = "push",       [MARK_POP] = "pop",       [MARK_STATE] = "state",
	[MARK_INSTANT] = "instant", [MARK_METRIC] = "metric", [MARK_SPAN] = "span",
};

static const struct field mark_fields[] = {
	FIELD(mark, time_ns, TIME),
	FIELD(mark, thread, THREAD),
	FIELD_WORDS(mark, kind, ENUM, mark_kinds),
	FIELD(mark, name, STRING),
	FIELD(mark, duration_ns, UNSIGNED),
	FIELD(mark, iteration, UNSIGNED),
	FIELD(mark, metadata, STRING),
	FIELD(mark, value, F64),
};

static const struct field counter_fields[] = {
	FIELD(counter, time_ns, TIME),    FIELD(counter, device, DEVICE),
	FIELD(counter, process, PROCESS), FIELD(counter, name, STRING),
	FIELD(counter, unit, STRING),     FIELD(counter, value, F64),
	FIELD(counter, thread, THREAD),   FIELD(counter, address, HEX),
};

static const struct field lost_fields[] = {
	FIELD(lost, time_ns, TIME),
	FIELD(lost, what, STRING),
	FIELD(lost, why, STRING),
	FIELD(lost, count, UNSIGNED),
};

static const struct field end_fields[] = {
	FIELD(end, time_ns, TIME),
	FIELD(end, samples, UNSIGNED),
	FIELD(end, launches, UNSIGNED),
	FIELD(end, lost, UNSIGNED),
	FIELD(end, recorder_cpu_ns, UNSIGNED),
	FIELD(end, probe_ns, UNSIGNED),
	FIELD(end, exit_status, SIGNED),
};

static const char *const file_kinds[] = {
	[FILE_BINARY] = "binary",
	[FILE_DEBUG] = "debug",
	[FILE_SOURCE] = "source",
};

static const struct field file_fields[] = {
	FIELD_WORDS(file, kind, ENUM, file_kinds),
	FIELD(file, path, STRING),
	FIELD(file, object, OBJECT),
	FIELD(file, total_bytes, UNSIGNED),
	FIELD(file, part_offset, UNSIGNED),
	FIELD(file, part, BYTES),
};

/* The size of an array that cannot be: compilation fails where a type has too many fields. */
#define FIELD_COUNT(list) \
	(ARRAY_SIZE(list) + 0 * sizeof(char[ARRAY_SIZE(list) <= RECORD_FIELDS_MAX ? 1 : -1]))
#define LAYOUT(type, rec)                                                   \
	[RECORD_##type] = { #type, rec##_fields, FIELD_COUNT(rec##_fields), \
			    sizeof(struct record_##rec) }

static const struct record_layout layouts[] = {
	LAYOUT(HEADER, header),     LAYOUT(INFO, info),
	LAYOUT(CLOCK, clock),       LAYOUT(STRING, string),
	LAYOUT(OBJECT, object),     LAYOUT(PROCESS, process),
	LAYOUT(THREAD, thread),     LAYOUT(STACK, stack),
	LAYOUT(SYMBOL, symbol),     LAYOUT(CPU_SAMPLE, cpu_sample),
	LAYOUT(BLOCKED, blocked),   LAYOUT(DEVICE, device),
	LAYOUT(QUEUE, queue),       LAYOUT(CODE_OBJECT, code_object),
	LAYOUT(KERNEL, kernel),     LAYOUT(LAUNCH, launch),
	LAYOUT(DISPATCH, dispatch), LAYOUT(PC_SAMPLE, pc_sample),
	LAYOUT(COPY, copy),         LAYOUT(SYNC, sync),
	LAYOUT(MARK, mark),         LAYOUT(COUNTER, counter),
	LAYOUT(LOST, lost),         LAYOUT(END, end),
	LAYOUT(FILE, file),
};
static_assert(ARRAY_SIZE(layouts) == RECORD_TYPE_COUNT, "a record type without a layout");

const struct record_layout *record_layout(unsigned type)
{
	return type < ARRAY_SIZE(layouts) && layouts[type].fields ? &layouts[type] : NULL;
}

const char *stack_cause_name(uint32_t cause)
{
	static const char *const names[] = {
		[STACK_CAUSE_NONE] = "",
		[STACK_CAUSE_FRAME_POINTER] = "frame-pointer",
		[STACK_CAUSE_NO_TABLE] = "no-table",
		[STACK_CAUSE_JIT] = "jit",
		[STACK_CAUSE_UNSUPPORTED] = "unsupported",
		[STACK_CAUSE_UNREADABLE] = "unreadable",
		[STACK_CAUSE_TOO_DEEP] = "too-deep",
		[STACK_CAUSE_NO_STACK] = "no-stack",
		[STACK_CAUSE_SIGNAL_STACK] = "signal-stack",
	};
	static_assert(ARRAY_SIZE(names) == STACK_CAUSE_COUNT, "a cause without a name");
	return cause < ARRAY_SIZE(names) ? names[cause] : NULL;
}
