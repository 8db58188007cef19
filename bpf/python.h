/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the recorder tells python.bpf.c of interpreters; plain C for both sides. */
#pragma once

#include "bpf/events.h"
#include "python/layout.h"

/* Layouts in use at once: one for each minor version, and those that builds tell of themselves. */
#define PYTHON_LAYOUTS_MAX 64

/* A process with an interpreter. */
struct python_process {
	__u64 runtime; /* address of its _PyRuntime */
	__u32 layout;  /* key in `python_layouts` */
	__u32 reserved;
};

/* Texts and line tables longer than this are left to be read by the recorder. The longest of the
 * standard library is that of locale.py, with 12 KB. */
#define EVENT_PYTHON_TEXT_BYTES  512
#define EVENT_PYTHON_LINES_BYTES (28u << 10)

struct event_python_text {
	__u16 chars;
	__u16 width; /* bytes of each: 1, 2, 4 */
};

/*
 * What a code object says, taken when an event is the first to name it: by the time that the recorder
 * looks, it can be gone, and its memory have become another one's.
 */
struct event_python_code {
	struct event_header header;
	__u64 code;
	__u32 check; /* as in struct python_entry */
	__u32 first_line;
	__u64 file_address, name_address; /* of the str objects */
	struct event_python_text file_text, name_text;
	__u32 lines_bytes;
	__u32 reserved;
	char file[EVENT_PYTHON_TEXT_BYTES], name[EVENT_PYTHON_TEXT_BYTES];
	char lines[EVENT_PYTHON_LINES_BYTES]; /* @lines_bytes of it are sent */
};

EVENT_ASSERT(sizeof(struct event_python_code) <= EVENT_MAX_BYTES);
EVENT_ASSERT(sizeof(struct event_python_code) == 1104 + EVENT_PYTHON_LINES_BYTES);
