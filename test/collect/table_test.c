/* SPDX-License-Identifier: Apache-2.0 */
/* The bound on the memory of tables: which one goes, and what happens when none can. */
#include "unit.h"

#include "base/io.h"
#include "collect/object.h"
#include "collect/table.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND 1000000000ull
#define FILES  3

struct world {
	int outer;
	struct tables tables;
	struct object files[FILES];
};

static int outer_create(void)
{
	void *memory;
	size_t bytes;
	CLEANUP_CLOSE int inner = inner_map_create("test", 8, 1, &memory, &bytes);

	if (inner < 0)
		return inner;
	LIBBPF_OPTS(bpf_map_create_opts, opts, .inner_map_fd = (uint32_t)inner);
	return bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "test_outer", 4, 4, 16, &opts);
}

/* The interpreter is on all machines, in one file; three copies of it are three files to us. */
static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct stat st;

	assert_non_null(w);
	w->outer = outer_create();
	for (int i = 0; i < FILES; i++) {
		w->files[i].path = (char *)(uintptr_t) "/bin/sh";
		w->files[i].fd = open(w->files[i].path, O_RDONLY | O_CLOEXEC);
		assert_true(w->files[i].fd >= 0);
		assert_int_equal(fstat(w->files[i].fd, &st), 0);
		w->files[i].size = (uint64_t)st.st_size;
	}
	assert_int_equal(tables_init(&w->tables, w->outer, 16, NULL), 0);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	tables_release(&w->tables);
	for (int i = 0; i < FILES; i++)
		close(w->files[i].fd);
	if (w->outer >= 0)
		close(w->outer);
	free(w);
	return 0;
}

static uint32_t get(struct world *w, int file, uint64_t now_ns)
{
	uint32_t number;

	assert_int_equal(tables_get(&w->tables, &w->files[file], UINT64_MAX, now_ns, &number), 0);
	assert_int_equal(tables_publish(&w->tables), 0);
	return number;
}

/* The kernel's number of the map that it has under @number; 0: none. */
static uint32_t kernel_has(const struct world *w, uint32_t number)
{
	uint32_t id;

	return bpf_map_lookup_elem(w->outer, &number, &id) ? 0 : id;
}

/* Room for two: the one that nobody has mapped for a while goes for the third. */
static void test_evicts(void **state)
{
	struct world *w = *state;
	const uint64_t now = 100 * SECOND;

	if (w->outer < 0) {
		print_message("no BPF maps can be made here\n");
		skip();
	}
	uint32_t first = get(w, 0, now);
	uint64_t one = w->tables.bytes;
	assert_true(one > 0);
	w->tables.bytes_max = 2 * one + one / 2;
	uint32_t second = get(w, 1, now);
	uint32_t before = kernel_has(w, first);
	assert_true(first && second && first != second && before && kernel_has(w, second));
	table_use(&w->tables, first);
	table_use(&w->tables, second);

	/* Both in use: no room, and the file is asked for only once. */
	assert_int_equal(get(w, 2, now), 0);
	assert_int_equal(w->tables.refused, 1);
	assert_int_equal(w->tables.evicted, 0);
	(void)hash_remove(&w->tables.by_object, (uint64_t)(uintptr_t)&w->files[2]);

	/* Left just now: a program may still walk by it. */
	table_leave(&w->tables, first, now);
	assert_int_equal(get(w, 2, now + SECOND), 0);
	assert_int_equal(w->tables.refused, 2);
	assert_int_equal(kernel_has(w, first), before);
	(void)hash_remove(&w->tables.by_object, (uint64_t)(uintptr_t)&w->files[2]);

	assert_int_equal(get(w, 2, now + 3 * SECOND), first);
	assert_int_equal(w->tables.evicted, 1);
	assert_int_equal(w->tables.bytes, 2 * one);
	assert_true(kernel_has(w, first) && kernel_has(w, first) != before);
	assert_int_equal(table_at(&w->tables, first)->object->fd, w->files[2].fd);

	/* The first file again: its table has to be made again, in the place of none. */
	assert_int_equal(get(w, 0, now + 3 * SECOND), 0);
	assert_int_equal(w->tables.refused, 3);
}

/* As many numbers as the kernel's array has, where memory is no bound. */
static void test_numbers(void **state)
{
	struct world *w = *state;

	if (w->outer < 0)
		skip();
	w->tables.limit = 3; /* number 0 is not used */
	assert_int_equal(get(w, 0, 0), 1);
	assert_int_equal(get(w, 1, 0), 2);
	assert_int_equal(get(w, 2, SECOND), 0);
	assert_int_equal(w->tables.refused, 1);
	(void)hash_remove(&w->tables.by_object, (uint64_t)(uintptr_t)&w->files[2]);
	table_use(&w->tables, 2);
	assert_int_equal(get(w, 2, 3 * SECOND), 1);
	assert_int_equal(w->tables.evicted, 1);
}

/* Files larger than asked for wait for their turn. */
static void test_deferred(void **state)
{
	struct world *w = *state;
	uint32_t number = 7;

	assert_int_equal(tables_get(&w->tables, &w->files[0], w->files[0].size - 1, 0, &number), 0);
	assert_int_equal(number, 0);
	assert_int_equal(w->tables.deferred, 1);
	assert_int_equal(w->tables.built + w->tables.failed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_evicts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_numbers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_deferred, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
