/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/view_caller.h"

#include "base/span.h"

#include "base/cleanup.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

static bool is_host_code(const struct frame *f)
{
	return f->kind == FRAME_PYTHON || f->kind == FRAME_CXX || f->kind == FRAME_NATIVE;
}

/* Of a program's file, but not what its author wrote. */
static bool is_startup(const char *name)
{
	static const char *const names[] = { "_start", "__libc_start_main",
					     "__libc_start_call_main" };
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(name, names[i]))
			return true;
	}
	return false;
}

static bool is_own_code(const struct frame *f)
{
	return (f->class == FRAME_CLASS_OWN || f->class == FRAME_CLASS_MODEL) &&
	       !is_startup(f->name);
}

/* What code of a path is shown: somebody's own; where there is none, Python's; else any. */
enum shown {
	SHOWN_ANY,
	SHOWN_PYTHON,
	SHOWN_OWN
};

static enum shown what_is_shown(const struct profile *p, uint32_t node)
{
	enum shown shown = SHOWN_ANY;
	for (; node != PROFILE_NONE; node = profile_node(p, node).parent) {
		struct frame f = profile_frame_get(p, profile_node(p, node).frame);
		if (is_own_code(&f))
			return SHOWN_OWN;
		if (f.kind == FRAME_PYTHON)
			shown = SHOWN_PYTHON;
	}
	return shown;
}

static bool is_shown(const struct frame *f, enum shown shown)
{
	if (f->kind == FRAME_MISSING)
		return strcmp(f->name, "[truncated]") != 0;
	if (shown == SHOWN_OWN)
		return is_host_code(f) && is_own_code(f);
	return shown == SHOWN_PYTHON ? f->kind == FRAME_PYTHON
				     : is_host_code(f) && !is_startup(f->name);
}

static const char *plain_name(const struct frame *f)
{
	return strncmp(f->name, "py::", 4) ? f->name : f->name + 4;
}

struct span caller_module(const struct frame *f)
{
	size_t size = strlen(f->name), digits = 0;
	if (f->kind != FRAME_SCOPE)
		return span_of("", 0);
	while (digits < size && isdigit((unsigned char)f->name[size - digits - 1]))
		digits++;
	if (!digits || size < digits + 2 || f->name[size - digits - 1] != '_')
		return span_of("", 0);
	return span_of(f->name, size - digits - 1);
}

struct caller {
	const char *name;
	struct span module;
	enum frame_class class;
};

/*
 * Of the caller's own code and of what uses a framework the nearest to the end are both named: if the
 * list, innermost first, has none of one of them, that of the path follows the first.
 */
static size_t add_other_class(const struct profile *p, uint32_t node, struct caller *list,
			      size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (list[i].class != list[0].class)
			return count;
	}
	for (uint32_t n = node; n != PROFILE_NONE; n = profile_node(p, n).parent) {
		struct frame f = profile_frame_get(p, profile_node(p, n).frame);
		if (!is_own_code(&f) || !is_host_code(&f) || f.class == list[0].class)
			continue;
		list[1] = (struct caller){ plain_name(&f), span_of("", 0), f.class };
		return 2;
	}
	return count;
}

uint32_t caller_node(const struct profile *p, uint32_t node)
{
	enum shown shown = what_is_shown(p, node);
	for (; node != PROFILE_NONE; node = profile_node(p, node).parent) {
		struct frame f = profile_frame_get(p, profile_node(p, node).frame);
		if (is_shown(&f, shown))
			break;
	}
	return node;
}

/* A method of a module, of which Python knows only "forward", gets the module's name before it. */
int caller_text(const struct profile *p, uint32_t node, size_t frames, struct strbuf *ret)
{
	enum shown shown = what_is_shown(p, node);
	bool is_qualified = true;
	struct caller list[CALLER_FRAMES_MAX];
	size_t count = 0;

	assert(frames <= CALLER_FRAMES_MAX);
	for (uint32_t n = node; n != PROFILE_NONE; n = profile_node(p, n).parent) {
		struct frame f = profile_frame_get(p, profile_node(p, n).frame);
		struct span module = caller_module(&f);
		if (module.size && !is_qualified) {
			list[count - 1].module = module;
			is_qualified = true;
		} else if (is_shown(&f, shown) && count < frames) {
			list[count++] = (struct caller){ plain_name(&f), span_of("", 0), f.class };
			is_qualified = f.kind != FRAME_PYTHON;
		} else if (is_shown(&f, shown)) {
			break; /* what comes now is of a frame that is not shown */
		}
	}
	if (shown == SHOWN_OWN && count)
		count = add_other_class(p, node, list, count);
	strbuf_reset(ret);
	for (size_t i = 0; i < count; i++) {
		strbuf_puts(ret, i ? " < " : "");
		strbuf_add(ret, list[i].module.data, list[i].module.size);
		strbuf_printf(ret, "%s%s", list[i].module.size ? "." : "", list[i].name);
	}
	return strbuf_finish(ret);
}
