/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a code object says: its name, its file, its lines. Read from a process that runs meanwhile, by
 * a function that may fail, and hostile: sizes are bounded, and nothing read is followed twice.
 */
#pragma once

#include "base/cleanup.h"
#include "python/line.h"
#include "python/walk.h"

#include <stdbool.h>

/* Longer names and paths are cut: PATH_MAX, which is longer than any qualified name seen. */
#define PYTHON_TEXT_CHARS_MAX 4096u

struct python_code {
	char *name; /* UTF-8: qualified where the version has that */
	char *file;
	uint32_t first_line;
	struct python_lines lines;
	bool is_shim; /* the interpreter's own, which it does not show either */
};

struct python_runtime {
	const struct python_layout *layout;
	uint64_t code_type; /* where PyCode_Type is, 0: not known */
};

/*
 * The code object at @address, which must be the one that python_code_check() gave @check for, 0: not
 * known. -EFAULT: not readable, -ESTALE: freed, or another one by now, -EBADMSG: no code object,
 * -ENOMEM.
 */
int python_code_read(struct python_code *ret, const struct python_access *access,
		     const struct python_runtime *runtime, uint64_t address, uint32_t check,
		     struct err *err);
void python_code_release(struct python_code *c);
DEFINE_CLEANUP_EMBEDDED(python_code_release, struct python_code)

/* A text as a str has it. */
struct python_text {
	struct span chars;
	uint32_t width; /* bytes of each: 1, 2, 4 */
};

/* The same from what was read of it before. @is_one_name: file and name are the same str. */
struct python_code_parts {
	uint32_t first_line;
	struct python_text file, name;
	bool is_one_name;
	struct span lines;
};
int python_code_parse(struct python_code *ret, const struct python_layout *layout,
		      const struct python_code_parts *parts, struct err *err);

/* The line that a frame with @instr of struct python_entry executes; 0: none. */
uint32_t python_code_line(const struct python_code *c, const struct python_layout *layout,
			  uint32_t instr);

/* The text of the str object at @address: its characters are in @memory, the caller's to free. */
int python_text_read(struct python_text *ret, uint8_t **memory, const struct python_access *access,
		     const struct python_layout *layout, uint64_t address);
/* As UTF-8: *@ret is the caller's to free. */
int python_text_utf8(char **ret, const struct python_text *text);
