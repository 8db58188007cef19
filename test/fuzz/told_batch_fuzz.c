/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a hostile program says in the name of a library of ours inside it: batches of any bytes, to each
 * of the runtimes, after launches that it told of. Nothing may fail, and what is written can be read.
 */
#include "accel/accel.h"
#include "capture/reader.h"
#include "inject/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LAUNCHES 4

static void require(bool condition)
{
	if (!condition)
		abort();
}

static uint64_t next_correlation(void *data)
{
	return ++*(uint64_t *)data;
}

static uint32_t next_number(void *data)
{
	return (uint32_t)++ * (uint64_t *)data;
}

static int read_memory(void *data, uint32_t pid, uint64_t address, void *ret, size_t size)
{
	(void)data, (void)pid, (void)address, (void)ret, (void)size;
	return -EFAULT;
}

static const struct probe_site *site_of(const struct accel *a, const char *symbol)
{
	for (size_t i = 0; i < accel_site_count(a); i++)
		if (strcmp(accel_site(a, i)->symbol, symbol) == 0)
			return accel_site(a, i);
	abort();
}

static const char *const batches[] = { INJECT_CUDA_BATCH, INJECT_ZE_BATCH, INJECT_OPENCL_BATCH };

static void tell(struct accel *a, const uint8_t *data, size_t size)
{
	struct accel_event event = { .pid = 1, .tid = 1, .process = 1, .thread = 1, .text = "" };

	event.site = site_of(a, INJECT_CUDA_LAUNCH);
	for (uint64_t i = 1; i <= LAUNCHES; i++) {
		event.time_ns = i;
		event.value[0] = i << 32 | i;
		require(accel_event(a, &event) == 0);
	}
	event.text = (const char *)data;
	event.text_size = size;
	for (size_t i = 0; i < ARRAY_SIZE(batches); i++) {
		event.site = site_of(a, batches[i]);
		require(accel_event(a, &event) == 0);
		require(accel_event(a, &event) == 0);
	}
}

static void read_all(int fd)
{
	struct capture_reader *reader = NULL;
	struct record record;
	struct err err;

	require(lseek(fd, 0, SEEK_SET) == 0);
	require(capture_reader_open_fd(&reader, fd, "memory", &err) == 0);
	while (capture_reader_next(reader, &record, &err) > 0)
		;
	require(!*capture_reader_damage(reader).text);
	capture_reader_free(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct capture_writer_options options = { .fd = memfd_create("capture", MFD_CLOEXEC) };
	uint64_t last = 0;
	struct accel_host host = { .correlation = next_correlation,
				   .number = next_number,
				   .read = read_memory,
				   .data = &last };
	struct record end = { .type = RECORD_END };
	struct accel *a = NULL;
	struct err err;

	require(options.fd >= 0 && capture_writer_open(&host.writer, &options, &err) == 0);
	require(accel_open(&a, &host, NULL, &err) == 0);
	tell(a, data, size);
	require(accel_exited(a, 1, 100) == 0 && accel_stop(a) == 0 && accel_describe(a) == 0);
	require(capture_writer_put(host.writer, &end) == 0);
	require(capture_writer_flush(host.writer) == 0);
	read_all(options.fd);
	accel_free(a);
	capture_writer_free(host.writer);
	close(options.fd);
	return 0;
}
