/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/names.h"

#include "base/strbuf.h"
#include "symbolize/demangle.h"

#include <stdlib.h>
#include <string.h>

/* What nvcc puts around static functions: "_INTERNAL_c0c50d3a_7_tile_cu_924e69f1::", other in each build. */
static void drop_internal(char *name)
{
	const char *end = strstr(name, "::");
	if (end && !strncmp(name, "_INTERNAL_", 10))
		memmove(name, end + 2, strlen(end + 2) + 1);
}

char *names_demangle(const char *name)
{
	struct strbuf text = { 0 };
	if (!demangle(&text, name, 0) || strbuf_finish(&text) < 0) {
		strbuf_release(&text);
		return NULL;
	}
	drop_internal(text.data);
	return text.data; /* malloc'ed, and now the caller's */
}
