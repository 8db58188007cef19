/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/symbols.h"

#include <string.h>

int proc_kallsyms_next(struct lines *text, struct proc_symbol *ret, struct err *err)
{
	struct proc_symbol s = { 0 };
	struct span line, word;

	if (!lines_next(text, &line))
		return 0;
	if (!field_number(&line, 16, &s.address) || !field_char(&line, ' '))
		return lines_fail(text, err, "no address");
	if (!field_word(&line, &word) || word.size != 1 || !field_char(&line, ' '))
		return lines_fail(text, err, "no type");
	s.type = (char)word.data[0];
	if (!field_word(&line, &s.name))
		return lines_fail(text, err, "no name");
	field_skip_blanks(&line);
	if (line.size) {
		if (line.size < 3 || line.data[0] != '[' || line.data[line.size - 1] != ']')
			return lines_fail(text, err, "text behind the name that is no [module]");
		s.module = span_of(line.data + 1, line.size - 2);
	}
	*ret = s;
	return 1;
}

static bool perf_map_line(struct span line, struct perf_map_entry *ret)
{
	field_prefix(&line, "0x");
	if (!field_number(&line, 16, &ret->start) || !field_char(&line, ' '))
		return false;
	field_prefix(&line, "0x");
	if (!field_number(&line, 16, &ret->size) || !field_char(&line, ' '))
		return false;
	ret->name = line;
	return line.size && ret->size && ret->start <= UINT64_MAX - ret->size;
}

int perf_map_next(struct lines *text, struct perf_map_entry *ret, size_t *skipped)
{
	struct perf_map_entry entry;
	struct span line;

	while (lines_next(text, &line)) {
		if (perf_map_line(line, &entry)) {
			*ret = entry;
			return 1;
		}
		if (skipped)
			(*skipped)++;
	}
	return 0;
}
