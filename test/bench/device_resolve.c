/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: bench_device_resolve OBJECT...
 * Resolves a million places of each object's largest function, spread over it, after the first question.
 */
#include "base/io.h"
#include "device/device.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define PLACES 1000000u

static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int measure(const char *path)
{
	CLEANUP_FREE char *data = NULL;
	CLEANUP(device_close) struct device_object *o = NULL;
	struct err err = { "" };
	struct device_place p;
	size_t size, largest = 0;
	uint64_t lines = 0;

	if (io_read_file(path, 1u << 30, &data, &size) < 0)
		return 1;
	double begin = seconds();
	if (device_open(&o, span_of(data, size), path, 0, &err) < 0 || !device_function_count(o)) {
		printf("%s\n", err.text);
		return 1;
	}
	for (size_t i = 0; i < device_function_count(o); i++) {
		if (device_function_get(o, i)->size > device_function_get(o, largest)->size)
			largest = i;
	}
	double opened = seconds();
	int64_t count = device_place_count(o, largest);
	double listed = seconds();
	const struct device_function *f = device_function_get(o, largest);
	for (uint64_t i = 0; i < PLACES; i++) {
		if (device_resolve(o, f->offset + i * 7919 % f->size, &p) < 0)
			return 1;
		lines += p.line_count;
	}
	double done = seconds();
	printf("%s: open %.4f s; list %" PRId64 " instructions %.4f s; %u places %.3f s, %" PRIu64
	       " lines\n",
	       path, opened - begin, count, listed - opened, PLACES, done - listed, lines);
	return 0;
}

int main(int argc, char **argv)
{
	int failed = 0;
	for (int i = 1; i < argc; i++)
		failed |= measure(argv[i]);
	return failed;
}
