/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/unwind_internal.h"

#include "base/log.h"
#include "bpf/events.h"
#include "collect/object.h"
#include "collect/programs.h"
#include "collect/python.h"
#include "proc/maps.h"
#include "proc/read.h"

#include "recorder.skel.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/*
 * Looking at a process again takes at least this many times the CPU time that the look before took: one
 * that maps hundreds of libraries, one after the other, must not keep us busy (PyTorch: 2 ms a look).
 * CPU time, as a look that had to wait for a busy CPU or for the worker's new tables says nothing about
 * the next: by the clock, pauses of 0.3 s left thousands of launches without their callers.
 */
#define LOOK_PAUSE_FACTOR 8
/*
 * The table of a larger file takes 3 ms and more, 70 on a busy machine: those of the others are not
 * kept waiting for it, but told first.
 */
#define LARGE_FILE_BYTES (16u << 20)

static uint64_t cpu_time_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Where no map of the kernel sets a limit: as many as that has. */
#define TABLES_MAX 8192
/* Mappings of one address space; the kernel's default for all of them, executable or not. */
#define SPACE_MAPPINGS_MAX 65530u

int unwinder_open(struct unwinder **ret, const struct programs *programs, struct objects *objects,
		  struct worker *worker, struct python *python, struct err *err)
{
	CLEANUP(unwinder_close) struct unwinder *u = calloc(1, sizeof(*u));
	struct recorder_bpf *skeleton = programs->skeleton;

	if (!u)
		return err_set(err, -ENOMEM, "no memory for unwind tables");
	u->objects = objects;
	u->python = python;
	u->frames_max = skeleton ? skeleton->rodata->unwind_frames_max : EVENT_USER_FRAMES;
	u->spaces_fd = u->processes_fd = -1;
	int outer = -1;
	uint32_t tables = TABLES_MAX;
	if (skeleton) {
		u->spaces_fd = bpf_map__fd(skeleton->maps.unwind_spaces);
		u->processes_fd = bpf_map__fd(skeleton->maps.unwind_processes);
		u->spaces_limit = bpf_map__max_entries(skeleton->maps.unwind_spaces);
		outer = bpf_map__fd(skeleton->maps.unwind_tables);
		tables = bpf_map__max_entries(skeleton->maps.unwind_tables);
	}
	if (tables_init(&u->tables, outer, tables, worker) < 0 ||
	    vec_push(&u->spaces, (struct space){ 0 }) < 0)
		return err_set(err, -ENOMEM, "no memory for unwind tables");
	*ret = TAKE(u);
	return 0;
}

void unwinder_close(struct unwinder *u)
{
	if (!u)
		return;
	inner_updates_release(&u->updates);
	vec_for_each(&u->spaces, space)
		layout_release(&space->layout);
	vec_for_each(&u->fds, fd)
		close(*fd);
	hash_for_each(&u->followers, slot)
		free((void *)(uintptr_t)slot->value);
	vec_release(&u->spaces);
	vec_release(&u->marked);
	vec_release(&u->numbers);
	vec_release(&u->fds);
	vec_release(&u->moved);
	layout_release(&u->copy_layout);
	mappings_release(&u->copy_mappings);
	vec_release(&u->copy_objects);
	hash_release(&u->followers);
	tables_release(&u->tables);
	free(u);
}

static struct follower *follower_find(const struct unwinder *u, uint32_t pid)
{
	const uint64_t *value = hash_get(&u->followers, pid);

	return value ? (struct follower *)(uintptr_t)*value : NULL;
}

static int follower_get(struct unwinder *u, uint32_t pid, struct follower **ret)
{
	struct follower *f = follower_find(u, pid);

	if (!f) {
		f = calloc(1, sizeof(*f));
		if (!f || hash_set(&u->followers, pid, (uint64_t)(uintptr_t)f) < 0) {
			free(f);
			return -ENOMEM;
		}
		f->pid = pid;
	}
	*ret = f;
	return 0;
}

/* Its turn to be looked at comes. */
static int mark(struct unwinder *u, struct follower *f)
{
	if (f->is_marked)
		return 0;
	f->is_marked = true;
	return vec_push(&u->marked, f);
}

