/* SPDX-License-Identifier: Apache-2.0 */
#include "import/absorb_parts.h"

#include "capture/record.h"
#include "import/pyname.h"

#include <errno.h>

void absorb_put_text(struct strbuf *b, const char *key, struct span value)
{
	if (!value.size)
		return;
	if (b->len)
		strbuf_putc(b, ';');
	strbuf_puts(b, key);
	strbuf_putc(b, '=');
	bool is_quoted = false;
	for (size_t i = 0; i < value.size; i++) {
		char c = (char)value.data[i];
		is_quoted ^= c == '"';
		if ((c == ' ' || c == '\n') && !is_quoted && value.data[0] == '[')
			continue; /* layout of the JSON */
		strbuf_putc(b, c == ';' ? ',' : c);
	}
}

void absorb_put_number(struct strbuf *b, const struct event *e, const char *key,
		       enum event_key number)
{
	if (!event_has(e, number))
		return;
	strbuf_printf(b, "%s%s=%llu", b->len ? ";" : "", key,
		      (unsigned long long)e->numbers[number]);
}

void absorb_put_collective(struct strbuf *b, const struct event *e)
{
	absorb_put_text(b, "collective", event_text(e, EVENT_COLLECTIVE));
	absorb_put_text(b, "group", event_text(e, EVENT_GROUP_NAME));
	absorb_put_text(b, "group-size", event_text(e, EVENT_GROUP_SIZE));
	absorb_put_text(b, "sequence", event_text(e, EVENT_GROUP_SEQUENCE));
	absorb_put_text(b, "elements-in", event_text(e, EVENT_IN_ELEMENTS));
	absorb_put_text(b, "elements-out", event_text(e, EVENT_OUT_ELEMENTS));
	absorb_put_text(b, "dtype", event_text(e, EVENT_DTYPE));
}

int absorb_scratch(struct absorb *a, uint32_t *ret)
{
	if (strbuf_finish(&a->scratch) < 0)
		return -ENOMEM;
	return frames_string(a->trace->frames, span_of(strbuf_text(&a->scratch), a->scratch.len),
			     ret);
}

static int path_add(struct frames *f, uint32_t *path, struct span text)
{
	struct pyname name;
	uint32_t frame;
	enum object_kind kind = text.size && (text.data[0] == '<' || pyname_parse(text, &name))
					? OBJECT_PYTHON
					: OBJECT_SCOPE;
	int rc = frames_add(f, kind, text, &frame);
	return rc < 0 ? rc : frames_path(f, *path, frame, path);
}

/* Kineto's: functions joined by ';', the innermost first; since 2022 it is the last, with a ';' behind
 * it. */
static int path_of_text(struct frames *f, struct span text, uint32_t *ret)
{
	const char *start = (const char *)text.data, *end = start + text.size;
	bool is_root_first = text.size && end[-1] == ';';

	*ret = PATH_EMPTY;
	while (start < end) {
		const char *p, *from, *to;
		if (is_root_first) {
			p = memchr(start, ';', (size_t)(end - start));
			from = start;
			to = p ? p : end;
			start = p ? p + 1 : end;
		} else {
			p = memrchr(start, ';', (size_t)(end - start));
			from = p ? p + 1 : start;
			to = end;
			end = p ? p : start;
		}
		if (from == to)
			continue;
		int rc = path_add(f, ret, span_of(from, (size_t)(to - from)));
		if (rc < 0)
			return rc;
	}
	return 0;
}

/*
 * Proton's: an array from the root on, joined by '\n' here. @leaf is the event's own name: the
 * array ends in it, and it is no part of what called it.
 */
static int path_of_array(struct frames *f, struct span text, struct span leaf, uint32_t *ret)
{
	const char *p = (const char *)text.data, *end = p + text.size;

	*ret = PATH_EMPTY;
	while (p < end) {
		const char *stop = memchr(p, '\n', (size_t)(end - p));
		if (!stop)
			stop = end;
		struct span part = span_of(p, (size_t)(stop - p));
		bool is_leaf = stop == end && part.size == leaf.size &&
			       !memcmp(part.data, leaf.data, leaf.size);
		if (part.size && !is_leaf && !text_is(part, "ROOT")) {
			int rc = path_add(f, ret, part);
			if (rc < 0)
				return rc;
		}
		p = stop + 1;
	}
	return 0;
}

int absorb_stack(struct absorb *a, const struct event *e, bool has_leaf, uint32_t *ret)
{
	struct span text = event_text(e, EVENT_CALL_STACK);
	struct frames *f = a->trace->frames;
	uint32_t string;

	*ret = PATH_EMPTY;
	if (!text.size)
		return 0;
	if (e->has_stack_array)
		return path_of_array(f, text, has_leaf ? event_text(e, EVENT_NAME) : span_of("", 0),
				     ret);
	int rc = frames_string(f, text, &string);
	if (rc < 0)
		return rc;
	const uint64_t *known = hash_get(&a->stack_paths, string);
	if (known) {
		*ret = (uint32_t)*known;
		return 0;
	}
	rc = path_of_text(f, text, ret);
	return rc < 0 ? rc : hash_set(&a->stack_paths, string, *ret);
}
