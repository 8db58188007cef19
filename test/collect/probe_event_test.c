/* SPDX-License-Identifier: Apache-2.0 */
/* Events of probes: texts that come in parts, parts that do not come, and what is no event of ours. */
#include "collect/probe_internal.h"

#include "unit.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct fixture {
	struct capture_writer *writer;
	struct accel *accel;
	struct probes probes;
	int fd;
};

static void open_fixture(struct fixture *f)
{
	struct capture_writer_options options = { .fd = memfd_create("capture", MFD_CLOEXEC) };
	struct accel_host host = { 0 };
	struct err err = { "" };

	*f = (struct fixture){ .fd = options.fd };
	assert_int_equal(capture_writer_open(&f->writer, &options, &err), 0);
	host.writer = f->writer;
	assert_int_equal(accel_open(&f->accel, &host, NULL, &err), 0);
	f->probes.accel = f->accel;
}

static void close_fixture(struct fixture *f)
{
	probe_texts_release(&f->probes);
	accel_free(f->accel);
	capture_writer_free(f->writer);
	close(f->fd);
}

/* An event as it comes out of the ring. */
struct packet {
	struct event_probe probe;
	char text[64];
};

static struct packet part(uint32_t tid, uint64_t time_ns, uint32_t start, const char *text,
			  bool more)
{
	struct packet packet = {
		.probe = {
			.header = {
				.type = EVENT_PROBE,
				.size = (uint32_t)(sizeof(struct event_probe) + strlen(text)),
				.time_ns = time_ns,
				.pid = 7,
				.tid = tid,
			},
			.flags = more ? EVENT_PROBE_MORE : 0,
			.values = 2,
			.text_size = (uint32_t)strlen(text),
			.text_start = start,
			.value = { 11, 22, 33 },
		},
	};

	memcpy(packet.text, text, strlen(text));
	return packet;
}

static int take(struct fixture *f, const struct packet *packet, struct accel_event *ret)
{
	return probes_take(&f->probes, &packet->probe.header, ret);
}

static void test_parts(void **state)
{
	struct fixture f;
	struct accel_event event;
	struct packet packet;

	(void)state;
	open_fixture(&f);
	/* Two threads at the same time. */
	packet = part(1, 100, 0, "one ", true);
	assert_int_equal(take(&f, &packet, &event), 0);
	packet = part(2, 100, 0, "other", true);
	assert_int_equal(take(&f, &packet, &event), 0);
	packet = part(1, 100, 4, "two ", true);
	assert_int_equal(take(&f, &packet, &event), 0);
	packet = part(1, 100, 8, "three", false);
	assert_int_equal(take(&f, &packet, &event), 1);
	assert_int_equal(event.text_size, 13);
	assert_memory_equal(event.text, "one two three", 13);
	assert_int_equal(event.flags, 0);
	assert_int_equal(event.tid, 1);
	assert_int_equal(event.value[1], 22);
	assert_int_equal(event.value[2], 0); /* not one of its values */
	packet = part(2, 100, 5, "", false);
	assert_int_equal(take(&f, &packet, &event), 1);
	assert_memory_equal(event.text, "other", 5);
	assert_int_equal(f.probes.partial.len, 0);
	close_fixture(&f);
}

/* A part that was lost: what comes before it is kept, and the text says that it is cut. */
static void test_lost_part(void **state)
{
	struct fixture f;
	struct accel_event event;
	struct packet packet;

	(void)state;
	open_fixture(&f);
	packet = part(1, 100, 0, "begin", true);
	assert_int_equal(take(&f, &packet, &event), 0);
	packet = part(1, 100, 50, "late", true);
	assert_int_equal(take(&f, &packet, &event), 0);
	packet = part(1, 100, 54, "end", false);
	assert_int_equal(take(&f, &packet, &event), 1);
	assert_int_equal(event.text_size, 5);
	assert_memory_equal(event.text, "begin", 5);
	assert_int_equal(event.flags, ACCEL_EVENT_CUT);
	/* The first part of another was lost. */
	packet = part(1, 200, 10, "rest", false);
	assert_int_equal(take(&f, &packet, &event), 1);
	assert_int_equal(event.text_size, 0);
	assert_int_equal(event.flags, ACCEL_EVENT_CUT);
	close_fixture(&f);
}

