/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/python_merge.h"

#include "python/walk.h"

struct merge {
	const struct merge_input *in;
	struct merge_item *items;
	uint32_t count;
	uint32_t next_entry;
};

static void put(struct merge *m, enum merge_kind kind, uint32_t index)
{
	m->items[m->count++] = (struct merge_item){ kind, index };
}

/* The inner part belongs to the call of the loop that is above it. */
static bool is_shadowed(const struct merge_input *in, uint32_t i)
{
	return in->natives[i] == MERGE_LOOP_INNER && i + 1 < in->native_count &&
	       in->natives[i + 1] != MERGE_NATIVE;
}

static uint32_t count_loops(const struct merge_input *in)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < in->native_count; i++)
		count += in->natives[i] != MERGE_NATIVE && !is_shadowed(in, i);
	return count;
}

static uint32_t count_runs(const struct merge_input *in)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < in->entry_count; i++)
		count += in->entries[i].code & PYTHON_ENTRY_END ||
			 i + 1 == in->entry_count; /* cut off */
	return count;
}

/* The next run; false: it has no frames. */
static bool put_run(struct merge *m)
{
	bool has_any = false;

	while (m->next_entry < m->in->entry_count) {
		uint64_t code = m->in->entries[m->next_entry].code;
		if (code & ~(uint64_t)PYTHON_ENTRY_END) {
			put(m, MERGE_ITEM_PYTHON, m->next_entry);
			has_any = true;
		}
		m->next_entry++;
		if (code & PYTHON_ENTRY_END)
			break;
	}
	return has_any;
}

uint32_t python_merge(const struct merge_input *in, struct merge_item *ret, uint32_t *ret_misplaced)
{
	struct merge m = { .in = in, .items = ret };
	uint32_t loops = count_loops(in), runs = count_runs(in), bare = 0, extra = 0;

	if (in->is_rooted && in->is_whole) {
		bare = loops > runs ? loops - runs : 0;
		extra = runs > loops ? runs - loops : 0;
	}
	*ret_misplaced = extra;
	for (uint32_t i = 0; i < in->native_count; i++) {
		if (in->natives[i] == MERGE_NATIVE) {
			put(&m, MERGE_ITEM_NATIVE, i);
			continue;
		}
		if (is_shadowed(in, i))
			continue;
		/* Where the loop was not recognised: right below the first one that was. */
		for (; extra; extra--)
			(void)put_run(&m);
		if (bare) {
			bare--;
			put(&m, MERGE_ITEM_NATIVE, i);
		} else if (!put_run(&m)) {
			put(&m, MERGE_ITEM_NATIVE, i); /* between two Python frames */
		}
	}
	if (m.next_entry == in->entry_count)
		return m.count;
	put(&m, MERGE_ITEM_GAP, 0);
	while (m.next_entry < in->entry_count)
		(void)put_run(&m);
	return m.count;
}
