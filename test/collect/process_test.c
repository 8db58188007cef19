/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "collect/process.h"

#include "base/cleanup.h"
#include "capture/reader.h"

#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct fixture {
	char path[64];
	struct capture_writer *writer;
	struct objects objects;
	struct processes processes;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct capture_writer_options opt = { .path = f->path };
	struct err err;

	assert_non_null(f);
	snprintf(f->path, sizeof(f->path), "/tmp/process_test.%d.data", (int)getpid());
	assert_int_equal(capture_writer_open(&f->writer, &opt, &err), 0);
	assert_int_equal(objects_init(&f->objects, &err), 0);
	processes_init(&f->processes, f->writer, &f->objects);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	processes_release(&f->processes);
	objects_release(&f->objects);
	capture_writer_free(f->writer);
	unlink(f->path);
	free(f);
	return 0;
}

static struct span text(const char *s)
{
	return span_of(s, strlen(s));
}

/* Numbers that no process of this machine has: pid_max is at most 2^22. */
enum {
	PID = (1 << 22) + 10,
	CHILD,
	TID
};

static struct process *get(struct fixture *f, uint32_t pid)
{
	struct process *process = NULL;

	assert_int_equal(process_get(&f->processes, pid, 1, &process), 0);
	return process;
}

static int find_base(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	*(uint64_t *)data = info->dlpi_addr; /* the first one is the program */
	return 1;
}

/* This very program, as /proc shows it: the offset of a function is its address in the file. */
static void test_self(void **state)
{
	struct fixture *f = *state;
	uint64_t here = (uint64_t)(uintptr_t)test_self, base = 0;
	uint32_t pid = (uint32_t)getpid();
	struct process *process = get(f, pid);
	char exe[4096];

	dl_iterate_phdr(find_base, &base);
	const struct mapping *mapping = mappings_find(&process->mappings, here);
	assert_non_null(mapping);
	assert_int_equal(mapping->object->kind, OBJECT_ELF);
	assert_int_equal(here - mapping->bias, here - base);
	ssize_t size = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	assert_true(size > 0);
	exe[size] = '\0';
	assert_string_equal(mapping->object->path, exe);
	assert_true(mapping->object->fd >= 0);
	assert_true(mapping->object->build_id.size >= 8);
	assert_non_null(strstr(process->command, "process_test"));
	assert_true(process->start_ns > 0);

	/* getpid() of the vDSO, or rather any address in it. */
	bool has_vdso = false;
	vec_for_each(&process->mappings.list, m)
		has_vdso |= m->object == f->objects.vdso && m->bias == m->start;
	assert_true(has_vdso);
	assert_non_null(f->objects.vdso->elf);
}

