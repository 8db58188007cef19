/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/memory.h"

#include "analyze/host_time.h"
#include "analyze/memory_sums.h"

#include <errno.h>
#include <math.h>

/* What the records are called: one for each event, one for how much there is then. */
#define NAME_EVENT     "memory"
#define NAME_ALLOCATED "memory allocated"
#define NAME_RESERVED  "memory reserved"
/* More is no memory; and sums of hostile events stop where they still can be added up. */
#define BYTES_MAX (INT64_C(1) << 50)
#define SUM_MAX   (INT64_C(1) << 60)

struct allocation {
	uint64_t bytes, time_ns;
	uint32_t series, thread; /* thread: row */
	bool is_at_peak;         /* still there when its series is at its peak, as addresses tell */
};

/* Of one process on one device. */
struct memory_series {
	uint32_t process, device;
	int64_t now, lowest, highest; /* relative to what there was before */
	uint64_t peak_ns;
	size_t peak_event; /* counted over all series; SIZE_MAX: it never rises */
	int64_t base;      /* what there was before; known by totals, else what was freed of it */
	bool has_base;
	bool has_addresses; /* else nobody knows what is freed when */
	uint64_t reserved, allocated, count, frees;
};

struct memory {
	VEC(struct memory_series) series;
	VEC(struct allocation) list; /* in the order of the capture */
};

static void memory_release(struct memory *m)
{
	vec_release(&m->series);
	vec_release(&m->list);
}
DEFINE_CLEANUP_EMBEDDED(memory_release, struct memory)

bool memory_any(const struct analysis *a)
{
	vec_for_each(&a->counters, c) {
		if (!strcmp(analysis_text(a, c->name), NAME_EVENT))
			return true;
	}
	return false;
}

struct finding {
	struct memory *m;
	struct analysis *a;
	const struct filter *f;
	struct hash series_of;   /* (process, device) -> series */
	struct hash by_address;  /* of a series -> its event, + 1, in `freed` */
	struct strtab addresses; /* (series, address) as number */
	VEC(size_t) allocated;   /* by allocation: number of its event */
	VEC(size_t) freed;       /* and of that which frees it; SIZE_MAX: none does */
	size_t events;
};

static uint32_t row_of(const struct idmap *ids, uint32_t id)
{
	uint32_t row;
	return id && idmap_get(ids, id, &row) ? row : 0;
}

static int find_series(struct finding *x, const struct record_counter *c, uint32_t *ret)
{
	uint32_t process = row_of(&x->a->processes.ids, c->process);
	uint32_t device = row_of(&x->a->devices.ids, c->device);
	const uint64_t *known = hash_get(&x->series_of, hash_pair(process, device));
	if (known) {
		*ret = (uint32_t)*known;
		return 0;
	}
	*ret = (uint32_t)x->m->series.len;
	if (hash_set(&x->series_of, hash_pair(process, device), *ret) < 0)
		return -ENOMEM;
	return vec_push(&x->m->series, (struct memory_series){ .process = process,
							       .device = device,
							       .peak_event = SIZE_MAX });
}

static int address_number(struct finding *x, uint32_t series, uint64_t address, uint32_t *ret)
{
	struct {
		uint64_t address;
		uint64_t series;
	} key = { address, series };
	return strtab_intern(&x->addresses, &key, sizeof(key), ret, NULL) < 0 ? -ENOMEM : 0;
}

static int take_allocation(struct finding *x, const struct record_counter *c, uint32_t series,
			   uint64_t bytes)
{
	struct memory_series *s = &x->m->series.data[series];
	struct allocation one = { .bytes = bytes,
				  .time_ns = c->time_ns,
				  .series = series,
				  .thread = row_of(&x->a->threads.ids, c->thread) };
	uint32_t number;

	if (filter_time(x->f, c->time_ns)) {
		s->allocated += bytes;
		s->count++;
	}
	if (vec_push(&x->m->list, one) < 0 || vec_push(&x->allocated, x->events) < 0 ||
	    vec_push(&x->freed, SIZE_MAX) < 0)
		return -ENOMEM;
	if (!c->address)
		return 0;
	s->has_addresses = true;
	int rc = address_number(x, series, c->address, &number);
	return rc ? rc : hash_set(&x->by_address, number, x->m->list.len - 1);
}

