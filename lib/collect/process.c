/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/process.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "collect/describe.h"
#include "proc/maps.h"
#include "proc/read.h"

#include <errno.h>
#include <string.h>

/* /proc/PID/maps is read again at most this often. */
#define MAPS_AGAIN_NS 1000000000u

static void process_free(struct process *process)
{
	if (!process)
		return;
	mappings_release(&process->mappings);
	free(process->command);
	free(process->cgroup);
	free(process);
}
DEFINE_CLEANUP(process_free, struct process *)

void processes_init(struct processes *p, struct capture_writer *writer, struct objects *objects)
{
	memset(p, 0, sizeof(*p));
	p->writer = writer;
	p->objects = objects;
}

static void *pointer_get(const struct hash *h, uint64_t key)
{
	const uint64_t *value = hash_get(h, key);

	return value ? (void *)(uintptr_t)*value : NULL;
}

static int pointer_set(struct hash *h, uint64_t key, const void *value)
{
	return hash_set(h, key, (uint64_t)(uintptr_t)value);
}

void processes_release(struct processes *p)
{
	hash_for_each(&p->by_tid, slot)
		free((void *)(uintptr_t)slot->value);
	hash_for_each(&p->by_pid, slot)
		process_free((struct process *)(uintptr_t)slot->value);
	hash_release(&p->by_tid);
	hash_release(&p->by_pid);
}

static void set_name(char *ret, struct span name)
{
	size_t size = name.size < THREAD_NAME_BYTES - 1 ? name.size : THREAD_NAME_BYTES - 1;

	if (size)
		memcpy(ret, name.data, size);
	ret[size] = '\0';
}

static void thread_forget(struct processes *p, struct thread *thread)
{
	*thread->link = thread->next;
	if (thread->next)
		thread->next->link = thread->link;
	hash_remove(&p->by_tid, thread->tid);
	free(thread);
}

static void threads_forget(struct processes *p, struct process *process)
{
	while (process->threads)
		thread_forget(p, process->threads);
}

/* Put a new process in the place of whatever had this pid, its threads included. */
static int process_new(struct processes *p, uint32_t pid, struct process **ret)
{
	CLEANUP(process_free) struct process *process = calloc(1, sizeof(*process));
	struct process *before = pointer_get(&p->by_pid, pid);

	if (!process || pointer_set(&p->by_pid, pid, process) < 0)
		return -ENOMEM;
	process->pid = process->ns_pid = pid;
	process->id = ++p->last_process;
	if (before) {
		threads_forget(p, before);
		process_free(before);
	}
	*ret = TAKE(process);
	return 0;
}

int process_adopt(struct processes *p, uint32_t pid, uint64_t time_ns, struct process **ret)
{
	struct process *process;
	struct process_facts facts;

	int rc = process_new(p, pid, &process);
	if (rc < 0)
		return rc;
	process->start_ns = time_ns;
	if (process_facts_read(pid, &facts) == 0) {
		const struct process *parent = pointer_get(&p->by_pid, facts.parent_pid);
		process->parent = parent ? parent->id : 0;
		process->ns_pid = facts.ns_pid;
		process->uid = facts.uid;
		if (facts.start_ns)
			process->start_ns = facts.start_ns;
		memcpy(process->comm, facts.comm, sizeof(process->comm));
		process->command = TAKE(facts.command);
		process->cgroup = TAKE(facts.cgroup);
		process_facts_release(&facts);
	}
	*ret = process;
	return 0;
}

int process_get(struct processes *p, uint32_t pid, uint64_t time_ns, struct process **ret)
{
	struct process *process = pointer_get(&p->by_pid, pid);

	if (!process) {
		int rc = process_adopt(p, pid, time_ns, &process);
		if (rc >= 0)
			rc = process_read_maps(p, process, time_ns);
		if (rc < 0)
			return rc;
	}
	*ret = process;
	return 0;
}

