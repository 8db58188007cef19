/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trees for tests, as text that can be read beside the expected picture:
 *
 *	METRIC UNIT VALUE FRAME;FRAME;...
 *
 * A frame is "LETTER name", optionally with " @file:line", " #module" and " =full name" behind it,
 * in this order; \xNN is a byte. The letters are in frame_letters[]. '#' starts a comment line.
 */
#pragma once

#include "base/cleanup.h"
#include "profile/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	char letter;
	enum frame_kind kind;
	enum frame_class class;
} frame_letters[] = {
	{ 'p', FRAME_PROCESS, FRAME_CLASS_NONE },       { 's', FRAME_SCOPE, FRAME_CLASS_NONE },
	{ 'S', FRAME_SCOPE, FRAME_CLASS_FRAMEWORK },    { 'z', FRAME_PYTHON, FRAME_CLASS_STDLIB },
	{ 'y', FRAME_PYTHON, FRAME_CLASS_OWN },         { 'm', FRAME_PYTHON, FRAME_CLASS_MODEL },
	{ 'Y', FRAME_PYTHON, FRAME_CLASS_FRAMEWORK },   { 'c', FRAME_CXX, FRAME_CLASS_OWN },
	{ 'C', FRAME_CXX, FRAME_CLASS_FRAMEWORK },      { 'n', FRAME_NATIVE, FRAME_CLASS_NONE },
	{ 'N', FRAME_NATIVE, FRAME_CLASS_FRAMEWORK },   { 'k', FRAME_OS, FRAME_CLASS_NONE },
	{ '-', FRAME_BOUNDARY, FRAME_CLASS_NONE },      { 'G', FRAME_KERNEL, FRAME_CLASS_NONE },
	{ 'F', FRAME_FUNCTION, FRAME_CLASS_NONE },      { 'L', FRAME_SOURCE, FRAME_CLASS_NONE },
	{ 'I', FRAME_INSTRUCTION, FRAME_CLASS_NONE },   { 'R', FRAME_STALL, FRAME_CLASS_NONE },
	{ 'P', FRAME_NATIVE, FRAME_CLASS_INTERPRETER }, { 'i', FRAME_IDLE, FRAME_CLASS_NONE },
	{ '!', FRAME_MISSING, FRAME_CLASS_NONE },
};

static inline void lines_fail(const char *line, const char *what)
{
	fprintf(stderr, "%s in '%s'\n", what, line);
	abort();
}

/* "\x3b" -> ';', in place. */
static inline void lines_unescape(char *text)
{
	char *out = text;
	for (; *text; out++) {
		if (text[0] == '\\' && text[1] == 'x' && text[2] && text[3]) {
			char digits[3] = { text[2], text[3], 0 };
			*out = (char)strtoul(digits, NULL, 16);
			text += 4;
		} else {
			*out = *text++;
		}
	}
	*out = '\0';
}

/* Cut what stands behind @mark off, and return it. */
static inline const char *lines_cut(char *text, const char *mark)
{
	char *at = strstr(text, mark);
	if (!at)
		return NULL;
	*at = '\0';
	lines_unescape(at + strlen(mark));
	return at + strlen(mark);
}

static inline uint32_t lines_frame(struct profile *p, char *text)
{
	struct frame f = { 0 };
	uint32_t id;

	for (size_t i = 0; i < ARRAY_SIZE(frame_letters); i++) {
		if (frame_letters[i].letter == text[0]) {
			f.kind = frame_letters[i].kind;
			f.class = frame_letters[i].class;
		}
	}
	if (!f.kind)
		lines_fail(text, "no such letter");
	if (f.kind == FRAME_BOUNDARY) {
		f.name = "-";
	} else {
		f.name = text + 2;
		f.full = lines_cut(text, " =");
		f.module = lines_cut(text, " #");
		f.file = lines_cut(text, " @");
		char *colon = f.file ? strrchr(f.file, ':') : NULL;
		if (colon) {
			f.line = (uint32_t)strtoul(colon + 1, NULL, 10);
			*colon = '\0';
		}
		lines_unescape(text);
	}
	if (profile_frame(p, &f, &id) < 0)
		lines_fail(text, "no memory");
	return id;
}

static inline void lines_add(struct profile *p, char *line)
{
	char *save = NULL;
	char *metric = strtok_r(line, " ", &save);
	char *unit = strtok_r(NULL, " ", &save);
	char *value = strtok_r(NULL, " ", &save);
	uint32_t path[256];
	size_t count = 0;
	if (!metric || !unit || !value)
		lines_fail(line, "too few words");

	for (char *frame = strtok_r(NULL, ";", &save); frame && count < ARRAY_SIZE(path);
	     frame = strtok_r(NULL, ";", &save))
		path[count++] = lines_frame(p, frame);
	int number = profile_metric(p, metric, unit);
	if (number < 0 || profile_add_path(p, path, count, number, strtoull(value, NULL, 10)) < 0)
		lines_fail(line, "cannot add");
}

/* The finished tree; aborts on a mistake. */
static inline struct profile *lines_read(FILE *in)
{
	struct profile *p = NULL;
	CLEANUP_FREE char *line = NULL;
	size_t cap = 0;
	ssize_t len;

	if (profile_new(&p) < 0)
		abort();
	while ((len = getline(&line, &cap, in)) > 0) {
		if (line[len - 1] == '\n')
			line[--len] = '\0';
		if (len && *line != '#')
			lines_add(p, line);
	}
	if (profile_finish(p) < 0)
		abort();
	return p;
}