static int take_free(struct finding *x, const struct record_counter *c, uint32_t series)
{
	uint32_t number;
	x->m->series.data[series].frees += filter_time(x->f, c->time_ns);
	if (!c->address)
		return 0;
	if (address_number(x, series, c->address, &number) < 0)
		return -ENOMEM;
	const uint64_t *known = hash_get(&x->by_address, number);
	if (!known)
		return 0;
	x->freed.data[*known] = x->events;
	hash_remove(&x->by_address, number);
	return 0;
}

static int take_event(struct finding *x, const struct record_counter *c, uint32_t series)
{
	int64_t bytes = (int64_t)c->value;
	int rc = bytes > 0   ? take_allocation(x, c, series, (uint64_t)bytes)
		 : bytes < 0 ? take_free(x, c, series)
			     : 0;
	struct memory_series *s = &x->m->series.data[series];

	s->now += bytes;
	s->now = s->now > SUM_MAX ? SUM_MAX : s->now < -SUM_MAX ? -SUM_MAX : s->now;
	s->lowest = s->now < s->lowest ? s->now : s->lowest;
	if (filter_time(x->f, c->time_ns) && (s->peak_event == SIZE_MAX || s->now > s->highest)) {
		s->highest = s->now;
		s->peak_event = x->events;
		s->peak_ns = c->time_ns;
	}
	x->events++;
	return rc;
}

/* What stands in the record behind an event is how much there is after it. */
static void take_total(struct memory_series *s, double total)
{
	if (s->has_base)
		return;
	s->base = (int64_t)total - s->now;
	s->has_base = true;
}

static int take_counter(struct finding *x, const struct record_counter *c)
{
	const char *name = analysis_text(x->a, c->name);
	uint32_t series;

	if (strncmp(name, NAME_EVENT, strlen(NAME_EVENT)) != 0 || !isfinite(c->value) ||
	    fabs(c->value) > (double)BYTES_MAX || c->time_ns > TIME_MAX_NS)
		return 0;
	int rc = find_series(x, c, &series);
	if (rc < 0)
		return rc;
	struct memory_series *s = &x->m->series.data[series];
	if (!strcmp(name, NAME_EVENT))
		return take_event(x, c, series);
	if (!strcmp(name, NAME_ALLOCATED))
		take_total(s, c->value);
	else if (!strcmp(name, NAME_RESERVED) && c->value > (double)s->reserved)
		s->reserved = (uint64_t)c->value;
	return 0;
}

static bool series_passes(const struct finding *x, const struct memory_series *s)
{
	return x->f->device_passes[s->device] && (!s->process || x->f->process_passes[s->process]);
}

/* What passes @f; a peak is looked for within its time. Release it whatever is returned: 0 or -ENOMEM. */
static int memory_find(struct memory *m, struct analysis *a, const struct filter *f)
{
	struct finding x = { .m = m, .a = a, .f = f };
	int rc = 0;

	for (size_t i = 0; i < a->counters.len && !rc; i++)
		rc = take_counter(&x, &a->counters.data[i]);
	for (size_t i = 0; i < m->list.len && !rc; i++) {
		struct allocation *one = &m->list.data[i];
		const struct memory_series *s = &m->series.data[one->series];
		one->is_at_peak = s->has_addresses && x.allocated.data[i] <= s->peak_event &&
				  x.freed.data[i] > s->peak_event;
	}
	vec_for_each(&m->series, s) {
		/* Of what there was before, at least what was freed of it. */
		if (!s->has_base || s->base < -s->lowest)
			s->base = -s->lowest;
		if (!series_passes(&x, s))
			s->peak_event = SIZE_MAX;
	}
	hash_release(&x.series_of);
	hash_release(&x.by_address);
	strtab_release(&x.addresses);
	vec_release(&x.allocated);
	vec_release(&x.freed);
	return rc;
}

static uint64_t memory_peak(const struct memory_series *s)
{
	return s->base + s->highest > 0 ? (uint64_t)(s->base + s->highest) : 0;
}

