/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/attribute.h"

#include "analyze/sort.h"
#include "analyze/work_index.h"

#include <errno.h>

/* Fractions of a sample; leaves room for 2^44 whole ones. */
#define FRACTION_BITS 20

struct attributor {
	struct analysis *a;
	const struct filter *f;
	struct work_index *index;
	struct hash counts; /* (place, site) -> fractions */
	struct hash left;   /* (group, place) -> samples for rule 3, split once at the end */
	uint64_t by_rule[ATTRIBUTE_RULE_COUNT]; /* fractions */
};

static uint64_t add_up(uint64_t a, uint64_t b)
{
	return b > UINT64_MAX - a ? UINT64_MAX : a + b;
}

static int hash_add(struct hash *h, uint64_t key, uint64_t value)
{
	uint64_t *known = hash_get(h, key);
	if (known) {
		*known = add_up(*known, value);
		return 0;
	}
	return hash_set(h, key, value);
}

static int give(struct attributor *t, uint32_t place, uint32_t site, uint64_t fractions,
		enum attribute_rule rule)
{
	if (!fractions || !filter_site(t->f, &t->a->sites.data[site]))
		return 0;
	t->by_rule[rule] = add_up(t->by_rule[rule], fractions);
	return hash_add(&t->counts, hash_pair(place, site), fractions);
}

/* The part of @fractions that is due up to a weight of @sum out of @total. */
static uint64_t part_of(uint64_t fractions, uint64_t sum, uint64_t total)
{
	return (uint64_t)((unsigned __int128)fractions * sum / total);
}

static uint32_t sample_process(const struct analysis *a, const struct device_sample *s)
{
	const struct place *p = &a->places.data[s->place];
	uint32_t process = a->threads.data[s->thread].process;
	if (!process)
		process = a->kernels.data[p->kernel].process;
	if (!process)
		process = a->code_objects.data[p->code_object].process;
	return process ? process : a->devices.data[p->device].process;
}

/* Rule 2. Returns 1 when it applied. */
static int by_overlap(struct attributor *t, const struct device_sample *s, uint32_t group)
{
	struct work_hit hits[WORK_HITS_MAX];
	uint64_t end = s->time_ns + (s->interval_ns ? s->interval_ns : 1);
	size_t count = work_running(t->index, group, s->time_ns, end, hits);
	uint64_t total = 0, sum = 0, given = 0;
	uint64_t fractions = (uint64_t)s->count << FRACTION_BITS;

	for (size_t i = 0; i < count; i++)
		total += hits[i].overlap_ns;
	if (!total)
		return 0;
	for (size_t i = count; i-- > 0;) { /* hits are latest first */
		struct op *op = &t->a->ops.data[hits[i].op];
		uint32_t site;
		if (analysis_op_site(t->a, op, &site) < 0)
			return -ENOMEM;
		sum += hits[i].overlap_ns;
		uint64_t due = part_of(fractions, sum, total);
		enum attribute_rule rule = op->launch ? ATTRIBUTE_OVERLAP : ATTRIBUTE_NONE;
		if (give(t, s->place, site, due - given, rule) < 0)
			return -ENOMEM;
		given = due;
	}
	return 1;
}

static int by_nobody(struct attributor *t, uint32_t place, uint32_t process, uint64_t fractions)
{
	uint32_t site;
	if (analysis_site(t->a, &(struct site){ .process = process, .kind = SITE_UNATTRIBUTED },
			  &site) < 0)
		return -ENOMEM;
	return give(t, place, site, fractions, ATTRIBUTE_NONE);
}

static int attribute_sample(struct attributor *t, const struct device_sample *s)
{
	struct analysis *a = t->a;
	const struct place *p = &a->places.data[s->place];
	uint64_t fractions = (uint64_t)s->count << FRACTION_BITS;

	if (!filter_time(t->f, s->time_ns) || !t->f->name_passes[p->name] ||
	    (p->device && !t->f->device_passes[p->device]))
		return 0;
	const struct launch *launch = analysis_launch(a, s->correlation);
	if (launch)
		return give(t, s->place, launch->site, fractions, ATTRIBUTE_CORRELATION);

	uint32_t process = sample_process(a, s);
	uint32_t group = p->name ? work_group(t->index, process, p->name) : WORK_NONE;
	/* Launches made before the recorder could learn names: their time is all there is to go by. */
	uint32_t nameless = work_group(t->index, process, 0);
	int rc = 0;
	if (group != WORK_NONE)
		rc = by_overlap(t, s, group);
	if (!rc && nameless != WORK_NONE)
		rc = by_overlap(t, s, nameless);
	if (rc)
		return rc;
	if (group != WORK_NONE)
		return hash_add(&t->left, hash_pair(group, s->place), s->count);
	return by_nobody(t, s->place, process, fractions);
}

