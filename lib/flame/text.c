/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/text.h"

#include "base/utf8.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void text_count(struct strbuf *out, uint64_t value)
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%" PRIu64, value);
	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			strbuf_putc(out, ',');
		strbuf_putc(out, digits[i]);
	}
}

/* Three digits, as "1.23", "12.3" or "123". */
static void text_scaled(struct strbuf *out, double value, const char *unit)
{
	strbuf_printf(out, "%.*f %s", value < 10 ? 2 : value < 100 ? 1 : 0, value, unit);
}

void text_value(struct strbuf *out, uint64_t value, const char *unit)
{
	static const char *const binary[] = { "KiB", "MiB", "GiB", "TiB" };
	double v = (double)value;

	if (!strcmp(unit, "ns") && value >= 1000) {
		if (v < 1e6)
			text_scaled(out, v / 1e3, "\xc2\xb5s");
		else if (v < 1e9)
			text_scaled(out, v / 1e6, "ms");
		else
			text_scaled(out, v / 1e9, "s");
		return;
	}
	if (!strcmp(unit, "bytes") && value >= 1024) {
		size_t i = 0;
		for (v /= 1024; v >= 1024 && i + 1 < sizeof(binary) / sizeof(binary[0]); i++)
			v /= 1024;
		text_scaled(out, v, binary[i]);
		return;
	}
	text_count(out, value);
	if (*unit)
		strbuf_printf(out, " %s", unit);
}

void text_share(struct strbuf *out, uint64_t part, uint64_t whole)
{
	double percent = whole ? 100.0 * (double)part / (double)whole : 0;

	if (part == whole && whole)
		strbuf_puts(out, "100 %");
	else if (part && percent < 0.1)
		strbuf_puts(out, "< 0.1 %");
	else
		strbuf_printf(out, "%.1f %%", percent);
}

const char *text_metric(const char *name)
{
	static const struct {
		const char *name, *meaning;
	} meanings[] = {
		{ "wall", "wall time of the device, busy and idle" },
		{ "device-time", "time of device work, each piece with its whole duration" },
		{ "device-samples", "samples taken inside accelerator code" },
		{ "launches", "launches, not time" },
		{ "idle", "time in which a device had nothing to do, under what ended it" },
		{ "cpu-samples", "samples of host code" },
		{ "cpu-time", "CPU time of host code" },
		{ "idle-host", "host code that ran or waited while a device was idle" },
		{ "blocked", "time that threads did not run" },
		{ "energy", "energy that the device took, busy and idle" },
		{ "memory-peak", "device memory in use at its peak, by who allocated it" },
		{ "memory-allocated", "device memory asked for" },
		{ "allocations", "allocations of device memory" },
		{ "bytes", "bytes moved" },
		{ "flops", "floating-point operations" },
	};
	for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++) {
		if (!strcmp(meanings[i].name, name))
			return meanings[i].meaning;
	}
	return !strncmp(name, "stall:", 6) ? "samples with this stall reason" : name;
}

const char *text_kind(enum frame_kind kind)
{
	static const char *const names[FRAME_KIND_COUNT] = {
		[FRAME_ROOT] = "all",
		[FRAME_PROCESS] = "process",
		[FRAME_SCOPE] = "scope",
		[FRAME_PYTHON] = "Python",
		[FRAME_CXX] = "C++",
		[FRAME_NATIVE] = "native",
		[FRAME_OS] = "OS kernel",
		[FRAME_BOUNDARY] = "boundary",
		[FRAME_KERNEL] = "accelerator",
		[FRAME_FUNCTION] = "inlined",
		[FRAME_SOURCE] = "source line",
		[FRAME_INSTRUCTION] = "instruction",
		[FRAME_STALL] = "stall",
		[FRAME_IDLE] = "idle",
		[FRAME_MISSING] = "not known",
	};
	return names[kind];
}

/* Characters that East Asian fonts draw two columns wide (Unicode's East_Asian_Width W, in blocks). */
static size_t char_columns(uint32_t code)
{
	return (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) ||
			       (code >= 0xac00 && code <= 0xd7a3) ||
			       (code >= 0xf900 && code <= 0xfaff) ||
			       (code >= 0xfe30 && code <= 0xfe6f) ||
			       (code >= 0xff00 && code <= 0xff60) ||
			       (code >= 0x1f300 && code <= 0x1faff) ||
			       (code >= 0x20000 && code <= 0x3fffd)
		       ? 2
		       : 1;
}

/* Bytes of @text that fit into @columns; sets whether that is all of it. */
static size_t text_fit(const char *text, size_t size, size_t columns, bool *ret_all)
{
	size_t used = 0;
	for (size_t i = 0; i < size;) {
		uint32_t code;
		size_t len = utf8_next(text + i, size - i, &code);
		used += char_columns(code);
		if (used > columns) {
			*ret_all = false;
			return i;
		}
		i += len;
	}
	*ret_all = true;
	return size;
}

/* Behind the first "scope::" that is not part of template arguments, or NULL. */
static const char *after_scope(const char *name)
{
	size_t plain = strcspn(name, "<(: ");
	return name[plain] == ':' && name[plain + 1] == ':' && name[plain + 2] ? name + plain + 2
									       : NULL;
}

/* Behind the "0x1a0: " of an instruction, or NULL. */
static const char *after_place(const char *name)
{
	if (strncmp(name, "0x", 2) != 0)
		return NULL;
	size_t place = 2 + strspn(name + 2, "0123456789abcdef");
	return !strncmp(name + place, ": ", 2) && name[place + 2] ? name + place + 2 : NULL;
}

void text_label(struct strbuf *out, const struct frame *frame, size_t columns)
{
	const char *name = frame->name;
	bool all;

	if (columns < 3)
		return;
	size_t fit = text_fit(name, strlen(name), columns, &all);
	while (!all && (frame->kind == FRAME_CXX || frame->kind == FRAME_INSTRUCTION)) {
		const char *rest = frame->kind == FRAME_CXX ? after_scope(name) : after_place(name);
		if (!rest)
			break;
		name = rest;
		fit = text_fit(name, strlen(name), columns, &all);
	}
	if (!all)
		fit = text_fit(name, strlen(name), columns - 2, &all);
	utf8_append_safe(out, name, fit);
	if (!all)
		strbuf_puts(out, "..");
}
