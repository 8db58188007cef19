/* SPDX-License-Identifier: Apache-2.0 */
/* Bits of the sentences that `report` begins with. */
#pragma once

#include "analyze/summary.h"
#include "base/strbuf.h"

/* Below the word that a line begins with. */
#define PHRASE_INDENT "            "

/* What a capture calls something: never control characters. */
void phrase_name(struct strbuf *out, const char *name);
/* "1 sample", "1,024 samples". */
void phrase_count(struct strbuf *out, uint64_t count, const char *word);
double phrase_percent(uint64_t part, uint64_t whole);
/* The time that all devices together have been looked at. */
uint64_t phrase_window(const struct analysis_summary *s);
