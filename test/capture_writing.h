/* SPDX-License-Identifier: Apache-2.0 */
/* For programs that write captures: whatever fails ends them, with a message. */
#pragma once

#include "base/parse.h"
#include "capture/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int rc, const char *what)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(-rc));
	exit(1);
}

static uint32_t string(struct capture_writer *w, const char *text)
{
	uint32_t id;
	check(capture_writer_string(w, text, &id), text);
	return id;
}

static uint64_t number(const char *text, unsigned base)
{
	uint64_t value;
	check(parse_u64(text, base, &value), text);
	return value;
}

#define PUT(w, record_type, member, ...)                                             \
	check(capture_writer_put(w, &(struct record){ .type = RECORD_##record_type,  \
						      .member = { .__VA_ARGS__ } }), \
	      #record_type)
