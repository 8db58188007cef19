/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/status.h"

#include "base/cleanup.h"
#include "proc/read.h"

#include <errno.h>
#include <string.h>

static bool number_u32(struct span *line, uint32_t *ret)
{
	uint64_t value;

	field_skip_blanks(line);
	if (!field_number(line, 10, &value) || value > UINT32_MAX)
		return false;
	*ret = (uint32_t)value;
	return true;
}

/* "real effective saved filesystem" */
static bool effective_id(struct span *line, uint32_t *ret)
{
	uint32_t real;

	return number_u32(line, &real) && number_u32(line, ret);
}

/* One id per namespace, the innermost last. */
static bool innermost_pid(struct span *line, uint32_t *ret)
{
	int count = 0;

	while (count < PROC_NS_LEVELS && number_u32(line, ret))
		count++;
	return count > 0;
}

enum status_field {
	HAS_NAME = 1 << 0,
	HAS_TGID = 1 << 1,
	HAS_PARENT = 1 << 2,
	HAS_UID = 1 << 3,
	HAS_ALL = (1 << 4) - 1,
};

static bool status_line(struct span line, struct proc_status *s, unsigned int *has)
{
	if (field_prefix(&line, "Name:\t")) {
		s->name = line;
		*has |= HAS_NAME;
		return true;
	}
	if (field_prefix(&line, "State:\t")) {
		s->state = line.size ? (char)line.data[0] : '?';
		return true;
	}
	if (field_prefix(&line, "Tgid:\t")) {
		*has |= HAS_TGID;
		return number_u32(&line, &s->tgid);
	}
	if (field_prefix(&line, "PPid:\t")) {
		*has |= HAS_PARENT;
		return number_u32(&line, &s->parent);
	}
	if (field_prefix(&line, "TracerPid:\t"))
		return number_u32(&line, &s->tracer);
	if (field_prefix(&line, "Uid:\t")) {
		*has |= HAS_UID;
		return effective_id(&line, &s->uid);
	}
	if (field_prefix(&line, "Gid:\t"))
		return effective_id(&line, &s->gid);
	if (field_prefix(&line, "NStgid:\t"))
		return innermost_pid(&line, &s->ns_pid);
	if (field_prefix(&line, "CapEff:\t"))
		return field_number(&line, 16, &s->effective_capabilities);
	return true;
}

int proc_status_parse(struct span text, const char *what, struct proc_status *ret, struct err *err)
{
	struct lines lines = lines_of(text, what);
	struct proc_status s = { .state = '?' };
	unsigned int has = 0;
	struct span line;

	while (lines_next(&lines, &line)) {
		if (!status_line(line, &s, &has))
			return lines_fail(&lines, err, "not the value that proc(5) describes");
	}
	if (has != HAS_ALL)
		return lines_fail(&lines, err, "ends before all that is needed");
	if (!s.ns_pid) /* kernels without CONFIG_PID_NS */
		s.ns_pid = s.tgid;
	*ret = s;
	return 0;
}

int proc_status_read(uint32_t pid, struct proc_status *ret)
{
	CLEANUP_FREE char *text = NULL;
	size_t size;

	int rc = proc_read(pid, "status", PROC_SMALL_MAX_BYTES, &text, &size);
	if (rc < 0)
		return rc;
	rc = proc_status_parse(span_of(text, size), "status", ret, NULL);
	ret->name = span_of(NULL, 0); /* pointed into what is freed here */
	return rc;
}

int proc_stat_parse(struct span text, const char *what, struct proc_stat *ret, struct err *err)
{
	struct lines line = lines_of(text, what);
	struct proc_stat s;
	struct span word;

	line.number = 1;
	/* "PID (COMM) STATE ...": COMM can hold parentheses and spaces, nothing behind it can. */
	const uint8_t *open = text.size ? memchr(text.data, '(', text.size) : NULL;
	const uint8_t *close = text.size ? memrchr(text.data, ')', text.size) : NULL;
	if (!open || !close || close < open)
		return lines_fail(&line, err, "no command name");
	s.comm = span_of(open + 1, (size_t)(close - open - 1));
	struct span rest = span_of(close + 1, text.size - (size_t)(close + 1 - text.data));
	field_skip_blanks(&rest);
	if (!field_word(&rest, &word))
		return lines_fail(&line, err, "no state");
	s.state = (char)word.data[0];
	/* State is field 3 and starttime field 22, counted from 1. */
	for (int field = 4; field < 22; field++) {
		field_skip_blanks(&rest);
		if (!field_word(&rest, &word))
			return lines_fail(&line, err, "no start time");
	}
	field_skip_blanks(&rest);
	if (!field_number(&rest, 10, &s.start_ticks))
		return lines_fail(&line, err, "no start time");
	*ret = s;
	return 0;
}

struct span proc_cgroup_path(struct span text)
{
	struct lines lines = lines_of(text, NULL);
	struct span line, first = { 0 };

	while (lines_next(&lines, &line)) {
		bool is_v2 = field_prefix(&line, "0::");
		if (!is_v2) {
			/* "ID:CONTROLLERS:PATH" */
			for (int i = 0; i < 2; i++) {
				const uint8_t *colon =
					line.size ? memchr(line.data, ':', line.size) : NULL;
				size_t skip = colon ? (size_t)(colon + 1 - line.data) : line.size;
				line = span_of(line.data + skip, line.size - skip);
			}
		}
		if (is_v2)
			return line;
		if (!first.size)
			first = line;
	}
	return first;
}
