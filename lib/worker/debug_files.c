/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/debug_files.h"

#include "base/io.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* @path below @root_fd, links resolved below it too. */
static int open_in_root(int root_fd, const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	return fd < 0 ? -errno : fd;
}

bool debug_files_is_elf(int fd)
{
	uint8_t magic[SELFMAG];
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       io_pread_full(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	       memcmp(magic, ELFMAG, SELFMAG) == 0;
}

/*
 * Regular ELF files only. We may be root and the path a stranger's: opened by O_PATH first, which has no
 * effect on devices, and never handed on unless it begins as an ELF file, which nothing secret does.
 */
static int open_elf(int root_fd, const char *path)
{
	struct stat st;
	char self[64];

	CLEANUP_CLOSE int found = open_in_root(root_fd, path, O_PATH);
	if (found < 0)
		return found;
	if (fstat(found, &st) < 0 || !S_ISREG(st.st_mode))
		return -ENOENT;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", found);
	CLEANUP_CLOSE int fd = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (!debug_files_is_elf(fd))
		return -ENOENT;
	return TAKE_FD(fd);
}

/* Candidates in the order in which gdb tries them. */
enum candidate {
	BY_BUILD_ID,      /* below the target's root */
	BY_BUILD_ID_HERE, /* below ours: a build-id means the same everywhere */
	BY_PATH,          /* dwz's, below /usr/lib/debug only */
	BESIDE,           /* by debuglink: in the object's folder */
	BESIDE_DEBUG,     /* in its .debug */
	BELOW_DEBUG_ROOT, /* in /usr/lib/debug and the object's folder */
	CANDIDATE_COUNT
};

static bool is_below_debug_root(const char *path)
{
	size_t n = strlen(ELF_DEBUG_ROOT "/");
	return strncmp(path, ELF_DEBUG_ROOT "/", n) == 0 && !strstr(path, "/../");
}

/* The path of a candidate: false where there is none. */
static bool candidate_path(const struct debug_files *d, const struct elf_symbols_wanted *w,
			   enum candidate which, char ret[ELF_DEBUG_PATH_BYTES])
{
	const char *slash = d->path ? strrchr(d->path, '/') : NULL;
	int folder = slash ? (int)(slash - d->path) : 0;
	bool has_link = *w->name && slash;
	int n = 0;

	switch (which) {
	case BY_BUILD_ID_HERE:
		if (d->root_fd < 0)
			return false;
		__attribute__((fallthrough));
	case BY_BUILD_ID:
		/* One byte would name a folder. */
		if (w->build_id.size < 2)
			return false;
		elf_build_id_path(&w->build_id, ret);
		return true;
	case BY_PATH:
		if (!is_below_debug_root(w->path))
			return false;
		n = snprintf(ret, ELF_DEBUG_PATH_BYTES, "%s", w->path);
		break;
	case BESIDE:
		if (!has_link)
			return false;
		n = snprintf(ret, ELF_DEBUG_PATH_BYTES, "%.*s/%s", folder, d->path, w->name);
		break;
	case BESIDE_DEBUG:
		if (!has_link)
			return false;
		n = snprintf(ret, ELF_DEBUG_PATH_BYTES, "%.*s/.debug/%s", folder, d->path, w->name);
		break;
	case BELOW_DEBUG_ROOT:
		if (!has_link)
			return false;
		n = snprintf(ret, ELF_DEBUG_PATH_BYTES, ELF_DEBUG_ROOT "%.*s/%s", folder, d->path,
			     w->name);
		break;
	case CANDIDATE_COUNT:
		return false;
	}
	return n > 0 && n < ELF_DEBUG_PATH_BYTES;
}

int debug_files_open(const struct debug_files *d, const struct elf_symbols_wanted *wanted,
		     uint32_t attempt)
{
	char path[ELF_DEBUG_PATH_BYTES];
	CLEANUP_CLOSE int here = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (here < 0)
		return -errno;

	for (enum candidate c = 0; c < CANDIDATE_COUNT; c++) {
		if (!candidate_path(d, wanted, c, path))
			continue;
		int root = d->root_fd < 0 || c == BY_BUILD_ID_HERE ? here : d->root_fd;
		int fd = open_elf(root, path);
		if (fd < 0)
			continue;
		if (!attempt--)
			return fd;
		close(fd);
	}
	return -ENOENT;
}
