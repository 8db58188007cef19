/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: stalls OUT KIND OBJECT KERNEL [OFFSET REASON COUNT]...
 * A capture of one launch of KERNEL, whose code OBJECT is, with these device samples: offsets count from the
 * kernel's start. KIND: zebin, cubin, amdgpu.
 */
#include "base/cleanup.h"
#include "base/io.h"
#include "capture_writing.h"

#include <fcntl.h>

static uint32_t kind_of(const char *name)
{
	return !strcmp(name, "zebin")   ? CODE_OBJECT_ZEBIN
	       : !strcmp(name, "cubin") ? CODE_OBJECT_CUBIN
					: CODE_OBJECT_AMDGPU;
}

static void write_samples(struct capture_writer *w, char **args)
{
	for (; args[0] && args[1] && args[2]; args += 3)
		PUT(w, PC_SAMPLE, pc_sample, time_ns = 1500, .device = 1, .kernel = 1,
		    .offset = number(args[0], 10), .reason = string(w, args[1]),
		    .count = number(args[2], 10), .correlation = 1);
}

int main(int argc, char **argv)
{
	CLEANUP(capture_writer_free) struct capture_writer *w = NULL;
	CLEANUP_FREE char *data = NULL;
	struct err err = { "" };
	size_t size;

	if (argc < 5)
		return 2;
	CLEANUP_CLOSE int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	check(fd, argv[1]);
	check(io_read_file(argv[3], 64u << 20, &data, &size), argv[3]);
	check(capture_writer_open(&w, &(struct capture_writer_options){ .fd = fd }, &err),
	      err.text);
	PUT(w, HEADER, header, time_ns = 1000, .frequency = 1000);
	PUT(w, PROCESS, process, id = 1, .pid = 10, .ns_pid = 10, .comm = string(w, "toy"));
	PUT(w, THREAD, thread, id = 1, .process = 1, .tid = 10, .name = string(w, "toy"));
	PUT(w, DEVICE, device, id = 1, .name = string(w, "toy device"));
	struct record_code_object object = {
		.id = 5, .kind = kind_of(argv[2]), .process = 1, .name = string(w, "module")
	};
	check(capture_writer_code_object(w, &object, data, size), "code object");
	PUT(w, KERNEL, kernel, id = 1, .process = 1, .code_object = 5, .name = string(w, argv[4]));
	PUT(w, LAUNCH, launch, time_ns = 1100, .thread = 1, .kind = LAUNCH_KERNEL, .kernel = 1,
	    .correlation = 1);
	PUT(w, DISPATCH, dispatch, correlation = 1, .device = 1, .start_ns = 1200, .end_ns = 2000,
	    .kind = LAUNCH_KERNEL);
	write_samples(w, argv + 5);
	PUT(w, END, end, time_ns = 3000);
	check(capture_writer_flush(w), argv[1]);
	return 0;
}
