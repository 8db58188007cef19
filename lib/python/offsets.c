/* SPDX-License-Identifier: Apache-2.0 */
#include "python/offsets.h"

#include "python/walk.h"

#include <errno.h>
#include <string.h>

#define ABSENT PYTHON_ABSENT

/* Printed by offsetof() in programs compiled with the headers of 3.8.18, 3.9.18, 3.10.13, 3.11.7 and
 * 3.12.1; a minor version keeps its ABI. x86-64, as aarch64, which has the same C types. */
#define BEFORE_3_11                                                                                \
	.boundary = PYTHON_RUN_EACH, .interpreters_head = 32, .interp_next = 0, .threads_head = 8, \
	.thread_next = 8, .thread_id = 176, .thread_frame = 24, .cframe_frame = ABSENT,            \
	.frame_code = 32, .frame_previous = 24, .frame_mark = ABSENT, .frame_tlbc = ABSENT,        \
	.code_filename = 104, .code_name = 112, .code_qualname = ABSENT, .code_lines = 120,        \
	.code_first_line = 40, .code_bytecode = ABSENT, .code_tlbc = ABSENT, .str_shift = 2,       \
	.str_length = 16, .str_state = 32, .ascii_bytes = 48, .compact_bytes = 72,                 \
	.bytes_size = 16, .bytes_data = 32, .object_type = 8

static const struct python_layout known[] = {
	{ .version = 0x030800f0,
	  BEFORE_3_11,
	  .instr = PYTHON_INSTR_BYTES,
	  .lines = PYTHON_LINES_LNOTAB,
	  .frame_instr = 104 },
	{ .version = 0x030900f0,
	  BEFORE_3_11,
	  .instr = PYTHON_INSTR_BYTES,
	  .lines = PYTHON_LINES_LNOTAB,
	  .frame_instr = 104 },
	{ .version = 0x030a00f0,
	  BEFORE_3_11,
	  .instr = PYTHON_INSTR_UNITS,
	  .lines = PYTHON_LINES_TABLE,
	  .frame_instr = 96 },
	{
		.version = 0x030b00f0,
		.boundary = PYTHON_RUN_IS_ENTRY,
		.instr = PYTHON_INSTR_POINTER,
		.lines = PYTHON_LINES_LOCATION,
		.interpreters_head = 40,
		.interp_next = 0,
		.threads_head = 16,
		.thread_next = 8,
		.thread_id = 152,
		.thread_frame = 56,
		.cframe_frame = 8,
		.frame_code = 32,
		.frame_previous = 48,
		.frame_instr = 56,
		.frame_mark = 68,
		.frame_tlbc = ABSENT,
		.code_filename = 112,
		.code_name = 120,
		.code_qualname = 128,
		.code_lines = 136,
		.code_first_line = 72,
		.code_bytecode = 184,
		.code_tlbc = ABSENT,
		.str_shift = 2,
		.str_length = 16,
		.str_state = 32,
		.ascii_bytes = 48,
		.compact_bytes = 72,
		.bytes_size = 16,
		.bytes_data = 32,
		.object_type = 8,
	},
	{
		.version = 0x030c00f0,
		.boundary = PYTHON_RUN_SHIM,
		.instr = PYTHON_INSTR_POINTER,
		.lines = PYTHON_LINES_LOCATION,
		.interpreters_head = 40,
		.interp_next = 0,
		.threads_head = 72,
		.thread_next = 8,
		.thread_id = 136,
		.thread_frame = 56,
		.cframe_frame = 0,
		.frame_code = 0,
		.frame_previous = 8,
		.frame_instr = 56,
		.frame_mark = 70,
		.frame_tlbc = ABSENT,
		.code_filename = 112,
		.code_name = 120,
		.code_qualname = 128,
		.code_lines = 136,
		.code_first_line = 68,
		.code_bytecode = 192,
		.code_tlbc = ABSENT,
		.str_shift = 2,
		.str_length = 16,
		.str_state = 32,
		.ascii_bytes = 40,
		.compact_bytes = 56,
		.bytes_size = 16,
		.bytes_data = 32,
		.object_type = 8,
	},
};

