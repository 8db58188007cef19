/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of an archive into a folder, where debuggers and other tools find them: binaries by their
 * build-id, as gdb's debug-file-directory has them, sources by their paths. Names in an archive are a
 * stranger's: nothing is written outside of the folder, and nothing that is there is replaced.
 */
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/strbuf.h"
#include "base/strtab.h"
#include "cmd/archive.h"
#include "cmd/tell.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct extract {
	struct capture_reader *reader;
	int folder;
	struct strtab build_ids; /* as hexadecimal digits */
	struct hash objects;     /* number -> that of its build-id */
	uint64_t files;
	int fd; /* being written; -1: none */
	uint64_t written;
};

/* Down one folder, made where it is not there; a link is not followed. */
static int enter(int folder, const char *name)
{
	if (mkdirat(folder, name, 0777) < 0 && errno != EEXIST)
		return -errno;
	int fd = openat(folder, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* A new file at @path, which loses what would lead out of the folder. */
static int create(int folder, const char *path)
{
	CLEANUP_CLOSE int at = openat(folder, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	CLEANUP_FREE char *copy = strdup(path);
	char *rest = copy;

	if (at < 0 || !copy)
		return at < 0 ? -errno : -ENOMEM;
	for (char *name = strsep(&rest, "/"); name; name = strsep(&rest, "/")) {
		/* Compilers do write "../src/a.c"; what is left of it lies below the folder. */
		if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
			continue;
		int fd = rest ? enter(at, name)
			      : openat(at, name,
				       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
		if (fd < 0)
			return rest ? fd : -errno;
		if (!rest)
			return fd;
		close(at);
		at = fd;
	}
	return -EINVAL;
}

static int keep_object(struct extract *x, const struct record_object *o)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *id = o->build_id.data;
	char text[513] = "";
	uint32_t number;

	if (!o->build_id.size || 2 * o->build_id.size >= sizeof(text))
		return 0;
	for (size_t i = 0; i < o->build_id.size; i++) {
		text[2 * i] = digits[id[i] >> 4];
		text[2 * i + 1] = digits[id[i] & 15];
	}
	int rc = strtab_add(&x->build_ids, text, &number);
	return rc < 0 ? rc : hash_set(&x->objects, o->id, number);
}

static int name_file(struct extract *x, const struct record_file *f, struct strbuf *name)
{
	const uint64_t *number = hash_get(&x->objects, f->object);
	if (f->kind == FILE_SOURCE) {
		strbuf_printf(name, "source/%s", capture_reader_text(x->reader, f->path));
		return strbuf_finish(name);
	}
	const char *id = number ? strtab_text(&x->build_ids, (uint32_t)*number) : "";
	if (strlen(id) < 4)
		return -ENOENT;
	strbuf_printf(name, ".build-id/%.2s/%s%s", id, id + 2,
		      f->kind == FILE_DEBUG ? ".debug" : "");
	return strbuf_finish(name);
}

static int start_file(struct extract *x, const struct record_file *f, struct err *err)
{
	struct strbuf name = { 0 };
	int rc = name_file(x, f, &name);
	rc = rc ? rc : create(x->folder, strbuf_text(&name));
	if (rc >= 0)
		x->fd = rc;
	else if (rc != -EEXIST) /* several objects may have one file */
		err_set(err, rc, "cannot write '%s'", strbuf_text(&name));
	x->files += rc >= 0;
	strbuf_release(&name);
	return rc < 0 && rc != -EEXIST ? rc : 0;
}

static int take_file(struct extract *x, const struct record_file *f, struct err *err)
{
	if (!f->part_offset) {
		if (x->fd >= 0)
			close(x->fd);
		x->fd = -1;
		x->written = 0;
		int rc = start_file(x, f, err);
		if (rc < 0)
			return rc;
	}
	if (x->fd < 0 || f->part_offset != x->written)
		return 0;
	x->written += f->part.size;
	int rc = io_write_all(x->fd, f->part.data, f->part.size);
	return rc < 0 ? err_set(err, rc, "cannot write") : 0;
}

int archive_extract(struct capture_reader *r, const char *folder, uint64_t *ret_files,
		    struct err *err)
{
	struct extract x = { .reader = r, .fd = -1 };
	struct record rec;
	int rc;

	if (mkdir(folder, 0777) < 0 && errno != EEXIST)
		return err_set(err, -errno, "cannot make '%s'", folder);
	x.folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (x.folder < 0)
		return err_set(err, -errno, "cannot open '%s'", folder);
	while ((rc = capture_reader_next(r, &rec, err)) > 0) {
		if (rec.type == RECORD_OBJECT && (rc = keep_object(&x, &rec.object)) < 0)
			err_set(err, rc, "cannot read the archive");
		else if (rec.type == RECORD_FILE)
			rc = take_file(&x, &rec.file, err);
		if (rc < 0)
			break;
	}
	if (x.fd >= 0)
		close(x.fd);
	close(x.folder);
	hash_release(&x.objects);
	strtab_release(&x.build_ids);
	*ret_files = x.files;
	return rc;
}
