/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_test multi|single LIBRARY...: probes each library, calls it, and compares what the probes
 * tell with what it was given. The process that calls is this one.
 */
#include "library.h"
#include "unit.h"

#include "accel/accel.h"
#include "collect/probe.h"
#include "collect/programs.h"
#include "collect/ring.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE     4096
#define HITS_MAX 64

static bool by_multi;
static const char *library_path;

/* One hit, with what it borrows copied. */
struct hit {
	struct accel_event event;
	char *text;
	uint64_t caller; /* second frame of the stack; 0: none */
};

struct probing {
	struct capture_writer *writer;
	struct accel *accel;
	struct programs programs;
	struct probes *probes;
	struct ring *ring;
	void *library;
	struct hit hits[HITS_MAX];
	size_t count;
};

static int on_event(void *data, const struct event_header *header)
{
	struct probing *t = data;
	const struct event_stack *stack = event_stack(header);
	struct hit hit = { 0 };

	if (header->type != EVENT_PROBE)
		return 0;
	int rc = probes_take(t->probes, header, &hit.event);
	assert_true(rc >= 0);
	if (rc == 0)
		return 0;
	hit.text = malloc(hit.event.text_size + 1);
	assert_non_null(hit.text);
	memcpy(hit.text, hit.event.text, hit.event.text_size);
	hit.text[hit.event.text_size] = '\0';
	if (stack && stack->user_count > 1)
		hit.caller = stack->ips[stack->skip + 1];
	assert_true(t->count < HITS_MAX);
	t->hits[t->count++] = hit;
	return 0;
}

/* Opens everything, for this process; the library is loaded before it is probed. */
static void probing_open(struct probing *t)
{
	struct programs_options options = { .single_uprobes = !by_multi };
	struct capture_writer_options writer = { .fd = memfd_create("capture", MFD_CLOEXEC) };
	struct accel_host host = { 0 };
	struct err err = { "" };

	*t = (struct probing){ .library = dlopen(library_path, RTLD_NOW | RTLD_LOCAL) };
	assert_non_null(t->library);
	assert_int_equal(capture_writer_open(&t->writer, &writer, &err), 0);
	host.writer = t->writer;
	assert_int_equal(accel_open(&t->accel, &host, NULL, &err), 0);
	if (programs_open(&t->programs, &options, &err) < 0 ||
	    probes_open(&t->probes, &t->programs, t->accel, false, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(probes_stats(t->probes).by_multi, by_multi);
	CLEANUP_CLOSE int fd = open(library_path, O_RDONLY | O_CLOEXEC);
	int armed = probes_attach(t->probes, fd, library_path, &err);
	if (armed < 0)
		fail_msg("%s", err.text);
	assert_int_equal(armed, 5);
	/* A file that is known is not probed twice. */
	assert_int_equal(probes_attach(t->probes, fd, library_path, &err), 0);
	assert_int_equal(programs_add_target(&t->programs, (uint32_t)getpid(), 0, &err), 0);
	assert_int_equal(ring_open(&t->ring, &t->programs, on_event, t, &err), 0);
}

static void probing_close(struct probing *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->hits[i].text);
	ring_close(t->ring);
	probes_close(t->probes);
	programs_close(&t->programs);
	accel_free(t->accel);
	capture_writer_free(t->writer);
	dlclose(t->library);
}

/* The hits since the last time. */
static size_t drain(struct probing *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->hits[i].text);
	t->count = 0;
	assert_true(ring_drain(t->ring) >= 0);
	return t->count;
}

static void *function(const struct probing *t, const char *name)
{
	void *found = dlsym(t->library, name);

	assert_non_null(found);
	return found;
}
#define FUNCTION(type, name) ((type *)(uintptr_t)function(&t, name))

static void assert_hit(const struct probing *t, size_t index, const char *symbol)
{
	assert_true(index < t->count);
	assert_string_equal(t->hits[index].event.site->symbol, symbol);
	assert_int_equal(t->hits[index].event.pid, getpid());
	assert_int_equal(t->hits[index].event.tid, gettid());
	assert_true(t->hits[index].event.time_ns > 0);
}

