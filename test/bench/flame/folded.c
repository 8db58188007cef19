/* SPDX-License-Identifier: Apache-2.0 */
#include "folded.h"

#include "base/cleanup.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "profile/profile.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct reader {
	struct profile *profile;
	struct strtab names;
	VEC(uint32_t) frames; /* by number of the name */
	VEC(uint32_t) path;
	int metric;
};

static void reader_release(struct reader *r)
{
	strtab_release(&r->names);
	vec_release(&r->frames);
	vec_release(&r->path);
}
DEFINE_CLEANUP_EMBEDDED(reader_release, struct reader)

/* The field's convention: the kind is in the suffix or the form of the name. */
static enum frame_kind kind_of(const char *name, size_t size, size_t *ret_size)
{
	*ret_size = size;
	if (size > 4 && name[size - 4] == '_' && name[size - 3] == '[' && name[size - 1] == ']') {
		enum frame_kind kind = name[size - 2] == 'k'   ? FRAME_OS
				       : name[size - 2] == 'G' ? FRAME_KERNEL
				       : name[size - 2] == 'g' ? FRAME_INSTRUCTION
							       : FRAME_ROOT;
		if (kind != FRAME_ROOT) {
			*ret_size = size - 4;
			return kind;
		}
	}
	if (size == 1 && name[0] == '-')
		return FRAME_BOUNDARY;
	if (size > 4 && !memcmp(name, "py::", 4))
		return FRAME_PYTHON;
	return memmem(name, size, "::", 2) ? FRAME_CXX : FRAME_NATIVE;
}

static int frame_of(struct reader *r, const char *name, size_t size, uint32_t *ret)
{
	uint32_t id;
	bool fresh;
	if (strtab_intern(&r->names, name, size, &id, &fresh) < 0)
		return -ENOMEM;
	if (fresh) {
		CLEANUP_FREE char *text = strndup(name, size);
		uint32_t frame;
		size_t cut;
		struct frame f = { .kind = kind_of(name, size, &cut), .name = text };
		if (!text)
			return -ENOMEM;
		text[cut] = '\0';
		if (profile_frame(r->profile, &f, &frame) < 0 ||
		    vec_reserve(&r->frames, id + 1) < 0)
			return -ENOMEM;
		r->frames.data[id] = frame;
	}
	*ret = r->frames.data[id];
	return 0;
}

static int read_line(struct reader *r, const char *line, const char *end)
{
	uint64_t value = 0, unit = 1;
	while (end > line && isdigit((unsigned char)end[-1])) {
		value += (uint64_t)(*--end - '0') * unit;
		unit *= 10;
	}
	if (end == line || end[-1] != ' ')
		return 0;
	end--;

	r->path.len = 0;
	for (const char *stop; line < end; line = stop + 1) {
		uint32_t frame;
		stop = memchr(line, ';', (size_t)(end - line));
		if (!stop)
			stop = end;
		if (frame_of(r, line, (size_t)(stop - line), &frame) < 0 ||
		    vec_push(&r->path, frame) < 0)
			return -ENOMEM;
	}
	return profile_add_path(r->profile, r->path.data, r->path.len, r->metric, value);
}

int folded_read(const char *path, const char *metric, struct profile **ret, struct err *err)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, -errno, "cannot open '%s'", path);
	const char *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return err_set(err, -errno, "cannot map '%s'", path);

	CLEANUP(profile_free) struct profile *profile = NULL;
	CLEANUP(reader_release) struct reader r = { 0 };
	int rc = profile_new(&profile);
	r.profile = profile;
	if (rc == 0)
		rc = r.metric = profile_metric(profile, metric, "samples");

	const char *end = data + st.st_size;
	for (const char *line = data, *stop; rc >= 0 && line < end; line = stop + 1) {
		stop = memchr(line, '\n', (size_t)(end - line));
		if (!stop)
			stop = end;
		rc = read_line(&r, line, stop);
		/* What has been read need not stay in memory. */
		if ((uintptr_t)stop >> 26 != (uintptr_t)line >> 26)
			madvise((void *)data, (size_t)(stop - data) & ~4095ul, MADV_DONTNEED);
	}
	munmap((void *)data, (size_t)st.st_size);
	if (rc < 0 || (rc = profile_finish(profile)) < 0)
		return err_set(err, rc, "cannot read '%s'", path);
	*ret = TAKE(profile);
	return 0;
}