int python_layout_known(struct python_layout *ret, uint32_t version, struct err *err)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (known[i].version >> 16 != version >> 16)
			continue;
		*ret = known[i];
		ret->version = version;
		return 0;
	}
	return err_set(err, -ENOTSUP, "the frames of Python %u.%u are not known", version >> 24,
		       version >> 16 & 0xff);
}

/*
 * Include/internal/pycore_runtime.h (3.13) and pycore_debug_offsets.h (3.14): where in the struct
 * each group begins and which member is where in it. Groups begin with the size of what they
 * describe.
 */
struct group {
	uint16_t runtime, interp, thread, frame, code, object, bytes, str;
	uint16_t frame_tlbc, code_tlbc; /* 0: none */
	uint16_t size;                  /* of all */
};

static const struct {
	uint32_t minor;
	struct group at;
} groups[] = {
	{ 0x030d,
	  { .runtime = 24,
	    .interp = 48,
	    .thread = 152,
	    .frame = 224,
	    .code = 272,
	    .object = 352,
	    .bytes = 512,
	    .str = 536,
	    .size = 584 } },
	{ 0x030e,
	  { .runtime = 24,
	    .interp = 48,
	    .thread = 176,
	    .frame = 248,
	    .code = 312,
	    .object = 400,
	    .bytes = 592,
	    .str = 616,
	    .frame_tlbc = 248 + 56,
	    .code_tlbc = 312 + 80,
	    .size = 760 } },
};

/* A struct of CPython; PyInterpreterState of 3.14 has 0.6 MB. */
#define STRUCT_BYTES_MAX (16u << 20)

struct reader {
	struct span bytes;
	struct err *err;
	int rc;
};

static uint64_t number_at(struct reader *r, uint32_t at)
{
	struct cursor c = cursor_of(r->bytes, "_Py_DebugOffsets");
	uint64_t value = 0;

	if (r->rc == 0)
		r->rc = cursor_seek(&c, at, r->err);
	if (r->rc == 0)
		r->rc = cursor_u64(&c, &value, r->err);
	return value;
}

/* Member @index of the group at @group, of a field of @bytes that must lie within the struct. */
static uint32_t member(struct reader *r, uint32_t group, uint32_t index, uint32_t bytes)
{
	uint64_t size = number_at(r, group), value = number_at(r, group + 8 * index);

	if (r->rc == 0 && (size > STRUCT_BYTES_MAX || value > size || size - value < bytes))
		r->rc = err_set(r->err, -EBADMSG,
				"_Py_DebugOffsets+0x%x: offset %llu in a struct of %llu bytes",
				group + 8 * index, (unsigned long long)value,
				(unsigned long long)size);
	return (uint32_t)value;
}

static void parse_group(struct reader *r, const struct group *g, struct python_layout *l)
{
	l->interpreters_head = member(r, g->runtime, 2, 8);
	l->interp_next = member(r, g->interp, 2, 8);
	l->threads_head = member(r, g->interp, 3, 8);
	l->thread_next = member(r, g->thread, 2, 8);
	l->thread_frame = member(r, g->thread, 4, 8);
	l->thread_id = member(r, g->thread, 5, 8);
	l->frame_previous = member(r, g->frame, 1, 8);
	l->frame_code = member(r, g->frame, 2, 8);
	l->frame_instr = member(r, g->frame, 3, 8);
	l->frame_mark = member(r, g->frame, 5, 1);
	l->code_filename = member(r, g->code, 1, 8);
	l->code_name = member(r, g->code, 2, 8);
	l->code_qualname = member(r, g->code, 3, 8);
	l->code_lines = member(r, g->code, 4, 8);
	l->code_first_line = member(r, g->code, 5, 4);
	l->code_bytecode = member(r, g->code, 9, 0);
	l->object_type = member(r, g->object, 1, 8);
	l->bytes_size = member(r, g->bytes, 1, 8);
	l->bytes_data = member(r, g->bytes, 2, 0);
	l->str_state = member(r, g->str, 1, 4);
	l->str_length = member(r, g->str, 2, 8);
	l->ascii_bytes = (uint32_t)number_at(r, g->str + 24);
	/* PyCompactUnicodeObject: utf8_length and utf8 behind the PyASCIIObject. */
	l->compact_bytes = l->ascii_bytes + 16;
}

