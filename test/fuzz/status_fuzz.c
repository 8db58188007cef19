/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as /proc/PID/status, stat and cgroup. */
#include "proc/status.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void inside(struct span part, const uint8_t *data, size_t size)
{
	assert(!part.size || (part.data >= data && part.data + part.size <= data + size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span text = span_of(data, size);
	struct proc_status status;
	struct proc_stat stat;
	struct err err;

	if (proc_status_parse(text, "status", &status, &err) == 0)
		inside(status.name, data, size);
	if (proc_stat_parse(text, "stat", &stat, &err) == 0)
		inside(stat.comm, data, size);
	inside(proc_cgroup_path(text), data, size);
	return 0;
}