static int thread_new(struct processes *p, struct process *process, uint32_t tid,
		      struct thread **ret)
{
	struct thread *thread = calloc(1, sizeof(*thread));
	struct thread *before = pointer_get(&p->by_tid, tid);

	if (before)
		thread_forget(p, before);
	if (!thread || pointer_set(&p->by_tid, tid, thread) < 0) {
		free(thread);
		return -ENOMEM;
	}
	thread->id = ++p->last_thread;
	thread->tid = tid;
	thread->process = process;
	thread->link = &process->threads;
	thread->next = process->threads;
	if (thread->next)
		thread->next->link = &thread->next;
	process->threads = thread;
	memcpy(thread->name, process->comm, sizeof(thread->name));
	*ret = thread;
	return 0;
}

int thread_get(struct processes *p, uint32_t pid, uint32_t tid, uint64_t time_ns,
	       struct thread **ret)
{
	struct thread *thread = pointer_get(&p->by_tid, tid);
	struct process *process;
	char name[THREAD_NAME_BYTES];

	int rc = process_get(p, pid, time_ns, &process);
	if (rc < 0)
		return rc;
	if (thread && thread->process == process) {
		*ret = thread;
		return 0;
	}
	rc = thread_new(p, process, tid, &thread);
	if (rc < 0)
		return rc;
	int64_t size = proc_thread_name(pid, tid, name, sizeof(name));
	if (size > 0)
		set_name(thread->name, span_of(name, (size_t)size));
	*ret = thread;
	return 0;
}

static int process_born(struct processes *p, const struct thread *forker, uint32_t pid,
			uint64_t time_ns, struct process **ret)
{
	struct process *parent = forker->process, *child;
	uint32_t parent_id;

	/* So that no process in the file has a parent that is not. */
	int rc = process_declare(p, parent, &parent_id);
	if (rc < 0)
		return rc;
	rc = process_new(p, pid, &child);
	if (rc < 0)
		return rc;
	child->parent = parent_id;
	child->start_ns = time_ns;
	child->uid = parent->uid;
	/* The parent's until it execs. */
	memcpy(child->comm, forker->name, sizeof(child->comm));
	child->command = parent->command ? strdup(parent->command) : NULL;
	child->cgroup = parent->cgroup ? strdup(parent->cgroup) : NULL;
	child->maps_read_ns = parent->maps_read_ns;
	*ret = child;
	return mappings_copy(&child->mappings, &parent->mappings);
}

int process_fork(struct processes *p, uint32_t pid, uint32_t tid, uint32_t child_pid,
		 uint32_t child_tid, uint64_t time_ns)
{
	struct thread *forker, *thread;
	char name[THREAD_NAME_BYTES];
	struct process *child;

	int rc = thread_get(p, pid, tid, time_ns, &forker);
	if (rc < 0)
		return rc;
	/* It may be what had the child's number before, and be gone. */
	memcpy(name, forker->name, sizeof(name));
	child = forker->process;
	if (child_pid != pid) {
		rc = process_born(p, forker, child_pid, time_ns, &child);
		if (rc < 0)
			return rc;
	}
	rc = thread_new(p, child, child_tid, &thread);
	if (rc < 0)
		return rc;
	memcpy(thread->name, name, sizeof(thread->name));
	return 0;
}

int process_exec(struct processes *p, uint32_t pid, struct span comm, uint64_t time_ns)
{
	struct process *before = pointer_get(&p->by_pid, pid), *process;
	struct process old = { .ns_pid = pid };
	struct thread *thread;

	if (before) {
		old = *before;
		before->cgroup = NULL; /* ours now */
	}
	int rc = process_new(p, pid, &process);
	if (rc < 0) {
		free(old.cgroup);
		return rc;
	}
	/* Its parent is not the image before, which need not have run at all (fork, then exec). */
	process->parent = old.parent;
	process->ns_pid = old.ns_pid;
	process->uid = old.uid;
	process->cgroup = old.cgroup;
	process->start_ns = time_ns;
	process->maps_read_ns = time_ns; /* its mappings are told from here on */
	process->is_executing = true;
	set_name(process->comm, comm);
	return thread_new(p, process, pid, &thread);
}

