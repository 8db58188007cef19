/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Chrome Trace Event format: JSON's tokens to events (event.h), and what the trace says of
 * itself. See absorb.h for what becomes of an event, process.h for what becomes of the trace.
 */
#include "import/absorb.h"
#include "import/backward.h"
#include "import/decimal.h"
#include "import/feed.h"
#include "import/nest.h"
#include "import/process.h"
#include "import/session.h"

#include <errno.h>
#include <string.h>

/* Deeper JSON is not a trace; yajl itself has no limit. */
#define CHROME_DEPTH_MAX 64
/* Levels of keys that are remembered outside of events. */
#define META_DEPTH     4
#define META_KEY_BYTES 48

struct meta_device {
	bool has_index;
	uint64_t index, units, memory_bytes;
	struct strbuf name;
};

struct chrome {
	struct session *session;
	struct trace trace;
	struct absorb absorb;
	struct event_words words;
	struct event event;
	struct feed feed;
	int depth;         /* of open objects and arrays */
	int element_depth; /* inside an event; 0: the array has not begun, or has ended */
	bool in_event, in_args, is_counter;
	enum event_key member, argument;
	unsigned index;  /* in the array that an argument is */
	size_t raw_from; /* where that array begins */
	struct strbuf value_key;
	char keys[META_DEPTH][META_KEY_BYTES]; /* of what is open, outside of events */
	struct meta_device device;
};

static int chrome_fail(struct chrome *c, int code)
{
	return feed_stop(&c->feed, code);
}

/* ---- what a trace says of itself: by allow-list, since some hold their whole environment ---- */

static const char *const fact_keys[] = {
	"schemaVersion",
	"record_shapes",
	"with_stack",
	"profile_memory",
	"with_flops",
	"with_modules",
	"cupti_version",
	"cuda_runtime_version",
	"cuda_driver_version",
	"roctracer_version",
	"rocprofiler_version",
	"hip_runtime_version",
	"hip_driver_version",
	"xpu_driver_version",
	"pytorch_version",
	"torch_version",
	"displayTimeUnit",
	"distributedInfo.backend",
	"distributedInfo.rank",
	"distributedInfo.world_size",
	"distributedInfo.pg_count",
	"distributedInfo.nccl_version",
};

static int meta_fact(struct chrome *c, struct span value)
{
	char path[2 * META_KEY_BYTES + 8];

	if (c->depth == 1)
		snprintf(path, sizeof(path), "trace.%s", c->keys[0]);
	else
		snprintf(path, sizeof(path), "trace.%s.%s", c->keys[0], c->keys[1]);
	for (size_t i = 0; i < ARRAY_SIZE(fact_keys); i++) {
		if (!strcmp(path + strlen("trace."), fact_keys[i]))
			return trace_fact(&c->trace, path, value);
	}
	return 0;
}

static int meta_device_value(struct chrome *c, const char *key, struct span value)
{
	struct meta_device *d = &c->device;

	if (!strcmp(key, "id"))
		d->has_index = !decimal_u64(value, &d->index);
	else if (!strcmp(key, "numSms"))
		(void)decimal_u64(value, &d->units);
	else if (!strcmp(key, "totalGlobalMem"))
		(void)decimal_u64(value, &d->memory_bytes);
	else if (!strcmp(key, "name"))
		strbuf_add(&d->name, value.data, value.size);
	return strbuf_finish(&d->name);
}

static int meta_device_end(struct chrome *c)
{
	struct meta_device *d = &c->device;
	struct trace_device *device;
	uint32_t id;
	int rc = 0;

	if (d->has_index && d->index < UINT32_MAX) {
		rc = trace_device(&c->trace, (uint32_t)d->index, &id);
		if (rc < 0)
			return rc;
		device = &c->trace.devices.data[id];
		device->units = d->units;
		device->memory_bytes = d->memory_bytes;
		rc = frames_string(&c->session->frames, span_of(strbuf_text(&d->name), d->name.len),
				   &device->name);
	}
	strbuf_reset(&d->name);
	*d = (struct meta_device){ .name = d->name };
	return rc;
}

