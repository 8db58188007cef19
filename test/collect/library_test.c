/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "collect/library.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

static void put_u32(uint8_t *at, uint32_t value)
{
	memcpy(at, &value, sizeof(value));
}

/* A cache as glibc's dl-cache.h describes it: a 32-bit library first, then ours. */
static void test_cache(void **state)
{
	(void)state;
	uint8_t cache[256] = { 0 };
	static const char strings[] = "libfoo.so.1\0/lib32/libfoo.so.1\0/lib64/libfoo.so.1";
#if defined(__x86_64__)
	const uint32_t ours = 0x0303, other = 0x0003;
#else
	const uint32_t ours = 0x0a03, other = 0x0003;
#endif

	memcpy(cache, "glibc-ld.so.cache1.1", 20);
	put_u32(cache + 20, 2);
	put_u32(cache + 24, sizeof(strings));
	put_u32(cache + 48, other);
	put_u32(cache + 52, 96);
	put_u32(cache + 56, 96 + 12);
	put_u32(cache + 72, ours);
	put_u32(cache + 76, 96);
	put_u32(cache + 80, 96 + 31);
	memcpy(cache + 96, strings, sizeof(strings));
	struct span span = span_of(cache, 96 + sizeof(strings));
	assert_string_equal(library_find_in_cache(span, "libfoo.so.1"), "/lib64/libfoo.so.1");
	assert_null(library_find_in_cache(span, "libfoo.so"));

	/* Every prefix: nothing is read beyond it. */
	for (size_t size = 0; size < span.size; size++) {
		uint8_t *exact = malloc(size ? size : 1);
		assert_non_null(exact);
		memcpy(exact, cache, size);
		const char *found = library_find_in_cache(span_of(exact, size), "libfoo.so.1");
		assert_null(found);
		free(exact);
	}
}

/* The C library of this machine. */
static void test_here(void **state)
{
	(void)state;
	CLEANUP_FREE char *path = library_find("libc.so.6");

	assert_non_null(path);
	assert_non_null(strstr(path, "/libc.so.6"));
	assert_null(library_find("libno-such-library.so.9"));
}

/* One of ours, where it is installed: as far from this program as it would be from accel-prof. */
static void test_own(void **state)
{
	(void)state;
	char program[PATH_MAX], here[PATH_MAX + 64], file[PATH_MAX + 128], command[2 * PATH_MAX];
	ssize_t size = readlink("/proc/self/exe", program, sizeof(program) - 1);

	assert_true(size > 0);
	program[size] = '\0';
	*strrchr(program, '/') = '\0';
	snprintf(here, sizeof(here), "%s/%s", program, LIBRARY_INSTALLED);
	snprintf(command, sizeof(command), "mkdir -p '%s'", here);
	assert_int_equal(system(command), 0);
	snprintf(file, sizeof(file), "%s/libaccel-prof-test-own.so", here);
	assert_null(library_own("libaccel-prof-test-own.so"));
	CLEANUP_CLOSE int fd = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	CLEANUP_FREE char *found = library_own("libaccel-prof-test-own.so");
	CLEANUP_FREE char *wanted = realpath(file, NULL);
	assert_int_equal(unlink(file), 0);
	assert_non_null(found);
	assert_string_equal(found, wanted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cache),
		cmocka_unit_test(test_here),
		cmocka_unit_test(test_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
