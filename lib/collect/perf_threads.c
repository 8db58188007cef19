/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/perf_threads.h"

#include "proc/read.h"

#include <errno.h>

void perf_threads_release(struct perf_threads *t)
{
	vec_release(&t->tids);
	hash_release(&t->alive);
}

int perf_threads_add(struct perf_threads *t, uint32_t pid)
{
	struct proc_ids threads = { 0 };
	int rc = 0;

	if (proc_threads(pid, &threads) < 0)
		return 0;
	vec_for_each(&threads.ids, tid) {
		if (rc >= 0)
			rc = vec_push(&t->tids, *tid);
	}
	if (rc >= 0 && threads.ids.len)
		rc = hash_set(&t->alive, pid, threads.ids.len);
	proc_ids_release(&threads);
	return rc;
}

int perf_threads_born(struct perf_threads *t, uint32_t pid, uint32_t parent_pid)
{
	uint64_t *count = hash_get(&t->alive, pid);

	if (pid != parent_pid || !count)
		return hash_set(&t->alive, pid, 1 + (pid == parent_pid));
	(*count)++;
	return 0;
}

bool perf_threads_died(struct perf_threads *t, uint32_t pid, uint32_t tid)
{
	uint64_t *count = hash_get(&t->alive, pid);

	if (!count)
		return tid == pid;
	if (--*count)
		return false;
	hash_remove(&t->alive, pid);
	return true;
}
