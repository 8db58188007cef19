/* SPDX-License-Identifier: Apache-2.0 */
/* What the code that somebody can change costs: device time that it launched, and time in which a
 * device waited for it; where nothing is known of that, its time on CPUs and its waits. */
#include "base/cleanup.h"
#include "base/hash.h"
#include "cmd/view.h"
#include "cmd/view_caller.h"
#include "cmd/view_inside.h"

#include <errno.h>
#include <string.h>

enum {
	CODE,
	BUSY,
	BUSY_SHARE,
	IDLE,
	IDLE_SHARE,
	LAUNCHES,
	CPU_SAMPLES,
	CPU_NS,
	HOST_NS,
	CPU_SHARE,
	WAITED,
	INSIDE,
	COLUMN_COUNT
};

static const struct sheet_column columns[] = {
	[CODE] = { "code", "CODE", SHEET_TEXT, 36 },
	[BUSY] = { "busy_ns", "busy", SHEET_NS, 0 },
	[BUSY_SHARE] = { "busy_share", "%", SHEET_SHARE, 0 },
	[IDLE] = { "idle_ns", "idle", SHEET_NS, 0 },
	[IDLE_SHARE] = { "idle_share", "%", SHEET_SHARE, 0 },
	[LAUNCHES] = { "launches", "launches", SHEET_COUNT, 0 },
	[CPU_SAMPLES] = { "cpu_samples", "samples", SHEET_COUNT, 0 },
	[CPU_NS] = { "cpu_ns", "CPU", SHEET_NS, 0 },
	[HOST_NS] = { "host_ns", "host", SHEET_NS, 0 }, /* of a trace, with what it waited */
	[CPU_SHARE] = { "cpu_share", "%", SHEET_SHARE, 0 },
	[WAITED] = { "waited_ns", "waited", SHEET_NS, 0 },
	[INSIDE] = { "inside", "most of it in", SHEET_TEXT, 12 },
};

static const char *const sort_keys[] = { "total", "busy",   "idle", "launches",
					 "cpu",   "waited", "name" };

struct code_row {
	uint32_t text;
	uint64_t busy_ns, idle_ns, launches;
	uint64_t cpu, waited_ns;
	uint64_t
		host; /* both, as far as the waits are of somebody's own code: others wait for work */
	uint32_t inside; /* frame; PROFILE_NONE */
};

struct code {
	const struct profile *p;
	int wall, launches; /* metrics; negative: not there */
	/* Where host time is known exactly, idle time belongs to what the host did meanwhile; else
	 * to what it launched next. Negative: the latter. */
	int idle_host;
	int cpu, waited; /* where `wall` is not there */
	size_t cpu_column;
	bool is_page;
	struct inside inside; /* of `host` */
	struct strtab texts;
	VEC(struct code_row) rows;
	struct hash by_text;
	const char *sort;
};

static void code_release(struct code *c)
{
	strtab_release(&c->texts);
	vec_release(&c->rows);
	hash_release(&c->by_text);
	inside_release(&c->inside);
}

static int row_of(struct code *c, const char *text, struct code_row **ret)
{
	uint32_t number;
	if (strtab_add(&c->texts, text, &number) < 0)
		return -ENOMEM;
	const uint64_t *known = hash_get(&c->by_text, number);
	if (!known && (hash_set(&c->by_text, number, c->rows.len) < 0 ||
		       vec_push(&c->rows, (struct code_row){ .text = number }) < 0))
		return -ENOMEM;
	*ret = known ? &c->rows.data[*known] : vec_last(&c->rows);
	return 0;
}

static uint64_t self(const struct profile *p, uint32_t node, int metric)
{
	return metric < 0 ? 0 : profile_self(p, node, metric);
}

/* What one node has to give, to the code that its path from @caller on tells of. */
static int node_add(struct code *c, uint32_t node, uint32_t caller, enum frame_kind kind,
		    struct strbuf *text)
{
	struct code_row *row = NULL;
	int rc = caller_text(c->p, caller, 1, text);
	if (rc == 0)
		rc = row_of(c, text->len ? strbuf_text(text) : "(not known)", &row);
	if (rc < 0)
		return rc;
	if (kind == FRAME_KERNEL)
		row->busy_ns += self(c->p, node, c->wall);
	else if (kind == FRAME_IDLE)
		row->idle_ns += self(c->p, node, c->wall);
	else
		row->idle_ns += self(c->p, node, c->idle_host);
	if (kind == FRAME_KERNEL)
		row->launches += self(c->p, node, c->launches);
	return 0;
}

