/* SPDX-License-Identifier: Apache-2.0 */
/* EU stall records: golden bytes of all layouts, a recount of many in another way, and streams that fail as the
 * kernel's do. */
#include "unit.h"

#include "accel/xe_stream.h"
#include "fake/xe_records.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Every field another number, packed by hand from the bit numbers in the kernel's xe_eu_stall.c. */
static const uint8_t golden_pvc[] = { 0x0a, 0xc0, 0xff, 0x3f, 0x40, 0x60, 0x80,
				      0xa0, 0xc0, 0xe0, 0x00, 0x21, 0x01 };
static const uint8_t golden_xe2[] = { 0x0a, 0xc0, 0xff, 0x3f, 0x40, 0x60, 0x80, 0xa0,
				      0xc0, 0xe0, 0x00, 0x21, 0x41, 0x41, 0x01 };
static const uint8_t golden_xe3p[] = { 0x0a, 0xc0, 0xff, 0x1f, 0x00, 0x10, 0x00, 0x20, 0x40, 0x60,
				       0x80, 0xa0, 0xc0, 0xe0, 0x00, 0x21, 0x41, 0x41, 0x01 };

static const enum xe_reason order_pvc[] = { XE_ACTIVE,    XE_OTHER, XE_CONTROL,
					    XE_PIPESTALL, XE_SEND,  XE_DIST_ACC,
					    XE_SBID,      XE_SYNC,  XE_INST_FETCH };
static const enum xe_reason order_xe2[] = { XE_TDR,        XE_OTHER,    XE_CONTROL, XE_PIPESTALL,
					    XE_SEND,       XE_DIST_ACC, XE_SBID,    XE_SYNC,
					    XE_INST_FETCH, XE_ACTIVE };

struct told {
	uint64_t address, of[XE_REASONS];
	size_t calls;
};

static int on_count(void *data, uint64_t address, enum xe_reason reason, uint64_t count)
{
	struct told *t = data;
	if (t->calls)
		assert_true(address >= t->address);
	t->address = address;
	t->of[reason] += count;
	t->calls++;
	return 0;
}

