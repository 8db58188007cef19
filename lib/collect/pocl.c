/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/pocl.h"

#include "base/io.h"
#include "collect/object.h"
#include "elf/symtab.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* One kernel for one work-group size: 20 to 200 KiB seen. Larger files are not searched for symbols
 * when they are first seen, which would take long, and not kept. */
#define KERNEL_MAX_BYTES (8u << 20)

static bool has_kernel_symbol(struct elf_file *elf)
{
	static const char prefix[] = "_pocl_kernel_";
	CLEANUP(elf_symtab_free) struct elf_symtab *symbols = NULL;

	if (elf_symtab_new(&symbols, elf, NULL) < 0)
		return false;
	for (size_t i = 0; i < elf_symtab_count(symbols); i++) {
		if (!strncmp(elf_symtab_get(symbols, i).name, prefix, sizeof(prefix) - 1))
			return true;
	}
	return false;
}

/* Libraries of the system are no kernels: not worth reading their symbols. */
static bool is_system(const char *path)
{
	return !strncmp(path, "/usr/", 5) || !strncmp(path, "/lib", 4) ||
	       !strncmp(path, "/opt/", 5);
}

bool pocl_is_kernel(const struct object *object)
{
	if (!object->elf || object->size > KERNEL_MAX_BYTES)
		return false;
	if (strstr(object->path, "/kcache/") || strstr(object->path, "/uncached/"))
		return true;
	return !is_system(object->path) && has_kernel_symbol(object->elf);
}

int pocl_keep(struct object *object, uint32_t number, struct capture_writer *w)
{
	struct record_code_object record = {
		.id = number,
		.kind = CODE_OBJECT_POCL,
		.total_bytes = object->size,
	};

	CLEANUP_FREE char *data = malloc(object->size ? object->size : 1);
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
