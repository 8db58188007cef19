/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/input.h"

#include "base/cleanup.h"
#include "capture/chunk.h"
#include "capture/reader.h"
#include "capture/writer.h"
#include "cmd/cmd.h"
#include "cmd/foreign.h"
#include "cmd/merged.h"
#include "cmd/tell.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* The first bytes of standard input, which stay there to be read: how many, 0 when it cannot be
 * known without taking them. */
static ssize_t stdin_peek(void *data, size_t size)
{
	struct stat st;
	if (fstat(STDIN_FILENO, &st) < 0)
		return 0;
	if (S_ISREG(st.st_mode))
		return pread(STDIN_FILENO, data, size, lseek(STDIN_FILENO, 0, SEEK_CUR));
	if (!S_ISFIFO(st.st_mode))
		return 0;

	int fds[2];
	if (pipe2(fds, O_CLOEXEC) < 0)
		return 0;
	CLEANUP_CLOSE int out = fds[0];
	CLEANUP_CLOSE int in = fds[1];
	ssize_t got = tee(STDIN_FILENO, in, size, 0);
	return got > 0 ? read(out, data, (size_t)got) : 0;
}

bool input_can_be_read_twice(const char *path)
{
	struct stat st;
	return strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Whether @path is worth trying as an import: anything that does not begin as a capture does. */
static bool is_foreign(const char *path)
{
	uint8_t head[CHUNK_MAGIC_BYTES];
	struct stat st;

	if (!strcmp(path, "-")) {
		ssize_t got = stdin_peek(head, sizeof(head));
		return got > 0 && memcmp(head, chunk_magic, (size_t)got) != 0;
	}
	if (stat(path, &st) < 0)
		return false; /* opening it says why */
	if (S_ISDIR(st.st_mode))
		return true;
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || !S_ISREG(st.st_mode))
		return false;
	ssize_t got = pread(fd, head, sizeof(head), 0);
	return got > 0 && memcmp(head, chunk_magic, (size_t)got) != 0;
}

/* What has been recorded, maybe among traces, in memory as one capture. */
static int open_merged(struct input *in, const char *const *paths, size_t count, struct err *err)
{
	CLEANUP(capture_writer_free) struct capture_writer *w = NULL;
	CLEANUP_CLOSE int fd = memfd_create("accel-prof.merged", MFD_CLOEXEC);
	const struct merged_options opt = { .numbers_ranks = true, .frames = "rank,host" };
	if (fd < 0)
		return err_set(err, -errno, "cannot merge '%s' and others", in->path);

	int rc = capture_writer_open(&w, &(struct capture_writer_options){ .fd = fd }, err);
	rc = rc ? rc : merged_write(w, paths, count, &opt, &in->status, err);
	if (rc < 0)
		return rc;
	rc = capture_writer_flush(w);
	if (rc < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return err_set(err, rc < 0 ? rc : -errno, "cannot merge '%s' and others", in->path);
	rc = capture_reader_open_fd(&in->reader, fd, in->path, err);
	if (rc == 0)
		in->fd = TAKE_FD(fd);
	return rc;
}

static int open_several(struct input *in, const char *const *paths, size_t count, struct err *err)
{
	bool is_all_foreign = true;
	for (size_t i = 0; i < count; i++) {
		if (strcmp(paths[i], "-") && access(paths[i], F_OK) < 0)
			return err_set(err, -errno, "cannot open '%s'", paths[i]);
		is_all_foreign &= is_foreign(paths[i]);
	}
	/* An import makes one capture out of many by itself. */
	return is_all_foreign ? foreign_open(&in->foreign, paths, count, &in->reader, err)
			      : open_merged(in, paths, count, err);
}

int input_open_ranks(struct input **ret, const char *const *paths, size_t count, struct err *err)
{
	CLEANUP_FREE struct input *in = calloc(1, sizeof(*in));
	if (!in)
		return err_set(err, -ENOMEM, "cannot open the input");
	in->path = count ? paths[0] : INPUT_DEFAULT;
	in->fd = -1;

	int rc = count > 1              ? open_several(in, paths, count, err)
		 : is_foreign(in->path) ? foreign_open(&in->foreign, &in->path, 1, &in->reader, err)
					: capture_reader_open(&in->reader, in->path, err);
	if (rc == -ENOENT && !count)
		return err_set(err, -EINVAL,
			       "no '%s' here; make one with 'accel-prof record', or name a file",
			       INPUT_DEFAULT);
	if (rc < 0)
		return rc;
	*ret = TAKE(in);
	return 0;
}

int input_open(struct input **ret, const char *path, struct err *err)
{
	return input_open_ranks(ret, &path, path ? 1 : 0, err);
}

void input_drop(struct input *in)
{
	if (!in)
		return;
	foreign_close(in->foreign);
	capture_reader_free(in->reader);
	if (in->fd >= 0)
		close(in->fd);
	free(in);
}

int input_close(struct input *in, int status)
{
	if (!in)
		return status;
	struct capture_damage damage = capture_reader_damage(in->reader);
	if (damage.unknown_records)
		tell("%" PRIu64 " records are of types that this version does not know",
		     damage.unknown_records);
	if (damage.text[0]) {
		tell("%s", damage.text);
		status = status == CMD_OK ? CMD_FAILED : status;
	}
	status = status == CMD_OK ? in->status : status;
	input_drop(in);
	return status;
}
