/* SPDX-License-Identifier: Apache-2.0 */
/* A name of any bytes is shown as something, of bounded length. */
#include "symbolize/demangle.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *name = malloc(size + 1);
	if (!name)
		return 0;
	if (size)
		memcpy(name, data, size);
	name[size] = '\0';
	for (unsigned flags = 0; flags <= DEMANGLE_PARAMS; flags++) {
		struct strbuf out = { 0 };
		demangle(&out, name, flags);
		if (*name && (!out.len || out.len > DEMANGLE_OUTPUT_MAX + strlen(name)))
			abort();
		strbuf_release(&out);
	}
	free(name);
	return 0;
}