static bool is_own(const struct profile *p, uint32_t node)
{
	if (node == PROFILE_NONE)
		return false;
	enum frame_class class = profile_frame_get(p, profile_node(p, node).frame).class;
	return class == FRAME_CLASS_OWN || class == FRAME_CLASS_MODEL;
}

/* The same for time of the host itself. */
static int host_add(struct code *c, uint32_t node, struct strbuf *text)
{
	uint64_t cpu = self(c->p, node, c->cpu), waited_ns = self(c->p, node, c->waited);
	struct code_row *row = NULL;
	int rc = 0;

	if (!cpu && !waited_ns)
		return 0;
	rc = caller_text(c->p, node, 1, text);
	if (rc == 0)
		rc = row_of(c, text->len ? strbuf_text(text) : "(not known)", &row);
	if (rc < 0)
		return rc;
	row->cpu += cpu;
	row->waited_ns += waited_ns;
	uint32_t code = caller_node(c->p, node);
	uint64_t host = cpu + (is_own(c->p, code) && c->cpu_column != CPU_SAMPLES ? waited_ns : 0);
	row->host += host;
	if (!host || code == PROFILE_NONE)
		return 0;
	return inside_add(&c->inside, c->p, (uint32_t)(row - c->rows.data), code, node, host);
}

static int code_collect(struct code *c)
{
	struct strbuf text = { 0 };
	int rc = 0;
	for (uint32_t n = 0; n < profile_node_count(c->p) && rc == 0; n++) {
		struct profile_node node = profile_node(c->p, n);
		enum frame_kind kind = profile_frame_get(c->p, node.frame).kind;
		if (kind == FRAME_KERNEL || (kind == FRAME_IDLE && c->idle_host < 0))
			rc = node_add(c, n, profile_launcher(c->p, n), kind, &text);
		else if (kind != FRAME_IDLE && self(c->p, n, c->idle_host))
			rc = node_add(c, n, n, kind, &text);
		else if (kind != FRAME_IDLE)
			rc = host_add(c, n, &text);
	}
	strbuf_release(&text);
	return rc;
}

static int compare_rows(const void *a, const void *b, void *data)
{
	const struct code_row *x = a, *y = b;
	const struct code *c = data;
	const uint64_t keys[][2] = {
		{ x->busy_ns + x->idle_ns + x->host, y->busy_ns + y->idle_ns + y->host },
		{ x->busy_ns, y->busy_ns },
		{ x->idle_ns, y->idle_ns },
		{ x->launches, y->launches },
		{ x->cpu, y->cpu },
		{ x->waited_ns, y->waited_ns },
	};
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (!strcmp(c->sort, sort_keys[i]) && keys[i][0] != keys[i][1])
			return keys[i][0] > keys[i][1] ? -1 : 1;
	}
	return strcmp(strtab_text(&c->texts, x->text), strtab_text(&c->texts, y->text));
}

static int find_inside(struct code *c)
{
	CLEANUP_FREE uint64_t *totals = malloc((c->rows.len + 1) * sizeof(*totals));
	CLEANUP_FREE uint32_t *found = malloc((c->rows.len + 1) * sizeof(*found));
	if (!totals || !found)
		return -ENOMEM;
	for (size_t i = 0; i < c->rows.len; i++)
		totals[i] = c->rows.data[i].host;
	int rc = inside_find(&c->inside, totals, found, c->rows.len);
	for (size_t i = 0; i < c->rows.len && rc == 0; i++)
		c->rows.data[i].inside = found[i];
	return rc;
}

