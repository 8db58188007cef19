/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/output.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/parse.h"
#include "capture/chunk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum existing {
	EXISTING_NONE,
	EXISTING_EMPTY,   /* nothing that could be lost */
	EXISTING_CAPTURE, /* one of ours */
	EXISTING_STREAM,  /* a FIFO or a character device: written to, not replaced */
};

static char *path_join(const char *path, const char *suffix)
{
	char *joined = NULL;
	return asprintf(&joined, "%s%s", path, suffix) < 0 ? NULL : joined;
}

/* The user who called sudo; UINT32_MAX: none did. */
static uint32_t caller(void)
{
	const char *text = secure_getenv("SUDO_UID");
	uint32_t uid;

	return geteuid() == 0 && text && parse_u32(text, 10, &uid) == 0 ? uid : UINT32_MAX;
}

/* Whoever puts a FIFO into a folder for everyone, under a name that root will use, reads what root saw. */
static bool is_trusted(uid_t uid)
{
	return uid == geteuid() || uid == 0 || uid == caller();
}

/* What lies at @path: an enum existing, or -EEXIST for what must not be replaced. */
static int existing_at(const char *path, struct err *err)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? EXISTING_NONE
				       : err_set(err, -errno, "cannot look at '%s'", path);
	bool is_link = S_ISLNK(st.st_mode);
	uid_t owner = st.st_uid; /* of the link, where it is one */
	if (is_link && stat(path, &st) < 0)
		return err_set(err, -errno, "cannot follow the symbolic link '%s'", path);
	if (S_ISFIFO(st.st_mode) && !is_trusted(owner))
		return err_set(err, -EEXIST, "'%s' belongs to another user; choose another with -o",
			       path);
	if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode))
		return EXISTING_STREAM;
	if (S_ISDIR(st.st_mode))
		return err_set(err, -EISDIR, "cannot write '%s'", path);
	if (is_link || !S_ISREG(st.st_mode))
		return err_set(err, -EEXIST, "'%s' is not a regular file; choose another with -o",
			       path);
	if (!st.st_size)
		return EXISTING_EMPTY;

	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	uint8_t start[CHUNK_MAGIC_BYTES];
	if (fd < 0)
		return err_set(err, -errno, "cannot read '%s', which is in the way", path);
	if (io_read_full(fd, start, sizeof(start)) == sizeof(start) &&
	    !memcmp(start, chunk_magic, sizeof(start)))
		return EXISTING_CAPTURE;
	return err_set(err, -EEXIST,
		       "'%s' is not an accel-prof capture and stays as it is; remove it or choose "
		       "another name with -o",
		       path);
}

/* The same, and whether the place an older capture would move to is free. */
static int existing_check(const char *path, char **ret_old, struct err *err)
{
	CLEANUP_FREE char *old = path_join(path, ".old");
	if (!old)
		return err_set(err, -ENOMEM, "cannot write '%s'", path);
	int found = existing_at(path, err);
	if (found != EXISTING_CAPTURE)
		return found;
	int rc = existing_at(old, err);
	if (rc < 0)
		return rc;
	if (rc == EXISTING_STREAM)
		return err_set(err, -EEXIST, "'%s' is not a regular file; remove it", old);
	*ret_old = TAKE(old);
	return found;
}

static int output_adopt(struct output *o, int fd)
{
	struct stat st;
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fstat(fd, &st) < 0)
		return -errno;
	o->fd = fd;
	if (S_ISREG(st.st_mode) && !(flags & O_APPEND)) {
		off_t at = lseek(fd, 0, SEEK_CUR);
		o->can_cut = at >= 0;
		o->start = at >= 0 ? (uint64_t)at : 0;
	}
	return 0;
}

#define PROC_FD   "/proc/self/fd/%d"
#define NAMES_MAX 1000u /* of one process; then something is wrong */

/* Under sudo the file belongs to whoever called sudo. Best effort: root can read it anyway. */
static void give_to_caller(int fd)
{
	const char *gid_text = secure_getenv("SUDO_GID");
	uint32_t uid = caller(), gid;

	if (uid == UINT32_MAX || !gid_text || parse_u32(gid_text, 10, &gid) < 0)
		return;
	if (fchown(fd, uid, gid) < 0)
		return;
}

/* A file without a name leaves nothing behind, however its writer ends. Not every file system has
 * them, and giving it a name later takes /proc. */
