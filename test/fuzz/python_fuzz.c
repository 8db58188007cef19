/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hostile interpreter: what it tells of its layout, its line tables, its memory, its file. Whatever
 * the bytes are, all ends, and a layout that is taken has its members inside of its structs. The first
 * byte says what the rest is.
 */
#include "python/code.h"
#include "python/find.h"
#include "python/offsets.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void try_layout(struct span bytes)
{
	struct python_layout l;
	struct err err;

	if (python_layout_parse(&l, bytes, &err) < 0)
		return;
	require(l.version >> 16 == 0x030d || l.version >> 16 == 0x030e);
	require(l.threads_head <= 16u << 20 && l.code_filename <= 16u << 20);
	require(l.code_lines == l.code_filename + 24);
}

static void try_lines(enum python_lines_kind kind, struct span bytes)
{
	CLEANUP(python_lines_release) struct python_lines lines = { 0 };
	struct err err;

	if (python_lines_read(&lines, kind, bytes, 7, &err) < 0)
		return;
	for (size_t i = 1; i < lines.starts.len; i++)
		require(lines.starts.data[i - 1].offset < lines.starts.data[i].offset);
	require(python_lines_at(&lines, -1) == 7);
	for (int64_t i = 0; i < 64; i++)
		(void)python_lines_at(&lines, i * 7);
}

/* The input again and again is all memory. */
static int read_memory(void *data, uint64_t address, void *to, uint32_t size)
{
	const struct span *memory = data;

	if (!memory->size || address % 4096 == 4095)
		return -1;
	for (uint32_t i = 0; i < size; i++)
		((uint8_t *)to)[i] = memory->data[(address + i) % memory->size];
	return 0;
}

static void try_memory(uint32_t version, struct span memory)
{
	const struct python_access access = { read_memory, &memory };
	CLEANUP(python_code_release) struct python_code code = { 0 };
	struct python_layout layout;
	uint64_t words[PYTHON_WORDS] = { 0 };
	struct python_entry entry;
	struct python_search s;
	uint64_t frame = 8;
	struct err err;

	require(python_layout_known(&layout, version << 16, &err) == 0);
	const struct python_runtime runtime = { &layout, 0 };
	(void)python_code_read(&code, &access, &runtime, 64, 0, &err);
	for (int i = 0;
	     i < 64 && python_frame_step(&access, &layout, words, &frame, &entry) < PYTHON_STEP_END;
	     i++)
		;
	if (python_search_begin(&access, &layout, 8, &s) != PYTHON_STEP_ON)
		return;
	for (int i = 0; i < 64 && python_search_step(&access, &layout, 1, &s) < PYTHON_STEP_END;
	     i++)
		;
}

static void try_file(struct span bytes)
{
	CLEANUP(python_binary_release) struct python_binary binary = { 0 };
	CLEANUP(elf_close) struct elf_file *elf = NULL;
	struct err err;

	if (elf_open_memory(&elf, bytes, "input", &err) < 0)
		return;
	(void)python_exports(elf, "_PyRuntime");
	(void)python_binary_find(&binary, elf, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span rest;

	if (!size)
		return 0;
	rest = span_of(data + 1, size - 1);
	switch (data[0] & 15) {
	case 0:
		try_layout(rest);
		break;
	case 1:
	case 2:
	case 3:
		try_lines((enum python_lines_kind)(data[0] - 1) % 3, rest);
		break;
	case 4:
		try_file(rest);
		break;
	default:
		try_memory(0x0308 + (data[0] & 15) % 5, rest);
	}
	return 0;
}
