/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/table.h"

#include "base/log.h"
#include "collect/object.h"
#include "worker/unwind.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

int tables_init(struct tables *t, int outer, uint32_t limit, struct worker *worker)
{
	memset(t, 0, sizeof(*t));
	t->outer = outer;
	t->limit = limit;
	t->worker = worker;
	t->bytes_max = TABLES_BYTES_MAX;
	return vec_push(&t->list, (struct table){ 0 });
}

static void table_unmap(struct table *table)
{
	if (table->rows.cells)
		munmap(table->rows.cells, table->bytes);
	memset(table, 0, sizeof(*table));
}

void tables_release(struct tables *t)
{
	inner_updates_release(&t->updates);
	vec_for_each(&t->list, table)
		table_unmap(table);
	for (size_t i = 0; i < TABLES_UNREADABLE_MAX; i++)
		free(t->unreadable[i]);
	vec_for_each(&t->fresh_fds, fd)
		close(*fd);
	vec_release(&t->list);
	vec_release(&t->fresh);
	vec_release(&t->fresh_fds);
	hash_release(&t->by_object);
	hash_release(&t->wanted);
}

void table_use(struct tables *t, uint32_t number)
{
	t->list.data[number].users++;
}

void table_leave(struct tables *t, uint32_t number, uint64_t now_ns)
{
	struct table *table = &t->list.data[number];

	if (--table->users == 0)
		table->left_ns = now_ns;
}

static bool is_idle(const struct table *table, uint64_t now_ns)
{
	return table->rows.rows && !table->users && table->left_ns + TABLE_REST_NS < now_ns;
}

/* The table that has been idle the longest goes. Its number is free then; 0: there is none. */
static uint32_t evict(struct tables *t, uint64_t now_ns)
{
	uint32_t oldest = 0;

	for (uint32_t i = 1; i < t->list.len; i++) {
		const struct table *table = &t->list.data[i];
		if (is_idle(table, now_ns) &&
		    (!oldest || table->left_ns < t->list.data[oldest].left_ns))
			oldest = i;
	}
	if (!oldest)
		return 0;
	struct table *table = &t->list.data[oldest];
	log_debug("unwind table of '%s' is evicted", table->object->path);
	(void)bpf_map_delete_elem(t->outer, &oldest);
	(void)hash_remove(&t->by_object, (uint64_t)(uintptr_t)table->object);
	t->bytes -= table->bytes;
	t->evicted++;
	table_unmap(table);
	return oldest;
}

uint64_t table_clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Where a new table goes: a number that nothing uses; 0: there is none. */
static int number_free(struct tables *t, uint32_t *ret)
{
	for (uint32_t i = 1; i < t->list.len; i++) {
		if (t->list.data[i].object)
			continue;
		*ret = i;
		return 0;
	}
	*ret = 0;
	if (t->list.len >= t->limit)
		return 0;
	if (vec_push(&t->list, (struct table){ 0 }) < 0)
		return -ENOMEM;
	*ret = (uint32_t)t->list.len - 1;
	return 0;
}

/* The rows of a file: from the worker, in its memory, or made here. */
struct rows {
	struct worker_table theirs;
	struct unwind_table ours;
	const struct unwind_table *table;
};

static void rows_release(struct rows *r)
{
	worker_table_release(&r->theirs);
	unwind_table_release(&r->ours);
}
DEFINE_CLEANUP_EMBEDDED(rows_release, struct rows)

static int rows_read(struct tables *t, const struct object *object, struct rows *ret,
		     struct err *err)
{
	/* Not object->elf: the sections read would stay in memory with it. */
	CLEANUP(elf_close) struct elf_file *elf = NULL;

	if (t->worker) {
		ret->table = &ret->theirs.rows;
		return worker_unwind_table(t->worker, object->fd, object->path, &ret->theirs, err);
	}
	ret->table = &ret->ours;
	int rc = elf_open_fd(&elf, object->fd, object->path, ELF_OPEN_LEAN, err);
	return rc < 0 ? rc : unwind_table_build(elf, &ret->ours, NULL, err);
}

/* Memory that only we look at. */
static int memory_create(size_t size, void **ret_memory, size_t *ret_bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t bytes = (size + page - 1) & ~(page - 1);
	void *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return -errno;
	*ret_memory = memory;
	*ret_bytes = bytes;
	return 0;
}

