/* SPDX-License-Identifier: Apache-2.0 */
#include "import/token.h"

#include <stdlib.h>

static void note(void *watch, size_t size)
{
	struct token_watch *w = watch;

	if (size > w->largest)
		w->largest = size;
}

static void *watched_malloc(void *watch, size_t size)
{
	note(watch, size);
	return malloc(size);
}

static void *watched_realloc(void *watch, void *memory, size_t size)
{
	note(watch, size);
	return realloc(memory, size);
}

static void watched_free(void *watch, void *memory)
{
	(void)watch;
	free(memory);
}

void token_watch_init(struct token_watch *w)
{
	*w = (struct token_watch){
		.memory = { watched_malloc, watched_realloc, watched_free, w },
	};
}
