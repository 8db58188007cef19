/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pushes a stream that is one JSON document through yajl, to its end or to the first objection. For
 * formats whose parts make no sense by themselves; one that is a list of elements, of which a bad one
 * can be left out, is feed.h's.
 */
#pragma once

#include "import/session.h"

#include <stdbool.h>
#include <yajl/yajl_parse.h>

struct document {
	yajl_callbacks callbacks;
	void *data;                         /* the callbacks' */
	bool (*has_read)(const void *data); /* is there anything worth keeping yet? */
	/* Set by a callback that returns 0. */
	const char *refusal; /* why the document is not what it should be */
	int error;           /* or a negative errno, which ends the import */
};

/*
 * What was read before an objection is kept and the rest is counted as dropped; unless @s is strict,
 * or nothing was read: then -EBADMSG, and what is wrong at which byte.
 */
int document_read(struct document *d, struct session *s, struct stream *in, struct err *err);