/* Into a BPF map, if the kernel walks stacks. */
static int table_share(struct tables *t, struct table *table, const struct unwind_table *rows,
		       uint32_t number)
{
	void *memory;
	size_t bytes;

	if (vec_reserve(&t->fresh, t->fresh.len + 1) < 0 ||
	    vec_reserve(&t->fresh_fds, t->fresh_fds.len + 1) < 0)
		return -ENOMEM;
	bool is_shared = t->outer >= 0;
	int fd = is_shared ? inner_map_create("unwind_table", sizeof(struct unwind_cell),
					      rows->pages + rows->rows, &memory, &bytes)
			   : memory_create(unwind_table_bytes(rows), &memory, &bytes);
	if (fd < 0)
		return fd;
	memcpy(memory, rows->cells, unwind_table_bytes(rows));
	table->rows = *rows;
	table->rows.cells = memory;
	table->bytes = bytes;
	t->bytes += bytes;
	if (is_shared) {
		t->fresh.data[t->fresh.len++] = number;
		t->fresh_fds.data[t->fresh_fds.len++] = fd;
	}
	return 0;
}

/* A file that is broken, or made to be, is named. */
static void note_unreadable(struct tables *t, const char *text)
{
	if (t->unreadable_count < TABLES_UNREADABLE_MAX)
		t->unreadable[t->unreadable_count] = strdup(text);
	t->unreadable_count++;
}

static int table_make(struct tables *t, const struct object *object, uint64_t now_ns, uint32_t *ret)
{
	CLEANUP(rows_release) struct rows rows = { 0 };
	uint32_t number;
	struct err err;

	*ret = 0;
	int rc = rows_read(t, object, &rows, &err);
	if (rc < 0) {
		log_debug("%s", err.text);
		t->failed++;
		if (rc != -ENOENT && rc != -ENOTSUP)
			note_unreadable(t, err.text);
		return rc == -ENOMEM ? rc : 0;
	}
	while (t->bytes + unwind_table_bytes(rows.table) > t->bytes_max) {
		if (evict(t, now_ns))
			continue;
		log_debug("no room for the unwind table of '%s'", object->path);
		t->refused++;
		return 0;
	}
	rc = number_free(t, &number);
	if (rc < 0)
		return rc;
	if (!number)
		number = evict(t, now_ns);
	if (!number) {
		t->refused++;
		return 0;
	}
	rc = table_share(t, &t->list.data[number], rows.table, number);
	if (rc < 0) {
		log_debug("unwind table of '%s': %s", object->path, strerror(-rc));
		t->failed++;
		return 0;
	}
	t->list.data[number].object = object;
	t->list.data[number].left_ns = now_ns;
	t->built++;
	*ret = number;
	return 0;
}

int tables_get(struct tables *t, const struct object *object, uint64_t size_max, uint64_t now_ns,
	       uint32_t *ret)
{
	uint64_t key = (uint64_t)(uintptr_t)object;
	const uint64_t *known = hash_get(&t->by_object, key);

	if (known) {
		*ret = (uint32_t)*known;
		if (*ret && !t->list.data[*ret].users) /* a copy is walked by it */
			t->list.data[*ret].left_ns = now_ns;
		return 0;
	}
	*ret = 0;
	if (object->fd < 0 || object->is_jitdump)
		return 0;
	if (object->size > size_max) {
		t->deferred++;
		return 0;
	}
	/* A system call, not for each of a process's mappings again and again. */
	uint64_t start_ns = table_clock_ns();
	int rc = table_make(t, object, now_ns, ret);
	t->build_ns += table_clock_ns() - start_ns;
	/* Also where there is none, which is not tried again. */
	return rc < 0 ? rc : hash_set(&t->by_object, key, *ret);
}

bool tables_wants(const struct tables *t, const struct object *object)
{
	uint64_t key = (uint64_t)(uintptr_t)object;

	return hash_get(&t->by_object, key) || hash_get(&t->wanted, key);
}

int tables_want(struct tables *t, const struct object *object)
{
	return hash_set(&t->wanted, (uint64_t)(uintptr_t)object, 1);
}

int tables_publish(struct tables *t)
{
	int rc =
		inner_update(&t->updates, t->outer, t->fresh.data, t->fresh_fds.data, t->fresh.len);

	vec_for_each(&t->fresh_fds, fd)
		close(*fd);
	t->fresh.len = t->fresh_fds.len = 0;
	return rc;
}
