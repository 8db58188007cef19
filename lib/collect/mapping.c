/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/mapping.h"

#include "base/bisect.h"

#include <errno.h>
#include <string.h>

void mappings_release(struct mappings *m)
{
	vec_release(&m->list);
}

/* How many start at or below @address. */
static size_t count_up_to(const struct mappings *m, uint64_t address)
{
	return bisect(m->list.len, i, m->list.data[i].start <= address);
}

const struct mapping *mappings_find(const struct mappings *m, uint64_t address)
{
	size_t count = count_up_to(m, address);

	if (!count || m->list.data[count - 1].end <= address)
		return NULL;
	return &m->list.data[count - 1];
}

/* Put @count mappings in place of [@from, @to). The room for it is there. */
static void replace(struct mappings *m, size_t from, size_t to, const struct mapping *with,
		    size_t count)
{
	struct mapping *data = m->list.data;

	memmove(data + from + count, data + to, (m->list.len - to) * sizeof(*data));
	memcpy(data + from, with, count * sizeof(*data));
	m->list.len = m->list.len - (to - from) + count;
}

int mappings_insert(struct mappings *m, const struct mapping *mapping)
{
	struct mapping parts[3];
	size_t count = 0;

	if (m->list.len + 2 > MAPPINGS_MAX)
		return -ENOSPC;
	/* At most one more before and one more behind: what is left of those cut. */
	if (vec_reserve(&m->list, m->list.len + 2) < 0)
		return -ENOMEM;
	size_t from = count_up_to(m, mapping->start);
	if (from && m->list.data[from - 1].end > mapping->start)
		from--;
	size_t to = from;
	while (to < m->list.len && m->list.data[to].start < mapping->end)
		to++;
	if (from < to && m->list.data[from].start < mapping->start) {
		parts[count] = m->list.data[from];
		parts[count++].end = mapping->start;
	}
	parts[count++] = *mapping;
	if (from < to && m->list.data[to - 1].end > mapping->end) {
		struct mapping rest = m->list.data[to - 1];
		rest.offset += mapping->end - rest.start;
		rest.start = mapping->end;
		parts[count++] = rest;
	}
	replace(m, from, to, parts, count);
	m->changes++;
	return 0;
}

int mappings_copy(struct mappings *ret, const struct mappings *from)
{
	if (vec_reserve(&ret->list, from->list.len) < 0)
		return -ENOMEM;
	if (from->list.len)
		memcpy(ret->list.data, from->list.data, from->list.len * sizeof(*from->list.data));
	ret->list.len = from->list.len;
	ret->changes++;
	return 0;
}
