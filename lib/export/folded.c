/* SPDX-License-Identifier: Apache-2.0 */
#include "export/folded.h"

#include "base/strbuf.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "export/formats.h"
#include "profile/profile.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The path so far and, for each of its nodes, where its text starts. */
struct folded {
	struct strbuf text;
	VEC(size_t) starts;
};

static void folded_release(struct folded *f)
{
	strbuf_release(&f->text);
	vec_release(&f->starts);
}
DEFINE_CLEANUP_EMBEDDED(folded_release, struct folded)

/* " 12" at the end, or " 12." or " 1.5": flamegraph.pl takes all of these for a number. */
static char *trailing_number(char *name)
{
	char *space = strrchr(name, ' ');
	return space && isdigit((unsigned char)space[1]) && !space[strspn(space, " 0123456789.")]
		       ? space
		       : NULL;
}

static void folded_add_name(struct strbuf *out, const struct frame *frame)
{
	size_t start = out->len;

	if (*frame->name)
		utf8_append_safe(out, frame->name, strlen(frame->name));
	else
		strbuf_puts(out, "[unknown]");
	if (out->failed)
		return;

	char *name = out->data + start;
	for (char *c = name; *c; c++) {
		if (*c == ';')
			*c = ':';
	}
	for (char *space; (space = trailing_number(name));)
		*space = '_';
	strbuf_puts(out, frame_kind_suffix(frame->kind));
}

static int folded_enter(struct folded *f, const struct profile *p, uint32_t node)
{
	struct frame frame = profile_frame_get(p, profile_node(p, node).frame);

	if (vec_push(&f->starts, f->text.len) < 0)
		return -ENOMEM;
	if (node == PROFILE_ROOT)
		return 0;
	if (f->text.len)
		strbuf_putc(&f->text, ';');
	folded_add_name(&f->text, &frame);
	return strbuf_finish(&f->text);
}

/* The next node in order, leaving those that are done. PROFILE_NONE at the end. */
static uint32_t folded_leave(struct folded *f, const struct profile *p, uint32_t node)
{
	for (; node != PROFILE_NONE; node = profile_node(p, node).parent) {
		f->text.len = f->starts.data[--f->starts.len];
		uint32_t next = profile_node(p, node).next;
		if (next != PROFILE_NONE)
			return next;
	}
	return PROFILE_NONE;
}

int folded_write(FILE *out, const struct profile *p, int metric, struct err *err)
{
	CLEANUP(folded_release) struct folded f = { 0 };

	for (uint32_t node = PROFILE_ROOT; node != PROFILE_NONE;) {
		if (folded_enter(&f, p, node) < 0)
			return err_set(err, -ENOMEM, "cannot write folded lines");
		uint64_t value = profile_self(p, node, metric);
		if (value) {
			/* A value without a path: readers want at least one frame. */
			const char *text = f.text.len ? f.text.data : "all";
			size_t size = f.text.len ? f.text.len : strlen(text);
			fwrite(text, 1, size, out);
			fprintf(out, " %" PRIu64 "\n", value);
		}
		uint32_t child = profile_node(p, node).first_child;
		node = child != PROFILE_NONE ? child : folded_leave(&f, p, node);
	}
	if (ferror(out))
		return err_set(err, -EIO, "cannot write folded lines");
	return 0;
}

static int folded_export(FILE *out, const struct profile *p, const struct export_options *opt,
			 struct err *err)
{
	int metric = export_metric(p, opt, err);
	return metric < 0 ? metric : folded_write(out, p, metric, err);
}

const struct exporter folded_exporter = {
	.name = "folded",
	.what = "Folded stacks of one metric, as flamegraph.pl reads them",
	.has_one_value = true,
	.write = folded_export,
};
