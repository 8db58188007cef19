/* SPDX-License-Identifier: Apache-2.0 */
#include "import/event.h"

#include "base/cleanup.h"
#include "import/decimal.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

struct word {
	const char *text;
	enum event_key key;
};

static const struct word member_words[] = {
	{ "name", EVENT_NAME }, { "cat", EVENT_CATEGORY }, { "ph", EVENT_PHASE },
	{ "ts", EVENT_TIME },   { "dur", EVENT_DURATION }, { "tdur", EVENT_THREAD_DURATION },
	{ "pid", EVENT_PID },   { "tid", EVENT_TID },      { "id", EVENT_ID },
	{ "args", EVENT_ARGS }, { "attr", EVENT_ARGS },
};

static const struct word argument_words[] = {
	{ "correlation", EVENT_CORRELATION },
	{ "External id", EVENT_EXTERNAL_ID },
	{ "external id", EVENT_EXTERNAL_ID }, /* 2021 */
	{ "device", EVENT_DEVICE },
	{ "device_id", EVENT_DEVICE }, /* FlagTree */
	{ "stream", EVENT_STREAM },
	{ "stream_id", EVENT_STREAM },
	{ "bytes", EVENT_BYTES },
	{ "Bytes", EVENT_BYTES },
	{ "Sequence number", EVENT_SEQUENCE },
	{ "Fwd thread id", EVENT_FORWARD_THREAD },
	{ "Python id", EVENT_PYTHON_ID },
	{ "Python parent id", EVENT_PYTHON_PARENT },
	{ "Total Allocated", EVENT_TOTAL_ALLOCATED },
	{ "Total Reserved", EVENT_TOTAL_RESERVED },
	{ "Addr", EVENT_ADDRESS },
	{ "Device Type", EVENT_DEVICE_TYPE },
	{ "Device Id", EVENT_DEVICE_ID },
	{ "registers per thread", EVENT_REGISTERS },
	{ "shared memory", EVENT_SHARED_MEMORY },
	{ "est. achieved occupancy %", EVENT_OCCUPANCY },
	{ "sort_index", EVENT_SORT_INDEX },
	{ "graph id", EVENT_GRAPH_ID },
	{ "graph node id", EVENT_GRAPH_NODE },
	{ "wait_on_stream", EVENT_WAIT_STREAM },
	{ "kernel", EVENT_KERNEL_NAME },
	{ "Call stack", EVENT_CALL_STACK },
	{ "call_stack", EVENT_CALL_STACK },
	{ "Input Dims", EVENT_DIMS },
	{ "Input type", EVENT_TYPES },
	{ "Concrete Inputs", EVENT_SCALARS },
	{ "Collective name", EVENT_COLLECTIVE },
	{ "Process Group Name", EVENT_GROUP_NAME },
	{ "CollGroup", EVENT_GROUP_NAME },
	{ "Group size", EVENT_GROUP_SIZE },
	{ "Seq", EVENT_GROUP_SEQUENCE },
	{ "dtype", EVENT_DTYPE },
	{ "In msg nelems", EVENT_IN_ELEMENTS },
	{ "Out msg nelems", EVENT_OUT_ELEMENTS },
	{ "name", EVENT_LABEL },
	{ "labels", EVENT_LABEL },
	{ "TS5", EVENT_TS5 },
	{ "grid", EVENT_GRID },
	{ "block", EVENT_BLOCK },
	{ "metrics", EVENT_METRICS },
};
static_assert(EVENT_NUMBER_COUNT <= 64, "one bit each in event.seen");

static int words_add(struct hash *h, const struct word *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t key = hash_bytes(words[i].text, strlen(words[i].text));
		if (hash_set(h, key, i) < 0)
			return -ENOMEM;
	}
	return 0;
}

int event_words_init(struct event_words *w)
{
	*w = (struct event_words){ 0 };
	if (words_add(&w->members, member_words, ARRAY_SIZE(member_words)) < 0 ||
	    words_add(&w->arguments, argument_words, ARRAY_SIZE(argument_words)) < 0) {
		event_words_release(w);
		return -ENOMEM;
	}
	return 0;
}

void event_words_release(struct event_words *w)
{
	hash_release(&w->members);
	hash_release(&w->arguments);
}

