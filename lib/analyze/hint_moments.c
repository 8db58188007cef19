/* SPDX-License-Identifier: Apache-2.0 */
/* How often host code of a topic came up: once is a warm-up, again and again is not. */
#include "analyze/hint_facts.h"

#include "base/bisect.h"

#include <errno.h>

static int compare_times(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

int facts_moments(struct facts *x, uint64_t ret[TOPIC_HINT_COUNT])
{
	struct analysis *a = x->a;
	struct hash moments = { 0 };
	CLEANUP_FREE uint8_t *sets = topics_of_stacks(a);
	CLEANUP_FREE uint64_t *times = malloc((a->launches.len + 1) * sizeof(*times));
	int rc = sets && times ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < a->launches.len; i++)
		times[i] = a->launches.data[i].time_ns;
	if (!rc)
		qsort(times, a->launches.len, sizeof(*times), compare_times);
	for (size_t i = 0; !rc && i < a->samples.len; i++) {
		const struct sample *s = &a->samples.data[i];
		uint8_t set = sets[a->sample_groups.data[s->group].stack];
		if (!set || !filter_time(x->f, s->time_ns))
			continue;
		size_t below = bisect(a->launches.len, at, times[at] <= s->time_ns);
		const uint64_t *known = hash_get(&moments, below);
		rc = hash_set(&moments, below, (known ? *known : 0) | set);
	}
	hash_for_each(&moments, it) {
		for (int t = 0; t < TOPIC_HINT_COUNT; t++)
			ret[t] += it->value >> t & 1;
	}
	hash_release(&moments);
	return rc;
}
