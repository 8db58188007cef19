/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/cgroup.h"

#include "base/io.h"
#include "base/parse.h"
#include "base/strbuf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Nested control groups; the kernel's default limit is none, systemd makes six. */
#define DEPTH_MAX 64
/* Of cgroup.procs: a million processes. */
#define PROCS_MAX_BYTES (8u << 20)

static DIR *folder_open(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0)
		close(fd);
	return dir;
}

/* Where version 2 is mounted: alone, or beside version 1. */
static const char *root_path(void)
{
	static const char *const roots[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	struct statfs fs;

	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		if (statfs(roots[i], &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC)
			return roots[i];
	}
	return NULL;
}

struct search {
	const char *name;
	struct strbuf path, found; /* of the folder looked at; of the match */
	bool is_exact;             /* the match is called just so */
	uint32_t count;            /* of matches of that kind */
};

static void note_match(struct search *s, const char *name)
{
	bool is_exact = !strcmp(name, s->name);

	if (!strstr(name, s->name) || (s->is_exact && !is_exact))
		return;
	if (is_exact && !s->is_exact)
		s->count = 0;
	s->is_exact = is_exact;
	s->count++;
	strbuf_reset(&s->found);
	strbuf_printf(&s->found, "%s/%s", strbuf_text(&s->path), name);
}

/* Folders below the one that @dir is and s->path names. A match's own are part of it. */
static void search_below(struct search *s, DIR *dir, int depth)
{
	size_t length = s->path.len;
	const struct dirent *entry;

	while (depth < DEPTH_MAX && (entry = readdir(dir))) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		uint32_t before = s->count;
		note_match(s, entry->d_name);
		if (s->count != before)
			continue;
		DIR *below = folder_open(dirfd(dir), entry->d_name);
		if (!below)
			continue;
		strbuf_printf(&s->path, "/%s", entry->d_name);
		search_below(s, below, depth + 1);
		closedir(below);
		s->path.len = length;
		s->path.data[length] = '\0';
	}
}

static int search_name(const char *root, const char *name, char **ret, struct err *err)
{
	struct search s = { .name = name };
	DIR *dir = folder_open(AT_FDCWD, root);
	int rc = 0;

	if (!dir)
		return err_set(err, -errno, "cannot look at control groups in '%s'", root);
	strbuf_puts(&s.path, root);
	search_below(&s, dir, 0);
	closedir(dir);
	if (s.count == 0)
		rc = err_set(err, -ENOENT, "no control group, and so no container, '%s'", name);
	else if (s.count > 1)
		rc = err_set(err, -EINVAL,
			     "%u control groups have '%s' in their name: give more of it", s.count,
			     name);
	else if (!(*ret = strdup(strbuf_text(&s.found))))
		rc = err_set(err, -ENOMEM, "no memory for control groups");
	strbuf_release(&s.path);
	strbuf_release(&s.found);
	return rc;
}

static uint32_t level_of(const char *root, const char *path)
{
	size_t skip = strlen(root);
	uint32_t level = 0;

	for (const char *p = strncmp(path, root, skip) ? path : path + skip; *p; p++)
		level += p[0] == '/' && p[1] && p[1] != '/';
	return level;
}

static int open_path(const char *root, const char *path, struct cgroup *ret)
{
	struct stat st;

	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	*ret = (struct cgroup){ .id = st.st_ino, .level = level_of(root, path) };
	ret->fd = TAKE_FD(fd);
	return 0;
}

int cgroup_find(const char *name, struct cgroup *ret, struct err *err)
{
	const char *root = root_path();
	CLEANUP_FREE char *path = NULL;
	struct strbuf joined = { 0 };
	int rc;

	if (!root)
		return err_set(err, -ENOENT,
			       "no control groups of version 2 at /sys/fs/cgroup: mount them with "
			       "'mount -t cgroup2 none /sys/fs/cgroup'");
	if (strchr(name, '/')) {
		bool is_full = !strncmp(name, root, strlen(root));
		strbuf_printf(&joined, "%s%s%s", is_full ? "" : root,
			      is_full || name[0] == '/' ? "" : "/", name);
		rc = open_path(root, strbuf_text(&joined), ret);
		strbuf_release(&joined);
		return rc < 0 ? err_set(err, rc, "no control group '%s'", name) : 0;
	}
	rc = search_name(root, name, &path, err);
	if (rc < 0)
		return rc;
	rc = open_path(root, path, ret);
	return rc < 0 ? err_set(err, rc, "cannot open '%s'", path) : 0;
}

void cgroup_close(struct cgroup *g)
{
	if (g->fd > 0)
		close(g->fd);
	g->fd = 0;
}

typedef int (*process_fn)(void *data, uint32_t pid);

static int tell_processes(int folder, process_fn fn, void *data)
{
	CLEANUP_FREE char *text = NULL;
	char path[64];
	size_t size;
	uint64_t pid;
	int rc = 0;

	snprintf(path, sizeof(path), "/proc/self/fd/%d/cgroup.procs", folder);
	if (io_read_file(path, PROCS_MAX_BYTES, &text, &size) < 0)
		return 0;
	for (const char *p = text, *end = text + size; p < end && rc >= 0; p++) {
		/* 0: a process that our pid namespace does not show. */
		if (parse_digits(&p, end, 10, &pid) == 0 && pid && pid <= INT32_MAX)
			rc = fn(data, (uint32_t)pid);
	}
	return rc;
}

static int tell_below(DIR *dir, int depth, process_fn fn, void *data)
{
	const struct dirent *entry;

	int rc = tell_processes(dirfd(dir), fn, data);
	while (rc >= 0 && depth < DEPTH_MAX && (entry = readdir(dir))) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		DIR *below = folder_open(dirfd(dir), entry->d_name);
		if (!below)
			continue;
		rc = tell_below(below, depth + 1, fn, data);
		closedir(below);
	}
	return rc;
}

int cgroup_processes(const struct cgroup *g, process_fn fn, void *data)
{
	DIR *dir = folder_open(g->fd, ".");

	if (!dir)
		return -errno;
	int rc = tell_below(dir, 0, fn, data);
	closedir(dir);
	return rc < 0 ? rc : 0;
}
