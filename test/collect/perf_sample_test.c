/* SPDX-License-Identifier: Apache-2.0 */
/* Records put together by hand as perf_event_open(2) describes them. */
#include "unit.h"

#include "bpf/events.h"
#include "capture/record.h"
#include "collect/perf_sample.h"

#include <errno.h>
#include <string.h>

#define TYPE                                                                     \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | \
	 PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)

struct words {
	uint64_t word[128];
	size_t count;
};

static void put(struct words *w, uint64_t value)
{
	w->word[w->count++] = value;
}

static struct span finish(struct words *w, uint32_t type, uint16_t misc)
{
	struct perf_event_header header = { type, misc, (uint16_t)(w->count * 8) };

	memcpy(w->word, &header, sizeof(header));
	return span_of((const uint8_t *)w->word, w->count * 8);
}

/* Interrupted in the kernel at 0xffff1000 with two kernel frames; user registers are 0x100 + their number
 * among PERF_REG_X86_*; of a stack of 32 bytes 16 are there. */
static struct span make_sample(struct words *w)
{
	*w = (struct words){ .count = 1 };
	put(w, 0xffff1000);
	put(w, 42ull << 32 | 41); /* tid, pid */
	put(w, 123456);
	put(w, 3); /* cpu */
	put(w, 3); /* chain: a mark and two addresses */
	put(w, PERF_CONTEXT_KERNEL);
	put(w, 0xffff1000);
	put(w, 0xffff2000);
	put(w, PERF_SAMPLE_REGS_ABI_64);
	for (uint64_t i = 0; i < 24; i++) {
		if (PERF_SAMPLE_REGS >> i & 1)
			put(w, 0x100 + i);
	}
	put(w, 32);
	for (uint64_t i = 0; i < 4; i++)
		put(w, 0xabc0 + i);
	put(w, 16);
	return finish(w, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);
}

struct told {
	struct event_copy copy;
	uint64_t stack[2];
	uint64_t sample[64];
	int copies, samples;
};

static int on_event(void *data, const struct event_header *event)
{
	struct told *told = data;

	if (event->type == EVENT_COPY) {
		assert_int_equal(event->size, sizeof(told->copy) + sizeof(told->stack));
		memcpy(&told->copy, event, sizeof(told->copy));
		memcpy(told->stack, ((const struct event_copy *)event)->stack, sizeof(told->stack));
		told->copies++;
		return 0;
	}
	assert_int_equal(event->type, EVENT_SAMPLE);
	assert_true(event->size <= sizeof(told->sample));
	memcpy(told->sample, event, event->size);
	assert_true(event_is_valid(told->sample, event->size));
	told->samples++;
	return 0;
}

static void tell(struct span record, struct told *told)
{
	CLEANUP(perf_sample_buffers_free)
	struct perf_sample_buffers *buffers = perf_sample_buffers_new();
	struct perf_sample sample;
	struct err err;

	if (perf_sample_parse(record, TYPE, &sample, &err) != 1)
		fail_msg("%s", err.text);
	assert_int_equal(perf_sample_tell(&sample, buffers, on_event, told), 0);
}

static void test_sample(void **state)
{
	(void)state;
	struct told told = { 0 };
	struct words w;

	tell(make_sample(&w), &told);
	assert_int_equal(told.copies, 1);
	assert_int_equal(told.samples, 1);
	/* DWARF's order is ax, dx, cx, bx, si, di, bp, sp, r8 to r15, ip; the kernel's ax, bx, cx, dx,
	 * si, di, bp, sp, ip and from 16 on r8 to r15. */
	static const uint64_t places[EVENT_REGS] = { 0,  3,  2,  1,  4,  5,  6,  7, 16,
						     17, 18, 19, 20, 21, 22, 23, 8 };
	for (size_t i = 0; i < EVENT_REGS; i++)
		assert_int_equal(told.copy.regs[i], 0x100 + places[i]);
	assert_int_equal(told.copy.pc, 0x108);
	assert_int_equal(told.copy.sp, 0x107);
	assert_int_equal(told.copy.stack_address, 0x107);
	assert_int_equal(told.copy.part, 0);
	assert_int_equal(told.copy.stack_size, 16);
	assert_int_equal(told.stack[0], 0xabc0);
	assert_int_equal(told.stack[1], 0xabc1);
	assert_int_equal(told.copy.header.time_ns, 123456);

	const struct event_sample *sample = (const struct event_sample *)told.sample;
	assert_int_equal(sample->header.pid, 41);
	assert_int_equal(sample->header.tid, 42);
	assert_int_equal(sample->header.cpu, 3);
	assert_int_equal(sample->flags, EVENT_SAMPLE_IN_KERNEL);
	assert_int_equal(sample->stack.user_count, 1);
	assert_int_equal(sample->stack.kernel_count, 2);
	assert_int_equal(sample->stack.ips[0], 0x108);
	assert_int_equal(sample->stack.ips[1], 0xffff1000);
	assert_int_equal(sample->stack.ips[2], 0xffff2000);
}

/* A kernel thread has no user registers, and no copy. */
static void test_without_registers(void **state)
{
	(void)state;
	struct told told = { 0 };
	struct words w = { .count = 1 };

	put(&w, 0xffff1000);
	put(&w, 7ull << 32 | 7);
	put(&w, 5);
	put(&w, 0);
	put(&w, 2);
	put(&w, PERF_CONTEXT_KERNEL);
	put(&w, 0xffff1000);
	put(&w, PERF_SAMPLE_REGS_ABI_NONE);
	put(&w, 0); /* and no stack */
	tell(finish(&w, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL), &told);
	assert_int_equal(told.copies, 0);
	const struct event_sample *sample = (const struct event_sample *)told.sample;
	assert_int_equal(sample->stack.user_count, 0);
	assert_int_equal(sample->stack.kernel_count, 1);
}

static void test_lost(void **state)
{
	(void)state;
	struct words w = { .count = 1 };
	struct perf_sample sample;

	put(&w, 1);   /* id */
	put(&w, 266); /* how many */
	assert_int_equal(perf_sample_parse(finish(&w, PERF_RECORD_LOST, 0), TYPE, &sample, NULL),
			 1);
	assert_int_equal(sample.lost, 266);
	assert_int_equal(
		perf_sample_parse(finish(&w, PERF_RECORD_THROTTLE, 0), TYPE, &sample, NULL), 0);
}

/* Cut anywhere, or with counts that cannot be: refused, and nothing beyond is read. */
static void test_cut(void **state)
{
	(void)state;
	struct perf_sample sample;
	struct words w;
	struct span whole = make_sample(&w);

	for (size_t size = 8; size < whole.size; size += 8) {
		struct words cut = w;
		cut.count = size / 8;
		struct span record = finish(&cut, PERF_RECORD_SAMPLE, 0);
		uint8_t *exact = malloc(record.size);
		memcpy(exact, record.data, record.size);
		assert_int_equal(
			perf_sample_parse(span_of(exact, record.size), TYPE, &sample, NULL),
			-EBADMSG);
		free(exact);
	}
	w.word[5] = UINT64_MAX / 8 + 2;
	assert_int_equal(perf_sample_parse(whole, TYPE, &sample, NULL), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sample),
		cmocka_unit_test(test_without_registers),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
