/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/spread.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

static uint64_t deviation_of(const uint64_t *values, size_t n)
{
	double mean = 0, squares = 0;
	for (size_t i = 0; i < n; i++)
		mean += (double)values[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += ((double)values[i] - mean) * ((double)values[i] - mean);
	return n < 2 ? 0 : (uint64_t)llround(sqrt(squares / (double)(n - 1)));
}

void spread_of(uint64_t *values, size_t n, struct spread *ret)
{
	*ret = (struct spread){ .count = n };
	if (!n)
		return;
	qsort(values, n, sizeof(*values), compare);
	uint64_t low = values[(n - 1) / 2], high = values[n / 2];
	ret->median = low + (high - low) / 2;
	ret->p95 = values[(n * 95 + 99) / 100 - 1];
	ret->deviation = deviation_of(values, n);
}