/* Two pages of which only the first can be read; its last byte is ret[PAGE - 1]. */
static char *page_before_nothing(void)
{
	char *page =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(page != MAP_FAILED);
	assert_int_equal(mprotect(page + PAGE, PAGE, PROT_NONE), 0);
	return page;
}

/* Pages of a file with @text at @offset, none of which is in memory for this process. */
static char *absent_pages(size_t size, size_t offset, const char *text)
{
	CLEANUP_CLOSE int fd = memfd_create("text", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	assert_int_equal(pwrite(fd, text, strlen(text), (off_t)offset), strlen(text));
	char *pages = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(pages != MAP_FAILED);
	return pages;
}

static void test_launch(void **state)
{
	struct probing t;
	const size_t global[3] = { 640, 480, 2 }, local[3] = { 16, 8, 1 };
	void *waits[2] = { &t, &t }, *event;

	(void)state;
	probing_open(&t);
	enqueue_ndrange_fn *enqueue = FUNCTION(enqueue_ndrange_fn, "clEnqueueNDRangeKernel");
	enqueue((void *)0x1111, (void *)0x2222, 3, NULL, global, local, 0, NULL, NULL);
	enqueue((void *)0x1111, (void *)0x3333, 1, NULL, global, NULL, 2, waits, &event);
	assert_int_equal(drain(&t), 2);
	assert_hit(&t, 0, "clEnqueueNDRangeKernel");
	const uint64_t first[9] = { 0x1111, 0x2222, 3, 640, 480, 2, 16, 8, 1 };
	assert_memory_equal(t.hits[0].event.value, first, sizeof(first));
	assert_int_equal(t.hits[0].event.flags, 0);
	/* The caller is here, and not where its caller is, as frame pointers alone would have it. */
	assert_in_range(t.hits[0].caller, (uintptr_t)test_launch, (uintptr_t)test_launch + 4096);
	assert_int_equal(t.hits[1].event.value[1], 0x3333);
	assert_int_equal(t.hits[1].event.value[3], 640);
	assert_int_equal(t.hits[1].event.value[6], 0);
	assert_int_equal(t.hits[1].event.value[8], 0);
	assert_int_equal(t.hits[1].event.flags, 0);
	assert_true(t.hits[0].event.time_ns < t.hits[1].event.time_ns);
	probing_close(&t);
}

/* Arrays that end where memory ends, and pointers to nowhere. */
static void test_bad_memory(void **state)
{
	struct probing t;
	char *page = page_before_nothing();
	size_t *last = (size_t *)(void *)(page + PAGE - sizeof(size_t));
	size_t *last_two = last - 1;

	(void)state;
	last_two[0] = 33;
	last[0] = 44;
	probing_open(&t);
	enqueue_ndrange_fn *enqueue = FUNCTION(enqueue_ndrange_fn, "clEnqueueNDRangeKernel");
	enqueue((void *)1, (void *)2, 1, NULL, last, NULL, 0, NULL, NULL);
	enqueue((void *)1, (void *)2, 2, NULL, last_two, NULL, 0, NULL, NULL);
	enqueue((void *)1, (void *)2, 2, NULL, (size_t *)(void *)(page + PAGE), NULL, 0, NULL,
		NULL);
	enqueue((void *)1, (void *)2, 2, NULL, (size_t *)-8, last, 0, NULL, NULL);
	assert_int_equal(drain(&t), 4);
	assert_int_equal(t.hits[0].event.value[3], 44);
	assert_int_equal(t.hits[1].event.value[3], 33);
	assert_int_equal(t.hits[1].event.value[4], 44);
	assert_int_equal(t.hits[1].event.flags, 0);
	assert_int_equal(t.hits[2].event.value[3], 0);
	assert_int_equal(t.hits[2].event.flags, ACCEL_EVENT_FAILED);
	assert_int_equal(t.hits[3].event.flags, ACCEL_EVENT_FAILED);
	assert_int_equal(t.hits[3].event.value[6], 44);
	probing_close(&t);
	munmap(page, 2 * PAGE);
}

static void test_map_buffer(void **state)
{
	struct probing t;
	int code;

	(void)state;
	probing_open(&t);
	enqueue_map_fn *enqueue = FUNCTION(enqueue_map_fn, "clEnqueueMapBuffer");
	enqueue((void *)0x10, (void *)0x20, 1, 3, 4096, 123456789, 0, NULL, NULL, &code);
	assert_int_equal(drain(&t), 1);
	assert_int_equal(t.hits[0].event.value[0], 0x10);
	assert_int_equal(t.hits[0].event.value[1], 123456789);
	probing_close(&t);
}

/* Names: here, in memory that has to be paged in, across two such pages, at the end of memory. */
static void test_names(void **state)
{
	struct probing t;
	const char *longer = "a_name_that_goes_across";
	char *absent = absent_pages(2 * PAGE, 100, "paged_in");
	char *across = absent_pages(2 * PAGE, PAGE - 10, longer);
	char *page = page_before_nothing();
	int code;

	(void)state;
	memcpy(page + PAGE - 5, "last", 5);
	probing_open(&t);
	create_kernel_fn *create = FUNCTION(create_kernel_fn, "clCreateKernel");
	const char *names[] = { "here",          "",          absent + 100, across + PAGE - 10,
				page + PAGE - 5, page + PAGE, NULL };
	const char *expected[] = { "here", "", "paged_in", longer, "last", "", "" };
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		create((void *)(0x5000 + i), names[i], &code);
	assert_int_equal(drain(&t), 7);
	for (size_t i = 0; i < t.count; i++) {
		assert_hit(&t, i, "clCreateKernel");
		assert_int_equal(t.hits[i].event.value[0], 0x5000 + i);
		assert_int_equal(t.hits[i].event.value[2], 0x5001 + i);
		assert_string_equal(t.hits[i].text, expected[i]);
		assert_int_equal(t.hits[i].event.flags, i == 5 ? ACCEL_EVENT_FAILED : 0);
	}
	probing_close(&t);
	munmap(absent, 2 * PAGE);
	munmap(across, 2 * PAGE);
	munmap(page, 2 * PAGE);
}

/* A program's strings with and without lengths; together longer than one event can take. */
static void test_source(void **state)
{
	struct probing t;
	char *big = malloc(100000), *ended = malloc(9000);
	const char *strings[] = { "kernel void f() {}\n", big, "only five of these", "", ended };
	const size_t lengths[] = { 0, 100000, 5, 0, 0 };
	int code;

	(void)state;
	assert_non_null(big);
	assert_non_null(ended);
	for (size_t i = 0; i < 100000; i++)
		big[i] = (char)('a' + i % 23);
	memset(ended, 'z', 8999);
	ended[8999] = '\0';
	probing_open(&t);
	create_source_fn *create = FUNCTION(create_source_fn, "clCreateProgramWithSource");
	create((void *)0x7000, 5, strings, lengths, &code);
	create((void *)0x8000, 1, strings, NULL, &code);
	create((void *)0x9000, 0, NULL, NULL, &code);
	assert_int_equal(drain(&t), 3);
	assert_int_equal(t.hits[0].event.value[3], 0x7002);
	assert_int_equal(t.hits[0].event.text_size, 19 + 100000 + 5 + 8999);
	assert_memory_equal(t.hits[0].text, strings[0], 19);
	assert_memory_equal(t.hits[0].text + 19, big, 100000);
	assert_memory_equal(t.hits[0].text + 100019, "only ", 5);
	assert_memory_equal(t.hits[0].text + 100024, ended, 8999);
	assert_int_equal(t.hits[0].event.flags, 0);
	assert_string_equal(t.hits[1].text, strings[0]);
	assert_int_equal(t.hits[2].event.text_size, 0);
	probing_close(&t);
	free(big);
	free(ended);
}

/* What is longer than a program may be is cut, and says so; a string that is not there ends it. */
static void test_source_limits(void **state)
{
	struct probing t;
	const size_t huge = 3u << 20;
	char *text = malloc(huge);
	const char *strings[] = { text, "never reached" },
		   *holes[] = { "first", (char *)16, "third" };
	const size_t lengths[] = { huge, 0 };
	int code;

	(void)state;
	assert_non_null(text);
	memset(text, 'x', huge);
	probing_open(&t);
	create_source_fn *create = FUNCTION(create_source_fn, "clCreateProgramWithSource");
	create((void *)1, 2, strings, lengths, &code);
	create((void *)1, 3, holes, NULL, &code);
	create((void *)1, 1000000, holes, NULL, &code); /* a count that is a lie */
	assert_int_equal(drain(&t), 3);
	assert_int_equal(t.hits[0].event.flags, ACCEL_EVENT_CUT);
	assert_int_equal(t.hits[0].event.text_size, 1u << 20);
	assert_memory_equal(t.hits[0].text, text, 1u << 20);
	assert_int_equal(t.hits[1].event.flags, ACCEL_EVENT_FAILED);
	assert_string_equal(t.hits[1].text, "firstthird");
	assert_true(t.hits[2].event.flags & ACCEL_EVENT_FAILED);
	assert_memory_equal(t.hits[2].text, "firstthird", 10);
	probing_close(&t);
	free(text);
}

static void test_words(void **state)
{
	struct probing t;
	const uint64_t properties[] = { 0x1093, 3, 0x1094, 7, 0, 0 };
	int code;

	(void)state;
	probing_open(&t);
	create_queue_fn *create = FUNCTION(create_queue_fn, "clCreateCommandQueueWithProperties");
	create((void *)0x1000, (void *)0x234, properties, &code);
	create((void *)0x1000, (void *)0x234, NULL, &code);
	assert_int_equal(drain(&t), 2);
	const uint64_t first[8] = { 0x234, 0x1093, 3, 0x1094, 7, 0, 0, 0x1234 };
	const uint64_t second[8] = { 0x234, 0, 0, 0, 0, 0, 0, 0x1234 };
	assert_memory_equal(t.hits[0].event.value, first, sizeof(first));
	assert_memory_equal(t.hits[1].event.value, second, sizeof(second));
	probing_close(&t);
}

/* Nobody but targets is told of. */
static void test_no_target(void **state)
{
	struct probing t;
	const size_t size = 1;
	int code;

	(void)state;
	probing_open(&t);
	programs_remove_target(&t.programs, (uint32_t)getpid());
	FUNCTION(enqueue_ndrange_fn, "clEnqueueNDRangeKernel")
	((void *)1, (void *)2, 1, NULL, &size, NULL, 0, NULL, NULL);
	FUNCTION(create_kernel_fn, "clCreateKernel")((void *)1, "name", &code);
	assert_int_equal(drain(&t), 0);
	probing_close(&t);
}

/* When the recorder is gone, so are its probes. */
static void test_detached(void **state)
{
	struct probing t;
	const size_t size = 1;

	(void)state;
	probing_open(&t);
	enqueue_ndrange_fn *enqueue = FUNCTION(enqueue_ndrange_fn, "clEnqueueNDRangeKernel");
	probes_close(t.probes);
	t.probes = NULL;
	enqueue((void *)1, (void *)2, 1, NULL, &size, NULL, 0, NULL, NULL);
	assert_int_equal(drain(&t), 0);
	probing_close(&t);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_launch),     cmocka_unit_test(test_bad_memory),
		cmocka_unit_test(test_map_buffer), cmocka_unit_test(test_names),
		cmocka_unit_test(test_source),     cmocka_unit_test(test_source_limits),
		cmocka_unit_test(test_words),      cmocka_unit_test(test_no_target),
		cmocka_unit_test(test_detached),
	};
	int failed = 0;

	if (geteuid() != 0) {
		print_message("not root: BPF programs cannot be loaded\n");
		return 77;
	}
	by_multi = argc > 1 && strcmp(argv[1], "multi") == 0;
	for (int i = 2; i < argc; i++) {
		library_path = argv[i];
		print_message("%s\n", library_path);
		failed += cmocka_run_group_tests(tests, NULL, NULL);
	}
	return failed ? 1 : 0;
}
