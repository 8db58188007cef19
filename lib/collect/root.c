/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/root.h"

#include "base/cleanup.h"
#include "proc/read.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* What identifies @pid's root, without a descriptor; 0 is us. */
static int identify(uint32_t pid, struct root *ret)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u/root/", pid);
	if (stat(pid ? path : "/", &st) < 0)
		return -errno;
	struct root root = { .fd = -1, .device = st.st_dev, .inode = st.st_ino };
	int rc = proc_namespace(pid ? pid : (uint32_t)getpid(), "mnt", &root.mount_namespace);
	if (rc < 0)
		return rc;
	*ret = root;
	return 0;
}

int roots_init(struct roots *r)
{
	struct root ours;

	memset(r, 0, sizeof(*r));
	int rc = identify(0, &ours);
	return rc < 0 ? rc : vec_push(&r->list, ours);
}

void roots_release(struct roots *r)
{
	vec_for_each(&r->list, root) {
		if (root->fd >= 0)
			close(root->fd);
	}
	vec_release(&r->list);
}

int roots_of(struct roots *r, uint32_t pid)
{
	struct root root;
	char path[64];

	int rc = identify(pid, &root);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < r->list.len; i++) {
		const struct root *known = &r->list.data[i];
		if (known->device == root.device && known->inode == root.inode &&
		    known->mount_namespace == root.mount_namespace)
			return (int)i;
	}
	if (r->list.len >= ROOTS_MAX)
		return -ENOSPC;
	snprintf(path, sizeof(path), "/proc/%u/root", pid);
	CLEANUP_CLOSE int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	root.fd = fd;
	rc = vec_push(&r->list, root);
	if (rc < 0)
		return rc;
	(void)TAKE_FD(fd);
	return (int)r->list.len - 1;
}

int root_fd(const struct roots *r, int number)
{
	return number >= 0 && (size_t)number < r->list.len ? r->list.data[number].fd : -1;
}

/* Make an O_PATH descriptor readable if it is a regular file: opening anything else, such as a
 * device that the target has mapped, could act on it. */
static int reopen_regular(int fd)
{
	char path[64];
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EACCES;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int readable = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return readable < 0 ? -errno : readable;
}

int root_open(const struct roots *r, int number, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(O_PATH | O_CLOEXEC | flags),
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int in = root_fd(r, number);

	CLEANUP_CLOSE int ours = in < 0 ? open("/", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	long opened = syscall(SYS_openat2, in < 0 ? ours : in, path, &how, sizeof(how));
	CLEANUP_CLOSE int fd = opened < 0 ? -errno : (int)opened;
	return fd < 0 ? fd : reopen_regular(fd);
}

int root_open_regular(const char *path)
{
	CLEANUP_CLOSE int fd = open(path, O_PATH | O_CLOEXEC);

	return fd < 0 ? -errno : reopen_regular(fd);
}