int unwinder_mark(struct unwinder *u, uint32_t pid, uint64_t time_ns)
{
	struct follower *f;

	if (u->spaces_fd < 0)
		return 0;
	int rc = follower_get(u, pid, &f);
	if (rc < 0)
		return rc;
	if (time_ns > f->changed_ns)
		f->changed_ns = time_ns;
	f->is_stale = true;
	return mark(u, f);
}

int unwinder_want(struct unwinder *u, const struct event_copy *copy)
{
	struct follower *f = follower_find(u, copy->header.pid);
	struct layout *layout = f ? &u->spaces.data[f->space].layout : NULL;
	int rc;

	if (!layout || !layout_is_lazy(layout))
		return 0;
	rc = layout_want(u, layout, span_of((const uint8_t *)&copy->pc, sizeof(copy->pc)));
	if (rc >= 0) {
		int more = layout_want(u, layout, span_of(copy->stack, copy->stack_size));
		rc = more ? more : rc;
	}
	return rc > 0 ? mark(u, f) : rc;
}

int unwinder_meet(struct unwinder *u, uint32_t pid)
{
	return unwinder_knows(u, pid) ? 0 : unwinder_mark(u, pid, 0);
}

bool unwinder_knows(const struct unwinder *u, uint32_t pid)
{
	return follower_find(u, pid);
}

static void space_release(struct unwinder *u, struct space *space, uint64_t now_ns)
{
	for (size_t i = 1; i < space->layout.mappings.len; i++) {
		if (space->layout.mappings.data[i].table)
			table_leave(&u->tables, space->layout.mappings.data[i].table, now_ns);
	}
	layout_release(&space->layout);
}

/* One process less has it. The kernel's copy stays until the number is used again: taking something out
 * of a map of maps waits for all CPUs, 6 to 14 ms on an idle machine, in which nobody's tables would
 * come. */
static void space_leave(struct unwinder *u, uint32_t number, uint64_t now_ns)
{
	struct space *space = &u->spaces.data[number];

	if (!number || --space->users)
		return;
	space_release(u, space, now_ns);
	space->left_ns = now_ns;
}

int unwinder_fork(struct unwinder *u, uint32_t pid, uint32_t child)
{
	struct follower *parent = follower_find(u, pid), *f;

	if (!parent) /* then the child is looked at when it is met, too */
		return 0;
	int rc = follower_get(u, child, &f);
	if (rc < 0)
		return rc;
	if (f->space) /* it has been looked at already */
		return 0;
	if (!parent->space)
		return unwinder_mark(u, child, 0);
	f->space = parent->space;
	u->spaces.data[f->space].users++;
	/* It has got what its parent had then, perhaps another number. */
	(void)bpf_map_update_elem(u->processes_fd, &child, &f->space, BPF_EXIST);
	return 0;
}

void unwinder_drop(struct unwinder *u, uint32_t pid, uint64_t now_ns)
{
	struct follower *f = follower_find(u, pid);

	if (!f)
		return;
	(void)bpf_map_delete_elem(u->processes_fd, &pid);
	space_leave(u, f->space, now_ns);
	for (size_t i = 0; f->is_marked && i < u->marked.len; i++) {
		if (u->marked.data[i] != f)
			continue;
		u->marked.data[i] = u->marked.data[--u->marked.len];
		break;
	}
	(void)hash_remove(&u->followers, pid);
	free(f);
}

static int add_line(struct unwinder *u, uint32_t pid, const struct proc_mapping *m,
		    struct layout *layout)
{
	const struct object_place place = {
		.pid = pid,
		.start = m->start,
		.end = m->end,
		.major = m->major,
		.minor = m->minor,
		.inode = m->inode,
		.path = m->path,
	};
	struct unwind_mapping mapping = { .start = m->start, .end = m->end };
	struct object *object = NULL;

	int rc = objects_place(u->objects, &place, &object);
	if (rc >= 0 && object) {
		mapping.base = object_bias(object, m->start, m->offset);
		/* Before any table is made, which can take long: the frames of an interpreter are
		 * read, and are as they should be, without tables too. */
		rc = python_look(u->python, pid, object, mapping.base,
				 layout->mappings.data[0].base);
	}
	return rc < 0 ? rc : layout_push(layout, mapping, object);
}

/* What stands before the mappings. */
static int add_head(struct layout *layout, uint64_t looked_ns)
{
	if (layout_push(layout, (struct unwind_mapping){ .base = looked_ns }, NULL) < 0)
		return -ENOMEM;
	layout->mappings.data[0].pages = 0;
	return 0;
}

