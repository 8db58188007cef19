/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words for what a frame is. They are shared by everything that makes frames (symbolize, the
 * importers' reader), keeps them (profile) and draws them (flame, export), so that a frame's kind
 * travels with it and nothing is ever guessed from a name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum frame_kind {
	FRAME_ROOT,        /* "all" */
	FRAME_PROCESS,     /* a process, thread, rank or host */
	FRAME_SCOPE,       /* annotation, step, state */
	FRAME_PYTHON,      /* py::name (file:line) */
	FRAME_CXX,         /* native code with a C++ or Rust (mangled) name */
	FRAME_NATIVE,      /* other native code */
	FRAME_OS,          /* OS kernel code; folded suffix _[k] */
	FRAME_BOUNDARY,    /* "-": between the host and the accelerator */
	FRAME_KERNEL,      /* accelerator kernel, or a copy or collective; _[G] */
	FRAME_FUNCTION,    /* function inlined or called inside a kernel; _[G] */
	FRAME_SOURCE,      /* accelerator source line, "jit" where there is none; _[G] */
	FRAME_INSTRUCTION, /* accelerator instruction; _[g] */
	FRAME_STALL,       /* stall reason; _[g] */
	FRAME_IDLE,        /* [idle: ...]: the device waits */
	FRAME_MISSING, /* [lost], [truncated], [unattributed], [damaged], ...: what is not known */
	FRAME_KIND_COUNT
};

/* Whose code a host frame is; FRAME_CLASS_NONE where the question does not arise. */
enum frame_class {
	FRAME_CLASS_NONE,
	FRAME_CLASS_OWN,         /* the caller's own program */
	FRAME_CLASS_MODEL,       /* a package that uses the framework */
	FRAME_CLASS_FRAMEWORK,   /* torch and the like */
	FRAME_CLASS_STDLIB,      /* the language's own library and runtime */
	FRAME_CLASS_INTERPRETER, /* what runs Python, not what it runs */
	FRAME_CLASS_COUNT
};

/* One frame as text. The strings are borrowed; NULL or "" is "not known". */
struct frame {
	enum frame_kind kind;
	enum frame_class class;
	const char *name;   /* what is shown, without any suffix for the kind */
	const char *full;   /* the mangled or untruncated name, where it differs */
	const char *file;   /* source file */
	const char *module; /* binary, or Python module */
	uint32_t line;      /* 0: not known */
	bool is_inlined;    /* into the frame before it; only told where it was asked for */
};

/* "_[k]", "_[G]", "_[g]" or "": the folded format's suffix for a kind. */
static inline const char *frame_kind_suffix(enum frame_kind kind)
{
	switch (kind) {
	case FRAME_OS:
		return "_[k]";
	case FRAME_KERNEL:
	case FRAME_FUNCTION:
	case FRAME_SOURCE:
		return "_[G]";
	case FRAME_INSTRUCTION:
	case FRAME_STALL:
		return "_[g]";
	case FRAME_ROOT:
	case FRAME_PROCESS:
	case FRAME_SCOPE:
	case FRAME_PYTHON:
	case FRAME_CXX:
	case FRAME_NATIVE:
	case FRAME_BOUNDARY:
	case FRAME_IDLE:
	case FRAME_MISSING:
	case FRAME_KIND_COUNT:
		break;
	}
	return "";
}
