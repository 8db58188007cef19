/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A runtime under test: hits of probes go in, the records that it writes come out of a capture in
 * memory. The target's memory is what the test says it is.
 */
#pragma once

#include "accel/accel.h"
#include "capture/reader.h"

#include "unit.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define MEMORY_REGIONS 32
#define RECORDS_MAX    4096

struct memory_region {
	uint64_t address;
	size_t size;
	const void *data;
};

struct runtime {
	struct accel *accel;
	struct capture_writer *writer;
	struct capture_reader *reader;
	int fd;
	uint64_t correlation;
	uint32_t number;
	uint64_t now;
	struct memory_region memory[MEMORY_REGIONS];
	size_t regions;
	struct record records[RECORDS_MAX]; /* but STRING, OBJECT, STACK; without their strings */
	size_t count;
	size_t records_wanted; /* at most RECORDS_MAX; the others are only counted */
	size_t seen[RECORD_TYPE_COUNT];
};

static uint64_t runtime_correlation(void *data)
{
	return ++((struct runtime *)data)->correlation;
}

static uint32_t runtime_number(void *data)
{
	return ++((struct runtime *)data)->number;
}

static int runtime_read(void *data, uint32_t pid, uint64_t address, void *ret, size_t size)
{
	const struct runtime *t = data;

	(void)pid;
	for (size_t i = 0; i < t->regions; i++) {
		const struct memory_region *r = &t->memory[i];
		if (address >= r->address && address - r->address <= r->size &&
		    size <= r->size - (address - r->address)) {
			memcpy(ret, (const char *)r->data + (address - r->address), size);
			return 0;
		}
	}
	return -EFAULT;
}

static inline void runtime_memory(struct runtime *t, uint64_t address, const void *data,
				  size_t size)
{
	assert_true(t->regions < MEMORY_REGIONS);
	t->memory[t->regions++] = (struct memory_region){ address, size, data };
}

/* @wish: as --accel has it; or NULL. */
static inline void runtime_open_for(struct runtime *t, const char *wish)
{
	struct accel_wishes wishes = { 0 };
	struct capture_writer_options options = { 0 };
	struct accel_host host = {
		.correlation = runtime_correlation,
		.number = runtime_number,
		.read = runtime_read,
		.is_succeeded = true,
		.data = t,
	};
	struct err err = { "" };

	*t = (struct runtime){ .fd = memfd_create("capture", MFD_CLOEXEC), .now = 1000 };
	t->records_wanted = RECORDS_MAX;
	assert_true(t->fd >= 0);
	options.fd = t->fd;
	assert_int_equal(capture_writer_open(&t->writer, &options, &err), 0);
	host.writer = t->writer;
	if (wish)
		assert_int_equal(accel_wishes_add(&wishes, wish, &err), 0);
	assert_int_equal(accel_open(&t->accel, &host, wish ? &wishes : NULL, &err), 0);
	assert_int_equal(accel_start(t->accel, &err), 0);
	accel_wishes_release(&wishes);
}

static inline void runtime_open(struct runtime *t)
{
	runtime_open_for(t, NULL);
}

static inline void runtime_close(struct runtime *t)
{
	capture_reader_free(t->reader);
	accel_free(t->accel);
	capture_writer_free(t->writer);
	close(t->fd);
}

static inline const struct probe_site *runtime_site(const struct runtime *t, const char *symbol)
{
	for (size_t i = 0; i < accel_site_count(t->accel); i++)
		if (strcmp(accel_site(t->accel, i)->symbol, symbol) == 0)
			return accel_site(t->accel, i);
	fail_msg("no site '%s'", symbol);
	return NULL;
}

/* In another capture processes have other numbers; process 3 is not there any more. */
static int runtime_process_later(void *data, uint32_t pid, uint32_t *ret)
{
	(void)data;
	*ret = pid - 100 + 40;
	return pid != 103;
}

/* @t goes on where @before ends. */
static inline void runtime_inherit(struct runtime *t, const struct runtime *before)
{
	assert_int_equal(accel_inherit(t->accel, before->accel, runtime_process_later, NULL), 0);
}

