/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What umask leaves of 0666; the mask can only be read by setting it. */
static mode_t file_mode(void)
{
	mode_t mask = umask(022);
	umask(mask);
	return 0666 & ~mask;
}

/* A pipe, /dev/null or the like is written to; only regular files are replaced. */
static bool is_special(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

static int open_temp(struct output_file *o, struct err *err)
{
	if (asprintf(&o->temp, "%s.XXXXXX", o->path) < 0) {
		o->temp = NULL;
		return err_set(err, -ENOMEM, "cannot write '%s'", o->path);
	}
	int fd = mkostemp(o->temp, O_CLOEXEC);
	if (fd < 0) {
		int code = -errno;
		free(TAKE(o->temp));
		return err_set(err, code, "cannot write '%s'", o->path);
	}
	(void)fchmod(fd, file_mode());
	o->stream = fdopen(fd, "w");
	if (!o->stream) {
		close(fd);
		return err_set(err, -ENOMEM, "cannot write '%s'", o->path);
	}
	return 0;
}

int output_file_open(struct output_file *o, const char *path, struct err *err)
{
	*o = (struct output_file){ .path = path && strcmp(path, "-") ? path : NULL };
	if (!o->path) {
		o->stream = stdout;
		return 0;
	}
	if (!is_special(path))
		return open_temp(o, err);
	o->stream = fopen(path, "we");
	return o->stream ? 0 : err_set(err, -errno, "cannot write '%s'", path);
}

int output_file_commit(struct output_file *o, struct err *err)
{
	const char *name = o->path ? o->path : "standard output";
	errno = 0;
	int rc = ferror(o->stream) | fflush(o->stream);
	if (rc)
		return err_set(err, errno ? -errno : -EIO, "cannot write '%s'", name);
	if (!o->path)
		return 0;
	if (fclose(TAKE(o->stream)))
		return err_set(err, -errno, "cannot write '%s'", name);
	if (o->temp && rename(o->temp, o->path) < 0)
		return err_set(err, -errno, "cannot rename '%s' to '%s'", o->temp, o->path);
	free(TAKE(o->temp));
	return 0;
}

void output_file_release(struct output_file *o)
{
	if (o->stream && o->path)
		fclose(o->stream);
	if (o->temp)
		unlink(o->temp);
	free(o->temp);
	*o = (struct output_file){ 0 };
}
