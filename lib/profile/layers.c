/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/filter.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Digits right after these count something; those of "Conv2d" or "fp16" are part of the name. */
static bool starts_number(const char *name, const char *at)
{
	return at == name || strchr("_.-:#[( ", at[-1]);
}

/* "libfoo.so+0x1a0" of a framework: nobody's name for a place. The size of "libfoo.so"; else 0. */
static size_t unnamed_place(const struct frame *frame)
{
	const char *plus = strrchr(frame->name, '+');
	if (frame->kind != FRAME_NATIVE ||
	    (frame->class != FRAME_CLASS_FRAMEWORK && frame->class != FRAME_CLASS_INTERPRETER) ||
	    !plus || plus == frame->name || strncmp(plus, "+0x", 3) || !plus[3] ||
	    plus[3 + strspn(plus + 3, "0123456789abcdef")])
		return 0;
	return (size_t)(plus - frame->name);
}

bool profile_layer_name(const struct frame *frame, struct strbuf *ret)
{
	if (!frame->name)
		return false;
	size_t module = unnamed_place(frame);
	if (module)
		strbuf_add(ret, frame->name, module);
	if (module || frame->kind != FRAME_SCOPE)
		return module;

	const char *copied = frame->name;
	for (const char *c = frame->name; *c;) {
		size_t digits = strspn(c, "0123456789");
		if (digits && starts_number(frame->name, c) && !isalnum((unsigned char)c[digits])) {
			strbuf_add(ret, copied, (size_t)(c - copied));
			strbuf_putc(ret, '*');
			copied = c + digits;
		}
		c += digits ? digits : 1;
	}
	if (copied == frame->name)
		return false;
	strbuf_puts(ret, copied);
	return true;
}

enum profile_run profile_run_of(const struct frame *frame)
{
	if (frame->class == FRAME_CLASS_FRAMEWORK)
		return PROFILE_RUN_FRAMEWORK;
	if (frame->class == FRAME_CLASS_STDLIB && frame->kind == FRAME_PYTHON)
		return PROFILE_RUN_STDLIB;
	if (frame->class == FRAME_CLASS_INTERPRETER)
		return PROFILE_RUN_INTERPRETER;
	return PROFILE_RUN_NONE;
}

bool profile_can_fold(const struct profile *p)
{
	bool can = false;
	for (uint32_t i = 0; !can && i < profile_frame_count(p); i++) {
		struct frame f = profile_frame_get(p, i);
		struct strbuf name = { 0 };
		can = profile_run_of(&f) || profile_layer_name(&f, &name);
		strbuf_release(&name);
	}
	return can;
}
