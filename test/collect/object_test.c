/* SPDX-License-Identifier: Apache-2.0 */
/* What one who maps files without end may cost. */
#include "unit.h"

#include "collect/object.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* No process of this machine has it: pid_max is at most 2^22. */
#define NOBODY ((1u << 22) + 10)

static int setup(void **state)
{
	static struct objects objects;
	struct err err;

	*state = &objects;
	return objects_init(&objects, &err);
}

static int teardown(void **state)
{
	objects_release(*state);
	return 0;
}

static struct object *place(struct objects *o, uint64_t inode)
{
	const struct object_place place = {
		.pid = NOBODY,
		.start = 0x1000,
		.end = 0x2000,
		.inode = inode,
		.path = span_of("/nowhere/at/all", 15),
	};
	struct object *object = NULL;

	assert_int_equal(objects_place(o, &place, &object), 0);
	assert_non_null(object);
	return object;
}

static void test_files_without_end(void **state)
{
	struct objects *o = *state;
	struct object *first = place(o, 1);

	for (uint64_t inode = 2; inode <= OBJECTS_MAX; inode++)
		assert_ptr_not_equal(place(o, inode), first);
	size_t count = o->files.len + o->others.len;
	uint64_t unopened = o->unopened;
	struct object *more = place(o, OBJECTS_MAX + 1);
	for (uint64_t inode = OBJECTS_MAX + 2; inode <= OBJECTS_MAX + 1000; inode++)
		assert_ptr_equal(place(o, inode), more);
	assert_string_equal(more->path, "[more files]");
	assert_int_equal(more->fd, -1);
	assert_int_equal(o->files.len + o->others.len, count);
	assert_int_equal(o->unopened - unopened, 1000);
	/* Those from before are still themselves. */
	for (int i = 0; i < 20; i++)
		assert_ptr_not_equal(place(o, 1), more);
}

#define FILES 100

/* A file, mapped so as the kernel would tell. */
static struct object *map_one(struct objects *o, const char *folder, int i)
{
	const unsigned char magic[EI_NIDENT] = { 0x7f, 'E', 'L', 'F' };
	struct object *object = NULL;
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%d", folder, i);
	int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0700);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, magic, sizeof(magic)), sizeof(magic));
	assert_int_equal(fstat(fd, &st), 0);
	close(fd);
	const struct object_place place = {
		.pid = (uint32_t)getpid(),
		.start = 0x1000,
		.end = 0x2000,
		.major = major(st.st_dev),
		.minor = minor(st.st_dev),
		.inode = st.st_ino,
		.path = span_of(path, strlen(path)),
	};
	assert_int_equal(objects_place(o, &place, &object), 0);
	/* No whole ELF file: looked at for its descriptor only. */
	return o->files.data[o->files.len - 1];
}

static void test_descriptors_are_left(void **state)
{
	struct objects *o = *state;
	char folder[] = "/tmp/object_test.XXXXXX", path[64];
	struct rlimit before, limit;
	int opened = 0;

	assert_non_null(mkdtemp(folder));
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	limit = before;
	limit.rlim_cur = 80;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	for (int i = 0; i < FILES; i++)
		opened += map_one(o, folder, i)->fd >= 0;
	/* A quarter is for everything else. */
	for (int i = 0; i < 15; i++)
		assert_true(memfd_create("other", MFD_CLOEXEC) >= 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	for (int i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "%s/%d", folder, i);
		unlink(path);
	}
	rmdir(folder);
	assert_in_range(opened, 30, 60);
	assert_int_equal(o->unopened, FILES - opened);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_files_without_end, setup, teardown),
		cmocka_unit_test_setup_teardown(test_descriptors_are_left, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
