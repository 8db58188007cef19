/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/phrase.h"

#include "base/utf8.h"
#include "export/sheet.h"

#include <string.h>

void phrase_name(struct strbuf *out, const char *name)
{
	utf8_append_safe(out, name, strlen(name));
}

double phrase_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

uint64_t phrase_window(const struct analysis_summary *s)
{
	uint64_t all = 0;
	for (int i = 0; i < ACCOUNT_STATE_COUNT; i++)
		all += s->all.ns[i];
	return all;
}

void phrase_count(struct strbuf *out, uint64_t count, const char *word)
{
	text_count(out, count);
	strbuf_printf(out, " %s%s", word, count == 1 ? "" : "s");
}