/* Rule 3, for all samples of one place at once. */
static int split_left(struct attributor *t, uint32_t group, uint32_t place, uint64_t count)
{
	struct work_shares shares;
	uint64_t fractions =
		count > UINT64_MAX >> FRACTION_BITS ? UINT64_MAX : count << FRACTION_BITS;
	uint64_t sum = 0, given = 0;
	if (work_shares(t->index, group, &shares) < 0)
		return -ENOMEM;
	if (!shares.total) /* ops that nobody is known to have launched */
		return by_nobody(t, place, work_group_process(t->index, group), fractions);
	for (size_t i = 0; i < shares.count; i++) {
		sum += shares.list[i].weight;
		uint64_t due = part_of(fractions, sum, shares.total);
		if (give(t, place, shares.list[i].site, due - given, ATTRIBUTE_LAUNCHES) < 0)
			return -ENOMEM;
		given = due;
	}
	return 0;
}

static int compare_attributed(const void *a, const void *b)
{
	const struct attributed *x = a, *y = b;
	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return x->site < y->site ? -1 : x->site > y->site;
}

static uint64_t fractions_round(unsigned __int128 fractions)
{
	return (uint64_t)((fractions + (1u << (FRACTION_BITS - 1))) >> FRACTION_BITS);
}

/* Whole numbers out of fractions: the running sum of each place is rounded, so that it stays. */
static int collect(struct attributor *t, struct attribution *ret)
{
	hash_for_each(&t->counts, it) {
		struct attributed x = { (uint32_t)(it->key >> 32), (uint32_t)it->key, it->value };
		if (vec_push(&ret->list, x) < 0)
			return -ENOMEM;
	}
	if (ret->list.len)
		qsort(ret->list.data, ret->list.len, sizeof(*ret->list.data), compare_attributed);

	uint32_t place = UINT32_MAX;
	unsigned __int128 sum = 0;
	uint64_t given = 0;
	vec_for_each(&ret->list, x) {
		if (x->place != place) {
			place = x->place;
			sum = given = 0;
		}
		sum += x->count;
		x->count = fractions_round(sum) - given;
		given += x->count;
	}
	return 0;
}

void attribution_free(struct attribution *t)
{
	if (!t)
		return;
	vec_release(&t->list);
	free(t);
}
DEFINE_CLEANUP(attribution_free, struct attribution *)

static int attribute_all(struct attributor *t, struct attribution *ret)
{
	vec_for_each(&t->a->device_samples, s) {
		if (attribute_sample(t, s) < 0)
			return -ENOMEM;
	}
	hash_for_each(&t->left, it) {
		if (split_left(t, (uint32_t)(it->key >> 32), (uint32_t)it->key, it->value) < 0)
			return -ENOMEM;
	}
	if (collect(t, ret) < 0)
		return -ENOMEM;

	unsigned __int128 sum = 0;
	uint64_t given = 0;
	for (int i = 0; i < ATTRIBUTE_RULE_COUNT; i++) {
		sum += t->by_rule[i];
		ret->by_rule[i] = fractions_round(sum) - given;
		given += ret->by_rule[i];
	}
	return 0;
}

int attribution_of(struct analysis *a, const struct filter *f, const struct attribution **ret)
{
	CLEANUP(attribution_free) struct attribution *t = NULL;
	struct attributor by = { .a = a, .f = f };
	int rc = 0;

	/* The texts of a command line stay where they are. */
	if (a->attribution && !memcmp(&a->attribution->filter, &f->texts, sizeof(f->texts))) {
		*ret = a->attribution;
		return 0;
	}
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->filter = f->texts;
	if (!a->work_index && a->device_samples.len)
		rc = work_index_new(&a->work_index, a);
	by.index = a->work_index;
	if (!rc && a->device_samples.len)
		rc = attribute_all(&by, t);
	hash_release(&by.counts);
	hash_release(&by.left);
	if (rc < 0)
		return rc;
	attribution_free(a->attribution);
	*ret = a->attribution = TAKE(t);
	return 0;
}