/* Arguments as a shell's user would type them, but for quotes; NULL for none. */
static char *join_arguments(struct span arguments)
{
	size_t size = arguments.size;

	while (size && !arguments.data[size - 1])
		size--;
	if (!size)
		return NULL;
	char *copy = malloc(size + 1);
	if (!copy)
		return NULL;
	memcpy(copy, arguments.data, size);
	for (size_t i = 0; i < size; i++) {
		if (!copy[i])
			copy[i] = ' ';
	}
	copy[size] = '\0';
	return copy;
}

int process_complete(struct processes *p, uint32_t pid, uint32_t uid, struct span arguments,
		     uint64_t time_ns)
{
	struct process *process = pointer_get(&p->by_pid, pid);
	uint32_t id;

	if (!process || !process->is_executing) {
		/* Its first half did not fit into the side-band's ring. */
		int rc = process_new(p, pid, &process);
		if (rc < 0)
			return rc;
		process->start_ns = time_ns;
		rc = process_read_maps(p, process, time_ns);
		if (rc < 0)
			return rc;
	}
	process->is_executing = false;
	process->uid = uid;
	process->command = join_arguments(arguments);
	if (!process->is_declared)
		return 0;
	/* A sample during the exec was first. The record once more, under the same number. */
	process->is_declared = false;
	return process_declare(p, process, &id);
}

int thread_rename(struct processes *p, uint32_t pid, uint32_t tid, struct span name,
		  uint64_t time_ns)
{
	struct thread *thread;

	int rc = thread_get(p, pid, tid, time_ns, &thread);
	if (rc < 0)
		return rc;
	set_name(thread->name, name);
	/* Told again under the same number with the new name when it is next referred to. */
	thread->is_declared = false;
	if (pid == tid) {
		set_name(thread->process->comm, name);
		thread->process->is_declared = false;
	}
	return 0;
}

int process_anon(struct processes *p, struct process *process, const struct object **ret)
{
	if (!process->anon) {
		struct object_owner owner = {
			.pid = process->pid,
			.ns_pid = process->ns_pid,
			.uid = process->uid,
			.process = process->id,
		};
		int rc = objects_anon(p->objects, &owner, &process->anon);
		if (rc < 0)
			return rc;
	}
	*ret = process->anon;
	return 0;
}

static int map_into(struct processes *p, struct process *process, uint64_t start, uint64_t end,
		    uint64_t offset, const struct object *object)
{
	struct mapping mapping = { .start = start, .end = end, .offset = offset };

	if (!object || object->is_jitdump) {
		const struct object *jitdump = object;
		int rc = process_anon(p, process, &object);
		if (rc < 0)
			return rc;
		if (jitdump) {
			process->anon->jitdump = jitdump;
			return 0;
		}
	}
	mapping.object = object;
	mapping.bias = object_bias(object, start, offset);
	int rc = mappings_insert(&process->mappings, &mapping);
	if (rc == -ENOSPC) {
		p->unknown_mappings++;
		return 0;
	}
	return rc;
}

int process_map(struct processes *p, uint32_t pid, uint64_t start, uint64_t end, uint64_t offset,
		const struct object *object, uint64_t time_ns)
{
	struct process *process;

	int rc = process_get(p, pid, time_ns, &process);
	if (rc < 0)
		return rc;
	return map_into(p, process, start, end, offset, object);
}

void process_exit(struct processes *p, uint32_t pid, uint32_t tid, bool is_last, uint64_t time_ns)
{
	struct process *process = pointer_get(&p->by_pid, pid);
	struct thread *thread = pointer_get(&p->by_tid, tid);

	/* Kept a little: the order of time holds per event, and probes may have begun before. */
	if (process && is_last)
		process->exited_ns = time_ns;
	if (process && !is_last && tid != pid && thread && thread->process == process)
		thread_forget(p, thread);
}

