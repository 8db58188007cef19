/* SPDX-License-Identifier: Apache-2.0 */
#include "import/sort.h"

#include "base/cleanup.h"
#include "base/vec.h"

#include <errno.h>
#include <string.h>

struct runs {
	VEC(size_t) starts; /* of each run, and the end of the last */
};

static int find_runs(struct runs *r, const uint32_t *numbers, size_t count, sort_before before,
		     const void *data)
{
	for (size_t i = 0; i < count; i++) {
		if (i && !before(data, numbers[i], numbers[i - 1]))
			continue;
		if (vec_push(&r->starts, i) < 0)
			return -ENOMEM;
	}
	return vec_push(&r->starts, count);
}

/* [left, middle) and [middle, right) of @from, both sorted, to the same place in @to. */
static void merge(const uint32_t *from, uint32_t *to, size_t left, size_t middle, size_t right,
		  sort_before before, const void *data)
{
	size_t a = left, b = middle;

	for (size_t i = left; i < right; i++) {
		if (a < middle && (b == right || !before(data, from[b], from[a])))
			to[i] = from[a++];
		else
			to[i] = from[b++];
	}
}

int sort_numbers(uint32_t *numbers, size_t count, sort_before before, const void *data)
{
	struct runs runs = { 0 };
	CLEANUP_FREE uint32_t *other = NULL;
	uint32_t *from = numbers, *to;

	if (count < 2)
		return 0;
	int rc = find_runs(&runs, numbers, count, before, data);
	size_t *starts = runs.starts.data, len = runs.starts.len;
	if (!rc && len > 2) {
		other = malloc(count * sizeof(*other));
		rc = other ? 0 : -ENOMEM;
	}
	if (rc < 0) {
		vec_release(&runs.starts);
		return rc;
	}

	for (to = other; len > 2; len = (len - 1 + 1) / 2 + 1) {
		size_t out = 0;
		for (size_t i = 0; i + 1 < len; i += 2) {
			size_t middle = starts[i + 1];
			size_t right = i + 2 < len ? starts[i + 2] : middle;
			merge(from, to, starts[i], middle, right, before, data);
			starts[out++] = starts[i];
		}
		starts[out] = count;
		uint32_t *swap = from;
		from = to;
		to = swap;
	}
	if (from != numbers)
		memcpy(numbers, from, count * sizeof(*numbers));
	vec_release(&runs.starts);
	return 0;
}
