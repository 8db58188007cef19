/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One event of a Chrome trace, put together from the tokens of its object: the members and those
 * arguments that mean something here, as text and numbers. Knows the format's words; not what kinds
 * of events there are.
 *
 * Format: "Trace Event Format" of Chromium, and what PyTorch's Kineto (libkineto/src/output_json.cpp),
 * Proton and IBM's Flex runtime write into `args` or, the last, into `attr`.
 */
#pragma once

#include "base/span.h"
#include "base/strbuf.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

/* Members and arguments. Numbers first: those up to EVENT_NUMBER_COUNT have a value in `numbers`. */
enum event_key {
	EVENT_NONE, /* of no interest */
	EVENT_CORRELATION,
	EVENT_EXTERNAL_ID,
	EVENT_DEVICE,
	EVENT_BYTES,
	EVENT_SEQUENCE,
	EVENT_FORWARD_THREAD,
	EVENT_PYTHON_ID,
	EVENT_PYTHON_PARENT,
	EVENT_TOTAL_ALLOCATED,
	EVENT_TOTAL_RESERVED,
	EVENT_ADDRESS,
	EVENT_DEVICE_TYPE,
	EVENT_DEVICE_ID,
	EVENT_REGISTERS,
	EVENT_SHARED_MEMORY,
	EVENT_SORT_INDEX,
	EVENT_GRAPH_ID,
	EVENT_GRAPH_NODE,
	EVENT_WAIT_STREAM,
	EVENT_INIT_TIME, /* Proton: the event is inside a kernel, on the device's clock */
	EVENT_NUMBER_COUNT,

	/* Short texts, in `texts`. */
	EVENT_NAME = EVENT_NUMBER_COUNT,
	EVENT_CATEGORY,
	EVENT_PID,
	EVENT_TID,
	EVENT_ID,
	EVENT_STREAM,
	EVENT_KERNEL_NAME,
	EVENT_CALL_STACK, /* Kineto's, leaf first, or Proton's array, root first, joined by '\n' */
	EVENT_DIMS,       /* raw JSON, like the next two */
	EVENT_TYPES,
	EVENT_SCALARS,
	EVENT_COLLECTIVE,
	EVENT_GROUP_NAME,
	EVENT_GROUP_SIZE,
	EVENT_GROUP_SEQUENCE,
	EVENT_DTYPE,
	EVENT_IN_ELEMENTS,
	EVENT_OUT_ELEMENTS,
	EVENT_OCCUPANCY,
	EVENT_LABEL, /* of metadata: args.name or args.labels */
	EVENT_TS5,   /* Flex: the device's own clock at the end of its work */
	EVENT_TEXT_END,

	EVENT_PHASE = EVENT_TEXT_END,
	EVENT_TIME,
	EVENT_DURATION,
	EVENT_THREAD_DURATION,
	EVENT_ARGS,
	EVENT_GRID,
	EVENT_BLOCK,
	EVENT_METRICS, /* Proton: an object inside args */
};
#define EVENT_TEXT_COUNT (EVENT_TEXT_END - EVENT_NAME)

/* What a counter event or Proton's metrics hold: name and value as text. */
struct event_value {
	uint32_t key, key_size;     /* in event.pool */
	uint32_t value, value_size; /* the same */
};

/* More in one event is not a counter. */
#define EVENT_VALUES_MAX 256

struct event {
	char phase;
	bool has_time, has_duration;
	bool has_stack_array; /* EVENT_CALL_STACK was an array: root first */
	bool has_bad_time;    /* there was one, but it was no number or too large */
	bool is_time_exact;   /* the time had a fraction: it is finer than a microsecond */
	int64_t time_ns, duration_ns;
	uint64_t seen; /* bit (1 << key) for numbers that are there */
	uint64_t numbers[EVENT_NUMBER_COUNT];
	struct strbuf texts[EVENT_TEXT_COUNT];
	uint32_t grid[3], block[3];
	struct strbuf pool;
	VEC(struct event_value) values;
};

/* Twenty words of each event are looked up: by length and three letters, which tell almost all
 * apart. A slot holds the number of a word + 1. */
#define EVENT_WORD_SLOTS 512
struct event_words {
	uint8_t members[EVENT_WORD_SLOTS], arguments[EVENT_WORD_SLOTS];
};
void event_words_init(struct event_words *w);
enum event_key event_member(const struct event_words *w, struct span word);
enum event_key event_argument(const struct event_words *w, struct span word);

void event_release(struct event *e);
void event_reset(struct event *e);
/* The value of a key: a number's text, or a string. @index: its place in an array. */
void event_set(struct event *e, enum event_key key, struct span value, unsigned index);
/* A key and value for `values`. */
void event_add_value(struct event *e, struct span key, struct span value);

static inline bool event_has(const struct event *e, enum event_key key)
{
	return e->seen >> key & 1;
}

static inline struct span event_text(const struct event *e, enum event_key key)
{
	const struct strbuf *b = &e->texts[key - EVENT_NAME];
	return span_of(b->data ? b->data : "", b->len);
}
