/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwind tables of mapped files as the kernel sees them: made when a file is first mapped, each
 * in a BPF map of its own that both sides read. Knows files, not who maps them where.
 */
#pragma once

#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "collect/inner_map.h"
#include "unwind/table.h"

#include <stdbool.h>
#include <stdint.h>

struct object;
struct worker;

/*
 * Memory for all tables: a PyTorch process needs 45 MB, so this is room for a machine full of
 * different ones. Beyond it, tables that no living process maps go first; if there are none, new
 * files get no table, and stacks go on behind them by copies.
 */
#define TABLES_BYTES_MAX (512ull << 20)

/* A number is used again only when no program can still know it from a forked child that we have not
 * been told of. */
#define TABLE_REST_NS 2000000000ull

/* As many are named to the user; the rest is counted. */
#define TABLES_UNREADABLE_MAX 4

struct table {
	const struct object *object;
	struct unwind_table rows; /* in memory shared with the kernel; no rows: there is no table */
	uint64_t bytes;
	uint32_t users;   /* address spaces that refer to it */
	uint64_t left_ns; /* when the last of them went */
};

struct tables {
	int outer; /* BPF_MAP_TYPE_ARRAY_OF_MAPS: number -> cells; -1: the kernel gets none */
	/* Who reads the files; NULL: nobody could be started, and we do it ourselves. The builder is
	 * made for hostile files and fuzzed; stacks without it would be no stacks at all. */
	struct worker *worker;
	uint32_t limit;
	uint64_t bytes, bytes_max;
	VEC(struct table) list; /* by number; 0 is not used */
	struct hash by_object;
	struct hash wanted; /* objects of processes with many, as far as stacks pass through them */
	/* Made since the last tables_publish(). */
	VEC(uint32_t) fresh;
	VEC(int) fresh_fds;
	struct inner_updates updates;
	uint64_t build_ns;      /* time that making them took */
	uint32_t built, failed; /* files with a table and without */
	/* Files that could not be read, as against those without unwind information: the first few, as
	 * sentences; malloc'ed. */
	char *unreadable[TABLES_UNREADABLE_MAX];
	uint32_t unreadable_count;
	uint32_t evicted, refused;
	uint64_t deferred;
};

/* @outer, if not -1, has room for @limit tables; it and @worker are borrowed. */
int tables_init(struct tables *t, int outer, uint32_t limit, struct worker *worker);
void tables_release(struct tables *t);

/*
 * The number of @object's table, made now if need be; 0: it has none, or its file is larger than
 * @size_max and its turn comes later, which `deferred` counts. Negative: no memory.
 */
int tables_get(struct tables *t, const struct object *object, uint64_t size_max, uint64_t now_ns,
	       uint32_t *ret);
static inline const struct table *table_at(const struct tables *t, uint32_t number)
{
	return &t->list.data[number];
}
/* For processes with so many files that their tables are made only when they are wanted: whether
 * @object's is, or is there already; and that it is from now on. */
bool tables_wants(const struct tables *t, const struct object *object);
int tables_want(struct tables *t, const struct object *object);
/* An address space begins or ceases to refer to it. */
void table_use(struct tables *t, uint32_t number);
void table_leave(struct tables *t, uint32_t number, uint64_t now_ns);
/* Give the kernel what was made since the last call; before any mapping refers to it. */
int tables_publish(struct tables *t);

/* CPU time of ours. */
uint64_t table_clock_ns(void);
