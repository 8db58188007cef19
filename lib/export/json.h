/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON, written value by value; yajl does the punctuation and the escaping. Text that is not UTF-8
 * has U+FFFD in its place. Errors are remembered and reported by json_finish().
 */
#pragma once

#include "base/cleanup.h"
#include "base/err.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json;

int json_new(struct json **ret, FILE *out);
/* The same in few bytes: for large outputs that nobody reads. */
int json_new_compact(struct json **ret, FILE *out);
/* NULL is fine. */
void json_free(struct json *j);
DEFINE_CLEANUP(json_free, struct json *)

void json_object(struct json *j);
void json_object_end(struct json *j);
void json_array(struct json *j);
void json_array_end(struct json *j);
void json_key(struct json *j, const char *key);
void json_text(struct json *j, const char *text);
void json_number(struct json *j, uint64_t number);
/* With as many digits as it takes to read the same number back; null when it is not finite. */
void json_decimal(struct json *j, double value);
void json_bool(struct json *j, bool value);
void json_null(struct json *j);
/* A value that is JSON already. */
void json_raw(struct json *j, const char *text);

/* Write what is left and a newline: 0 or a negative errno. */
int json_finish(struct json *j, struct err *err);

/* A text with its quotes, for what is nested deeper than a struct json goes (128 levels). */
void json_escape(struct strbuf *out, const char *text);
