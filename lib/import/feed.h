/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pushes a stream of JSON through yajl, and past what yajl refuses. Knows that the input is one
 * array of objects ("elements"), bare or under one key of an object; not what they mean.
 *
 * The client tells where it is (feed_enter(), feed_element_begin(), ...), so that an error inside an
 * element costs at most that element: it is repaired (repair.h) and given out again, or dropped and
 * counted. The bytes of the element being parsed stay in memory, so that the client can take the
 * raw text of a value instead of putting it together from tokens.
 */
#pragma once

#include "base/err.h"
#include "base/span.h"
#include "base/strbuf.h"
#include "import/stream.h"
#include "import/token.h"

#include <stdbool.h>
#include <stdint.h>
#include <yajl/yajl_parse.h>

struct feed_client {
	yajl_callbacks
		callbacks; /* a callback that returns 0 has called feed_stop() or feed_refuse() */
	void (*abandon)(void *data); /* forget the element that was begun */
	/* What came before the array was no JSON; the next token is in the array, the member of an
	 * object. feed_enter() is not needed. */
	void (*jump)(void *data);
	void *data;
	const char *array_key; /* the key that the array of elements may stand under */
};

/* What was wrong, and first where. */
struct feed_damage {
	uint64_t dropped;  /* elements that are lost */
	uint64_t repaired; /* elements that were bad JSON and are not lost */
	uint64_t first_offset;
	char first_why[96];
	bool is_cut; /* the input ends before the array does */
};

struct feed {
	struct stream *stream;
	struct feed_client client;
	yajl_callbacks live; /* what yajl calls: the client's, or none while it is put in place */
	yajl_handle yajl;
	struct token_watch tokens;
	char *data;
	size_t len, cap;
	size_t chunk;     /* where the bytes that yajl is at begin, in data */
	size_t element;   /* where the current element begins; SIZE_MAX: outside of any */
	uint64_t base;    /* offset of data[0] in the input */
	uint64_t resumed; /* offset where reading went on behind an error between elements */
	bool is_repaired; /* the element comes from a repaired copy: no raw text */
	bool at_end;
	enum {
		FEED_BEFORE, /* the array */
		FEED_BARE,   /* in it, and it is the whole input */
		FEED_MEMBER, /* in it, and it is a member of an object */
		FEED_AFTER,
	} place;
	bool is_strict;
	int stop;            /* negative: what the client stopped with */
	const char *refusal; /* why the client refused the element, or NULL */
	uint64_t bytes;      /* read in all */
	uint64_t scanned;    /* by repairs */
	struct feed_damage damage;
	struct strbuf fixed;
};

void feed_init(struct feed *f, struct stream *stream, const struct feed_client *client,
	       bool is_strict);
void feed_release(struct feed *f);

/* The whole input. 0, or negative: the client's error, a system's, or -EBADMSG when strict or when
 * nothing of the input could be made sense of. */
int feed_run(struct feed *f, struct err *err);

/* For callbacks. The array of elements begins, ends; an element begins (at its brace), ends. */
void feed_enter(struct feed *f, bool is_member);
void feed_leave(struct feed *f);
void feed_element_begin(struct feed *f);
void feed_element_end(struct feed *f);
/* Position right after the current token, and the raw text since such a position: empty when the
 * text is not there as it was written. */
size_t feed_position(const struct feed *f);
struct span feed_raw(const struct feed *f, size_t from, size_t to);
/* Offset in the input of the element, for messages. */
uint64_t feed_offset(const struct feed *f);
/* To be returned from a callback: the element is not to be used, go on behind it. */
int feed_refuse(struct feed *f, const char *why);
/* To be returned from a callback: give up, feed_run() returns @code. */
int feed_stop(struct feed *f, int code);
/* Count an element as lost, without an error of its JSON. */
void feed_count_drop(struct feed *f, uint64_t offset, const char *why);