/* What @pid maps now: 1, or 0 when it cannot be told, as it is gone. */
static int layout_read(struct unwinder *u, uint32_t pid, struct layout *layout)
{
	CLEANUP_FREE char *text = NULL;
	struct proc_mapping m;
	struct lines lines;
	size_t size;

	/* Before the look: what changes meanwhile is newer. */
	int rc = add_head(layout, clock_ns());
	if (rc < 0)
		return rc;
	if (proc_read(pid, "maps", PROC_MAPS_MAX_BYTES, &text, &size) < 0)
		return 0;
	lines = lines_of(span_of(text, size), "maps");
	while ((rc = proc_maps_next(&lines, &m, NULL)) > 0) {
		if (!m.is_executable)
			continue;
		rc = add_line(u, pid, &m, layout);
		if (rc < 0)
			return rc;
		if (layout->mappings.len > SPACE_MAPPINGS_MAX)
			break;
	}
	layout->mappings.data[0].pages = (uint32_t)layout->mappings.len - 1;
	return layout->mappings.len > 1;
}

/* The same as before: 1, or 0 when nothing is known. */
static int layout_copy(struct layout *to, const struct layout *from)
{
	size_t count = from->mappings.len;

	if (!count)
		return 0;
	if (vec_reserve(&to->mappings, count) < 0 || vec_reserve(&to->objects, count) < 0)
		return -ENOMEM;
	memcpy(to->mappings.data, from->mappings.data, count * sizeof(*to->mappings.data));
	memcpy(to->objects.data, from->objects.data, count * sizeof(*to->objects.data));
	to->mappings.len = to->objects.len = count;
	return 1;
}

/* A number that nothing has used for a while; 0: there is none. */
static int space_number(struct unwinder *u, uint64_t now_ns, uint32_t *ret)
{
	*ret = 0;
	for (uint32_t i = 1; i < u->spaces.len; i++) {
		const struct space *space = &u->spaces.data[i];
		if (space->users || space->left_ns + TABLE_REST_NS > now_ns)
			continue;
		*ret = i;
		return 0;
	}
	if (u->spaces.len >= u->spaces_limit) {
		u->refused_spaces++;
		return 0;
	}
	if (vec_push(&u->spaces, (struct space){ 0 }) < 0)
		return -ENOMEM;
	*ret = (uint32_t)u->spaces.len - 1;
	return 0;
}

/* Put what was read under a number of its own, for the kernel to get with the others. */
static int space_stage(struct unwinder *u, struct follower *f, struct layout *fresh,
		       uint64_t now_ns)
{
	uint32_t number = f->space;
	void *memory;
	size_t bytes;
	int rc = 0;

	if (!number || u->spaces.data[number].users > 1)
		rc = space_number(u, now_ns, &number);
	if (rc < 0 || !number)
		return rc;
	if (vec_reserve(&u->numbers, u->numbers.len + 1) < 0 ||
	    vec_reserve(&u->fds, u->fds.len + 1) < 0 ||
	    vec_reserve(&u->moved, u->moved.len + 1) < 0)
		return -ENOMEM;
	int fd = inner_map_create("unwind_space", sizeof(struct unwind_mapping),
				  (uint32_t)fresh->mappings.len, &memory, &bytes);
	if (fd < 0) {
		log_debug("mappings of process %u: %s", f->pid, strerror(-fd));
		return 0;
	}
	memcpy(memory, fresh->mappings.data, fresh->mappings.len * sizeof(*fresh->mappings.data));
	munmap(memory, bytes);
	u->numbers.data[u->numbers.len++] = number;
	u->fds.data[u->fds.len++] = fd;
	u->publications++;
	for (size_t i = 1; i < fresh->mappings.len; i++) {
		if (fresh->mappings.data[i].table)
			table_use(&u->tables, fresh->mappings.data[i].table);
	}
	if (number != f->space) {
		/* One that is not there any more has ended or has a new image, which is told yet. */
		u->moved.data[u->moved.len++] =
			(struct moved){ f->pid, number, f->space ? BPF_EXIST : BPF_ANY };
		space_leave(u, f->space, now_ns);
		f->space = number;
		u->spaces.data[number].users = 1;
	} else {
		space_release(u, &u->spaces.data[number], now_ns);
	}
	u->spaces.data[number].layout = *fresh;
	memset(fresh, 0, sizeof(*fresh));
	return 0;
}