static int meta_value(struct chrome *c, struct span value)
{
	uint64_t n;

	if (c->depth == 1 && !strcmp(c->keys[0], "baseTimeNanoseconds")) {
		if (!decimal_u64(value, &n) && n <= INT64_MAX)
			c->trace.base_ns = n;
		return 0;
	}
	if (c->depth == 2 && !strcmp(c->keys[0], "distributedInfo") &&
	    !strcmp(c->keys[1], "rank") && !decimal_u64(value, &n) && n < UINT32_MAX)
		c->trace.rank = (uint32_t)n + 1;
	if (c->depth == 3 && !strcmp(c->keys[0], "deviceProperties"))
		return meta_device_value(c, c->keys[2], value);
	return c->depth <= 2 ? meta_fact(c, value) : 0;
}

static void meta_key(struct chrome *c, struct span key)
{
	if (c->depth < 1 || c->depth > META_DEPTH)
		return;
	char *kept = c->keys[c->depth - 1];
	size_t size = key.size < META_KEY_BYTES ? key.size : META_KEY_BYTES - 1;
	memcpy(kept, key.data, size);
	kept[size] = '\0';
}

/* ---- tokens ---- */

static bool is_raw(enum event_key key)
{
	return key == EVENT_DIMS || key == EVENT_TYPES || key == EVENT_SCALARS;
}

static bool is_list(enum event_key key)
{
	return key == EVENT_GRID || key == EVENT_BLOCK || key == EVENT_CALL_STACK;
}

static int chrome_value(struct chrome *c, struct span value)
{
	if (!c->in_event) {
		if (c->element_depth && c->depth == c->element_depth - 1)
			return feed_refuse(&c->feed, "an event that is no object");
		int rc = meta_value(c, value);
		return rc < 0 ? chrome_fail(c, rc) : 1;
	}
	if (c->depth == c->element_depth) {
		event_set(&c->event, c->member, value, 0);
	} else if (c->in_args && c->depth == c->element_depth + 1) {
		event_set(&c->event, c->argument, value, 0);
		if (c->is_counter)
			event_add_value(&c->event,
					span_of(strbuf_text(&c->value_key), c->value_key.len),
					value);
	} else if (c->in_args && c->depth == c->element_depth + 2 && is_list(c->argument)) {
		event_set(&c->event, c->argument, value, c->index++);
	}
	return 1;
}

static int on_null(void *data)
{
	(void)data;
	return 1;
}

static int on_boolean(void *data, int value)
{
	struct chrome *c = data;
	const char *text = value ? "true" : "false";
	return c->in_event ? 1 : chrome_value(c, span_of(text, strlen(text)));
}

static int on_number(void *data, const char *text, size_t size)
{
	return chrome_value(data, span_of(text, size));
}

static int on_string(void *data, const unsigned char *text, size_t size)
{
	return chrome_value(data, span_of(text, size));
}

static int on_map(void *data)
{
	struct chrome *c = data;

	if (++c->depth > CHROME_DEPTH_MAX)
		return feed_refuse(&c->feed, "JSON nested deeper than any trace");
	if (!c->in_event) {
		if (c->depth != c->element_depth)
			return 1;
		feed_element_begin(&c->feed);
		event_reset(&c->event);
		c->in_event = true;
		c->in_args = c->is_counter = false;
	} else if (c->depth == c->element_depth + 1) {
		c->in_args = c->member == EVENT_ARGS;
		/* Any argument of a counter is a value; those of others are too many to keep. */
		c->is_counter = c->event.phase == 'C' || !c->event.phase;
	}
	return 1;
}

