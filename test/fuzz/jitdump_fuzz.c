/* SPDX-License-Identifier: Apache-2.0 */
/* A jitdump of any bytes: what is found lies in what was given. */
#include "symbolize/jit.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(jit_symbols_free) struct jit_symbols *j = NULL;
	struct symbol s;

	if (jit_symbols_new_dump(&j, span_of(data, size), NULL) < 0)
		return 0;
	for (uint64_t at = 0x6ff0; at < 0x7210; at++) {
		if (jit_symbols_at(j, at, &s) < 0)
			continue;
		if (at < s.start || at - s.start >= s.size || !*s.lines[0].name)
			abort();
	}
	return 0;
}
