/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "collect/sideband.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

/* Records put together by hand as perf_event_open(2) describes them. */
struct builder {
	uint8_t bytes[512];
	size_t size;
};

static void put(struct builder *b, const void *data, size_t size)
{
	memcpy(b->bytes + b->size, data, size);
	b->size += size;
}

static void put_u32(struct builder *b, uint32_t value)
{
	put(b, &value, sizeof(value));
}

static void put_u64(struct builder *b, uint64_t value)
{
	put(b, &value, sizeof(value));
}

static void begin(struct builder *b, uint32_t type, uint16_t misc)
{
	uint16_t size = 0;

	b->size = 0;
	put_u32(b, type);
	put(b, &misc, sizeof(misc));
	put(b, &size, sizeof(size));
}

/* pid, tid, time, cpu, reserved: PERF_SAMPLE_TID | TIME | CPU with sample_id_all. */
static struct span end(struct builder *b, uint64_t time_ns)
{
	put_u32(b, 1);
	put_u32(b, 2);
	put_u64(b, time_ns);
	put_u64(b, 0);
	uint16_t size = (uint16_t)b->size;
	memcpy(b->bytes + 6, &size, sizeof(size));
	return span_of(b->bytes, b->size);
}

static void put_mapping(struct builder *b, const char *padded_name, size_t name_size)
{
	begin(b, PERF_RECORD_MMAP2, 0);
	put_u32(b, 41);
	put_u32(b, 42);
	put_u64(b, 0x7f0000001000);
	put_u64(b, 0x2000);
	put_u64(b, 0x3000);
	put_u32(b, 8);
	put_u32(b, 2);
	put_u64(b, 777);
	put_u64(b, 5); /* generation */
	put_u32(b, PROT_READ | PROT_EXEC);
	put_u32(b, MAP_PRIVATE);
	put(b, padded_name, name_size);
}

static void test_mmap(void **state)
{
	(void)state;
	struct builder b;
	struct side_event e;
	struct err err;

	put_mapping(&b, "/lib/a.so\0\0\0\0\0\0\0", 16);
	assert_int_equal(side_event_parse(end(&b, 99), &e, &err), 1);
	assert_int_equal(e.type, SIDE_MMAP);
	assert_int_equal(e.time_ns, 99);
	assert_int_equal(e.pid, 41);
	assert_int_equal(e.tid, 42);
	assert_int_equal(e.start, 0x7f0000001000);
	assert_int_equal(e.size, 0x2000);
	assert_int_equal(e.offset, 0x3000);
	assert_int_equal(e.major, 8);
	assert_int_equal(e.minor, 2);
	assert_int_equal(e.inode, 777);
	assert_int_equal(e.text.size, 9);
	assert_memory_equal(e.text.data, "/lib/a.so", 9);

	/* A name whose NUL would be that of the fields behind it. */
	put_mapping(&b, "/lib/a.so1234567", 16);
	assert_int_equal(side_event_parse(end(&b, 99), &e, &err), -EBADMSG);
	/* Every prefix. */
	put_mapping(&b, "/lib/a.so\0\0\0\0\0\0\0", 16);
	end(&b, 99);
	for (size_t size = 0; size < b.size; size++)
		assert_int_equal(side_event_parse(span_of(b.bytes, size), &e, &err), -EBADMSG);
}

static void test_comm_and_lost(void **state)
{
	(void)state;
	struct builder b;
	struct side_event e;
	struct err err;

	begin(&b, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	put_u32(&b, 7);
	put_u32(&b, 7);
	put(&b, "sh\0\0\0\0\0\0", 8);
	assert_int_equal(side_event_parse(end(&b, 5), &e, &err), 1);
	assert_int_equal(e.type, SIDE_EXEC);
	assert_int_equal(e.text.size, 2);
	begin(&b, PERF_RECORD_COMM, 0);
	put_u32(&b, 7);
	put_u32(&b, 8);
	put(&b, "worker\0\0", 8);
	assert_int_equal(side_event_parse(end(&b, 5), &e, &err), 1);
	assert_int_equal(e.type, SIDE_COMM);
	assert_int_equal(e.tid, 8);
	begin(&b, PERF_RECORD_LOST, 0);
	put_u64(&b, 3);
	put_u64(&b, 1234);
	assert_int_equal(side_event_parse(end(&b, 6), &e, &err), 1);
	assert_int_equal(e.type, SIDE_LOST);
	assert_int_equal(e.lost, 1234);
	begin(&b, PERF_RECORD_THROTTLE, 0);
	assert_int_equal(side_event_parse(end(&b, 6), &e, &err), 0);
}

struct seen {
	uint32_t pid;
	uint64_t start, inode;
	uint32_t child;
	bool mapping, name, exec, born, exit;
};

static int on_side(void *data, const struct side_event *e)
{
	struct seen *seen = data;

	if (e->type == SIDE_MMAP && e->pid == seen->pid && e->start == seen->start)
		seen->mapping = e->inode == seen->inode;
	if (e->type == SIDE_COMM && e->pid == seen->pid)
		seen->name |= e->text.size == 7 && !memcmp(e->text.data, "renamed", 7);
	if (e->type == SIDE_FORK && e->parent_pid == seen->pid)
		seen->born |= e->pid == seen->child;
	if (e->type == SIDE_EXIT && e->pid == seen->child)
		seen->exit = true;
	if (e->type == SIDE_EXEC)
		seen->exec |= e->text.size == 4 && !memcmp(e->text.data, "true", 4);
	return 0;
}

/* The kernel tells of what we do: map this program's file, take another name, let a child exec. */
static void test_kernel(void **state)
{
	(void)state;
	CLEANUP(sideband_close) struct sideband side = { 0 };
	struct seen seen = { .pid = (uint32_t)getpid() };
	struct stat st;
	struct err err;
	int status;

	if (geteuid() != 0) {
		print_message("not root: the kernel does not tell us\n");
		skip();
	}
	if (sideband_open(&side, &(struct perf_scope){ 0 }, SIDEBAND_RING_BYTES, &err) < 0)
		fail_msg("%s", err.text);
	CLEANUP_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	void *pages = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(pages, MAP_FAILED);
	seen.start = (uint64_t)(uintptr_t)pages;
	seen.inode = st.st_ino;
	prctl(PR_SET_NAME, "renamed");
	pid_t child = fork();
	if (child == 0) {
		execlp("true", "true", NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	seen.child = (uint32_t)child;
	assert_int_equal(sideband_drain(&side, on_side, &seen), 0);
	munmap(pages, 4096);
	assert_true(seen.mapping);
	assert_true(seen.name);
	assert_true(seen.exec);
	assert_true(seen.born);
	assert_true(seen.exit);
	assert_int_equal(side.events.malformed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mmap),
		cmocka_unit_test(test_comm_and_lost),
		cmocka_unit_test(test_kernel),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
