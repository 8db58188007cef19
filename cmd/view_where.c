/* SPDX-License-Identifier: Apache-2.0 */
/* Where the devices' time goes, and what the host did meanwhile. */
#include "base/cleanup.h"
#include "base/hash.h"
#include "cmd/view.h"

#include <errno.h>
#include <string.h>

enum {
	WHAT,
	TIME,
	SHARE,
	ENERGY,
	COLUMN_COUNT
};

static const struct sheet_column where_columns[] = {
	[WHAT] = { "what", "WHERE THE DEVICE TIME GOES", SHEET_TEXT, 16 },
	[TIME] = { "ns", "", SHEET_NS, 0 },
	[SHARE] = { "share", "%", SHEET_SHARE, 0 },
	[ENERGY] = { "energy_j", "energy J", SHEET_DECIMAL, 0 },
};

static const struct sheet_column step_columns[] = {
	[WHAT] = { "what", "WHERE THE STEP GOES", SHEET_TEXT, 16 },
	[TIME] = { "ns", "", SHEET_NS, 0 },
	[SHARE] = { "share", "%", SHEET_SHARE, 0 },
	[ENERGY] = { "energy_j", "energy J", SHEET_DECIMAL, 0 },
};

static const struct sheet_column idle_columns[] = {
	[WHAT] = { "what", "WHAT THE HOST DID MEANWHILE", SHEET_TEXT, 16 },
	[TIME] = { "ns", "", SHEET_NS, 0 },
	[SHARE] = { "share", "%", SHEET_SHARE, 0 },
};

static void add_energy(struct sheet *t, const struct view *v, uint64_t uj)
{
	if (v->s->has_energy)
		sheet_decimal(t, ENERGY, (double)uj / 1e6);
}

static void add_where(struct sheet *t, const char *what, uint64_t ns, uint64_t all)
{
	sheet_row(t);
	sheet_text(t, WHAT, what);
	sheet_number(t, TIME, ns);
	sheet_share(t, SHARE, ns, all);
}

/* Less than would show as 0.1 %, where there is more to tell. */
static bool is_little(const struct view *v, uint64_t ns, uint64_t all)
{
	return v->is_page && ns < all / 2000;
}

static void add_busy(struct sheet *t, const struct view *v, uint64_t all)
{
	const struct device_summary *d = &v->s->all;
	const char *word = view_device_word(v->s);
	char text[64];
	uint64_t kernels = device_kernel_ns(d);
	bool is_mixed = d->copy_ns || d->collective_ns || d->outlier_ns;

	snprintf(text, sizeof(text), is_mixed ? "%s busy: kernels" : "%s busy", word);
	add_where(t, text, kernels, all);
	add_energy(t, v, d->energy_uj[ACCOUNT_BUSY] - d->copy_uj - d->collective_uj);
	snprintf(text, sizeof(text), "%s busy: copies", word);
	if (d->copy_ns && !is_little(v, d->copy_ns, all)) {
		add_where(t, text, d->copy_ns, all);
		add_energy(t, v, d->copy_uj);
	}
	snprintf(text, sizeof(text), "%s busy: communication", word);
	if (d->collective_ns && !is_little(v, d->collective_ns, all)) {
		add_where(t, text, d->collective_ns, all);
		add_energy(t, v, d->collective_uj);
	}
	snprintf(text, sizeof(text), "%s busy: outliers", word);
	if (d->outlier_ns)
		add_where(t, text, d->outlier_ns, all);
}

int view_where(struct sheet *t, const struct view *v, struct err *err)
{
	static const char *const idle[ACCOUNT_STATE_COUNT] = {
		[ACCOUNT_LATE] = "idle: host not yet launching",
		[ACCOUNT_SYNC] = "idle: host in a synchronising call",
		[ACCOUNT_COPY] = "idle: host in a copy call",
		[ACCOUNT_BLOCKED] = "idle: host off the CPU",
		[ACCOUNT_FLIGHT] = "idle: launch in flight",
		[ACCOUNT_BEFORE] = "idle: before the first op",
		[ACCOUNT_AFTER] = "idle: after the last op",
		[ACCOUNT_UNKNOWN] = "idle: not known who launched",
	};
	static const enum account_state order[] = {
		ACCOUNT_LATE,   ACCOUNT_SYNC,   ACCOUNT_COPY,  ACCOUNT_BLOCKED,
		ACCOUNT_FLIGHT, ACCOUNT_BEFORE, ACCOUNT_AFTER, ACCOUNT_UNKNOWN,
	};
	const struct device_summary *d = &v->s->all;
	bool is_step = v->s->is_window_of_steps && v->s->steps == 1;
	uint64_t all = 0, all_uj = 0;
	(void)err;

	sheet_init(t, "where", is_step ? step_columns : where_columns, COLUMN_COUNT);
	for (int i = 0; i < ACCOUNT_STATE_COUNT; i++) {
		all += d->ns[i];
		all_uj += d->energy_uj[i];
	}
	if (!all)
		return 0;
	add_busy(t, v, all);
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		if (!d->ns[order[i]] || is_little(v, d->ns[order[i]], all))
			continue;
		add_where(t, idle[order[i]], d->ns[order[i]], all);
		add_energy(t, v, d->energy_uj[order[i]]);
	}
	add_where(t, "total", all, all);
	add_energy(t, v, all_uj);
	return 0;
}

/* ---- the host ---- */

