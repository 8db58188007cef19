/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "collect/sample.h"

#include "base/cleanup.h"
#include "capture/reader.h"
#include "collect/ring.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Numbers that no process of this machine has: pid_max is at most 2^22. */
enum {
	PID = (1 << 22) + 10
};

struct fixture {
	char path[64];
	struct capture_writer *writer;
	struct objects objects;
	struct processes processes;
	struct samples samples;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct capture_writer_options opt = { .path = f->path };
	struct err err;

	assert_non_null(f);
	snprintf(f->path, sizeof(f->path), "/tmp/sample_test.%d.data", (int)getpid());
	assert_int_equal(capture_writer_open(&f->writer, &opt, &err), 0);
	assert_int_equal(objects_init(&f->objects, &err), 0);
	processes_init(&f->processes, f->writer, &f->objects);
	f->samples.writer = f->writer;
	f->samples.processes = &f->processes;
	f->samples.objects = &f->objects;

	/* Code of the vDSO, whose offsets count from its start, at 0x1000. */
	struct span comm = span_of("app", 3);
	assert_int_equal(process_exec(&f->processes, PID, comm, 100), 0);
	assert_int_equal(process_complete(&f->processes, PID, 0, span_of("app", 4), 100), 0);
	assert_int_equal(process_map(&f->processes, PID, 0x1000, 0x2000, 0, f->objects.vdso, 100),
			 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	processes_release(&f->processes);
	objects_release(&f->objects);
	capture_writer_free(f->writer);
	unlink(f->path);
	free(f);
	return 0;
}

union event {
	struct event_sample sample;
	uint64_t words[64];
};

static void fill(union event *event, const uint64_t *ips, uint16_t skip, uint16_t user,
		 uint16_t kernel)
{
	size_t count = (size_t)skip + user + kernel;
	struct event_sample *sample = &event->sample;

	memset(event, 0, sizeof(*event));
	sample->header = (struct event_header){
		.type = EVENT_SAMPLE,
		.stack_offset = offsetof(struct event_sample, stack),
		.size = (uint32_t)(sizeof(*sample) + count * 8),
		.time_ns = 200,
		.pid = PID,
		.tid = PID,
		.cpu = 3,
	};
	sample->stack.skip = (uint8_t)skip;
	sample->stack.user_count = user;
	sample->stack.kernel_count = kernel;
	sample->stack.status = STACK_CAUSE_FRAME_POINTER;
	memcpy(sample->stack.ips, ips, count * 8);
	assert_true(event_is_valid(event, sample->header.size));
	sample->header.size--;
	assert_false(event_is_valid(event, sample->header.size));
	sample->header.size++;
}

struct expected {
	const char *object;
	uint64_t offset;
};

/* What a reader makes of the file: one sample with just this stack. */
static void expect(struct fixture *f, const struct expected *frames, uint32_t count, uint32_t flags)
{
	CLEANUP(capture_reader_free) struct capture_reader *reader = NULL;
	uint32_t names[64] = { 0 };
	bool has_stack = false, has_sample = false;
	struct record rec;
	struct err err;

	assert_int_equal(capture_writer_flush(f->writer), 0);
	assert_int_equal(capture_writer_commit(f->writer, &err), 0);
	assert_int_equal(capture_reader_open(&reader, f->path, &err), 0);
	while (capture_reader_next(reader, &rec, &err) > 0) {
		if (rec.type == RECORD_OBJECT)
			names[rec.object.id] = rec.object.name;
		if (rec.type == RECORD_CPU_SAMPLE) {
			has_sample = true;
			assert_int_equal(rec.cpu_sample.time_ns, 200);
			assert_int_equal(rec.cpu_sample.cpu, 3);
		}
		if (rec.type != RECORD_STACK)
			continue;
		has_stack = true;
		assert_int_equal(rec.stack.count, count);
		assert_int_equal(rec.stack.flags, flags);
		for (uint32_t i = 0; i < count; i++) {
			const struct record_frame *frame = &rec.stack.frames[i];
			assert_string_equal(capture_reader_text(reader, names[frame->object]),
					    frames[i].object);
			assert_int_equal(frame->offset, frames[i].offset);
		}
	}
	assert_true(has_stack && has_sample);
}

/* The leaf is where it was; a caller is where its call is, not where it returns to. */
static void test_callers(void **state)
{
	struct fixture *f = *state;
	const uint64_t ips[] = { 0x1100, 0x1205, 0x1ffe, 0xffffffff81000100, 0xffffffff81000205 };
	const struct expected frames[] = {
		{ "[kernel]", 0xffffffff81000100 },
		{ "[kernel]", 0xffffffff81000204 },
		{ "[vdso]", 0x100 },
		{ "[vdso]", 0x204 },
		{ "[vdso]", 0xffd },
	};
	union event event;

	fill(&event, ips, 0, 3, 2);
	assert_int_equal(sample_take(&f->samples, &event.sample), 0);
	expect(f, frames, 5, STACK_CAUSE_FRAME_POINTER << STACK_CAUSE_SHIFT);
	assert_int_equal(f->samples.count, 1);
	assert_int_equal(f->samples.unknown, 0);
}

/* Frame pointers that lead out of the code end the stack; the place kept free in front is none. */
static void test_no_code(void **state)
{
	struct fixture *f = *state;
	const uint64_t ips[] = { 0xdead, 0x1100, 0x1205, 0x7777, 0x1300 };
	const struct expected frames[] = { { "[vdso]", 0x100 }, { "[vdso]", 0x204 } };
	union event event;

	fill(&event, ips, 1, 4, 0);
	assert_int_equal(sample_take(&f->samples, &event.sample), 0);
	expect(f, frames, 2, STACK_CAUSE_FRAME_POINTER << STACK_CAUSE_SHIFT);
	assert_int_equal(f->samples.unknown, 1);
}

/* A leaf without code is kept, as an address; tables do not lead anywhere, so their callers too. */
static void test_unknown_leaf(void **state)
{
	struct fixture *f = *state;
	const uint64_t ips[] = { 0x7777, 0x8889 };
	const struct expected frames[] = { { "[anon]", 0x7777 }, { "[anon]", 0x8888 } };
	union event event;

	fill(&event, ips, 0, 2, 0);
	event.sample.stack.flags = EVENT_STACK_BY_TABLE | EVENT_STACK_ROOTED;
	assert_int_equal(sample_take(&f->samples, &event.sample), 0);
	expect(f, frames, 2, STACK_ROOTED | STACK_BY_TABLE);
}

/* While it execs a process is in the kernel on behalf of an image that is gone. */
static void test_exec(void **state)
{
	struct fixture *f = *state;
	const uint64_t ips[] = { 0x1100, 0xffffffff81000100 };
	const struct expected frames[] = { { "[kernel]", 0xffffffff81000100 } };
	union event event;

	assert_int_equal(process_exec(&f->processes, PID, span_of("next", 4), 150), 0);
	fill(&event, ips, 0, 1, 1);
	assert_int_equal(sample_take(&f->samples, &event.sample), 0);
	expect(f, frames, 1, STACK_ROOTED);
}

static void test_invalid(void **state)
{
	(void)state;
	const uint64_t ips[] = { 1, 2, 3 };
	union event event;
	uint32_t size;

	fill(&event, ips, 0, 3, 0);
	size = event.sample.header.size;
	for (uint32_t less = 1; less <= size; less++) {
		event.sample.header.size = size - less;
		assert_false(event_is_valid(&event, size - less));
	}
	event.sample.header.size = size;
	event.sample.stack.user_count = 4; /* more than there are */
	assert_false(event_is_valid(&event, size));
	event.sample.stack.user_count = 3;
	event.sample.header.stack_offset = 8; /* in the header */
	assert_false(event_is_valid(&event, size));
	event.sample.header.stack_offset = offsetof(struct event_sample, stack);
	assert_true(event_is_valid(&event, size));
	event.sample.header.type = 77;
	assert_false(event_is_valid(&event, size));
}

static void test_invalid_copy(void **state)
{
	static struct {
		struct event_copy copy;
		uint8_t stack[EVENT_COPY_BYTES + 8];
	} event;
	const uint32_t size = sizeof(event.copy) + EVENT_COPY_PIECE;

	(void)state;
	event.copy.header = (struct event_header){ .type = EVENT_COPY, .size = size };
	event.copy.stack_size = EVENT_COPY_PIECE;
	assert_true(event_is_valid(&event, size));
	event.copy.header.size = size - 1;
	assert_false(event_is_valid(&event, size - 1));
	event.copy.header.size = sizeof(event.copy) - 1;
	assert_false(event_is_valid(&event, sizeof(event.copy) - 1));
	event.copy.header.size = sizeof(event);
	event.copy.stack_size = EVENT_COPY_BYTES + 8; /* more than one has */
	assert_false(event_is_valid(&event, sizeof(event)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_callers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_code, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unknown_leaf, setup, teardown),
		cmocka_unit_test_setup_teardown(test_exec, setup, teardown),
		cmocka_unit_test(test_invalid_copy),
		cmocka_unit_test(test_invalid),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
