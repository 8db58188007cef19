/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/metadata.h"

#include <string.h>

struct span metadata_value(const char *text, const char *key)
{
	size_t size = strlen(key);
	for (const char *p = text; *p;) {
		size_t len = strcspn(p, ";");
		if (len > size && p[size] == '=' && !strncmp(p, key, size))
			return span_of(p + size + 1, len - size - 1);
		p += len + (p[len] == ';');
	}
	return span_of("", 0);
}
