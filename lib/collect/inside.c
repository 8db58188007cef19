/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/inside.h"

#include "collect/cgroup.h"
#include "proc/read.h"
#include "proc/status.h"

#include <errno.h>

struct search {
	uint32_t inner; /* the number looked for */
	uint32_t found; /* ours of the first that has it */
	uint32_t count; /* how many have it */
};

static int look_at(void *data, uint32_t pid)
{
	struct search *s = data;
	struct proc_status status;

	if (proc_status_read(pid, &status) < 0 || status.tgid != pid || status.ns_pid != s->inner)
		return 0;
	if (!s->count++)
		s->found = pid;
	return 0;
}

int inside_resolve(const char *name, uint32_t *pids, size_t count, struct err *err)
{
	CLEANUP(cgroup_close) struct cgroup group = { 0 };

	int rc = cgroup_find(name, &group, err);
	for (size_t i = 0; i < count && rc >= 0; i++) {
		struct search s = { .inner = pids[i] };
		rc = cgroup_processes(&group, look_at, &s);
		if (rc < 0)
			return err_set(err, rc, "cannot list the processes of '%s'", name);
		if (!s.count)
			return err_set(err, -ESRCH, "no process of '%s' calls itself %u", name,
				       s.inner);
		if (s.count > 1)
			return err_set(err, -EINVAL,
				       "%u processes of '%s' call themselves %u: use -p %u or "
				       "another's number on this machine, without -G",
				       s.count, name, s.inner, s.found);
		pids[i] = s.found;
	}
	return rc;
}

uint32_t inside_guess(uint32_t pid)
{
	struct proc_ids all = { 0 };
	struct search s = { .inner = pid };

	if (proc_processes(&all) < 0)
		return 0;
	vec_for_each(&all.ids, other) {
		if (*other != pid)
			look_at(&s, *other);
	}
	proc_ids_release(&all);
	return s.found;
}
