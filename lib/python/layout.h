/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where one build of CPython keeps what a profiler wants: which offsets lead from its runtime to the
 * frames of a thread and on to names and lines. A plain table, shared with bpf/; offsets.c says where
 * the numbers come from, walk.h and code.h read by them.
 */
#pragma once

#include <stdint.h>

/* What ends a run of Python frames, that is, those of one call of the interpreter's C function. */
enum python_boundary {
	PYTHON_RUN_EACH,     /* to 3.10: each frame is a run */
	PYTHON_RUN_IS_ENTRY, /* 3.11: the frame whose mark is set is the last of its run */
	PYTHON_RUN_SHIM,     /* 3.12 on: a frame that is not Python's, whose mark is at least 3 */
};

enum python_instr {
	PYTHON_INSTR_BYTES, /* to 3.9: an int, offset in the byte code */
	PYTHON_INSTR_UNITS, /* 3.10: an int, in units of 2 bytes */
	PYTHON_INSTR_POINTER,
};

enum python_lines_kind {
	PYTHON_LINES_LNOTAB,   /* to 3.9: Objects/lnotab_notes.txt there */
	PYTHON_LINES_TABLE,    /* 3.10: PEP 626 */
	PYTHON_LINES_LOCATION, /* 3.11 on: Objects/locations.md (3.13: code_objects.md) */
};

/* For a field that this version does not have. */
#define PYTHON_ABSENT 0xffffffffu

/* Offsets are those of struct members in bytes. */
struct python_layout {
	uint32_t version;  /* PY_VERSION_HEX */
	uint8_t boundary;  /* enum python_boundary */
	uint8_t instr;     /* enum python_instr */
	uint8_t lines;     /* enum python_lines_kind */
	uint8_t str_shift; /* of the bits `kind`, `compact`, `ascii` in a str's state */
	/* of _PyRuntime, PyInterpreterState, PyThreadState */
	uint32_t interpreters_head, interp_next, threads_head;
	uint32_t thread_next, thread_id, thread_frame;
	uint32_t cframe_frame; /* the thread's frame is in what its member points to; or absent */
	/* of a frame */
	uint32_t frame_code, frame_previous, frame_instr;
	uint32_t frame_mark; /* one byte: is_entry, or owner */
	uint32_t frame_tlbc; /* int: which copy of the byte code it executes (free-threaded) */
	/* of a code object; name, and where there is one qualname, and line table follow filename */
	uint32_t code_filename, code_name, code_qualname, code_lines, code_first_line;
	uint32_t code_bytecode, code_tlbc;
	/* of str and bytes */
	uint32_t str_length, str_state, ascii_bytes, compact_bytes;
	uint32_t bytes_size, bytes_data;
	uint32_t object_type; /* of any object; its count of references is before, but not in
				 free-threaded builds */
};
_Static_assert(sizeof(struct python_layout) == 112, "a layout is one map value");