/* The kernel has that already, and looked at after the last change. */
static bool is_known(const struct unwinder *u, const struct follower *f, const struct layout *fresh)
{
	const struct layout *now = &u->spaces.data[f->space].layout;
	size_t count = fresh->mappings.len;

	return f->space && now->mappings.len == count &&
	       now->mappings.data[0].base > f->changed_ns &&
	       !memcmp(now->mappings.data + 1, fresh->mappings.data + 1,
		       (count - 1) * sizeof(*fresh->mappings.data));
}

static int look(struct unwinder *u, struct follower *f, uint64_t now_ns)
{
	struct layout fresh = { 0 };

	int rc = f->is_stale ? layout_read(u, f->pid, &fresh)
			     : layout_copy(&fresh, &u->spaces.data[f->space].layout);
	if (rc > 0) {
		rc = layout_fill(u, &fresh, u->size_max, now_ns);
		if (rc >= 0 && !is_known(u, f, &fresh))
			rc = space_stage(u, f, &fresh, now_ns);
	}
	layout_release(&fresh);
	return rc < 0 ? rc : 0;
}

/* Tables before mappings that refer to them, mappings before processes that have them. */
static int publish(struct unwinder *u)
{
	int rc = tables_publish(&u->tables);

	if (rc >= 0)
		rc = inner_update(&u->updates, u->spaces_fd, u->numbers.data, u->fds.data,
				  u->numbers.len);
	vec_for_each(&u->fds, fd)
		close(*fd);
	vec_for_each(&u->moved, m) {
		if (rc >= 0)
			(void)bpf_map_update_elem(u->processes_fd, &m->pid, &m->space, m->flags);
	}
	u->numbers.len = u->fds.len = u->moved.len = 0;
	if (rc < 0)
		log_debug("cannot publish unwind tables: %s", strerror(-rc));
	return 0;
}

/* Look at all whose turn it is, with files of at most @size_max; who needs larger ones stays marked. */
static int look_at_marked(struct unwinder *u, uint64_t size_max, uint64_t now_ns)
{
	size_t kept = 0;
	int rc = 0;

	u->size_max = size_max;
	for (size_t i = 0; i < u->marked.len; i++) {
		struct follower *f = u->marked.data[i];
		if (rc < 0 || (f->is_stale && now_ns < f->next_look_ns)) {
			u->marked.data[kept++] = f;
			continue;
		}
		uint64_t deferred = u->tables.deferred;
		uint64_t start_ns = cpu_time_ns() - u->tables.build_ns;
		rc = look(u, f, now_ns);
		if (u->tables.deferred != deferred) {
			u->marked.data[kept++] = f;
			continue;
		}
		uint64_t took_ns = cpu_time_ns() - u->tables.build_ns - start_ns;
		if (f->is_stale)
			f->next_look_ns = now_ns + took_ns * LOOK_PAUSE_FACTOR;
		f->is_marked = f->is_stale = false;
	}
	u->marked.len = kept;
	return rc < 0 ? rc : publish(u);
}

int unwinder_publish(struct unwinder *u, uint64_t now_ns)
{
	uint64_t deferred = u->tables.deferred;

	int rc = look_at_marked(u, LARGE_FILE_BYTES, now_ns);
	if (rc >= 0 && u->tables.deferred != deferred)
		rc = look_at_marked(u, UINT64_MAX, now_ns);
	return rc;
}

struct unwinder_stats unwinder_stats(const struct unwinder *u)
{
	struct unwinder_stats stats = {
		.table_bytes = u->tables.bytes,
		.build_ns = u->tables.build_ns,
		.tables = u->tables.built,
		.failed = u->tables.failed,
		.evicted = u->tables.evicted,
		.refused = u->tables.refused,
		.publications = u->publications,
		.refused_spaces = u->refused_spaces,
		.copies = u->copies,
		.copies_ns = u->copies_ns,
	};

	for (size_t i = 1; i < u->spaces.len; i++)
		stats.spaces += u->spaces.data[i].users > 0;
	return stats;
}

const char *unwinder_unreadable(const struct unwinder *u, size_t i)
{
	return i < TABLES_UNREADABLE_MAX ? u->tables.unreadable[i] : NULL;
}
