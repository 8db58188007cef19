/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_capture CASE FILE: the captures of the golden tests. What a case contains is written out
 * here, so that the expected texts beside it can be checked by hand against this file.
 */
#include "base/cleanup.h"
#include "base/io.h"
#include "capture/field.h"
#include "capture/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(struct capture_writer *w, int rc, const char *what)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "%s: %s %s\n", what, strerror(-rc), capture_writer_error(w));
	exit(1);
}

static uint32_t string(struct capture_writer *w, const char *text)
{
	uint32_t id;
	check(w, capture_writer_string(w, text, &id), text);
	return id;
}

static uint32_t object(struct capture_writer *w, const struct record_object *o)
{
	uint32_t id;
	check(w, capture_writer_object(w, o, &id), "object");
	return id;
}

static void put(struct capture_writer *w, const struct record *rec)
{
	check(w, capture_writer_put(w, rec), "put");
}
#define PUT(w, record_type, member, ...) \
	put(w, &(struct record){ .type = RECORD_##record_type, .member = { __VA_ARGS__ } })

/* A function's name and line for one frame. */
static void symbol(struct capture_writer *w, uint32_t object_id, uint64_t offset, uint64_t start,
		   const char *name, const char *file, uint32_t line)
{
	struct record_symbol_line at = { .name = string(w, name),
					 .file = string(w, file),
					 .line = line };
	PUT(w, SYMBOL, symbol, .object = object_id, .offset = offset, .start = start, .size = 0x80,
	    .count = 1, .lines = &at);
}

enum {
	PROCESS = 1,
	THREAD = 1,
	DEVICE = 1,
	QUEUE = 1,
	KERNEL = 1,
	CORRELATION = 77,
};
#define SECONDS(s) ((uint64_t)((s)*1000000000.0 + 0.5))

static void begin(struct capture_writer *w)
{
	PUT(w, HEADER, header, .time_ns = SECONDS(100), .realtime_ns = SECONDS(1700000000),
	    .tool = string(w, "accel-prof 0.1.0"), .source = string(w, "record"),
	    .host = string(w, "golden"), .kernel = string(w, "6.1.0"), .arch = string(w, "x86_64"),
	    .command = string(w, "accel-prof record -- python3 mul.py"),
	    .clock = string(w, "CLOCK_MONOTONIC"), .event = string(w, "cpu-clock"),
	    .frequency = 99);
	PUT(w, INFO, info, .key = string(w, "missing.instruction"),
	    .value = string(w, "none \"here\""));
	PUT(w, CLOCK, clock, .time_ns = SECONDS(100), .realtime_ns = SECONDS(1700000000),
	    .boottime_ns = SECONDS(100));
	PUT(w, PROCESS, process, .id = PROCESS, .pid = 4711, .ns_pid = 7, .start_ns = SECONDS(90),
	    .comm = string(w, "python3"), .command = string(w, "python3 mul.py"));
	PUT(w, THREAD, thread, .id = THREAD, .process = PROCESS, .tid = 4711,
	    .name = string(w, "python3"));
	PUT(w, DEVICE, device, .id = DEVICE, .name = string(w, "golden device"),
	    .runtime = string(w, "opencl"), .vendor = string(w, "none"), .units = 4,
	    .memory_bytes = 1ull << 30);
	PUT(w, QUEUE, queue, .id = QUEUE, .device = DEVICE, .process = PROCESS, .handle = 0x5000);
}

/* One CPU sample in the OS kernel, below native code, below Python; and one launch from the same
 * place with its time on the device and one sample in it. */
static void one_sample(struct capture_writer *w)
{
	static const uint8_t build_id[] = { 0xde, 0xad, 0xbe, 0xef };

	begin(w);
	uint32_t os = object(
		w, &(struct record_object){ .kind = OBJECT_KERNEL, .name = string(w, "[kernel]") });
	uint32_t lib =
		object(w, &(struct record_object){ .kind = OBJECT_ELF,
						   .name = string(w, "libgolden.so"),
						   .path = string(w, "/usr/lib/libgolden.so"),
						   .size = 12345,
						   .build_id = { build_id, sizeof(build_id) } });
	uint32_t python = object(w, &(struct record_object){ .kind = OBJECT_PYTHON,
							     .name = string(w, "main"),
							     .path = string(w, "/app/mul.py"),
							     .process = PROCESS,
							     .line = 3 });
	const struct record_frame frames[] = {
		{ os, 0xffffffff81000010 },
		{ lib, 0x1234 },
		{ python, 5 },
	};
	uint32_t sample_stack, launch_stack;
	check(w, capture_writer_stack(w, frames, 3, STACK_ROOTED | STACK_BY_TABLE, &sample_stack),
	      "stack");
	PUT(w, CPU_SAMPLE, cpu_sample, .time_ns = SECONDS(100.25), .thread = THREAD,
	    .stack = sample_stack, .cpu = 2, .flags = CPU_SAMPLE_IN_KERNEL, .weight = 1);
	PUT(w, CPU_SAMPLE, cpu_sample, .time_ns = SECONDS(100.375), .thread = THREAD,
	    .stack = sample_stack, .cpu = 1, .weight = 1, .event = string(w, "page-faults"));
	check(w,
	      capture_writer_stack(w, frames + 1, 2, STACK_ROOTED | STACK_BY_TABLE, &launch_stack),
	      "stack");

	uint32_t kernel_name = string(w, "multiply");
	PUT(w, CODE_OBJECT, code_object, .id = 1, .kind = CODE_OBJECT_SOURCE, .process = PROCESS,
	    .name = string(w, "multiply.cl"), .total_bytes = 17,
	    .part = { "kernel void mul()", 17 });
	PUT(w, KERNEL, kernel, .id = KERNEL, .process = PROCESS, .code_object = 1,
	    .name = kernel_name, .size = 0x40, .handle = 0x6000);
	PUT(w, LAUNCH, launch, .time_ns = SECONDS(100.5), .duration_ns = 10000, .thread = THREAD,
	    .stack = launch_stack, .kind = LAUNCH_KERNEL, .kernel = KERNEL, .queue = QUEUE,
	    .correlation = CORRELATION, .grid = { 4, 1, 1 }, .block = { 64, 1, 1 });
	PUT(w, DISPATCH, dispatch, .correlation = CORRELATION, .device = DEVICE, .queue = QUEUE,
	    .kernel = KERNEL, .kind = LAUNCH_KERNEL, .start_ns = SECONDS(100.5) + 20000,
	    .end_ns = SECONDS(100.5) + 60000);
	PUT(w, PC_SAMPLE, pc_sample, .time_ns = SECONDS(100.5) + 40000, .device = DEVICE,
	    .kernel = KERNEL, .offset = 0x10, .reason = string(w, "sbid"), .count = 3,
	    .correlation = CORRELATION, .function = kernel_name, .file = string(w, "multiply.cl"),
	    .line = 7);
	PUT(w, COUNTER, counter, .time_ns = SECONDS(100.75), .device = DEVICE,
	    .name = string(w, "power"), .unit = string(w, "W"), .value = 75.1);

	symbol(w, os, 0xffffffff81000010, 0xffffffff81000000, "do_syscall_64", "", 0);
	symbol(w, lib, 0x1234, 0x1200, "_ZN6golden3mulEv", "/src/golden.cc", 42);
	PUT(w, LOST, lost, .time_ns = SECONDS(101), .what = string(w, "cpu-sample"),
	    .why = string(w, "ring full"), .count = 1);
	PUT(w, END, end, .time_ns = SECONDS(101), .samples = 1, .launches = 1, .lost = 1,
	    .recorder_cpu_ns = 1000000, .exit_status = -1);
}

/* Field number n (from 1) of type t is 100 * t + n; what refers to something refers to number 1. */
static void fill_field(struct record *rec, const struct field *f, uint64_t value)
{
	static const struct record_symbol_line lines[] = { { 1, 1, 10 }, { 1, 0, 20 } };
	struct record_bytes bytes = { "\x7f"
				      "ELF",
				      4 };
	uint8_t *at = (uint8_t *)record_body(rec) + f->offset;
	uint32_t narrow = (uint32_t)value, triple[3] = { narrow, narrow + 1, narrow + 2 };
	double real = (double)value / 8;

	if (f->kind == FIELD_STRING || f->kind == FIELD_OBJECT || f->kind == FIELD_STACK)
		narrow = 1;
	if (f->kind == FIELD_ENUM)
		narrow = 2;
	if (f->kind == FIELD_FLAGS)
		narrow = 0x81;
	if (f->kind == FIELD_BYTES)
		memcpy(at, &bytes, sizeof(bytes));
	else if (f->kind == FIELD_TRIPLE)
		memcpy(at, triple, sizeof(triple));
	else if (f->kind == FIELD_F64)
		memcpy(at, &real, sizeof(real));
	else if (f->kind == FIELD_LINES) {
		rec->symbol.count = ARRAY_SIZE(lines);
		rec->symbol.lines = lines;
	} else if (f->size == sizeof(value))
		memcpy(at, &value, sizeof(value));
	else
		memcpy(at, &narrow, sizeof(narrow));
}

static void put_filled(struct capture_writer *w, unsigned type)
{
	const struct record_layout *layout = record_layout(type);
	struct record rec = { .type = type };
	for (size_t i = 0; i < layout->count; i++)
		fill_field(&rec, &layout->fields[i], 100 * type + i + 1);
	put(w, &rec);
}

/* Every field of every type, in chunks of six records. */
static void every_type(struct capture_writer *w)
{
	uint32_t id, text = string(w, "a \xe2\x80\xae\"text\"\n\xff");
	const struct record_object o = { .kind = OBJECT_ANON,
					 .flags = OBJECT_DELETED | OBJECT_LINE_IS_DEF,
					 .name = text,
					 .path = text,
					 .process = 1,
					 .line = 2,
					 .size = 3,
					 .generation = 4,
					 .code_object = 5,
					 .build_id = { "\1\2\3", 3 } };
	const struct record_frame frame = { object(w, &o), 0xabc };

	check(w,
	      capture_writer_stack(w, &frame, 1,
				   STACK_BY_SCAN | STACK_CAUSE_JIT << STACK_CAUSE_SHIFT, &id),
	      "stack");
	for (unsigned type = RECORD_HEADER; type < RECORD_TYPE_COUNT; type++) {
		if (type == RECORD_STRING || type == RECORD_OBJECT || type == RECORD_STACK ||
		    type == RECORD_END)
			continue;
		put_filled(w, type);
		if (type % 6 == 0)
			check(w, capture_writer_flush(w), "flush");
	}
	put_filled(w, RECORD_END);
}

static const char *variable(const char *name)
{
	const char *value = getenv(name);
	return value ? value : "";
}

/* What the environment names: a BINARY with its BUILD_ID in hexadecimal digits, where a sample is, and
 * a CODE_OBJECT with its kernel "scale", where another is at OFFSET. */
static void with_files(struct capture_writer *w)
{
	const char *digits = variable("BUILD_ID");
	uint8_t build_id[32] = { 0 };
	CLEANUP_FREE char *code = NULL;
	size_t code_size = 0;
	uint32_t stack;

	begin(w);
	for (size_t i = 0; i < 2 * sizeof(build_id) && digits[i]; i++) {
		unsigned value =
			(unsigned)(strchr("0123456789abcdef", digits[i]) - "0123456789abcdef");
		build_id[i / 2] = (uint8_t)(build_id[i / 2] << 4 | value);
	}
	const struct record_frame frame = {
		.object = object(
			w, &(struct record_object){ .kind = OBJECT_ELF,
						    .name = string(w, "program"),
						    .path = string(w, variable("BINARY")),
						    .build_id = { build_id, strlen(digits) / 2 } }),
		.offset = 0x1000,
	};
	symbol(w, frame.object, 0x1000, 0x1000, "main", "/src/main.c", 3);
	check(w, capture_writer_stack(w, &frame, 1, STACK_ROOTED, &stack), "stack");
	PUT(w, CPU_SAMPLE, cpu_sample, .time_ns = SECONDS(100.25), .thread = THREAD, .stack = stack,
	    .weight = 1);

	check(w, io_read_file(variable("CODE_OBJECT"), 1 << 20, &code, &code_size), "CODE_OBJECT");
	check(w,
	      capture_writer_code_object(w,
					 &(struct record_code_object){ .id = 1,
								       .kind = CODE_OBJECT_AMDGPU,
								       .process = PROCESS },
					 code, code_size),
	      "code object");
	PUT(w, KERNEL, kernel, .id = KERNEL, .process = PROCESS, .code_object = 1,
	    .name = string(w, "scale"));
	PUT(w, PC_SAMPLE, pc_sample, .time_ns = SECONDS(100.5), .device = DEVICE, .kernel = KERNEL,
	    .code_object = 1, .offset = (uint64_t)atoi(variable("OFFSET")), .count = 3);
	PUT(w, END, end, .time_ns = SECONDS(101), .samples = 2, .exit_status = -1);
}

static const struct {
	const char *name;
	void (*make)(struct capture_writer *w);
} cases[] = {
	{ "one-sample", one_sample },
	{ "every-type", every_type },
	{ "with-files", with_files },
};

int main(int argc, char **argv)
{
	CLEANUP(capture_writer_free) struct capture_writer *w = NULL;
	struct err err = { "usage: make_capture CASE FILE" };

	for (size_t i = 0; argc == 3 && i < ARRAY_SIZE(cases); i++) {
		const struct capture_writer_options opt = { .path = argv[2] };
		if (strcmp(argv[1], cases[i].name) != 0)
			continue;
		if (capture_writer_open(&w, &opt, &err) < 0)
			break;
		cases[i].make(w);
		check(w, capture_writer_flush(w), "flush");
		if (capture_writer_commit(w, &err) < 0)
			break;
		return 0;
	}
	fprintf(stderr, "make_capture: %s\n", err.text);
	return 1;
}