int python_layout_parse(struct python_layout *ret, struct span bytes, struct err *err)
{
	struct python_layout l = {
		.boundary = PYTHON_RUN_SHIM,
		.instr = PYTHON_INSTR_POINTER,
		.lines = PYTHON_LINES_LOCATION,
		.cframe_frame = PYTHON_ABSENT,
		.frame_tlbc = PYTHON_ABSENT,
		.code_tlbc = PYTHON_ABSENT,
	};
	struct reader r = { bytes, err, 0 };
	const struct group *g = NULL;

	uint64_t version = number_at(&r, 8), is_free_threaded = number_at(&r, 16);
	if (r.rc < 0)
		return r.rc;
	if (memcmp(bytes.data, "xdebugpy", 8) != 0 || version > UINT32_MAX || is_free_threaded > 1)
		return err_set(err, -EBADMSG, "_Py_DebugOffsets: not what it should be");
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		if (groups[i].minor == version >> 16)
			g = &groups[i].at;
	}
	if (!g)
		return err_set(err, -ENOTSUP, "the frames of Python %u.%u are not known",
			       (unsigned)version >> 24, (unsigned)version >> 16 & 0xff);
	l.version = (uint32_t)version;
	parse_group(&r, g, &l);
	if (g->frame_tlbc && is_free_threaded) {
		l.frame_tlbc = member(&r, g->frame, 7, 4);
		l.code_tlbc = member(&r, g->code, 10, 8);
	}
	if (r.rc < 0)
		return r.rc;
	if (l.ascii_bytes < 24 || l.ascii_bytes > 256)
		return err_set(err, -EBADMSG, "_Py_DebugOffsets: str of %u bytes", l.ascii_bytes);
	/* walk.h reads this much of each. */
	if (l.frame_previous % 8 || l.frame_code % 8 || l.frame_instr % 8 ||
	    l.frame_previous > PYTHON_FRAME_BYTES - 8 || l.frame_code > PYTHON_FRAME_BYTES - 8 ||
	    l.frame_instr > PYTHON_FRAME_BYTES - 8 || l.frame_mark > PYTHON_FRAME_BYTES - 1 ||
	    (l.frame_tlbc != PYTHON_ABSENT && l.frame_tlbc > PYTHON_FRAME_BYTES - 4) ||
	    l.code_lines % 8 || l.code_first_line % 4 || l.code_first_line > l.code_filename ||
	    l.code_lines - (l.code_first_line & ~7u) > PYTHON_CODE_BYTES - 8)
		return err_set(err, -ENOTSUP, "_Py_DebugOffsets: frames of another shape");
	/* Their order is that of Include/cpython/code.h, and walk.h reads them together. */
	if (l.code_name != l.code_filename + 8 || l.code_qualname != l.code_filename + 16 ||
	    l.code_lines != l.code_filename + 24)
		return err_set(err, -ENOTSUP, "_Py_DebugOffsets: code objects of another order");
	/* Include/cpython/unicodeobject.h: `interned` before them has 2 bits; in free-threaded builds
	 * since 3.14 it is a char of its own. */
	l.str_shift = version >> 16 >= 0x030e && is_free_threaded ? 8 : 2;
	*ret = l;
	return 0;
}
