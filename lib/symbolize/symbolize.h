/* SPDX-License-Identifier: Apache-2.0 */
/*
 * (object, offset) → frames to show: by the symbols that were found out when recording, and where there
 * is none the frame still says in what it lies ("libfoo.so+0x1234"). Knows nothing of captures, processes
 * that run, or trees.
 *
 * A frame's kind is decided here: FRAME_OS for the kernel's code, FRAME_CXX where the symbol is
 * mangled (C++, Rust), else FRAME_NATIVE.
 *
 *	CLEANUP(symbolizer_free) struct symbolizer *s = NULL;
 *	rc = symbolizer_new(&s, symbols);
 *	rc = symbolize_frame(s, &(struct symbolize_query){ .object = 7, .kind = SYMBOLIZE_ELF,
 *							   .offset = 0x1234, .module = "libfoo.so" },
 *			     &frames);
 */
#pragma once

#include "base/cleanup.h"
#include "base/frame.h"
#include "symbolize/captured.h"

#include <stdbool.h>

enum symbolize_kind {
	SYMBOLIZE_ELF = 1, /* offset: virtual address in the file */
	SYMBOLIZE_KERNEL,  /* offset: address in the OS kernel or a module of it */
	SYMBOLIZE_VDSO,    /* offset: from its start */
	SYMBOLIZE_ANON,    /* memory without a file; offset: address */
};

struct symbolize_query {
	uint32_t object; /* as in captured_symbols_add() */
	enum symbolize_kind kind;
	uint64_t offset;
	const char *module; /* path or name of the object; NULL: none */
};

struct symbolizer;

/* @captured is borrowed, and may still be added to. */
int symbolizer_new(struct symbolizer **ret, struct captured_symbols *captured);
void symbolizer_free(struct symbolizer *s);
DEFINE_CLEANUP(symbolizer_free, struct symbolizer *)

struct symbol_frames {
	const struct frame *frames; /* outermost first */
	size_t count;               /* at least 1 */
};

/*
 * 1: it is known; 0: it is not, and the one frame says the module and the offset; -ENOMEM.
 * The array lives until the next call, its strings as long as the symbolizer.
 *
 * `name` is demangled, without parameters and without what compilers append to the names of partial
 * copies (".cold", ".isra.0"); `full` is the symbol as it stands in the file, where it differs.
 */
int symbolize_frame(struct symbolizer *s, const struct symbolize_query *q,
		    struct symbol_frames *ret);