static int on_key(void *data, const unsigned char *text, size_t size)
{
	struct chrome *c = data;
	struct span key = span_of(text, size);

	if (!c->in_event) {
		meta_key(c, key);
	} else if (c->depth == c->element_depth) {
		c->member = event_member(&c->words, key);
	} else if (c->in_args && c->depth == c->element_depth + 1) {
		c->argument = event_argument(&c->words, key);
		if (c->is_counter) {
			strbuf_reset(&c->value_key);
			strbuf_add(&c->value_key, text, size);
		}
	}
	return 1;
}

static int on_map_end(void *data)
{
	struct chrome *c = data;

	c->depth--;
	if (!c->in_event) {
		if (c->depth == 2 && !strcmp(c->keys[0], "deviceProperties")) {
			int rc = meta_device_end(c);
			return rc < 0 ? chrome_fail(c, rc) : 1;
		}
		return 1;
	}
	if (c->depth == c->element_depth) {
		c->in_args = false;
		return 1;
	}
	if (c->depth > c->element_depth)
		return 1;

	const char *why;
	c->in_event = false;
	int rc = absorb_event(&c->absorb, &c->event, &why);
	if (rc < 0)
		return chrome_fail(c, rc);
	if (rc > 0) {
		if (c->session->options->is_strict)
			return feed_refuse(&c->feed, why);
		feed_count_drop(&c->feed, feed_offset(&c->feed), why);
	}
	feed_element_end(&c->feed);
	return 1;
}

static int on_array(void *data)
{
	struct chrome *c = data;
	bool is_events = !c->element_depth && !c->in_event &&
			 (c->depth == 0 || (c->depth == 1 && !strcmp(c->keys[0], "traceEvents")));

	if (!c->in_event && c->element_depth && c->depth == c->element_depth - 1) {
		feed_element_begin(&c->feed);
		return feed_refuse(&c->feed, "an event that is no object");
	}
	if (++c->depth > CHROME_DEPTH_MAX)
		return feed_refuse(&c->feed, "JSON nested deeper than any trace");
	if (is_events) {
		c->element_depth = c->depth + 1;
		feed_enter(&c->feed, c->depth == 2);
	} else if (c->in_event && c->in_args && c->depth == c->element_depth + 2) {
		c->index = 0;
		c->raw_from = feed_position(&c->feed) - 1;
		c->event.has_stack_array |= c->argument == EVENT_CALL_STACK;
	}
	return 1;
}

static int on_array_end(void *data)
{
	struct chrome *c = data;

	c->depth--;
	if (!c->in_event) {
		if (c->element_depth && c->depth == c->element_depth - 2) {
			c->element_depth = 0;
			feed_leave(&c->feed);
			/* A second array under the same key is not read. */
			c->keys[0][0] = '\0';
		}
		return 1;
	}
	if (c->in_args && c->depth == c->element_depth + 1 && is_raw(c->argument))
		event_set(&c->event, c->argument,
			  feed_raw(&c->feed, c->raw_from, feed_position(&c->feed)), 0);
	return 1;
}

static void on_abandon(void *data)
{
	struct chrome *c = data;

	c->in_event = false;
	c->depth = c->element_depth - 1;
}

static void on_jump(void *data)
{
	struct chrome *c = data;

	c->in_event = false;
	c->depth = 2;
	c->element_depth = 3;
}

static const struct feed_client client = {
	.callbacks = {
		.yajl_null = on_null,
		.yajl_boolean = on_boolean,
		.yajl_number = on_number,
		.yajl_string = on_string,
		.yajl_start_map = on_map,
		.yajl_map_key = on_key,
		.yajl_end_map = on_map_end,
		.yajl_start_array = on_array,
		.yajl_end_array = on_array_end,
	},
	.abandon = on_abandon,
	.jump = on_jump,
	.array_key = "traceEvents",
};

/* ---- the format ---- */

static void chrome_init(struct chrome *c, struct session *s, struct stream *in)
{
	struct feed_client mine = client;

	*c = (struct chrome){ .session = s };
	trace_init(&c->trace, &s->frames);
	absorb_init(&c->absorb, &c->trace);
	mine.data = c;
	feed_init(&c->feed, in, &mine, s->options->is_strict);
	event_words_init(&c->words);
}