/* Texts whose last parts never come do not stay for ever. */
static void test_abandoned_texts(void **state)
{
	struct fixture f;
	struct accel_event event;

	(void)state;
	open_fixture(&f);
	for (uint32_t tid = 1; tid <= 1000; tid++) {
		struct packet packet = part(tid, 100, 0, "never finished", true);
		assert_int_equal(take(&f, &packet, &event), 0);
	}
	assert_int_equal(f.probes.partial.len, 64);
	close_fixture(&f);
}

static void test_malformed(void **state)
{
	struct fixture f;
	struct accel_event event;
	struct packet packet;

	(void)state;
	open_fixture(&f);
	packet = part(1, 100, 0, "text", false);
	packet.probe.text_size = 5; /* one more than there is */
	assert_int_equal(take(&f, &packet, &event), -EBADMSG);
	packet = part(1, 100, 0, "text", false);
	packet.probe.text_size = EVENT_PROBE_TEXT_BYTES + 1;
	assert_int_equal(take(&f, &packet, &event), -EBADMSG);
	packet = part(1, 100, 0, "", false);
	packet.probe.values = EVENT_PROBE_VALUES + 1;
	assert_int_equal(take(&f, &packet, &event), -EBADMSG);
	packet = part(1, 100, 0, "", false);
	packet.probe.header.size =
		offsetof(struct event_probe, value) + 15; /* two values need 16 */
	assert_int_equal(take(&f, &packet, &event), -EBADMSG);
	packet.probe.header.size = sizeof(struct event_header);
	assert_int_equal(take(&f, &packet, &event), -EBADMSG);
	packet = part(1, 100, 0, "", false);
	packet.probe.site = (uint32_t)accel_site_count(f.accel);
	assert_int_equal(take(&f, &packet, &event), -EBADMSG);
	packet = part(1, 100, 0, "", false);
	packet.probe.header.type = EVENT_SAMPLE;
	assert_int_equal(take(&f, &packet, &event), -EBADMSG);
	/* As short as one may be. */
	packet = part(1, 100, 0, "", false);
	packet.probe.header.size = offsetof(struct event_probe, value) + 16;
	assert_int_equal(take(&f, &packet, &event), 1);
	close_fixture(&f);
}

/* A site in the kernel's terms: where its arguments lie at the place chosen. */
static void test_program(void **state)
{
	const struct probe_site site = {
		.library = "lib",
		.symbol = "f",
		.flags = PROBE_STACK,
		.value = {
			{ .base = PROBE_ARGUMENT, .index = 2, .size = 4 },
			{ .base = PROBE_ARGUMENT, .index = 7, .derefs = 1, .count = 3 },
			{ .base = PROBE_VALUE, .index = 1, .derefs = 3, .offset = { 8, -16, 24 } },
			{ .base = PROBE_OUT, .index = 0, .derefs = 1 },
		},
	};
	struct probe_place place = { .return_address = 40 };
	struct probe_program program;

	(void)state;
	place.argument[2] = (struct place){ .kind = PLACE_REGISTER, .reg = 1 }; /* rcx */
	place.argument[7] = (struct place){ .kind = PLACE_STACK, .offset = 56 };
	probe_program_make(&site, 3, &place, &program);
	assert_int_equal(program.site, 3);
	assert_int_equal(program.flags, PROBE_PROGRAM_STACK);
	assert_int_equal(program.return_address, 40);
	assert_int_equal(program.reads, 4);
	assert_int_equal(program.values, 6);
	assert_int_equal(program.read[0].from, 11); /* cx is the twelfth word of pt_regs */
	assert_int_equal(program.read[0].bytes, 4);
	assert_int_equal(program.read[0].to, 0);
	assert_int_equal(program.read[1].from, PROBE_READ_STACK);
	assert_int_equal(program.read[1].stack, 56);
	assert_int_equal(program.read[1].bytes, 24);
	assert_int_equal(program.read[1].to, 1);
	assert_int_equal(program.read[2].from, PROBE_READ_VALUE + 1);
	assert_int_equal(program.read[2].to, 4);
	assert_int_equal(program.read[2].derefs, 3);
	assert_int_equal(program.read[2].step[0], 8);
	assert_int_equal(program.read[2].step[1], -16);
	assert_int_equal(program.read[2].last, 24);
	assert_int_equal(program.read[2].bytes, 8);
	assert_int_equal(program.read[3].from, PROBE_READ_LATER); /* what value 0 points to */
	assert_int_equal(program.read[3].to, 5);
	assert_int_equal(program.read[3].derefs, 1);
	assert_int_equal(program.read[3].last, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),           cmocka_unit_test(test_lost_part),
		cmocka_unit_test(test_abandoned_texts), cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