/* "transformers" of "transformers/models/bert.py" or of a path below site-packages. */
static struct span package_of(const char *path)
{
	static const char *const roots[] = { "/site-packages/", "/dist-packages/" };
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		const char *at = strstr(path, roots[i]);
		if (at)
			path = at + strlen(roots[i]);
	}
	size_t size = strcspn(path, "/");
	return span_of(path, size);
}

static bool is_launch_call(const char *name)
{
	static const char *const parts[] = { "LaunchKernel", "GraphLaunch", "EnqueueNDRange",
					     "ModuleLaunch", "CommandListAppendLaunch" };
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (strstr(name, parts[i]))
			return true;
	}
	return false;
}

/* What the host was doing, from the frame that it was in. */
static void activity(const struct frame *f, struct strbuf *ret)
{
	struct span package;
	strbuf_reset(ret);
	switch (f->kind) {
	case FRAME_PYTHON:
		package = package_of(f->file ? f->file : "");
		if (f->class == FRAME_CLASS_OWN)
			strbuf_puts(ret, "own Python");
		else if (f->class == FRAME_CLASS_STDLIB || !package.size)
			strbuf_puts(ret, "Python's own library");
		else
			strbuf_printf(ret, "%s Python (%.*s)",
				      f->class == FRAME_CLASS_MODEL ? "model" : "framework",
				      (int)package.size, (const char *)package.data);
		break;
	case FRAME_CXX:
	case FRAME_NATIVE:
		if (is_launch_call(f->name))
			strbuf_puts(ret, "launch calls");
		else if (f->class == FRAME_CLASS_OWN)
			strbuf_puts(ret, "own native code");
		else if (f->module && *f->module)
			strbuf_printf(ret, "%s",
				      strrchr(f->module, '/') ? strrchr(f->module, '/') + 1
							      : f->module);
		else if (f->name[0] == '<' && f->class == FRAME_CLASS_FRAMEWORK)
			strbuf_puts(ret, "framework built-ins");
		else if (f->name[0] == '<' && f->class == FRAME_CLASS_STDLIB)
			strbuf_puts(ret, "Python's own library");
		else if (f->class == FRAME_CLASS_FRAMEWORK)
			strbuf_puts(ret, "framework C++ (dispatch, allocation)");
		else
			strbuf_puts(ret, "runtime and other native code");
		break;
	case FRAME_OS:
		strbuf_puts(ret, "OS kernel");
		break;
	case FRAME_SCOPE:
		strbuf_puts(ret, "between the calls that were traced");
		break;
	default:
		strbuf_puts(ret, "not known");
		break;
	}
}

struct activity_sum {
	uint32_t text;
	uint64_t ns;
};

struct activities {
	struct strtab texts;
	VEC(struct activity_sum) sums;
	struct hash by_text;
	uint64_t all;
};

static void activities_release(struct activities *x)
{
	strtab_release(&x->texts);
	vec_release(&x->sums);
	hash_release(&x->by_text);
}

static int compare_sums(const void *a, const void *b)
{
	const struct activity_sum *x = a, *y = b;
	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->text < y->text ? -1 : x->text > y->text;
}

static int activities_add(struct activities *x, const char *text, uint64_t ns)
{
	uint32_t number;
	if (strtab_add(&x->texts, text, &number) < 0)
		return -ENOMEM;
	x->all += ns;
	const uint64_t *known = hash_get(&x->by_text, number);
	if (known) {
		x->sums.data[*known].ns += ns;
		return 0;
	}
	if (hash_set(&x->by_text, number, x->sums.len) < 0)
		return -ENOMEM;
	return vec_push(&x->sums, (struct activity_sum){ number, ns });
}

static int activities_collect(struct activities *x, const struct profile *p, int metric)
{
	struct strbuf text = { 0 };
	int rc = 0;
	for (uint32_t n = 0; n < profile_node_count(p) && rc == 0; n++) {
		uint64_t ns = profile_self(p, n, metric);
		if (!ns)
			continue;
		struct frame f = profile_frame_get(p, profile_node(p, n).frame);
		activity(&f, &text);
		rc = strbuf_finish(&text);
		rc = rc ? rc : activities_add(x, strbuf_text(&text), ns);
	}
	strbuf_release(&text);
	if (x->sums.len)
		qsort(x->sums.data, x->sums.len, sizeof(*x->sums.data), compare_sums);
	return rc;
}

int view_idle_host(struct sheet *t, const struct view *v, struct err *err)
{
	struct activities x = { 0 };
	int metric = profile_metric_find(v->p, "idle-host");
	uint64_t window = 0, rest = 0;

	sheet_init(t, "idle_host", idle_columns, ARRAY_SIZE(idle_columns));
	if (metric < 0)
		return 0;
	int rc = activities_collect(&x, v->p, metric);
	for (int i = 0; i < ACCOUNT_STATE_COUNT; i++)
		window += v->s->all.ns[i];
	size_t shown = x.sums.len <= v->limit ? x.sums.len : v->limit - 1;
	for (size_t i = 0; i < x.sums.len && rc == 0; i++) {
		if (i < shown)
			add_where(t, strtab_text(&x.texts, x.sums.data[i].text), x.sums.data[i].ns,
				  window);
		else
			rest += x.sums.data[i].ns;
	}
	if (rest)
		add_where(t, "other", rest, window);
	activities_release(&x);
	return rc < 0 ? err_set(err, rc, "cannot list what the host did") : 0;
}
