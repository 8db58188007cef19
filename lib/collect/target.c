/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/target.h"

#include "base/cleanup.h"
#include "base/hash.h"
#include "collect/inside.h"
#include "collect/programs.h"
#include "proc/read.h"
#include "proc/status.h"

#include <errno.h>
#include <string.h>

struct add {
	const struct programs *programs;
	uint32_t flags;
	target_fn fn;
	void *data;
	struct hash known;
	struct err *err;
};

static int add_one(struct add *a, uint32_t pid)
{
	int rc = programs_add_target(a->programs, pid, a->flags, a->err);
	if (rc < 0)
		return rc;
	if (hash_set(&a->known, pid, 1) < 0)
		return err_set(a->err, -ENOMEM, "no memory for the list of targets");
	rc = a->fn(a->data, pid);
	return rc < 0 ? err_set(a->err, rc, "cannot look at process %u", pid) : 0;
}

static int no_process(struct add *a, uint32_t pid)
{
	uint32_t inner = inside_guess(pid);

	if (!inner)
		return err_set(a->err, -ESRCH, "no process %u to record", pid);
	return err_set(
		a->err, -ESRCH,
		"no process %u to record; %u calls itself so inside its container: use -p %u", pid,
		inner, inner);
}

static int add_named(struct add *a, uint32_t pid)
{
	struct proc_status status;

	int rc = proc_status_read(pid, &status);
	if (rc == -ENOENT || rc == -ESRCH)
		return no_process(a, pid);
	if (rc < 0)
		return err_set(a->err, rc, "cannot look at process %u", pid);
	if (status.tgid != pid)
		return err_set(
			a->err, -EINVAL,
			"%u is a thread of process %u: use -t %u for the thread, -p %u for the "
			"process",
			pid, status.tgid, pid, status.tgid);
	if (status.state == 'Z' || status.state == 'X')
		return err_set(a->err, -ESRCH, "process %u has ended already", pid);
	return add_one(a, pid);
}

/* Add the processes whose parent is known; how many there were. */
static int add_children(struct add *a, struct proc_ids *all)
{
	int added = 0;

	vec_for_each(&all->ids, pid) {
		struct proc_status status;
		if (hash_get(&a->known, *pid) || proc_status_read(*pid, &status) < 0 ||
		    !hash_get(&a->known, status.parent))
			continue;
		int rc = add_one(a, *pid);
		if (rc < 0)
			return rc;
		added++;
	}
	return added;
}

/*
 * What a target forks from now on the kernel adds. A child from before can have a child that we did
 * not see yet, so look until there is nothing new.
 */
static int add_descendants(struct add *a)
{
	int added;

	do {
		struct proc_ids all = { 0 };
		int rc = proc_processes(&all);
		if (rc < 0)
			return err_set(a->err, rc, "cannot list processes");
		added = add_children(a, &all);
		proc_ids_release(&all);
	} while (added > 0);
	return added;
}

int targets_add(const struct programs *programs, const uint32_t *pids, size_t count,
		bool no_children, target_fn fn, void *data, struct err *err)
{
	struct add add = {
		.programs = programs,
		.flags = no_children ? 0 : TARGET_INHERIT,
		.fn = fn,
		.data = data,
		.err = err,
	};
	int rc = 0;

	for (size_t i = 0; i < count && rc >= 0; i++) {
		if (!hash_get(&add.known, pids[i]))
			rc = add_named(&add, pids[i]);
	}
	if (rc >= 0 && !no_children)
		rc = add_descendants(&add);
	hash_release(&add.known);
	return rc < 0 ? rc : 0;
}

static int add_thread(struct add *a, uint32_t tid)
{
	struct proc_status status;

	int rc = proc_status_read(tid, &status);
	if (rc == -ENOENT || rc == -ESRCH)
		return err_set(a->err, -ESRCH, "no thread %u to record", tid);
	if (rc < 0)
		return err_set(a->err, rc, "cannot look at thread %u", tid);
	if (a->programs->skeleton && (rc = programs_add_thread(a->programs, tid, a->err)) < 0)
		return rc;
	return hash_get(&a->known, status.tgid) ? 0 : add_one(a, status.tgid);
}

int targets_add_threads(const struct programs *programs, const uint32_t *tids, size_t count,
			target_fn fn, void *data, struct err *err)
{
	struct add add = { .programs = programs, .fn = fn, .data = data, .err = err };
	int rc = 0;

	for (size_t i = 0; i < count && rc >= 0; i++)
		rc = add_thread(&add, tids[i]);
	hash_release(&add.known);
	return rc;
}
