/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/describe.h"

#include "base/cleanup.h"
#include "proc/read.h"
#include "proc/status.h"

#include <errno.h>
#include <string.h>
#include <time.h>

/* Of a command line: a Java class path or a compiler's arguments can be megabytes. */
#define COMMAND_MAX_BYTES 4096

/* Malloc'ed; NULL when it cannot be read or is empty, as that of kernel threads. */
static char *read_command(uint32_t pid)
{
	CLEANUP_FREE char *text = malloc(COMMAND_MAX_BYTES);

	if (!text)
		return NULL;
	int64_t size = proc_read_some(pid, "cmdline", text, COMMAND_MAX_BYTES);
	while (size > 0 && !text[size - 1])
		size--;
	if (size <= 0)
		return NULL;
	for (int64_t i = 0; i < size; i++) {
		if (!text[i])
			text[i] = ' ';
	}
	return TAKE(text);
}

static char *read_cgroup(uint32_t pid)
{
	CLEANUP_FREE char *text = NULL;
	size_t size;

	if (proc_read(pid, "cgroup", PROC_SMALL_MAX_BYTES, &text, &size) < 0)
		return NULL;
	struct span path = proc_cgroup_path(span_of(text, size));
	if (!path.size || (path.size == 1 && path.data[0] == '/'))
		return NULL;
	return strndup((const char *)path.data, path.size);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* /proc counts ticks of CLOCK_BOOTTIME. */
static uint64_t start_of(uint64_t ticks)
{
	uint64_t asleep = clock_ns(CLOCK_BOOTTIME) - clock_ns(CLOCK_MONOTONIC);
	uint64_t per_second = (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t boot_ns =
		ticks / per_second * 1000000000 + ticks % per_second * 1000000000 / per_second;

	return boot_ns > asleep ? boot_ns - asleep : 0;
}

int process_facts_read(uint32_t pid, struct process_facts *ret)
{
	CLEANUP_FREE char *status_text = NULL, *stat_text = NULL;
	struct process_facts f = { 0 };
	struct proc_status status;
	struct proc_stat stat;
	size_t status_size, stat_size;

	int rc = proc_read(pid, "status", PROC_SMALL_MAX_BYTES, &status_text, &status_size);
	if (rc < 0)
		return rc;
	rc = proc_status_parse(span_of(status_text, status_size), "status", &status, NULL);
	if (rc < 0)
		return rc;
	f.parent_pid = status.parent;
	f.ns_pid = status.ns_pid;
	f.uid = status.uid;
	if (proc_read(pid, "stat", PROC_SMALL_MAX_BYTES, &stat_text, &stat_size) == 0 &&
	    proc_stat_parse(span_of(stat_text, stat_size), "stat", &stat, NULL) == 0) {
		f.start_ns = start_of(stat.start_ticks);
		snprintf(f.comm, sizeof(f.comm), "%.*s", (int)stat.comm.size,
			 (const char *)stat.comm.data);
	}
	f.command = read_command(pid);
	f.cgroup = read_cgroup(pid);
	*ret = f;
	return 0;
}

void process_facts_release(struct process_facts *f)
{
	free(f->command);
	free(f->cgroup);
}
