/* SPDX-License-Identifier: Apache-2.0 */
#include "import/iteration.h"

#include "base/cleanup.h"
#include "base/parse.h"

#include <string.h>

/* What such names call an iteration. A number behind '#' is one whatever stands before it. */
static const char *const words[] = { "step", "Step", "STEP", "iter", "Iter", "batch", "epoch" };

static int has_word(struct span name)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (memmem(name.data, name.size, words[i], strlen(words[i])))
			return 1;
	}
	return 0;
}

uint64_t iteration_parse(struct span name, struct span *ret_base)
{
	const char *start = (const char *)name.data, *end = start + name.size, *p = end, *digits;
	uint64_t number;

	if (ret_base)
		*ret_base = name;
	while (p > start && p[-1] >= '0' && p[-1] <= '9')
		p--;
	digits = p;
	if (p == end || p == start || parse_digits(&digits, end, 10, &number) < 0 ||
	    number == UINT64_MAX)
		return 0;
	if (p[-1] != '#' && (!strchr(" _:-=", p[-1]) || !has_word(name)))
		return 0;
	while (p > start && strchr("# _:-=", p[-1]) && p[-1])
		p--;
	if (ret_base && p > start)
		*ret_base = span_of(start, (size_t)(p - start));
	return number + 1;
}
