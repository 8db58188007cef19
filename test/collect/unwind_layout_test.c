/* SPDX-License-Identifier: Apache-2.0 */
/* Which files of a process get tables: all of a few, of many those that a stack points into. */
#include "unit.h"

#include "collect/object.h"
#include "collect/unwind_internal.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES 3
/* 2 MiB apart, 64 KiB each, so that between them is nothing. */
#define START(i) (0x7f0000000000ull + ((uint64_t)(i) << 21))
#define BYTES    0x10000ull

struct world {
	struct unwinder *unwinder;
	struct object files[FILES]; /* of one file, which are three to us; the last has no code */
	struct layout layout;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct stat st;

	assert_non_null(w);
	w->unwinder = calloc(1, sizeof(*w->unwinder));
	assert_non_null(w->unwinder);
	assert_int_equal(tables_init(&w->unwinder->tables, -1, 16, NULL), 0);
	for (int i = 0; i < FILES; i++) {
		w->files[i].path = (char *)(uintptr_t)(i < FILES - 1 ? "/bin/sh" : "/etc/passwd");
		w->files[i].fd = open(w->files[i].path, O_RDONLY | O_CLOEXEC);
		assert_true(w->files[i].fd >= 0);
		assert_int_equal(fstat(w->files[i].fd, &st), 0);
		w->files[i].size = (uint64_t)st.st_size;
	}
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	layout_release(&w->layout);
	tables_release(&w->unwinder->tables);
	for (int i = 0; i < FILES; i++)
		close(w->files[i].fd);
	free(w->unwinder);
	free(w);
	return 0;
}

static void add(struct world *w, uint64_t start, const struct object *object)
{
	const struct unwind_mapping mapping = { .start = start, .end = start + BYTES, .base = 7 };

	assert_int_equal(layout_push(&w->layout, mapping, object), 0);
}

/* File 0 at the first @count places, file 1 behind them, then the one without code, then no file. */
static void map(struct world *w, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		add(w, START(i), &w->files[0]);
	for (unsigned i = 1; i < FILES; i++)
		add(w, START(count + i - 1), &w->files[i]);
	add(w, START(count + FILES - 1), NULL);
}

static const struct unwind_mapping *at(const struct world *w, size_t i)
{
	return &w->layout.mappings.data[i];
}

static void fill(struct world *w, uint64_t size_max)
{
	assert_int_equal(layout_fill(w->unwinder, &w->layout, size_max, 0), 0);
}

static int want(struct world *w, uint64_t word)
{
	/* As it may lie on a stack, which has no order. */
	const uint64_t words[] = { 1, START(0) - 16, UINT64_MAX, word, 0 };

	return layout_want(w->unwinder, &w->layout, span_of((const uint8_t *)words, sizeof(words)));
}

static void test_few(void **state)
{
	struct world *w = *state;

	map(w, 4);
	assert_int_equal(w->layout.mappings.len, 7);
	fill(w, 1);
	assert_int_equal(at(w, 0)->table, 0);
	assert_int_equal(at(w, 0)->pages, UNWIND_NO_TABLE_YET);
	fill(w, UINT64_MAX);
	for (size_t i = 0; i < 5; i++) {
		assert_true(at(w, i)->table);
		const struct unwind_table *rows =
			&table_at(&w->unwinder->tables, at(w, i)->table)->rows;
		assert_int_equal(at(w, i)->pages, rows->pages);
		assert_int_equal(at(w, i)->base, 7 + rows->base);
	}
	assert_int_equal(at(w, 0)->table, at(w, 3)->table);
	assert_int_not_equal(at(w, 0)->table, at(w, 4)->table);
	assert_int_equal(at(w, 5)->table, 0);
	assert_int_equal(at(w, 5)->pages, UNWIND_NO_TABLE);
	assert_int_equal(at(w, 6)->pages, UNWIND_NO_TABLE_JIT);
	assert_int_equal(w->unwinder->tables.built, 2);
}

static void test_many(void **state)
{
	struct world *w = *state;

	map(w, 80);
	fill(w, UINT64_MAX);
	assert_int_equal(w->unwinder->tables.built, 0);
	for (size_t i = 0; i < 82; i++)
		assert_int_equal(at(w, i)->pages, UNWIND_NO_TABLE_YET);
	assert_int_equal(at(w, 82)->pages, UNWIND_NO_TABLE_JIT);

	/* Beside, between and in what is no file. */
	assert_int_equal(want(w, START(3) + BYTES + 1), 0);
	assert_int_equal(want(w, START(82) + 8), 0);
	assert_int_equal(want(w, START(83)), 0);
	fill(w, UINT64_MAX);
	assert_int_equal(w->unwinder->tables.built, 0);

	/* The last byte is of a call, as the return address behind it says. */
	assert_int_equal(want(w, START(80) + BYTES), 1);
	fill(w, UINT64_MAX);
	assert_int_equal(want(w, START(80)), 0);
	assert_int_equal(w->unwinder->tables.built, 1);
	assert_true(at(w, 80)->table);
	assert_int_equal(at(w, 79)->pages, UNWIND_NO_TABLE_YET);

	/* One place of a file is as good as the other. */
	assert_int_equal(want(w, START(41) + 1), 1);
	assert_int_equal(want(w, START(81) + 1), 1);
	fill(w, UINT64_MAX);
	assert_int_equal(w->unwinder->tables.built, 2);
	for (size_t i = 0; i < 80; i++)
		assert_int_equal(at(w, i)->table, at(w, 0)->table);
	/* That it has none is known from then on, and nothing is wanted any more. */
	assert_int_equal(at(w, 81)->pages, UNWIND_NO_TABLE);
	assert_int_equal(want(w, START(81) + 1), 0);
}

/* What one process has wanted is there for the next, when a stack of that passes through it too. */
static void test_other(void **state)
{
	struct world *w = *state;

	map(w, 80);
	assert_int_equal(want(w, START(80)), 1);
	fill(w, UINT64_MAX);
	uint32_t number = at(w, 80)->table;
	assert_true(number);
	layout_release(&w->layout);
	map(w, 90);
	assert_int_equal(at(w, 90)->pages, UNWIND_NO_TABLE_YET);
	assert_int_equal(want(w, START(90)), 1);
	fill(w, UINT64_MAX);
	assert_int_equal(at(w, 90)->table, number);
	assert_int_equal(w->unwinder->tables.built, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_few, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