static void check_golden(enum xe_layout layout, const uint8_t *bytes, size_t size, uint64_t address,
			 const enum xe_reason *order, size_t count)
{
	CLEANUP(xe_stalls_free) struct xe_stalls *s = NULL;
	uint8_t record[XE_RECORD_BYTES] = { 0 };
	struct told t = { 0 };

	memcpy(record, bytes, size);
	assert_int_equal(xe_stalls_new(&s, layout), 0);
	assert_int_equal(xe_stalls_add(s, span_of(record, sizeof(record))), 0);
	assert_int_equal(xe_stalls_add(s, span_of(record, sizeof(record))), 0);
	assert_int_equal(xe_stalls_flush(s, on_count, &t), 0);
	assert_int_equal(t.address, address);
	assert_int_equal(t.calls, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(t.of[order[i]], 2 * (i + 1));
	assert_int_equal(xe_stalls_stats(s).records, 2);
	/* Given once. */
	t.calls = 0;
	assert_int_equal(xe_stalls_flush(s, on_count, &t), 0);
	assert_int_equal(t.calls, 0);
}

static void test_golden(void **state)
{
	(void)state;
	check_golden(XE_LAYOUT_PVC, golden_pvc, sizeof(golden_pvc), 0xfffe0050, order_pvc, 9);
	check_golden(XE_LAYOUT_XE2, golden_xe2, sizeof(golden_xe2), 0xfffe0050, order_xe2, 10);
	check_golden(XE_LAYOUT_XE3P, golden_xe3p, sizeof(golden_xe3p), 0x8000fffe0050, order_xe2,
		     10);
}

static void test_choose(void **state)
{
	static const struct {
		uint64_t bytes;
		uint16_t major, minor;
		int rc;
		enum xe_layout layout;
	} cases[] = {
		{ 64, 12, 60, 0, XE_LAYOUT_PVC },  { 64, 20, 1, 0, XE_LAYOUT_XE2 },
		{ 64, 20, 4, 0, XE_LAYOUT_XE2 },   { 64, 30, 0, 0, XE_LAYOUT_XE2 },
		{ 64, 35, 10, 0, XE_LAYOUT_XE3P }, { 64, 12, 55, -ENOTSUP, 0 },
		{ 128, 20, 1, -ENOTSUP, 0 },       { 0, 20, 1, -ENOTSUP, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		enum xe_layout layout = XE_LAYOUT_PVC;
		assert_int_equal(
			xe_layout_choose(cases[i].bytes, cases[i].major, cases[i].minor, &layout),
			cases[i].rc);
		if (!cases[i].rc)
			assert_int_equal(layout, cases[i].layout);
	}
	for (unsigned r = 0; r < XE_REASONS; r++)
		assert_true(xe_reason_name(r)[0]);
}

#define MANY      200000u
#define ADDRESSES 4096u

struct sums {
	uint64_t of[ADDRESSES][XE_REASONS];
	uint64_t base;
};

static int on_sum(void *data, uint64_t address, enum xe_reason reason, uint64_t count)
{
	struct sums *s = data;
	s->of[(address - s->base) / 8][reason] += count;
	return 0;
}

/* What the generator says it wrote, all of it. */
static void check_many(enum xe_layout layout)
{
	static struct sums told, wrote;
	CLEANUP(xe_stalls_free) struct xe_stalls *s = NULL;
	struct xe_records gen;
	uint8_t record[XE_RECORD_BYTES];

	memset(&told, 0, sizeof(told));
	memset(&wrote, 0, sizeof(wrote));
	xe_records_init(&gen, layout, ADDRESSES, 1);
	told.base = gen.base;
	assert_int_equal(xe_stalls_new(&s, layout), 0);
	for (uint32_t i = 0; i < MANY; i++) {
		uint8_t counts[XE_REASONS];
		uint32_t place = xe_records_next(&gen, record, counts);
		for (unsigned r = 0; r < XE_REASONS; r++)
			wrote.of[place][r] += counts[r];
		assert_int_equal(xe_stalls_add(s, span_of(record, sizeof(record))), 0);
		/* The intervals add up. */
		if (i % 50000 == 0)
			assert_int_equal(xe_stalls_flush(s, on_sum, &told), 0);
	}
	assert_int_equal(xe_stalls_flush(s, on_sum, &told), 0);
	assert_memory_equal(told.of, wrote.of, sizeof(told.of));
	assert_int_equal(xe_stalls_stats(s).records, MANY);
}

static void test_many(void **state)
{
	(void)state;
	check_many(XE_LAYOUT_PVC);
	check_many(XE_LAYOUT_XE2);
	check_many(XE_LAYOUT_XE3P);
}

static int count_addresses(void *data, uint64_t address, enum xe_reason reason, uint64_t count)
{
	(void)address;
	(void)reason;
	(void)count;
	++*(uint64_t *)data;
	return 0;
}

/* What is not a record, and more addresses than any kernel has, are counted apart. */
static void test_odd(void **state)
{
	CLEANUP(xe_stalls_free) struct xe_stalls *s = NULL;
	uint8_t record[XE_RECORD_BYTES] = { 0 };
	uint64_t addresses = 0;

	(void)state;
	assert_int_equal(xe_stalls_new(&s, XE_LAYOUT_XE2), 0);
	assert_int_equal(xe_stalls_add(s, span_of(record, sizeof(record))), 0);
	assert_int_equal(xe_stalls_stats(s).damaged, 1);
	assert_int_equal(xe_stalls_add(s, span_of(record, 63)), 0);
	memcpy(record, golden_xe2, sizeof(golden_xe2));
	for (uint32_t ip = 0; ip < XE_ADDRESSES_MAX + 5; ip++) {
		uint32_t low = ip | (uint32_t)(record[3] & 0xe0) << 24;
		memcpy(record, &low, sizeof(low));
		assert_int_equal(xe_stalls_add(s, span_of(record, sizeof(record))), 0);
	}
	assert_int_equal(xe_stalls_stats(s).records, XE_ADDRESSES_MAX);
	assert_int_equal(xe_stalls_stats(s).overflowed, 5);
	assert_int_equal(xe_stalls_flush(s, count_addresses, &addresses), 0);
	assert_int_equal(addresses, 10ull * XE_ADDRESSES_MAX);
}

/* ---- streams ---- */

/* A kernel that answers by a script: bytes, or an error. */
struct step {
	size_t size;
	int error;
};

static const struct step *script;
static struct xe_records source;
static uint8_t backlog[XE_RECORD_BYTES];
static size_t backlog_used = XE_RECORD_BYTES;

static ssize_t scripted_read(int fd, void *data, size_t size)
{
	(void)fd;
	uint8_t counts[XE_REASONS], *out = data;
	if (script->error) {
		errno = script->error;
		script++;
		return -1;
	}
	size_t n = script->size < size ? script->size : size;
	for (size_t i = 0; i < n; i++) {
		if (backlog_used == XE_RECORD_BYTES) {
			xe_records_next(&source, backlog, counts);
			backlog_used = 0;
		}
		out[i] = backlog[backlog_used++];
	}
	script++;
	return (ssize_t)n;
}

static void open_scripted(struct xe_stream **ret, const struct step *steps)
{
	script = steps;
	backlog_used = XE_RECORD_BYTES;
	xe_records_init(&source, XE_LAYOUT_XE2, 64, 7);
	assert_int_equal(xe_stream_new(ret, &(struct xe_stream_options){ .fd = -1,
									 .layout = XE_LAYOUT_XE2,
									 .read = scripted_read }),
			 0);
}

static void test_errors(void **state)
{
	static const struct step steps[] = {
		{ 640, 0 },    { 0, EINTR }, { 0, EIO },    { 6400, 0 },
		{ 0, EAGAIN }, { 100, 0 },   { 28, 0 },     { 0, EAGAIN }, /* in two parts */
		{ 0, EIO },    { 64, 0 },    { 0, EIO },    { 64, 0 },
		{ 0, EAGAIN }, { 70, 0 },    { 0, ENODEV },
	};
	CLEANUP(xe_stream_free) struct xe_stream *s = NULL;

	(void)state;
	open_scripted(&s, steps);
	assert_int_equal(xe_stream_drain(s), 0);
	assert_int_equal(xe_stalls_stats(xe_stream_stalls(s)).records, 110);
	assert_int_equal(xe_stream_stats(s).losses, 1);
	assert_int_equal(xe_stream_drain(s), 0);
	assert_int_equal(xe_stalls_stats(xe_stream_stalls(s)).records, 112);
	assert_int_equal(xe_stream_drain(s), 0);
	assert_int_equal(xe_stream_stats(s).losses, 3);
	/* A reset: what came before it counts, the part of a record does not. */
	assert_int_equal(xe_stream_drain(s), -ENODEV);
	assert_int_equal(xe_stalls_stats(xe_stream_stalls(s)).records, 115);
	assert_int_equal(xe_stalls_stats(xe_stream_stalls(s)).damaged, 0);
	assert_int_equal(xe_stream_stats(s).cut_bytes, 6);
}

/* Nothing but losses is no stream. */
static void test_broken(void **state)
{
	struct step steps[64];
	CLEANUP(xe_stream_free) struct xe_stream *s = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		steps[i] = (struct step){ 0, EIO };
	open_scripted(&s, steps);
	assert_int_equal(xe_stream_drain(s), -EIO);
}

/* A pipe, in pieces of no size that a record has. */
static void test_pipe(void **state)
{
	CLEANUP(xe_stream_free) struct xe_stream *s = NULL;
	uint8_t data[100 * XE_RECORD_BYTES], counts[XE_REASONS];
	struct xe_records gen;
	int fds[2];

	(void)state;
	assert_int_equal(pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
	xe_records_init(&gen, XE_LAYOUT_PVC, 64, 3);
	for (size_t i = 0; i < sizeof(data); i += XE_RECORD_BYTES)
		xe_records_next(&gen, data + i, counts);
	assert_int_equal(xe_stream_new(&s, &(struct xe_stream_options){ .fd = fds[0],
									.layout = XE_LAYOUT_PVC }),
			 0);
	assert_int_equal(xe_stream_drain(s), 0);
	for (size_t i = 0; i < sizeof(data);) {
		size_t n = sizeof(data) - i < 37 ? sizeof(data) - i : 37;
		assert_int_equal(write(fds[1], data + i, n), n);
		assert_int_equal(xe_stream_drain(s), 0);
		i += n;
	}
	assert_int_equal(xe_stalls_stats(xe_stream_stalls(s)).records, 100);
	close(fds[1]);
	assert_int_equal(xe_stream_drain(s), -ENODATA);
	assert_int_equal(xe_stream_stats(s).cut_bytes, 0);
	close(fds[0]);
}

/* The seed of this program's own numbers: 78.4 % of the stalls of a kernel were "sbid". */
static void test_replay(void **state)
{
	static const char counts[] = "8000fffe0050 sbid 78400\n8000fffe0050 send 10000\n"
				     "8000fffe0128 active 11600\n";
	CLEANUP(xe_stream_free) struct xe_stream *s = NULL;
	struct told t = { 0 };
	char command[512];
	int rc = 0;

	(void)state;
	snprintf(command, sizeof(command),
		 "echo '%s' | " TEST_BINARY_DIR "/fake/xe_replay xe3p 100000 1000", counts);
	FILE *pipe =
		access(TEST_BINARY_DIR "/fake/xe_replay", X_OK) == 0 ? popen(command, "r") : NULL;
	if (!pipe)
		skip();
	assert_int_equal(xe_stream_new(&s, &(struct xe_stream_options){ .fd = fileno(pipe),
									.layout = XE_LAYOUT_XE3P }),
			 0);
	while (rc >= 0)
		rc = xe_stream_drain(s);
	assert_int_equal(rc, -ENODATA);
	assert_int_equal(xe_stream_stats(s).cut_bytes, 0);
	assert_int_equal(xe_stalls_flush(xe_stream_stalls(s), on_count, &t), 0);
	assert_int_equal(t.of[XE_SBID], 78400);
	assert_int_equal(t.of[XE_SEND], 10000);
	assert_int_equal(t.of[XE_ACTIVE], 11600);
	assert_int_equal(t.address, 0x8000fffe0128);
	assert_int_equal(pclose(pipe), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden), cmocka_unit_test(test_choose),
		cmocka_unit_test(test_many),   cmocka_unit_test(test_odd),
		cmocka_unit_test(test_errors), cmocka_unit_test(test_broken),
		cmocka_unit_test(test_pipe),   cmocka_unit_test(test_replay),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
