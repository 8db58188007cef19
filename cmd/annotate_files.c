/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/annotate_files.h"

#include "analyze/analyze.h"
#include "analyze/device.h"
#include "base/io.h"
#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Larger than any source file that people wrote. */
#define SOURCE_BYTES_MAX (16u << 20)

struct sources {
	int folder; /* of --source-path; -1: none */
	struct span program;
	const struct analysis *archive; /* NULL: none */
	VEC(struct source_file) files;
};

int sources_new(struct sources **ret, const char *path)
{
	struct sources *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->folder = -1;
	if (path) {
		s->folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (s->folder < 0) {
			int rc = -errno;
			free(s);
			return rc;
		}
	}
	*ret = s;
	return 0;
}

void sources_free(struct sources *s)
{
	if (!s)
		return;
	vec_for_each(&s->files, f)
		free(f->owned);
	vec_release(&s->files);
	if (s->folder >= 0)
		close(s->folder);
	free(s);
}

void sources_set_program(struct sources *s, struct span text)
{
	s->program = text;
}

void sources_set_archive(struct sources *s, const struct analysis *a)
{
	s->archive = a;
}

/* The file at @path, below @folder if @resolve says so. */
static int read_source(int folder, const char *path, uint64_t resolve, struct source_file *f)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		.resolve = resolve | RESOLVE_NO_MAGICLINKS,
	};
	struct stat st;
	size_t size;
	long rc = syscall(SYS_openat2, folder, path, &how, sizeof(how));
	if (rc < 0)
		return -errno;
	CLEANUP_CLOSE int fd = (int)rc;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -EINVAL;
	rc = io_read_all(fd, SOURCE_BYTES_MAX, &f->owned, &size);
	if (rc == 0)
		f->text = span_of(f->owned, size);
	return (int)rc;
}

/* The longest end of @path that is there below the folder: "/build/x/src/a.cu" may be "src/a.cu". */
static int find_below(const struct sources *s, const char *path, struct source_file *f)
{
	for (const char *p = path; p && *p;) {
		while (*p == '/')
			p++;
		if (*p && read_source(s->folder, p, RESOLVE_BENEATH, f) == 0)
			return 0;
		p = strchr(p, '/');
	}
	return -ENOENT;
}

/* Only what the object's checksum tells to be the same is shown of a file that a stranger names. */
static bool find_same(const struct device_source *known, struct source_file *f)
{
	if (!known->has_md5 || f->path[0] != '/' || read_source(AT_FDCWD, f->path, 0, f) < 0)
		return false;
	if (device_source_match(known, f->text) == DEVICE_SOURCE_SAME)
		return true;
	free(TAKE(f->owned));
	f->text = span_of("", 0);
	f->is_other = true;
	return false;
}

static void find_file(const struct sources *s, const struct device_source *known,
		      struct source_file *f)
{
	f->is_found = true;
	if (s->folder >= 0 && find_below(s, f->path, f) == 0)
		return;
	f->is_of_capture = analysis_source_name(f->path) != f->path && s->program.size;
	if (known->text.size)
		f->text = known->text;
	else if (f->is_of_capture)
		f->text = s->program;
	else if (s->archive && (f->text = analysis_source(s->archive, f->path)).size)
		f->is_of_capture = true;
	else
		f->is_found = find_same(known, f);
}

const struct source_file *sources_get(struct sources *s, struct device_object *o, const char *path)
{
	vec_for_each(&s->files, f) {
		if (!strcmp(f->path, path))
			return f;
	}
	struct source_file file = { .path = path };
	struct device_source known = { .size = 0 };
	if (o && device_source(o, path, &known) == -ENOMEM)
		return NULL;
	find_file(s, &known, &file);
	if (file.is_found)
		file.match = device_source_match(&known, file.text);
	if (vec_push(&s->files, file) < 0) {
		free(file.owned);
		return NULL;
	}
	return vec_last(&s->files);
}
