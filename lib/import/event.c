/* SPDX-License-Identifier: Apache-2.0 */
#include "import/event.h"

#include "base/cleanup.h"
#include "import/decimal.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

struct word {
	const char *text;
	uint8_t size;
	uint8_t key; /* enum event_key */
};
#define WORD(text, key)                     \
	{                                   \
		text, sizeof(text) - 1, key \
	}

static const struct word member_words[] = {
	WORD("name", EVENT_NAME), WORD("cat", EVENT_CATEGORY), WORD("ph", EVENT_PHASE),
	WORD("ts", EVENT_TIME),   WORD("dur", EVENT_DURATION), WORD("tdur", EVENT_THREAD_DURATION),
	WORD("pid", EVENT_PID),   WORD("tid", EVENT_TID),      WORD("id", EVENT_ID),
	WORD("args", EVENT_ARGS), WORD("attr", EVENT_ARGS),
};

static const struct word argument_words[] = {
	WORD("correlation", EVENT_CORRELATION),
	WORD("External id", EVENT_EXTERNAL_ID),
	WORD("external id", EVENT_EXTERNAL_ID), /* 2021 */
	WORD("device", EVENT_DEVICE),
	WORD("device_id", EVENT_DEVICE), /* FlagTree */
	WORD("stream", EVENT_STREAM),
	WORD("stream_id", EVENT_STREAM),
	WORD("bytes", EVENT_BYTES),
	WORD("Bytes", EVENT_BYTES),
	WORD("Sequence number", EVENT_SEQUENCE),
	WORD("Fwd thread id", EVENT_FORWARD_THREAD),
	WORD("Python id", EVENT_PYTHON_ID),
	WORD("Python parent id", EVENT_PYTHON_PARENT),
	WORD("Total Allocated", EVENT_TOTAL_ALLOCATED),
	WORD("Total Reserved", EVENT_TOTAL_RESERVED),
	WORD("Addr", EVENT_ADDRESS),
	WORD("Device Type", EVENT_DEVICE_TYPE),
	WORD("Device Id", EVENT_DEVICE_ID),
	WORD("registers per thread", EVENT_REGISTERS),
	WORD("shared memory", EVENT_SHARED_MEMORY),
	WORD("est. achieved occupancy %", EVENT_OCCUPANCY),
	WORD("sort_index", EVENT_SORT_INDEX),
	WORD("graph id", EVENT_GRAPH_ID),
	WORD("graph node id", EVENT_GRAPH_NODE),
	WORD("wait_on_stream", EVENT_WAIT_STREAM),
	WORD("Init Time (ns)", EVENT_INIT_TIME),
	WORD("kernel", EVENT_KERNEL_NAME),
	WORD("Call stack", EVENT_CALL_STACK),
	WORD("call_stack", EVENT_CALL_STACK),
	WORD("Input Dims", EVENT_DIMS),
	WORD("Input type", EVENT_TYPES),
	WORD("Concrete Inputs", EVENT_SCALARS),
	WORD("Collective name", EVENT_COLLECTIVE),
	WORD("Process Group Name", EVENT_GROUP_NAME),
	WORD("CollGroup", EVENT_GROUP_NAME),
	WORD("Group size", EVENT_GROUP_SIZE),
	WORD("Seq", EVENT_GROUP_SEQUENCE),
	WORD("dtype", EVENT_DTYPE),
	WORD("In msg nelems", EVENT_IN_ELEMENTS),
	WORD("Out msg nelems", EVENT_OUT_ELEMENTS),
	WORD("name", EVENT_LABEL),
	WORD("labels", EVENT_LABEL),
	WORD("TS5", EVENT_TS5),
	WORD("grid", EVENT_GRID),
	WORD("block", EVENT_BLOCK),
	WORD("metrics", EVENT_METRICS),
};
static_assert(EVENT_NUMBER_COUNT <= 64, "one bit each in event.seen");

static unsigned word_slot(const uint8_t *text, size_t size)
{
	unsigned h =
		(unsigned)size * 67 + text[0] * 3u + text[size / 2] * 131u + text[size - 1] * 29u;
	return h % EVENT_WORD_SLOTS;
}

static void words_init(uint8_t *slots, const struct word *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		unsigned slot = word_slot((const uint8_t *)words[i].text, words[i].size);
		while (slots[slot])
			slot = (slot + 1) % EVENT_WORD_SLOTS;
		slots[slot] = (uint8_t)(i + 1);
	}
}

static_assert(ARRAY_SIZE(argument_words) < 255, "a slot is one byte");

void event_words_init(struct event_words *w)
{
	*w = (struct event_words){ 0 };
	words_init(w->members, member_words, ARRAY_SIZE(member_words));
	words_init(w->arguments, argument_words, ARRAY_SIZE(argument_words));
}

static enum event_key words_find(const uint8_t *slots, const struct word *words, struct span text)
{
	if (!text.size)
		return EVENT_NONE;
	for (unsigned i = word_slot(text.data, text.size); slots[i];
	     i = (i + 1) % EVENT_WORD_SLOTS) {
		const struct word *word = &words[slots[i] - 1];
		if (word->size == text.size && !memcmp(word->text, text.data, text.size))
			return (enum event_key)word->key;
	}
	return EVENT_NONE;
}

enum event_key event_member(const struct event_words *w, struct span word)
{
	return words_find(w->members, member_words, word);
}

enum event_key event_argument(const struct event_words *w, struct span word)
{
	return words_find(w->arguments, argument_words, word);
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

/* The year 2067: so that an end (start and duration) and any difference of two times fit 64 bits. */
#define EVENT_TIME_MAX (INT64_MAX / 3)

static void event_set_time(struct event *e, enum event_key key, struct span value)
{
	int64_t ns;

	if (decimal_us(value, &ns) < 0 || ns > EVENT_TIME_MAX || ns < -EVENT_TIME_MAX) {
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