struct hit {
	const char *symbol;
	uint32_t process; /* 0: 1 */
	uint32_t tid;
	uint64_t value[PROBE_VALUES];
	const char *text;
	size_t text_size; /* 0: of the string */
};

/* One hit, 10 ns after the one before: its time. */
static inline uint64_t runtime_hit(struct runtime *t, struct hit hit)
{
	uint32_t process = hit.process ? hit.process : 1;
	struct accel_event event = {
		.time_ns = t->now += 10,
		.pid = 100 + process,
		.tid = hit.tid,
		.process = process,
		.thread = 1000 + hit.tid,
		.site = runtime_site(t, hit.symbol),
		.text = hit.text ? hit.text : "",
		.text_size = hit.text_size ? hit.text_size
			     : hit.text    ? strlen(hit.text)
					   : 0,
	};

	memcpy(event.value, hit.value, sizeof(event.value));
	assert_int_equal(accel_event(t->accel, &event), 0);
	return event.time_ns;
}

/* End of the recording: the records are in t->records then. */
static inline void runtime_finish(struct runtime *t)
{
	struct record end = { .type = RECORD_END };
	struct record record;
	struct err err = { "" };
	int rc;

	assert_int_equal(accel_stop(t->accel), 0);
	assert_int_equal(accel_describe(t->accel), 0);
	assert_int_equal(capture_writer_put(t->writer, &end), 0);
	assert_int_equal(capture_writer_flush(t->writer), 0);
	assert_int_equal(lseek(t->fd, 0, SEEK_SET), 0);
	rc = capture_reader_open_fd(&t->reader, t->fd, "memory", &err);
	assert_int_equal(rc, 0);
	while ((rc = capture_reader_next(t->reader, &record, &err)) > 0) {
		if (record.type == RECORD_STRING || record.type == RECORD_OBJECT ||
		    record.type == RECORD_STACK)
			continue;
		t->seen[record.type]++;
		if (t->records_wanted == 0)
			continue;
		assert_true(t->count < t->records_wanted);
		t->records[t->count++] = record;
	}
	assert_int_equal(rc, 0);
	assert_string_equal(capture_reader_damage(t->reader).text, "");
}

/* The record number @index of a type; without it the test fails. */
static inline const struct record *runtime_record(const struct runtime *t, enum record_type type,
						  size_t index)
{
	static const struct record none;

	for (size_t i = 0; i < t->count; i++)
		if (t->records[i].type == type && index-- == 0)
			return &t->records[i];
	fail_msg("no record of type %d", type);
	return &none;
}

static inline size_t runtime_count(const struct runtime *t, enum record_type type)
{
	size_t count = 0;

	for (size_t i = 0; i < t->count; i++)
		count += t->records[i].type == type;
	return count;
}

static inline const char *runtime_text(const struct runtime *t, uint32_t id)
{
	return capture_reader_text(t->reader, id);
}

static inline const struct record_launch *launch_record(const struct runtime *t, size_t index)
{
	return &runtime_record(t, RECORD_LAUNCH, index)->launch;
}

/* The name of the kernel that launch number @index is of. */
static inline const char *launched(const struct runtime *t, size_t index)
{
	for (size_t i = 0; i < runtime_count(t, RECORD_KERNEL); i++) {
		const struct record *record = runtime_record(t, RECORD_KERNEL, i);
		if (record->kernel.id == launch_record(t, index)->kernel)
			return runtime_text(t, record->kernel.name);
	}
	return "no such kernel";
}

/* What a library inside tells: messages, whole. */
static inline void runtime_tell(struct runtime *t, const char *batch, uint32_t tid,
				const void *messages, size_t size)
{
	runtime_hit(t, (struct hit){ batch, .tid = tid, .value = { 0x9000, size }, .text = messages,
				     .text_size = size });
}

static inline const struct record_dispatch *dispatch_record(const struct runtime *t, size_t index)
{
	return &runtime_record(t, RECORD_DISPATCH, index)->dispatch;
}

/* The value of an INFO record, or "". */
static inline const char *runtime_info(const struct runtime *t, const char *key)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->records[i].type == RECORD_INFO &&
		    strcmp(runtime_text(t, t->records[i].info.key), key) == 0)
			return runtime_text(t, t->records[i].info.value);
	return "";
}
