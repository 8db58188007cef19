/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/names.h"

#include "base/strbuf.h"
#include "symbolize/demangle.h"

#include <stdlib.h>

char *names_demangle(const char *name)
{
	struct strbuf text = { 0 };
	if (!demangle(&text, name, 0) || strbuf_finish(&text) < 0) {
		strbuf_release(&text);
		return NULL;
	}
	return text.data; /* malloc'ed, and now the caller's */
}
