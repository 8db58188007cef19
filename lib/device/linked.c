/* SPDX-License-Identifier: Apache-2.0 */
#include "device/linked.h"

#include "device/disassembler.h"
#include "dwarf/debug_info.h"

#include <errno.h>
#include <string.h>

/* LLVM's longest are AMDGPU image instructions with 60 characters of registers, IGA's about 200. */
#define TEXT_BYTES 512

static void open_debug(struct device_object *o, const struct linked_how *how)
{
	if (o->debug)
		return;
	struct span bytes = how->debug_bytes ? how->debug_bytes(o) : o->bytes;
	if (debug_info_open_memory(&o->debug, bytes, o->name, NULL) < 0)
		o->debug = NULL;
	else if (how->deduces_inlined)
		debug_info_deduce_inlined(o->debug);
}

static int add_text(struct device_object *o, const char *text, uint32_t *ret)
{
	return text && *text ? object_string(o, text, ret) : 0;
}

/* The chain at @offset; 0 where nothing is known but the function's name. */
static int chain_at(struct device_object *o, const struct function *f, uint64_t offset,
		    const struct linked_how *how, uint32_t *ret)
{
	struct debug_place place;
	struct chain_line lines[DEBUG_LINES_MAX] = { 0 };
	size_t count = 0;
	bool has_file = false;

	*ret = 0;
	if (!o->debug)
		return 0;
	int rc = debug_info_at(o->debug, offset, 0, &place);
	if (rc == -ENOMEM)
		return rc;
	for (; rc == 0 && count < place.count; count++) {
		const struct debug_line *in = &place.lines[count];
		struct chain_line *out = &lines[count];
		out->line = in->line;
		out->column = in->column;
		if (add_text(o, count ? in->name : f->pub.name, &out->name) < 0 ||
		    add_text(o, in->file, &out->file) < 0)
			return -ENOMEM;
		has_file |= out->file != 0;
	}
	if (!has_file)
		return 0;
	if (how->trim)
		count = how->trim(o, f, lines, count);
	return object_chain(o, lines, count, ret);
}

int linked_list(struct device_object *o, size_t function, const struct linked_how *how)
{
	const struct function *f = &o->functions.data[function];
	char text[TEXT_BYTES];

	open_debug(o, how);
	for (size_t at = 0; at < f->code.size;) {
		struct row row = { .offset = f->pub.offset + at };
		size_t length = 0;
		if (o->disassembler && !(o->flags & DEVICE_NO_TEXT))
			length = disassembler_at(o->disassembler, f->code, at, row.offset, text,
						 sizeof(text));
		if (length)
			how->target(o, function, row.offset, length, text, sizeof(text));
		if (length && object_string(o, text, &row.text) < 0)
			return -ENOMEM;
		if (!length && how->length)
			length = how->length(f->code, at);
		length = length <= f->code.size - at ? length : 0;
		row.length = (uint32_t)length;
		if (chain_at(o, f, row.offset, how, &row.chain) < 0)
			return -ENOMEM;
		int rc = object_add_row(o, function, &row);
		if (rc)
			return rc < 0 ? rc : 0;
		at += length ? length : how->step;
	}
	return 0;
}
