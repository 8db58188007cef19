/* SPDX-License-Identifier: Apache-2.0 */
#include "python/code.h"

#include <errno.h>
#include <stdlib.h>

/* One that calls __init__ and then goes on with what it was called for (3.12 on): all its names are
 * one string, and no instruction has a line. */
static bool is_shim(const struct python_code *c, const struct python_code_parts *parts)
{
	if (!parts->is_one_name)
		return false;
	vec_for_each(&c->lines.starts, start) {
		if (start->line)
			return false;
	}
	return true;
}

int python_code_parse(struct python_code *ret, const struct python_layout *layout,
		      const struct python_code_parts *parts, struct err *err)
{
	CLEANUP(python_code_release) struct python_code c = { .first_line = parts->first_line };

	if (python_text_utf8(&c.file, &parts->file) < 0 ||
	    python_text_utf8(&c.name, &parts->name) < 0)
		return err_set(err, -ENOMEM, "no memory for a code object");
	int rc = python_lines_read(&c.lines, (enum python_lines_kind)layout->lines, parts->lines,
				   c.first_line, err);
	if (rc < 0)
		return rc;
	c.is_shim = is_shim(&c, parts);
	*ret = c;
	c = (struct python_code){ 0 };
	return 0;
}

static int read_lines(struct span *ret, uint8_t **memory, const struct python_access *access,
		      const struct python_layout *layout, uint64_t bytes)
{
	CLEANUP_FREE uint8_t *table = NULL;
	uint64_t size;

	if (python_read_u64(access, bytes + layout->bytes_size, &size))
		return -EFAULT;
	if (size > PYTHON_LINES_BYTES_MAX)
		return -EBADMSG;
	table = malloc(size + 1);
	if (!table)
		return -ENOMEM;
	if (size && access->read(access->data, bytes + layout->bytes_data, table, (uint32_t)size))
		return -EFAULT;
	*ret = span_of(table, size);
	*memory = TAKE(table);
	return 0;
}

static int read_parts(struct python_code *c, const struct python_access *access,
		      const struct python_layout *layout, uint64_t address)
{
	CLEANUP_FREE uint8_t *file_memory = NULL;
	CLEANUP_FREE uint8_t *name_memory = NULL;
	CLEANUP_FREE uint8_t *lines_memory = NULL;
	bool is_qualified = layout->code_qualname != PYTHON_ABSENT;
	struct python_code_parts parts = { 0 };
	uint64_t file, name, lines;

	if (access->read(access->data, address + layout->code_first_line, &parts.first_line,
			 sizeof(parts.first_line)) ||
	    python_read_u64(access, address + layout->code_filename, &file) ||
	    python_read_u64(access,
			    address + (is_qualified ? layout->code_qualname : layout->code_name),
			    &name) ||
	    python_read_u64(access, address + layout->code_lines, &lines))
		return -EFAULT;
	parts.is_one_name = file == name;
	int rc = python_text_read(&parts.file, &file_memory, access, layout, file);
	if (rc >= 0)
		rc = python_text_read(&parts.name, &name_memory, access, layout, name);
	if (rc >= 0)
		rc = read_lines(&parts.lines, &lines_memory, access, layout, lines);
	return rc < 0 ? rc : python_code_parse(c, layout, &parts, NULL);
}

/*
 * Memory that was freed keeps what is behind its first bytes for a while, so that all pointers of the
 * code object are still there, and lead to what others have put there since. pymalloc and malloc link
 * free blocks through their first words, where a live object has a small number and its type.
 */
static bool is_alive(const struct python_access *access, const struct python_runtime *runtime,
		     uint64_t address)
{
	uint32_t offset = runtime->layout->object_type;
	uint64_t count, type;

	if (python_read_u64(access, address + offset, &type) ||
	    (runtime->code_type && type != runtime->code_type))
		return false;
	if (offset != 8)
		return true;
	if (python_read_u64(access, address, &count))
		return false;
	/* Its upper half has flags since 3.14 and is 0 before, but in a pointer. */
	return (uint32_t)count && (runtime->layout->version >= 0x030e0000 || !(count >> 32));
}

int python_code_read(struct python_code *ret, const struct python_access *access,
		     const struct python_runtime *runtime, uint64_t address, uint32_t check,
		     struct err *err)
{
	CLEANUP(python_code_release) struct python_code c = { 0 };
	const struct python_layout *layout = runtime->layout;
	uint64_t words[PYTHON_WORDS] = { 0 };
	uint32_t before, after;

	if (python_code_check(access, layout, address, words, &before))
		return err_set(err, -EFAULT, "no code object to be read at 0x%llx",
			       (unsigned long long)address);
	if ((check && before != check) || !is_alive(access, runtime, address))
		return err_set(err, -ESTALE, "another code object at 0x%llx by now",
			       (unsigned long long)address);
	int rc = read_parts(&c, access, layout, address);
	if (rc < 0)
		return err_set(err, rc, "what is at 0x%llx is no code object",
			       (unsigned long long)address);
	if (python_code_check(access, layout, address, words, &after) || before != after ||
	    !is_alive(access, runtime, address))
		return err_set(err, -ESTALE, "the code object at 0x%llx has gone",
			       (unsigned long long)address);
	*ret = c;
	c = (struct python_code){ 0 };
	return 0;
}

void python_code_release(struct python_code *c)
{
	free(c->name);
	free(c->file);
	python_lines_release(&c->lines);
}

uint32_t python_code_line(const struct python_code *c, const struct python_layout *layout,
			  uint32_t instr)
{
	int64_t offset = (int32_t)instr;

	if (layout->instr == PYTHON_INSTR_UNITS)
		offset *= 2;
	else if (layout->instr == PYTHON_INSTR_POINTER)
		offset -= layout->code_bytecode;
	return python_lines_at(&c->lines, offset);
}
