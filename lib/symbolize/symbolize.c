/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/symbolize.h"

#include "base/hash.h"
#include "base/strtab.h"
#include "symbolize/demangle.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What a raw name is shown as. */
struct shown {
	uint32_t raw; /* its number among the strings */
	uint32_t display;
	bool is_mangled;
};

struct symbolizer {
	struct captured_symbols *captured;
	VEC(struct frame) frames; /* given out last */
	struct strtab strings;    /* every text given out */
	struct hash shown;        /* raw name's number -> index of names */
	VEC(struct shown) names;
	struct strbuf scratch;
};

int symbolizer_new(struct symbolizer **ret, struct captured_symbols *captured)
{
	struct symbolizer *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->captured = captured;
	*ret = s;
	return 0;
}

void symbolizer_free(struct symbolizer *s)
{
	if (!s)
		return;
	vec_release(&s->frames);
	vec_release(&s->names);
	hash_release(&s->shown);
	strtab_release(&s->strings);
	strbuf_release(&s->scratch);
	free(s);
}

static int show_name(struct symbolizer *s, const char *raw, struct shown *ret)
{
	uint32_t id;
	bool is_fresh;
	int rc = strtab_intern(&s->strings, raw, strlen(raw), &id, &is_fresh);
	if (rc < 0)
		return rc;
	uint64_t *known = is_fresh ? NULL : hash_get(&s->shown, id);
	if (known) {
		*ret = s->names.data[*known];
		return 0;
	}

	struct shown fresh = { .raw = id };
	strbuf_reset(&s->scratch);
	fresh.is_mangled = demangle(&s->scratch, raw, 0);
	if (strbuf_finish(&s->scratch) < 0)
		return -ENOMEM;
	rc = strtab_add(&s->strings, strbuf_text(&s->scratch), &fresh.display);
	if (rc < 0)
		return rc;
	if (vec_push(&s->names, fresh) < 0 || hash_set(&s->shown, id, s->names.len - 1) < 0)
		return -ENOMEM;
	*ret = fresh;
	return 0;
}

/* A copy that lives as long as the symbolizer; NULL stays NULL. */
static int keep(struct symbolizer *s, const char *text, const char **ret)
{
	uint32_t id;
	*ret = NULL;
	if (!text)
		return 0;
	int rc = strtab_add(&s->strings, text, &id);
	if (rc < 0)
		return rc;
	*ret = strtab_text(&s->strings, id);
	return 0;
}

static int add_line(struct symbolizer *s, const struct symbolize_query *q,
		    const struct symbol_line *line, const char *module)
{
	struct shown shown;
	int rc = show_name(s, line->name, &shown);
	if (rc < 0)
		return rc;
	struct frame f = {
		.kind = FRAME_NATIVE,
		.name = strtab_text(&s->strings, shown.display),
		.module = module,
		.line = line->line,
	};
	if (q->kind == SYMBOLIZE_KERNEL)
		f.kind = FRAME_OS;
	else if (shown.is_mangled)
		f.kind = FRAME_CXX;
	if (shown.raw != shown.display)
		f.full = strtab_text(&s->strings, shown.raw);
	rc = keep(s, line->file, &f.file);
	return rc < 0 ? rc : vec_push(&s->frames, f);
}

static const char *unnamed_module(const struct symbolize_query *q)
{
	const char *slash = q->module ? strrchr(q->module, '/') : NULL;
	if (slash && slash[1])
		return slash + 1;
	if (q->module && *q->module && !slash)
		return q->module;
	switch (q->kind) {
	case SYMBOLIZE_KERNEL:
		return "[kernel]";
	case SYMBOLIZE_VDSO:
		return "[vdso]";
	case SYMBOLIZE_ANON:
		return "[anon]";
	case SYMBOLIZE_ELF:
		break;
	}
	return "[unknown]";
}

/* Never a bare number: "libfoo.so+0x1234" can be looked up by hand, and what lies in one module stays
 * beside each other. */
static int add_unnamed(struct symbolizer *s, const struct symbolize_query *q, const char *module)
{
	struct frame f = {
		.kind = q->kind == SYMBOLIZE_KERNEL ? FRAME_OS : FRAME_NATIVE,
		.module = module,
	};
	strbuf_reset(&s->scratch);
	strbuf_printf(&s->scratch, "%s+0x%" PRIx64, unnamed_module(q), q->offset);
	if (strbuf_finish(&s->scratch) < 0)
		return -ENOMEM;
	int rc = keep(s, strbuf_text(&s->scratch), &f.name);
	return rc < 0 ? rc : vec_push(&s->frames, f);
}

int symbolize_frame(struct symbolizer *s, const struct symbolize_query *q,
		    struct symbol_frames *ret)
{
	struct symbol symbol = { 0 };
	const char *module;

	s->frames.len = 0;
	if (keep(s, q->module, &module) < 0)
		return -ENOMEM;
	bool is_known = captured_symbols_at(s->captured, q->object, q->offset, &symbol) == 0;
	for (size_t i = 0; i < symbol.count; i++) {
		if (add_line(s, q, &symbol.lines[i], module) < 0)
			return -ENOMEM;
	}
	if (!is_known && add_unnamed(s, q, module) < 0)
		return -ENOMEM;
	*ret = (struct symbol_frames){ .frames = s->frames.data, .count = s->frames.len };
	return is_known;
}
