/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: xe_capture LAYOUT OUT OBJECT [KERNEL ADDRESS SIZE]... < RECORDS
 * The way of an Intel GPU's stalls into a capture, but for the device: a stream is read, added up by intervals of 100
 * records, joined with the kernels that lie at these addresses (hexadecimal), and written. OBJECT is their code; each
 * was launched by a function of its own, and where there is a plus behind its name, by another one, whose launch runs
 * beside the first from 24.5 us on.
 */
#include "accel/xe_sample.h"
#include "accel/xe_stream.h"
#include "base/io.h"
#include "capture_writing.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint32_t next_number(void *data)
{
	return ++*(uint32_t *)data;
}

/* main() and a function that launches @kernel. */
static uint32_t stack(struct capture_writer *w, const char *verb, const char *kernel)
{
	char name[256];
	uint32_t objects[2], id;
	snprintf(name, sizeof(name), "%s_%s", verb, kernel);
	struct record_object callee = { .kind = OBJECT_NATIVE, .name = string(w, name) };
	struct record_object caller = { .kind = OBJECT_NATIVE, .name = string(w, "main") };
	check(capture_writer_object(w, &callee, &objects[0]), name);
	check(capture_writer_object(w, &caller, &objects[1]), name);
	struct record_frame frames[2] = { { objects[0], 0 }, { objects[1], 0 } };
	check(capture_writer_stack(w, frames, 2, STACK_ROOTED, &id), name);
	return id;
}

static void launch(struct capture_writer *w, uint32_t kernel, uint32_t stack, uint64_t start_ns)
{
	static uint64_t correlation;
	correlation++;
	PUT(w, LAUNCH, launch, time_ns = 1000 * correlation, .thread = 1, .stack = stack,
	    .kind = LAUNCH_KERNEL, .kernel = kernel, .correlation = correlation);
	PUT(w, DISPATCH, dispatch, correlation = correlation, .device = 1, .start_ns = start_ns,
	    .end_ns = 1000000000, .kind = LAUNCH_KERNEL);
}

static void describe(struct capture_writer *w, char **kernels, struct xe_code *code,
		     uint32_t *numbers)
{
	for (; kernels[0] && kernels[1] && kernels[2]; kernels += 3) {
		struct accel_code at = { .process = 1,
					 .kernel = next_number(numbers),
					 .address = number(kernels[1], 16),
					 .size = number(kernels[2], 10) };
		char *plus = strchr(kernels[0], '+');
		if (plus)
			*plus = '\0';
		PUT(w, KERNEL, kernel, id = at.kernel, .process = 1, .code_object = 5,
		    .name = string(w, kernels[0]));
		launch(w, at.kernel, stack(w, "launch", kernels[0]), 10000);
		if (plus)
			launch(w, at.kernel, stack(w, "again", kernels[0]), 24500);
		check(xe_code_add(code, &at), kernels[0]);
	}
}

/* 100 records, and then nothing for once: a pipe that has filled up meanwhile is not one interval. */
static ssize_t read_some(int fd, void *data, size_t size)
{
	static bool is_pause;
	const size_t most = 100 * XE_RECORD_BYTES;

	is_pause = !is_pause;
	if (is_pause)
		return read(fd, data, size < most ? size : most);
	errno = EAGAIN;
	return -1;
}

static void read_stream(enum xe_layout layout, struct xe_samples *samples, struct xe_code *code)
{
	CLEANUP(xe_stream_free) struct xe_stream *s = NULL;
	uint64_t time_ns = 20000, written = 0;
	int rc = 0;

	check(xe_stream_new(
		      &s,
		      &(struct xe_stream_options){ .fd = 0, .layout = layout, .read = read_some }),
	      "stream");
	check(fcntl(0, F_SETFL, O_NONBLOCK), "standard input");
	while (rc >= 0) {
		struct pollfd pfd = { .fd = 0, .events = POLLIN };
		poll(&pfd, 1, -1);
		rc = xe_stream_drain(s);
		uint64_t records = xe_stalls_stats(xe_stream_stalls(s)).records;
		if (rc < 0 || records - written >= 100) {
			check(xe_samples_take(samples, xe_stream_stalls(s), time_ns,
					      time_ns + 1000),
			      "samples");
			time_ns += 1000;
			check(xe_samples_write(samples, code, time_ns), "samples");
			written = records;
		}
	}
	check(rc == -ENODATA ? 0 : rc, "stream");
}

int main(int argc, char **argv)
{
	CLEANUP(capture_writer_free) struct capture_writer *w = NULL;
	CLEANUP(xe_code_free) struct xe_code *code = NULL;
	CLEANUP(xe_samples_free) struct xe_samples *samples = NULL;
	CLEANUP_FREE char *data = NULL;
	struct err err = { "" };
	uint32_t numbers = 100;
	size_t size;

	if (argc < 7)
		return 2;
	enum xe_layout layout = !strcmp(argv[1], "pvc")   ? XE_LAYOUT_PVC
				: !strcmp(argv[1], "xe2") ? XE_LAYOUT_XE2
							  : XE_LAYOUT_XE3P;
	CLEANUP_CLOSE int fd = open(argv[2], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	check(fd, argv[2]);
	check(io_read_file(argv[3], 64u << 20, &data, &size), argv[3]);
	check(capture_writer_open(&w, &(struct capture_writer_options){ .fd = fd }, &err),
	      err.text);
	struct accel_host host = { .writer = w, .number = next_number, .data = &numbers };
	check(xe_code_new(&code, layout == XE_LAYOUT_XE3P), "code");
	check(xe_samples_new(&samples, &host, 1), "samples");
	PUT(w, HEADER, header, time_ns = 500, .frequency = 1000);
	PUT(w, PROCESS, process, id = 1, .pid = 10, .ns_pid = 10, .comm = string(w, "mm"));
	PUT(w, THREAD, thread, id = 1, .process = 1, .tid = 10, .name = string(w, "mm"));
	PUT(w, DEVICE, device, id = 1, .name = string(w, "Intel GPU, replayed"));
	struct record_code_object object = {
		.id = 5, .kind = CODE_OBJECT_ZEBIN, .process = 1, .name = string(w, "module")
	};
	check(capture_writer_code_object(w, &object, data, size), "code object");
	describe(w, argv + 4, code, &numbers);
	read_stream(layout, samples, code);
	PUT(w, END, end, time_ns = 2000000000);
	check(capture_writer_flush(w), argv[2]);
	struct xe_samples_stats stats = xe_samples_stats(samples);
	printf("%llu placed, %llu unknown, %llu of several\n", (unsigned long long)stats.placed,
	       (unsigned long long)stats.unknown, (unsigned long long)stats.several);
	return 0;
}