static int create_unnamed(struct output *o)
{
	const char *slash = strrchr(o->path, '/');
	CLEANUP_FREE char *folder = slash ? strndup(o->path, (size_t)(slash - o->path) + 1) : NULL;
	char self[32];

	if (slash && !folder)
		return -ENOMEM;
	CLEANUP_CLOSE int fd = open(folder ? folder : ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	snprintf(self, sizeof(self), PROC_FD, fd);
	if (access(self, F_OK) < 0)
		return -errno;
	o->fd = TAKE_FD(fd);
	o->is_unnamed = true;
	return 0;
}

/* The name that it then has to be renamed from: one that nothing has. */
static int give_name(struct output *o)
{
	char self[32], suffix[32];
	snprintf(self, sizeof(self), PROC_FD, o->fd);
	for (unsigned i = 0;; i++) {
		snprintf(suffix, sizeof(suffix), ".%d.%u", (int)getpid(), i);
		CLEANUP_FREE char *temp = path_join(o->path, suffix);
		if (!temp)
			return -ENOMEM;
		if (linkat(AT_FDCWD, self, AT_FDCWD, temp, AT_SYMLINK_FOLLOW) == 0) {
			o->temp = TAKE(temp);
			o->is_unnamed = false;
			return 0;
		}
		if (errno != EEXIST || i == NAMES_MAX)
			return -errno;
	}
}

static int output_create(struct output *o, struct err *err)
{
	if (create_unnamed(o) == 0) {
		o->owns_fd = true;
		o->can_cut = true;
		give_to_caller(o->fd);
		return 0;
	}
	CLEANUP_FREE char *temp = path_join(o->path, ".XXXXXX");
	if (!temp)
		return err_set(err, -ENOMEM, "cannot create '%s'", o->path);
	o->fd = mkostemp(temp, O_CLOEXEC); /* O_EXCL, and mode 0600 */
	if (o->fd < 0)
		return err_set(err, -errno, "cannot create '%s'", o->path);
	o->owns_fd = true;
	o->can_cut = true;
	o->temp = TAKE(temp);
	give_to_caller(o->fd);
	return 0;
}

int output_open(struct output *ret, const char *path, int fd, struct err *err)
{
	struct output *o = ret;
	*o = (struct output){ .fd = -1 };

	bool is_stdout = path && !strcmp(path, "-");
	o->path = strdup(is_stdout || !path ? "standard output" : path);
	if (!o->path)
		return err_set(err, -ENOMEM, "cannot write a capture");
	if (!path || is_stdout) {
		fd = is_stdout ? STDOUT_FILENO : fd;
		if (isatty(fd))
			return err_set(err, -EINVAL,
				       "a capture is not for a terminal; redirect it");
		int rc = output_adopt(o, fd);
		return rc < 0 ? err_set(err, rc, "cannot write to %s", o->path) : 0;
	}

	CLEANUP_FREE char *old = NULL;
	int found = existing_check(path, &old, err);
	if (found < 0)
		return found;
	if (found != EXISTING_STREAM)
		return output_create(o, err);
	o->fd = open(path, O_WRONLY | O_CLOEXEC);
	if (o->fd < 0)
		return err_set(err, -errno, "cannot open '%s'", path);
	o->owns_fd = true;
	return 0;
}

void output_release(struct output *o)
{
	if (o->temp)
		unlink(o->temp);
	if (o->owns_fd && o->fd >= 0)
		close(o->fd);
	free(o->temp);
	free(o->path);
	*o = (struct output){ .fd = -1 };
}

int output_write(struct output *o, const void *data, size_t size)
{
	if (o->error)
		return o->error;
	int rc = io_write_all(o->fd, data, size);
	if (rc < 0) {
		o->error = err_set(&o->err, rc, "cannot write to '%s'", o->path);
		/* What was written of this is of no use; without it the file ends whole. */
		if (o->can_cut && ftruncate(o->fd, (off_t)(o->start + o->written)) < 0)
			o->can_cut = false;
		return rc;
	}
	o->written += size;
	return 0;
}

int output_commit(struct output *o, struct err *err)
{
	CLEANUP_FREE char *old = NULL;

	if (!o->temp && !o->is_unnamed)
		return 0;
	int found = existing_check(o->path, &old, err);
	if (found < 0)
		return found;
	if (found == EXISTING_STREAM)
		return err_set(err, -EEXIST, "'%s' is not a regular file", o->path);
	if (o->is_unnamed && give_name(o) < 0)
		return err_set(err, -errno, "cannot give '%s' its name", o->path);
	if (found == EXISTING_CAPTURE && rename(o->path, old) < 0)
		return err_set(err, -errno, "cannot rename '%s' to '%s'", o->path, old);

	/* Whatever appeared there since we looked stays, where the file system can promise that. */
	unsigned flags = found == EXISTING_EMPTY ? 0 : RENAME_NOREPLACE;
	int rc = renameat2(AT_FDCWD, o->temp, AT_FDCWD, o->path, flags);
	if (rc < 0 && flags && (errno == EINVAL || errno == ENOSYS))
		rc = rename(o->temp, o->path);
	if (rc < 0) {
		rc = err_set(err, -errno, "cannot rename '%s' to '%s'", o->temp, o->path);
		if (old)
			(void)rename(old, o->path);
		return rc;
	}
	free(o->temp);
	o->temp = NULL;
	return 0;
}