void processes_forget(struct processes *p, uint64_t time_ns)
{
	for (struct hash_slot *slot = hash_next(&p->by_pid, 0), *next; slot; slot = next) {
		struct process *process = (struct process *)(uintptr_t)slot->value;
		next = hash_next(&p->by_pid, (size_t)(slot - p->by_pid.slots) + 1);
		if (process->exited_ns && process->exited_ns < time_ns) {
			threads_forget(p, process);
			hash_remove(&p->by_pid, process->pid);
			process_free(process);
		}
	}
}

static int read_mapping(struct processes *p, struct process *process, const struct proc_mapping *m)
{
	struct object_place place = {
		.pid = process->pid,
		.start = m->start,
		.end = m->end,
		.major = m->major,
		.minor = m->minor,
		.inode = m->inode,
		.path = m->path,
		.is_deleted = m->is_deleted,
	};
	struct object *object = NULL;

	int rc = objects_place(p->objects, &place, &object);
	if (rc >= 0 && object && p->on_mapping)
		rc = p->on_mapping(p->data, process->pid, object,
				   object_bias(object, m->start, m->offset));
	return rc < 0 ? rc : map_into(p, process, m->start, m->end, m->offset, object);
}

int process_read_maps(struct processes *p, struct process *process, uint64_t time_ns)
{
	CLEANUP_FREE char *data = NULL;
	struct proc_mapping m;
	struct err err;
	size_t size;
	int rc;

	if (process->maps_read_ns && time_ns < process->maps_read_ns + MAPS_AGAIN_NS)
		return 0;
	process->maps_read_ns = time_ns ? time_ns : 1;
	if (proc_read(process->pid, "maps", PROC_MAPS_MAX_BYTES, &data, &size) < 0)
		return 0;
	struct lines text = lines_of(span_of(data, size), "maps");
	while ((rc = proc_maps_next(&text, &m, &err)) > 0) {
		if (!m.is_executable)
			continue;
		rc = read_mapping(p, process, &m);
		if (rc < 0)
			return rc;
	}
	if (rc < 0)
		log_debug("process %u: %s", process->pid, err.text);
	return 0;
}

static int put_string(struct processes *p, const char *text, uint32_t *ret)
{
	return text && *text ? capture_writer_string(p->writer, text, ret) : 0;
}

int process_declare(struct processes *p, struct process *process, uint32_t *ret)
{
	struct record rec = { .type = RECORD_PROCESS };
	int rc;

	if (!process->is_declared) {
		rec.process = (struct record_process){
			.id = process->id,
			.pid = process->pid,
			.ns_pid = process->ns_pid,
			.parent = process->parent,
			.start_ns = process->start_ns,
			.rank = p->rank,
		};
		if ((rc = put_string(p, process->comm, &rec.process.comm)) < 0 ||
		    (rc = put_string(p, process->command, &rec.process.command)) < 0 ||
		    (rc = put_string(p, process->cgroup, &rec.process.cgroup)) < 0 ||
		    (rc = capture_writer_put(p->writer, &rec)) < 0)
			return rc;
		process->is_declared = true;
	}
	*ret = process->id;
	return 0;
}

int thread_declare(struct processes *p, struct thread *thread, uint32_t *ret)
{
	struct record rec = { .type = RECORD_THREAD };
	int rc;

	if (!thread->is_declared) {
		rec.thread = (struct record_thread){ .id = thread->id, .tid = thread->tid };
		if ((rc = process_declare(p, thread->process, &rec.thread.process)) < 0 ||
		    (rc = put_string(p, thread->name, &rec.thread.name)) < 0 ||
		    (rc = capture_writer_put(p->writer, &rec)) < 0)
			return rc;
		thread->is_declared = true;
	}
	*ret = thread->id;
	return 0;
}