/* Of a series' peak, what no allocation is known for: with addresses, what was there before. */
static uint64_t memory_before(const struct memory *m, uint32_t series)
{
	uint64_t known = 0, peak = memory_peak(&m->series.data[series]);
	vec_for_each(&m->list, one)
		known += one->series == series && one->is_at_peak ? one->bytes : 0;
	return peak > known ? peak - known : 0;
}

/* Devices' memory, and where there is none, the host's. */
static bool series_counts(const struct memory *m, uint32_t series)
{
	const struct memory_series *s = &m->series.data[series];
	bool has_devices = false;
	vec_for_each(&m->series, it)
		has_devices |= it->device && it->peak_event != SIZE_MAX;
	return s->peak_event != SIZE_MAX && (s->device || !has_devices);
}

static uint64_t measure_of(const struct allocation *one, enum memory_measure measure)
{
	switch (measure) {
	case MEMORY_PEAK:
		return one->is_at_peak ? one->bytes : 0;
	case MEMORY_ALLOCATED:
		return one->bytes;
	case MEMORY_ALLOCATIONS:
		return 1;
	}
	return 0;
}

int memory_sums(struct analysis *a, const struct filter *f, enum memory_measure measure,
		uint64_t *sums, struct memory_rest *ret)
{
	CLEANUP(memory_release) struct memory m = { .series = { 0 } };
	CLEANUP(host_time_free) struct host_time *host = NULL;

	*ret = (struct memory_rest){ 0 };
	if (memory_find(&m, a, f) < 0 || host_time_new(&host, a) < 0)
		return -ENOMEM;
	vec_for_each(&m.list, one) {
		uint64_t value = measure_of(one, measure);
		uint32_t group;
		if (!value || !series_counts(&m, one->series) ||
		    (measure != MEMORY_PEAK && !filter_time(f, one->time_ns)))
			continue;
		if (host_time_at(host, one->thread, one->time_ns, &group))
			sums[group] += value;
		else
			ret->unknown += value;
	}
	for (uint32_t i = 0; i < m.series.len && measure == MEMORY_PEAK; i++) {
		uint64_t rest = series_counts(&m, i) ? memory_before(&m, i) : 0;
		*(m.series.data[i].has_addresses ? &ret->before : &ret->unknown) += rest;
	}
	return 0;
}

static int compare_summaries(const void *va, const void *vb)
{
	const struct memory_summary *a = va, *b = vb;
	if (a->is_host != b->is_host)
		return a->is_host ? 1 : -1;
	if (a->peak != b->peak)
		return a->peak > b->peak ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

static struct memory_summary summarize(const struct analysis *a, const struct memory *m, uint32_t i)
{
	const struct memory_series *s = &m->series.data[i];
	const struct device *d = &a->devices.data[s->device];
	const struct process *p = &a->processes.data[s->process];
	return (struct memory_summary){
		.name = analysis_text(a, d->text),
		.index = d->index,
		.rank = p->rank,
		.pid = p->pid,
		.is_host = !s->device,
		.has_addresses = s->has_addresses,
		.peak = memory_peak(s),
		.peak_ns = s->peak_ns,
		.reserved = s->reserved,
		.allocated = s->allocated,
		.count = s->count,
		.frees = s->frees,
		.begin = s->base > 0 ? (uint64_t)s->base : 0,
		.end = s->base + s->now > 0 ? (uint64_t)(s->base + s->now) : 0,
	};
}

int analysis_memory(struct analysis *a, const struct analysis_filter *filter,
		    struct memory_summary **ret, size_t *ret_count, struct err *err)
{
	CLEANUP(memory_release) struct memory m = { .series = { 0 } };
	struct filter f = { 0 };
	size_t count = 0;

	int rc = filter_init(&f, a, filter, err);
	if (rc < 0)
		return rc;
	rc = memory_find(&m, a, &f);
	filter_release(&f);
	CLEANUP_FREE struct memory_summary *list = calloc(m.series.len + 1, sizeof(*list));
	if (rc < 0 || !list)
		return err_set(err, -ENOMEM, "cannot sum up memory");
	for (uint32_t i = 0; i < m.series.len; i++) {
		if (m.series.data[i].peak_event != SIZE_MAX)
			list[count++] = summarize(a, &m, i);
	}
	qsort(list, count, sizeof(*list), compare_summaries);
	*ret = TAKE(list);
	*ret_count = count;
	return 0;
}
