/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hostile program's OpenCL calls: any hits in any order, with handles that come again, and memory
 * of any contents. Nothing may fail but for want of memory, and what is written can be read.
 */
#include "accel/accel.h"
#include "capture/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct target {
	const uint8_t *data;
	size_t size;
	uint64_t correlation;
	uint32_t number;
};

static void require(bool condition)
{
	if (!condition)
		abort();
}

static uint64_t next_correlation(void *data)
{
	return ++((struct target *)data)->correlation;
}

static uint32_t next_number(void *data)
{
	return ++((struct target *)data)->number;
}

/* Memory holds the input, again and again, with holes. */
static int read_memory(void *data, uint32_t pid, uint64_t address, void *ret, size_t size)
{
	const struct target *t = data;

	if (t->size == 0 || (address + pid) % 7 == 0)
		return -EFAULT;
	for (size_t at = 0; at < size;) {
		size_t from = (address + at) % t->size;
		size_t run = t->size - from < size - at ? t->size - from : size - at;
		memcpy((uint8_t *)ret + at, t->data + from, run);
		at += run;
	}
	return 0;
}

/* One hit from four bytes: site, thread and process, and which of a few numbers the values are. */
static void hit(struct accel *accel, const uint8_t *bytes, uint64_t time_ns)
{
	static const uint64_t numbers[] = { 0,      1,      3,          0x11f0,    0x11f3, 0x5000,
					    0x5008, 0x6000, 0x7000,     0x7008,    0x9000, 64,
					    0x1190, 0x1093, UINT64_MAX, 1ull << 40 };
	struct accel_event event = {
		.time_ns = time_ns,
		.pid = 1 + bytes[1] % 3,
		.tid = bytes[1] / 4,
		.process = 1 + bytes[1] % 3,
		.thread = 1 + bytes[1] / 4,
		.flags = bytes[3] % 4,
		.site = accel_site(accel, bytes[0] % accel_site_count(accel)),
		.text = (const char *)bytes,
		.text_size = bytes[3] % 5,
	};

	for (size_t i = 0; i < PROBE_VALUES; i++)
		event.value[i] = numbers[(bytes[2] + i * (1 + bytes[3] / 16)) % 16];
	require(accel_event(accel, &event) == 0);
	if (bytes[0] == 255)
		require(accel_exited(accel, event.process, time_ns) == 0);
}

static void check_capture(int fd)
{
	CLEANUP(capture_reader_free) struct capture_reader *reader = NULL;
	struct record record;
	struct err err;
	int rc;

	require(lseek(fd, 0, SEEK_SET) == 0);
	require(capture_reader_open_fd(&reader, fd, "memory", &err) == 0);
	while ((rc = capture_reader_next(reader, &record, &err)) > 0)
		;
	require(rc == 0 && capture_reader_damage(reader).has_end);
	require(capture_reader_damage(reader).chunks == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct target target = { .data = data, .size = size };
	CLEANUP_CLOSE int fd = memfd_create("capture", MFD_CLOEXEC);
	struct capture_writer_options options = { .fd = fd };
	CLEANUP(capture_writer_free) struct capture_writer *writer = NULL;
	CLEANUP(accel_free) struct accel *accel = NULL;
	struct record end = { .type = RECORD_END };
	struct accel_host host = {
		.correlation = next_correlation,
		.number = next_number,
		.read = read_memory,
		.data = &target,
	};
	struct err err;

	require(capture_writer_open(&writer, &options, &err) == 0);
	host.writer = writer;
	require(accel_open(&accel, &host, NULL, &err) == 0);
	for (size_t i = 0; i + 4 <= size; i += 4)
		hit(accel, data + i, 1000 + i);
	require(accel_stop(accel) == 0 && accel_describe(accel) == 0);
	require(capture_writer_put(writer, &end) == 0 && capture_writer_flush(writer) == 0);
	check_capture(fd);
	return 0;
}
