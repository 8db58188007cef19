/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of stalls whose kernel is not known, or not the only one there: read back out of a capture. */
#include "unit.h"

#include "accel/xe_sample.h"
#include "capture/reader.h"
#include "fake/xe_records.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct scene {
	int fd;
	struct capture_writer *w;
	struct accel_host host;
	uint32_t numbers;
	struct xe_stalls *stalls;
	struct xe_code *code;
	struct xe_samples *samples;
};

static uint32_t next_number(void *data)
{
	return ++*(uint32_t *)data;
}

static void scene_open(struct scene *s)
{
	struct err err = { "" };
	*s = (struct scene){ .fd = memfd_create("capture", MFD_CLOEXEC), .numbers = 100 };
	assert_true(s->fd >= 0);
	assert_int_equal(
		capture_writer_open(&s->w, &(struct capture_writer_options){ .fd = s->fd }, &err),
		0);
	s->host = (struct accel_host){ .writer = s->w, .number = next_number, .data = &s->numbers };
	assert_int_equal(xe_stalls_new(&s->stalls, XE_LAYOUT_XE2), 0);
	assert_int_equal(xe_code_new(&s->code, false), 0);
	assert_int_equal(xe_samples_new(&s->samples, &s->host, 3), 0);
}

static void scene_close(struct scene *s)
{
	xe_samples_free(s->samples);
	xe_code_free(s->code);
	xe_stalls_free(s->stalls);
	capture_writer_free(s->w);
	close(s->fd);
}

static void hit(struct scene *s, uint64_t address, enum xe_reason reason, uint8_t count)
{
	uint8_t record[XE_RECORD_BYTES], counts[XE_REASONS] = { 0 };
	counts[reason] = count;
	xe_records_pack(XE_LAYOUT_XE2, address, counts, record);
	assert_int_equal(xe_stalls_add(s->stalls, span_of(record, sizeof(record))), 0);
}

static void write_interval(struct scene *s, uint64_t time_ns)
{
	assert_true(xe_samples_take(s->samples, s->stalls, time_ns, time_ns + 10) >= 0);
	assert_int_equal(xe_samples_write(s->samples, s->code, time_ns + 10), 0);
}

/* All that was written, a line each. */
static void read_back(struct scene *s, char *text, size_t size)
{
	CLEANUP(capture_reader_free) struct capture_reader *r = NULL;
	struct err err = { "" };
	struct record rec;
	size_t at = 0;
	int rc;

	assert_int_equal(capture_writer_flush(s->w), 0);
	assert_int_equal(lseek(s->fd, 0, SEEK_SET), 0);
	assert_int_equal(capture_reader_open_fd(&r, s->fd, "capture", &err), 0);
	text[0] = '\0';
	while ((rc = capture_reader_next(r, &rec, &err)) > 0 && at < size) {
		const struct record_pc_sample *p = &rec.pc_sample;
		if (rec.type == RECORD_KERNEL)
			at += (size_t)snprintf(text + at, size - at, "kernel %u %s\n",
					       rec.kernel.id,
					       capture_reader_text(r, rec.kernel.name));
		else if (rec.type == RECORD_PC_SAMPLE)
			at += (size_t)snprintf(
				text + at, size - at, "%llu+%llu d%u k%u 0x%llx %s %llu\n",
				(unsigned long long)p->time_ns, (unsigned long long)p->interval_ns,
				p->device, p->kernel, (unsigned long long)p->offset,
				capture_reader_text(r, p->reason), (unsigned long long)p->count);
	}
	assert_true(rc >= 0);
}

static void test_names(void **state)
{
	struct scene s;
	char text[4096];

	(void)state;
	scene_open(&s);
	xe_code_add(s.code,
		    &(struct accel_code){
			    .address = 0x8000fffe0000, .size = 736, .process = 1, .kernel = 7 });
	xe_code_add(s.code,
		    &(struct accel_code){
			    .address = 0x8000fffd0000, .size = 704, .process = 1, .kernel = 8 });
	xe_code_add(s.code,
		    &(struct accel_code){
			    .address = 0x8000fffd0000, .size = 704, .process = 2, .kernel = 9 });
	hit(&s, 0xfffe0050, XE_SBID, 200);
	hit(&s, 0xfffe0050, XE_SBID, 100);
	hit(&s, 0xfffe0050, XE_SEND, 1);
	hit(&s, 0x12348, XE_SYNC, 5);
	hit(&s, 0xfffd0010, XE_ACTIVE, 6);
	write_interval(&s, 1000);
	hit(&s, 0x1fff8, XE_SYNC, 7); /* the same 64 KiB */
	write_interval(&s, 2000);
	write_interval(&s, 3000); /* nothing */
	read_back(&s, text, sizeof(text));
	assert_string_equal(text, "kernel 101 [unknown GPU code at 0x10000]\n"
				  "1000+10 d3 k101 0x2348 sync 5\n"
				  "kernel 102 [code of one of several processes]\n"
				  "1000+10 d3 k102 0x10 active 6\n"
				  "1000+10 d3 k7 0x50 send 1\n"
				  "1000+10 d3 k7 0x50 sbid 300\n"
				  "2000+10 d3 k101 0xfff8 sync 7\n");
	struct xe_samples_stats stats = xe_samples_stats(s.samples);
	assert_int_equal(stats.placed, 301);
	assert_int_equal(stats.unknown, 12);
	assert_int_equal(stats.several, 6);
	scene_close(&s);
}

/* A stream of nonsense does not make a record of each 64 KiB there are. */
static void test_many_pages(void **state)
{
	struct scene s;
	static char text[2 << 20];

	(void)state;
	scene_open(&s);
	for (uint64_t page = 0; page < 5000; page++)
		hit(&s, page << 16, XE_OTHER, 1);
	write_interval(&s, 1000);
	read_back(&s, text, sizeof(text));
	const char *last = strstr(text, "[unknown GPU code]\n");
	assert_non_null(last);
	assert_null(strstr(last + 1, "[unknown GPU code"));
	assert_int_equal(xe_samples_stats(s.samples).unknown, 5000);
	assert_int_equal(s.numbers, 100 + 4096 + 1);
	scene_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_many_pages),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
