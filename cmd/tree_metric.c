/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/tree_metric.h"

#include "base/cleanup.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* How Proton calls what here has another name. */
static const struct {
	const char *theirs, *ours;
	enum tree_metric_kind kind;
} names[] = {
	{ "time", "device-time", TREE_TOTAL },
	{ "count", "launches", TREE_TOTAL },
	/* of a scope, with what is in it: that of a scope inside is in there already */
	{ "cpu_time", "cpu-time", TREE_SELF },
	{ "num_samples", "device-samples", TREE_TOTAL },
};

static const struct {
	const char *unit;
	double per_ns;
} times[] = { { "/s", 1e-9 }, { "/ms", 1e-6 }, { "/us", 1e-3 }, { "/ns", 1 } };

static const struct {
	const char *prefix;
	double factor;
} tens[] = { { "k", 1e-3 }, { "m", 1e-6 }, { "g", 1e-9 }, { "t", 1e-12 }, { "", 1 } };

static void set_part(struct tree_metric *m, const char *name)
{
	snprintf(m->parts[m->part_count++], TREE_METRIC_NAME, "%s", name);
}

/* "device-time" of "time" and of "device_time"; "stall:wait" of "stalled_wait". */
static enum tree_metric_kind our_name(const char *text, char ret[TREE_METRIC_NAME])
{
	static const char stalled[] = "stalled_";
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(text, names[i].theirs)) {
			snprintf(ret, TREE_METRIC_NAME, "%s", names[i].ours);
			return names[i].kind;
		}
	}
	if (!strncmp(text, stalled, strlen(stalled))) {
		snprintf(ret, TREE_METRIC_NAME, "stall:%s", text + strlen(stalled));
		return TREE_TOTAL;
	}
	snprintf(ret, TREE_METRIC_NAME, "%s", text);
	for (char *c = ret; *c && strncmp(text, "stall:", 6) != 0; c++)
		*c = *c == '_' ? '-' : *c;
	return TREE_TOTAL;
}

static bool ends_with(const char *text, const char *end)
{
	size_t size = strlen(text), tail = strlen(end);
	return size > tail && !strcmp(text + size - tail, end);
}

/* "tflop16/s": operations, of all widths or of one; "gbyte/s". */
static bool parse_rate(const char *text, struct tree_metric *m)
{
	static const struct {
		const char *what, *metric;
	} rates[] = {
		{ "flop/s", "flops" },     { "flop8/s", "flops8" },   { "flop16/s", "flops16" },
		{ "flop32/s", "flops32" }, { "flop64/s", "flops64" }, { "byte/s", "bytes" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
		size_t size = strlen(text), tail = strlen(rates[i].what);
		if (size < tail || strcmp(text + size - tail, rates[i].what) != 0)
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(tens); k++) {
			if (strlen(tens[k].prefix) != size - tail ||
			    strncmp(text, tens[k].prefix, size - tail) != 0)
				continue;
			*m = (struct tree_metric){ .kind = TREE_RATE,
						   .factor = tens[k].factor * 1e9 };
			set_part(m, rates[i].metric);
			set_part(m, "device-time");
			return true;
		}
	}
	return false;
}

static bool parse_special(const char *text, struct tree_metric *m)
{
	if (!strcmp(text, "util")) {
		/* ps of ns */
		*m = (struct tree_metric){ .kind = TREE_ROOF, .factor = 1e-3 };
		set_part(m, "device-time");
		set_part(m, "compute-roof");
		set_part(m, "memory-roof");
		return true;
	}
	if (!strcmp(text, "flop/byte")) {
		*m = (struct tree_metric){ .kind = TREE_RATE, .factor = 1 };
		set_part(m, "flops");
		set_part(m, "bytes");
		return true;
	}
	return parse_rate(text, m);
}

/* "time/ms", "avg_time/us", "device-time/%", "launches". */
static bool parse_plain(char *text, struct tree_metric *m)
{
	char name[TREE_METRIC_NAME];
	double factor = 1;
	bool is_share = ends_with(text, "/%"), is_time = false, is_mean = false;

	if (is_share)
		text[strlen(text) - 2] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(times) && !is_share && !is_time; i++) {
		is_time = ends_with(text, times[i].unit);
		if (is_time) {
			factor = times[i].per_ns;
			text[strlen(text) - strlen(times[i].unit)] = '\0';
		}
	}
	if (!strncmp(text, "avg_", 4)) {
		is_mean = true;
		text += 4;
	}
	if (!*text || strpbrk(text, "/ ") || (is_mean && is_share))
		return false;
	enum tree_metric_kind kind = our_name(text, name);
	*m = (struct tree_metric){
		.kind = is_share  ? TREE_SHARE
			: is_mean ? TREE_RATE
				  : kind,
		.factor = is_share ? 100 : factor,
	};
	set_part(m, name);
	if (is_mean)
		set_part(m, "launches");
	return true;
}

int tree_metric_parse(const char *text, struct tree_metric *ret, struct err *err)
{
	char lower[TREE_METRIC_NAME];
	size_t size = strlen(text);
	if (size < sizeof(lower)) {
		for (size_t i = 0; i <= size; i++)
			lower[i] = (char)tolower((unsigned char)text[i]);
		if (parse_special(lower, ret) || parse_plain(lower, ret))
			return 0;
	}
	return err_set(err, -EINVAL, "bad metric '%s'; --list shows what there is", text);
}

static double total(const struct profile *p, const char *name, uint32_t node)
{
	int metric = profile_metric_find(p, name);
	return metric < 0 ? 0 : (double)profile_total(p, node, metric);
}

bool tree_metric_value(const struct tree_metric *m, const struct profile *p, uint32_t node,
		       double *ret)
{
	double above = total(p, m->parts[0], node), below = 1;
	int metric = profile_metric_find(p, m->parts[0]);

	if (m->kind == TREE_SELF)
		above = metric < 0 ? 0 : (double)profile_self(p, node, metric);
	if (m->kind == TREE_SHARE)
		below = total(p, m->parts[0], PROFILE_ROOT);
	if (m->kind == TREE_RATE)
		below = total(p, m->parts[1], node);
	if (m->kind == TREE_ROOF) {
		double compute = total(p, m->parts[1], node), memory = total(p, m->parts[2], node);
		below = above;
		above = compute > memory ? compute : memory;
	}
	if (above <= 0 || below <= 0)
		return false;
	*ret = above / below * m->factor;
	return true;
}

uint64_t tree_metric_weight(const struct tree_metric *m, const struct profile *p, uint32_t node)
{
	size_t part = m->kind == TREE_RATE ? 1 : 0;
	int metric = profile_metric_find(p, m->parts[part]);
	return metric < 0 ? 0 : profile_total(p, node, metric);
}