static void chrome_release(struct chrome *c)
{
	feed_release(&c->feed);
	event_release(&c->event);
	absorb_release(&c->absorb);
	strbuf_release(&c->value_key);
	strbuf_release(&c->device.name);
	trace_release(&c->trace);
}
DEFINE_CLEANUP_EMBEDDED(chrome_release, struct chrome)

static int chrome_read(struct chrome *c, struct stream *in, struct err *err)
{
	int rc = feed_run(&c->feed, err);
	const struct feed_damage *d = &c->feed.damage;
	struct import_trust *t = c->session->trust;

	t->is_trace = true;
	t->bytes += c->feed.bytes;
	t->events += c->trace.events;
	t->repaired += d->repaired;
	t->is_cut |= d->is_cut;
	if (d->dropped + d->repaired)
		session_dropped(c->session, d->dropped, d->first_offset, d->first_why);
	if (rc < 0)
		return rc;
	if (c->feed.place == FEED_BEFORE)
		return err_set(err, -EBADMSG, "'%s' has no array of events (\"traceEvents\")",
			       stream_name(in));
	/* Everything that only reading needs goes before memory is needed for nesting. */
	absorb_release(&c->absorb);
	absorb_init(&c->absorb, &c->trace);
	rc = trace_finish(&c->trace);
	return rc < 0 ? err_set(err, rc, "cannot import '%s'", stream_name(in)) : 0;
}

static int chrome_import(struct session *s, struct stream *in, struct err *err)
{
	CLEANUP(chrome_release) struct chrome c;

	chrome_init(&c, s, in);
	int rc = chrome_read(&c, in, err);
	return rc < 0 ? rc : process_trace(s, &c.trace, stream_name(in), err);
}

int chrome_load(struct session *s, struct stream *in, struct trace *ret, struct err *err)
{
	CLEANUP(chrome_release) struct chrome c;
	struct nest nest = { 0 };

	chrome_init(&c, s, in);
	int rc = chrome_read(&c, in, err);
	if (rc < 0)
		return rc;
	rc = backward_link(&c.trace);
	if (!rc)
		rc = nest_init(&nest, &c.trace);
	if (!rc)
		rc = nest_all(&nest);
	nest_release(&nest);
	if (rc < 0)
		return err_set(err, rc, "cannot import '%s'", stream_name(in));
	*ret = c.trace;
	trace_init(&c.trace, &s->frames);
	return 0;
}

static const char *skip_blank(const char *p, const char *end)
{
	while (p < end && *p && strchr(" \t\r\n", *p))
		p++;
	return p;
}

static bool holds(const char *p, const char *end, const char *word)
{
	return memmem(p, (size_t)(end - p), word, strlen(word)) != NULL;
}

static int chrome_recognise(struct span head)
{
	const char *p = (const char *)head.data, *end = p + head.size;

	if (head.size >= 3 && !memcmp(p, "\xef\xbb\xbf", 3))
		p += 3;
	p = skip_blank(p, end);
	if (p == end || (*p != '{' && *p != '['))
		return 0;
	/* What comes next in an object or an array of objects; "[DeepRT] ..." is a log. */
	const char *next = skip_blank(p + 1, end);
	if (next < end && !strchr(*p == '{' ? "\"}" : "{]", *next))
		return 0;
	if (holds(p, end, "\"traceEvents\"") || holds(p, end, "\"ph\""))
		return 90;
	/* The events may come after much else. */
	if (holds(p, end, "\"schemaVersion\"") || holds(p, end, "\"deviceProperties\"") ||
	    holds(p, end, "\"displayTimeUnit\""))
		return 60;
	return *p == '{' ? 10 : 5;
}

const struct importer chrome_importer = {
	.name = "chrome",
	.recognise = chrome_recognise,
	.import = chrome_import,
};
