/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker that has been taken over may send: accepted answers keep what answer.h promises. */
#include "worker/answer.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define OFFSETS 8

static int check_symbol(void *data, uint64_t offset, const struct symbol *s)
{
	size_t *count = data;
	if (!s->count || (s->size && (offset < s->start || offset - s->start >= s->size)))
		abort();
	for (size_t i = 0; i < s->count; i++) {
		size_t n = strlen(s->lines[i].name);
		if (!n || n > SYMBOL_NAME_BYTES_MAX)
			abort();
		if (s->lines[i].file && strlen(s->lines[i].file) > SYMBOL_NAME_BYTES_MAX)
			abort();
	}
	++*count;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t offsets[OFFSETS] = { 0, 16, 32, 48, 64, 80, 96, UINT64_MAX };
	struct worker_ask ask = { .offsets = offsets, .count = OFFSETS };
	struct worker_counts counts = { 0 };
	struct answer answer;
	size_t count = 0;

	if (answer_check(span_of(data, size), &ask, &answer) < 0)
		return 0;
	answer_deliver(&answer, &ask, check_symbol, &count, &counts);
	if (count > OFFSETS || count != counts.named)
		abort();
	return 0;
}
