/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/maps.h"

#include <string.h>

static bool permission(struct span *line, char yes, char no, bool *ret)
{
	*ret = field_char(line, yes);
	return *ret || field_char(line, no);
}

static bool device(struct span *line, struct proc_mapping *m)
{
	uint64_t major, minor;

	if (!field_number(line, 16, &major) || !field_char(line, ':') ||
	    !field_number(line, 16, &minor) || major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	m->major = (uint32_t)major;
	m->minor = (uint32_t)minor;
	return true;
}

static void path(struct span line, struct proc_mapping *m)
{
	static const char deleted[] = " (deleted)";
	const size_t size = sizeof(deleted) - 1;

	field_skip_blanks(&line);
	if (line.size > size && !memcmp(line.data + line.size - size, deleted, size)) {
		m->is_deleted = true;
		line.size -= size;
	}
	m->path = line;
}

int proc_maps_next(struct lines *text, struct proc_mapping *ret, struct err *err)
{
	struct proc_mapping m = { 0 };
	struct span line;

	if (!lines_next(text, &line))
		return 0;
	if (!field_number(&line, 16, &m.start) || !field_char(&line, '-') ||
	    !field_number(&line, 16, &m.end) || m.start >= m.end)
		return lines_fail(text, err, "no address range");
	if (!field_char(&line, ' ') || !permission(&line, 'r', '-', &m.is_readable) ||
	    !permission(&line, 'w', '-', &m.is_writable) ||
	    !permission(&line, 'x', '-', &m.is_executable) ||
	    !permission(&line, 's', 'p', &m.is_shared))
		return lines_fail(text, err, "no permissions");
	if (!field_char(&line, ' ') || !field_number(&line, 16, &m.offset))
		return lines_fail(text, err, "no offset");
	if (!field_char(&line, ' ') || !device(&line, &m))
		return lines_fail(text, err, "no device");
	if (!field_char(&line, ' ') || !field_number(&line, 10, &m.inode))
		return lines_fail(text, err, "no inode");
	path(line, &m);
	*ret = m;
	return 1;
}