static void test_fork_and_exec(void **state)
{
	struct fixture *f = *state;
	struct process *parent, *child;
	struct thread *thread;
	uint32_t id;

	assert_int_equal(process_exec(&f->processes, PID, text("first"), 100), 0);
	parent = get(f, PID);
	assert_string_equal(parent->comm, "first");
	assert_int_equal(process_map(&f->processes, PID, 0x1000, 0x2000, 0, f->objects.vdso, 110),
			 0);

	/* The child has what the parent had, and goes its own way. */
	assert_int_equal(process_fork(&f->processes, PID, PID, CHILD, CHILD, 120), 0);
	child = get(f, CHILD);
	assert_int_not_equal(child->id, parent->id);
	assert_int_equal(child->parent, parent->id);
	assert_true(parent->is_declared);
	assert_string_equal(child->comm, "first");
	assert_int_equal(child->start_ns, 120);
	assert_non_null(mappings_find(&child->mappings, 0x1800));
	assert_int_equal(process_map(&f->processes, CHILD, 0x5000, 0x6000, 0, NULL, 130), 0);
	assert_null(mappings_find(&parent->mappings, 0x5000));
	assert_int_equal(mappings_find(&child->mappings, 0x5000)->object->kind, OBJECT_ANON);
	/* Offsets in memory without a file are addresses. */
	assert_int_equal(mappings_find(&child->mappings, 0x5000)->bias, 0);

	/* Exec: another process, of the same parent, with nothing mapped. */
	id = child->id;
	assert_int_equal(process_exec(&f->processes, CHILD, text("second"), 140), 0);
	child = get(f, CHILD);
	assert_int_not_equal(child->id, id);
	assert_int_equal(child->parent, parent->id);
	assert_string_equal(child->comm, "second");
	assert_int_equal(child->mappings.list.len, 0);
	assert_true(child->is_executing);
	assert_int_equal(process_complete(&f->processes, CHILD, 7, span_of("cc\0-O2\0\0", 8), 141),
			 0);
	assert_false(child->is_executing);
	assert_int_equal(child->uid, 7);
	assert_string_equal(child->command, "cc -O2");
	/* An exec of which the side-band has not told. */
	id = child->id;
	assert_int_equal(process_complete(&f->processes, CHILD, 8, span_of("ld", 3), 142), 0);
	child = get(f, CHILD);
	assert_int_not_equal(child->id, id);
	assert_string_equal(child->command, "ld");
	assert_int_equal(process_exec(&f->processes, CHILD, text("second"), 143), 0);
	child = get(f, CHILD);
	assert_int_equal(thread_get(&f->processes, CHILD, CHILD, 150, &thread), 0);
	assert_ptr_equal(thread->process, child);
	assert_string_equal(thread->name, "second");
}

/* The command that execs is not the one that was forked: its threads are gone. */
static void test_threads(void **state)
{
	struct fixture *f = *state;
	struct thread *main_thread, *thread;
	uint32_t id;

	assert_int_equal(process_exec(&f->processes, PID, text("main"), 100), 0);
	assert_int_equal(process_fork(&f->processes, PID, PID, PID, TID, 110), 0);
	assert_int_equal(thread_get(&f->processes, PID, TID, 120, &thread), 0);
	assert_int_equal(thread_get(&f->processes, PID, PID, 120, &main_thread), 0);
	assert_ptr_equal(thread->process, main_thread->process);
	assert_string_equal(thread->name, "main"); /* as its creator, until it is renamed */
	assert_int_equal(thread_declare(&f->processes, thread, &id), 0);
	assert_true(thread->is_declared && thread->process->is_declared);
	assert_int_equal(thread_rename(&f->processes, PID, TID, text("worker"), 130), 0);
	assert_string_equal(thread->name, "worker");
	assert_false(thread->is_declared); /* so that its new name is written */
	assert_string_equal(thread->process->comm, "main");
	assert_int_equal(id, thread->id);

	/* A thread number can be used again. */
	process_exit(&f->processes, PID, TID, false, 140);
	assert_int_equal(process_fork(&f->processes, PID, PID, PID, TID, 150), 0);
	assert_int_equal(thread_get(&f->processes, PID, TID, 160, &thread), 0);
	assert_int_not_equal(thread->id, id);
	assert_string_equal(thread->name, "main");

	/* And a process number, once its owner is gone. */
	id = main_thread->process->id;
	process_exit(&f->processes, PID, PID, true, 170);
	assert_int_equal(get(f, PID)->id, id); /* late events still find it */
	processes_forget(&f->processes, 200);
	assert_int_not_equal(get(f, PID)->id, id);
	assert_string_equal(get(f, PID)->comm, ""); /* nobody has told of it, /proc neither */

	/* A thread with the number of the one that starts it, which is so gone. */
	assert_int_equal(process_exec(&f->processes, PID, text("third"), 300), 0);
	assert_int_equal(process_fork(&f->processes, PID, PID, PID, PID, 310), 0);
	assert_int_equal(thread_get(&f->processes, PID, PID, 320, &thread), 0);
	assert_string_equal(thread->name, "third");
	assert_ptr_equal(get(f, PID)->threads, thread);
	assert_null(thread->next);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_self, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fork_and_exec, setup, teardown),
		cmocka_unit_test_setup_teardown(test_threads, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
