/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/pocl.h"

#include "base/io.h"
#include "collect/object.h"

#include <errno.h>
#include <string.h>

/* One kernel for one work-group size: 20 to 200 KiB seen. */
#define KERNEL_MAX_BYTES (8u << 20)

/* The part of @path before @end that stands between two slashes; moves @end before it. */
static struct span last_part(const char *path, const char **end)
{
	const char *stop = *end, *p = stop;

	while (p > path && p[-1] != '/')
		p--;
	*end = p > path ? p - 1 : p;
	return span_of(p, (size_t)(stop - p));
}

/* "16-16-1", perhaps with more behind a dash. */
static bool is_group_size(struct span part)
{
	const char *text = (const char *)part.data;
	size_t at = 0;

	for (int i = 0; i < 3; i++) {
		size_t digits = at;
		while (at < part.size && text[at] >= '0' && text[at] <= '9')
			at++;
		if (at == digits || (i < 2 && (at == part.size || text[at++] != '-')))
			return false;
	}
	return at == part.size || text[at] == '-';
}

bool pocl_is_kernel_path(const char *path)
{
	const char *end = path + strlen(path);

	if (end - path < 4 || strcmp(end - 3, ".so") != 0)
		return false;
	end -= 3;
	struct span file = last_part(path, &end);
	struct span size = last_part(path, &end);
	struct span kernel = last_part(path, &end);
	return is_group_size(size) && file.size && file.size == kernel.size &&
	       !memcmp(file.data, kernel.data, file.size);
}

int pocl_keep(struct object *object, uint32_t number, struct capture_writer *w)
{
	struct record_code_object record = { .id = number, .kind = CODE_OBJECT_POCL };

	if (!object->size || object->size > KERNEL_MAX_BYTES)
		return 0;
	CLEANUP_FREE char *data = malloc(object->size);
	if (!data)
		return -ENOMEM;
	int64_t size = io_pread_full(object->fd, data, object->size, 0);
	if (size < 0) /* the file system is gone: the samples stay, without lines */
		return 0;
	int rc = capture_writer_string(w, object->path, &record.name);
	if (rc < 0)
		return rc;
	record.total_bytes = (uint64_t)size;
	rc = capture_writer_code_object(w, &record, data, (size_t)size);
	if (rc < 0)
		return rc;
	object->code_object = number;
	return 0;
}