static enum event_key words_find(const struct hash *h, const struct word *words, struct span word)
{
	const uint64_t *i = hash_get(h, hash_bytes(word.data, word.size));
	if (!i || strlen(words[*i].text) != word.size ||
	    memcmp(words[*i].text, word.data, word.size) != 0)
		return EVENT_NONE;
	return words[*i].key;
}

enum event_key event_member(const struct event_words *w, struct span word)
{
	return words_find(&w->members, member_words, word);
}

enum event_key event_argument(const struct event_words *w, struct span word)
{
	return words_find(&w->arguments, argument_words, word);
}

void event_release(struct event *e)
{
	for (size_t i = 0; i < EVENT_TEXT_COUNT; i++)
		strbuf_release(&e->texts[i]);
	strbuf_release(&e->pool);
	vec_release(&e->values);
}

void event_reset(struct event *e)
{
	for (size_t i = 0; i < EVENT_TEXT_COUNT; i++)
		e->texts[i].len = 0;
	e->pool.len = 0;
	e->values.len = 0;
	e->phase = 0;
	e->has_time = e->has_duration = e->has_stack_array = e->has_bad_time = false;
	e->is_time_exact = false;
	e->time_ns = e->duration_ns = 0;
	e->seen = 0;
	memset(e->grid, 0, sizeof(e->grid));
	memset(e->block, 0, sizeof(e->block));
}

static void event_set_time(struct event *e, enum event_key key, struct span value)
{
	int64_t ns;

	if (decimal_us(value, &ns) < 0) {
		e->has_bad_time = true;
		return;
	}
	if (key == EVENT_TIME) {
		e->has_time = true;
		e->time_ns = ns;
		e->is_time_exact = memchr(value.data, '.', value.size) && ns % 1000;
	} else if (key == EVENT_DURATION || !e->has_duration) {
		e->has_duration = true;
		e->duration_ns = ns;
	}
}

static void event_set_triple(uint32_t *triple, struct span value, unsigned index)
{
	uint64_t n;
	if (index < 3 && !decimal_u64(value, &n) && n <= UINT32_MAX)
		triple[index] = (uint32_t)n;
}

/* Negative numbers (Device Id -1) are kept as two's complement. */
static void event_set_number(struct event *e, enum event_key key, struct span value)
{
	uint64_t n;
	int64_t negative;

	if (decimal_u64(value, &n) < 0) {
		if (decimal_parse(value, 0, &negative) < 0)
			return;
		n = (uint64_t)negative;
	}
	e->numbers[key] = n;
	e->seen |= UINT64_C(1) << key;
}

void event_set(struct event *e, enum event_key key, struct span value, unsigned index)
{
	if (key < EVENT_NUMBER_COUNT) {
		if (key != EVENT_NONE)
			event_set_number(e, key, value);
	} else if (key < EVENT_TEXT_END) {
		struct strbuf *b = &e->texts[key - EVENT_NAME];
		if (index)
			strbuf_putc(b, '\n');
		else
			b->len = 0; /* of two equal keys the last one counts */
		strbuf_add(b, value.data, value.size);
	} else if (key == EVENT_PHASE) {
		e->phase = value.size == 1 ? (char)value.data[0] : 0;
	} else if (key == EVENT_GRID) {
		event_set_triple(e->grid, value, index);
	} else if (key == EVENT_BLOCK) {
		event_set_triple(e->block, value, index);
	} else if (key <= EVENT_THREAD_DURATION) {
		event_set_time(e, key, value);
	}
}

void event_add_value(struct event *e, struct span key, struct span value)
{
	if (e->values.len >= EVENT_VALUES_MAX || key.size > UINT16_MAX || value.size > UINT16_MAX)
		return;
	uint32_t at = (uint32_t)e->pool.len;
	strbuf_add(&e->pool, key.data, key.size);
	strbuf_add(&e->pool, value.data, value.size);
	struct event_value v = {
		.key = at,
		.key_size = (uint32_t)key.size,
		.value = at + (uint32_t)key.size,
		.value_size = (uint32_t)value.size,
	};
	if (vec_push(&e->values, v) < 0)
		e->pool.failed = true;
}
