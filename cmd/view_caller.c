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

/* Whether somebody's own code is on the path; if not, any host code has to do. */
static bool has_own_code(const struct profile *p, uint32_t node)
{
	for (; node != PROFILE_NONE; node = profile_node(p, node).parent) {
		struct frame f = profile_frame_get(p, profile_node(p, node).frame);
		if (is_own_code(&f))
			return true;
	}
	return false;
}

static bool is_shown(const struct frame *f, bool own_only)
{
	if (f->kind == FRAME_MISSING)
		return strcmp(f->name, "[truncated]") != 0;
	return is_host_code(f) && (own_only ? is_own_code(f) : !is_startup(f->name));
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

/* A method of a module, of which Python knows only "forward", gets the module's name before it. */
int caller_text(const struct profile *p, uint32_t node, size_t frames, struct strbuf *ret)
{
	bool own_only = has_own_code(p, node), is_qualified = true;
	const char *names[CALLER_FRAMES_MAX];
	struct span modules[CALLER_FRAMES_MAX];
	size_t count = 0;

	assert(frames <= CALLER_FRAMES_MAX);
	for (uint32_t n = node; n != PROFILE_NONE; n = profile_node(p, n).parent) {
		struct frame f = profile_frame_get(p, profile_node(p, n).frame);
		struct span module = caller_module(&f);
		if (module.size && !is_qualified) {
			modules[count - 1] = module;
			is_qualified = true;
		} else if (is_shown(&f, own_only) && count < frames) {
			modules[count] = span_of("", 0);
			names[count++] = strncmp(f.name, "py::", 4) ? f.name : f.name + 4;
			is_qualified = f.kind != FRAME_PYTHON;
		} else if (is_shown(&f, own_only)) {
			break; /* what comes now is of a frame that is not shown */
		}
	}
	strbuf_reset(ret);
	for (size_t i = 0; i < count; i++) {
		strbuf_puts(ret, i ? " < " : "");
		strbuf_add(ret, modules[i].data, modules[i].size);
		strbuf_printf(ret, "%s%s", modules[i].size ? "." : "", names[i]);
	}
	return strbuf_finish(ret);
}
