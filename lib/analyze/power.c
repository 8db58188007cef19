/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/power.h"

#include "analyze/sort.h"
#include "base/bisect.h"
#include "base/parse.h"

#include <errno.h>
#include <math.h>

/* More is no device's; keeps sums in range. */
#define WATTS_MAX 1e6

struct reading {
	uint64_t time_ns;
	double watts;
	double joules; /* from the first reading to this one */
};

struct readings {
	VEC(struct reading) list;
};

struct power {
	struct readings *devices; /* by row */
	size_t device_count;
};

/* "Power", "GPU 0 Power (W)", "power_watts"; what a unit makes of it is watts. */
static bool is_power(const char *name, const char *unit, double *ret_factor)
{
	if (!strcasestr(name, "power"))
		return false;
	if (strcasestr(name, "milliwatt") || strstr(name, "mW") || !strcmp(unit, "mW"))
		*ret_factor = 1e-3;
	else if (strcasestr(name, "microwatt") || strstr(name, "uW") || !strcmp(unit, "uW"))
		*ret_factor = 1e-6;
	else if (!*unit || !strcasecmp(unit, "W") || !strcasecmp(unit, "watt") ||
		 !strcasecmp(unit, "watts"))
		*ret_factor = 1;
	else
		return false; /* "%": of a limit that is not known */
	return !strchr(name, '%');
}

/* The first number in a name, "GPU 1 Power"; UINT64_MAX: it has none. */
static uint64_t number_in(const char *name)
{
	const char *at = name + strcspn(name, "0123456789");
	uint64_t n;
	return *at && !parse_digits(&at, at + strlen(at), 10, &n) ? n : UINT64_MAX;
}

/* Whose counter it is: as it says itself, as its name says, or the only device there is. */
static uint32_t device_of(const struct analysis *a, const struct record_counter *c,
			  const char *name)
{
	uint32_t row, found = 0;
	if (c->device && idmap_get(&a->devices.ids, c->device, &row))
		return row;
	uint64_t number = number_in(name);
	for (uint32_t i = 1; i < a->devices.len; i++) {
		if (number != UINT64_MAX && a->devices.data[i].index != number)
			continue;
		if (found)
			return 0;
		found = i;
	}
	return found;
}

bool power_any(const struct analysis *a)
{
	double factor;
	vec_for_each(&a->counters, c) {
		const char *name = analysis_text(a, c->name);
		if (is_power(name, analysis_text(a, c->unit), &factor) && device_of(a, c, name))
			return a->has_timeline;
	}
	return false;
}

void power_free(struct power *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->device_count; i++)
		vec_release(&p->devices[i].list);
	free(p->devices);
	free(p);
}

static int compare_readings(const void *va, const void *vb)
{
	const struct reading *a = va, *b = vb;
	return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

static double joules(double from, double to, uint64_t ns)
{
	return (from + to) / 2 * (double)ns / 1e9;
}

static void add_up(struct readings *r)
{
	if (r->list.len)
		qsort(r->list.data, r->list.len, sizeof(*r->list.data), compare_readings);
	for (size_t i = 1; i < r->list.len; i++) {
		struct reading *at = &r->list.data[i];
		at->joules = at[-1].joules +
			     joules(at[-1].watts, at->watts, at->time_ns - at[-1].time_ns);
	}
}

int power_new(struct power **ret, const struct analysis *a)
{
	*ret = NULL;
	if (!power_any(a))
		return 0;
	CLEANUP(power_free) struct power *p = calloc(1, sizeof(*p));
	if (!p || !(p->devices = calloc(a->devices.len, sizeof(*p->devices))))
		return -ENOMEM;
	p->device_count = a->devices.len;
	vec_for_each(&a->counters, c) {
		const char *name = analysis_text(a, c->name);
		double factor;
		if (!is_power(name, analysis_text(a, c->unit), &factor) || !isfinite(c->value) ||
		    c->value < 0 || c->value * factor > WATTS_MAX || c->time_ns > TIME_MAX_NS)
			continue;
		uint32_t device = device_of(a, c, name);
		struct reading one = { .time_ns = c->time_ns, .watts = c->value * factor };
		if (device && vec_push(&p->devices[device].list, one) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < p->device_count; i++)
		add_up(&p->devices[i]);
	*ret = TAKE(p);
	return 0;
}

/* From the first reading up to a moment. */
static double joules_until(const struct readings *r, uint64_t time_ns)
{
	size_t below = bisect(r->list.len, i, r->list.data[i].time_ns <= time_ns);
	if (!below)
		return 0;
	const struct reading *at = &r->list.data[below - 1];
	if (below == r->list.len)
		return at->joules;
	uint64_t length = at[1].time_ns - at->time_ns, part = time_ns - at->time_ns;
	double watts = at->watts + (at[1].watts - at->watts) * (double)part / (double)length;
	return at->joules + joules(at->watts, watts, part);
}

double power_mean(const struct power *p, uint32_t device, uint64_t begin_ns, uint64_t end_ns)
{
	const struct readings *r = &p->devices[device];
	if (end_ns <= begin_ns)
		end_ns = begin_ns + 1;
	return (joules_until(r, end_ns) - joules_until(r, begin_ns)) * 1e9 /
	       (double)(end_ns - begin_ns);
}
