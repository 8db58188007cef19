/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/read.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/parse.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int proc_read(uint32_t pid, const char *name, size_t max, char **ret, size_t *ret_size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
	return io_read_file(path, max, ret, ret_size);
}

static int64_t read_some(const char *path, char *ret, size_t size)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int64_t n = io_read_full(fd, ret, size - 1);
	if (n < 0)
		return n;
	ret[n] = '\0';
	return n;
}

int64_t proc_read_some(uint32_t pid, const char *name, char *ret, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
	return read_some(path, ret, size);
}

int64_t proc_thread_name(uint32_t pid, uint32_t tid, char *ret, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", pid, tid);
	int64_t n = read_some(path, ret, size);
	if (n > 0 && ret[n - 1] == '\n')
		ret[--n] = '\0';
	return n;
}

void proc_ids_release(struct proc_ids *p)
{
	vec_release(&p->ids);
}

/* The entries of a folder whose names are numbers. */
static int list_numbers(const char *path, struct proc_ids *ret)
{
	struct proc_ids list = { 0 };
	DIR *dir = opendir(path);
	int rc = 0;

	if (!dir)
		return -errno;
	for (struct dirent *e; rc == 0 && (e = readdir(dir));) {
		uint32_t id;
		if (parse_u32(e->d_name, 10, &id) == 0)
			rc = vec_push(&list.ids, id);
	}
	closedir(dir);
	if (rc < 0) {
		proc_ids_release(&list);
		return rc;
	}
	*ret = list;
	return 0;
}

int proc_threads(uint32_t pid, struct proc_ids *ret)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	return list_numbers(path, ret);
}

int proc_processes(struct proc_ids *ret)
{
	return list_numbers("/proc", ret);
}

int proc_namespace(uint32_t pid, const char *name, uint64_t *ret)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u/ns/%s", pid, name);
	if (stat(path, &st) < 0)
		return -errno;
	*ret = st.st_ino;
	return 0;
}
