/* SPDX-License-Identifier: Apache-2.0 */
#include "base/slots.h"

#include <errno.h>
#include <stdlib.h>

#define SLOTS_MIN 64

void slots_release(struct slots *s)
{
	free(s->numbers);
	free(s->tags);
	*s = (struct slots){ 0 };
}

int slots_grow(struct slots *s)
{
	size_t cap = s->cap ? s->cap * 2 : SLOTS_MIN;
	struct slots fresh = {
		.numbers = malloc(cap * sizeof(*fresh.numbers)),
		.tags = calloc(cap, 1),
		.cap = cap,
	};
	if (!fresh.numbers || !fresh.tags) {
		slots_release(&fresh);
		return -ENOMEM;
	}
	slots_release(s);
	*s = fresh;
	return 0;
}