static void add_host(struct sheet *t, const struct code *c, const struct code_row *r)
{
	if (c->cpu >= 0) {
		sheet_number(t, c->cpu_column, r->cpu);
		sheet_share(t, CPU_SHARE, r->cpu, profile_total(c->p, PROFILE_ROOT, c->cpu));
	}
	if (c->waited >= 0)
		sheet_number(t, WAITED, r->waited_ns);
	if (r->inside != PROFILE_NONE)
		sheet_text(t, INSIDE, profile_frame_get(c->p, r->inside).name);
}

static void add_row(struct sheet *t, const struct code *c, const char *text,
		    const struct code_row *r, uint64_t all)
{
	sheet_row(t);
	sheet_text(t, CODE, text);
	if (c->wall >= 0) {
		sheet_number(t, BUSY, r->busy_ns);
		sheet_share(t, BUSY_SHARE, r->busy_ns, all);
		sheet_number(t, IDLE, r->idle_ns);
		sheet_share(t, IDLE_SHARE, r->idle_ns, all);
	}
	if (c->launches >= 0)
		sheet_number(t, LAUNCHES, r->launches);
	add_host(t, c, r);
}

/* How many rows are shown; the rest is summed up in one. */
static size_t count_shown(const struct code *c, size_t limit)
{
	size_t shown = c->rows.len <= limit + 1 ? c->rows.len : limit;
	if (!c->is_page || c->wall >= 0)
		return shown;
	uint64_t all = 0;
	vec_for_each(&c->rows, r)
		all += r->host;
	while (shown > 1 && c->rows.data[shown - 1].host < all / 200)
		shown--;
	return shown;
}

static void add_rows(struct sheet *t, const struct code *c, size_t limit)
{
	uint64_t all = c->wall < 0 ? 0 : profile_total(c->p, PROFILE_ROOT, c->wall);
	size_t shown = count_shown(c, limit);
	struct code_row rest = { .inside = PROFILE_NONE };
	char text[64];

	for (size_t i = 0; i < c->rows.len; i++) {
		const struct code_row *r = &c->rows.data[i];
		if (i < shown) {
			add_row(t, c, strtab_text(&c->texts, r->text), r, all);
			continue;
		}
		rest.busy_ns += r->busy_ns;
		rest.idle_ns += r->idle_ns;
		rest.launches += r->launches;
		rest.cpu += r->cpu;
		rest.waited_ns += r->waited_ns;
	}
	if (shown < c->rows.len) {
		snprintf(text, sizeof(text), "%zu more", c->rows.len - shown);
		add_row(t, c, text, &rest, all);
	}
}

static void choose_metrics(struct code *c, const struct view *v)
{
	c->wall = profile_metric_find(v->p, "wall");
	c->launches = profile_metric_find(v->p, "launches");
	c->idle_host = analysis_has_metric(v->a, "cpu-samples")
			       ? -1
			       : profile_metric_find(v->p, "idle-host");
	c->cpu = c->waited = -1;
	if (c->wall < 0) {
		int samples = profile_metric_find(v->p, "cpu-samples");
		c->cpu = profile_metric_find(v->p, "cpu-time");
		c->cpu_column = c->cpu < 0 ? CPU_SAMPLES : samples < 0 ? HOST_NS : CPU_NS;
		c->cpu = c->cpu < 0 ? samples : c->cpu;
		c->waited = profile_metric_find(v->p, "blocked");
	}
	c->sort = v->sort ? v->sort : c->launches >= 0 && c->wall < 0 ? "launches" : "total";
}

int view_code(struct sheet *t, const struct view *v, struct err *err)
{
	struct code c = { .p = v->p, .is_page = v->is_page };
	sheet_init(t, "code", columns, COLUMN_COUNT);
	int rc = view_check_sort(v->sort, sort_keys, ARRAY_SIZE(sort_keys), err);
	if (rc < 0)
		return rc;
	choose_metrics(&c, v);
	rc = code_collect(&c);
	rc = rc ? rc : find_inside(&c);
	if (rc == 0 && c.rows.len) {
		qsort_r(c.rows.data, c.rows.len, sizeof(*c.rows.data), compare_rows, &c);
		add_rows(t, &c, v->limit);
	}
	code_release(&c);
	return rc < 0 ? err_set(err, rc, "cannot list code") : 0;
}
