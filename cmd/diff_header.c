/* SPDX-License-Identifier: Apache-2.0 */
/* How comparable two captures are: what they say of themselves, and not alike. */
#include "cmd/diff.h"

#include <inttypes.h>
#include <string.h>

enum {
	FACT,
	FACT_BASE,
	FACT_NEW,
	FACT_DIFFERS,
};

static const struct sheet_column header_columns[] = {
	[FACT] = { "what", "COMPARED", SHEET_TEXT, 12 },
	[FACT_BASE] = { "base", "base", SHEET_TEXT, 16 },
	[FACT_NEW] = { "new", "new", SHEET_TEXT, 16 },
	[FACT_DIFFERS] = { "differs", "", SHEET_TEXT, 0 },
};

/* Of long texts that differ, what comes shortly before the place where they do. */
#define FACT_LONG   32
#define FACT_BEFORE 12

static size_t common_start(const char *base, const char *now)
{
	size_t same = 0;
	while (base[same] && base[same] == now[same])
		same++;
	while (same && (base[same] & 0xc0) == 0x80) /* inside a character */
		same--;
	bool is_long = strlen(base) > FACT_LONG || strlen(now) > FACT_LONG;
	return is_long && base[same] != now[same] && same > FACT_BEFORE ? same - FACT_BEFORE : 0;
}

static void add_side(struct sheet *t, int column, const char *text, size_t start)
{
	struct strbuf shown = { 0 };
	while (start && (text[start] & 0xc0) == 0x80)
		start--;
	strbuf_puts(&shown, start ? ".." : "");
	strbuf_puts(&shown, *text ? text + start : "not known");
	sheet_text(t, column, strbuf_text(&shown));
	strbuf_release(&shown);
}

static void add_fact(struct sheet *t, const char *what, const char *base, const char *now)
{
	base = base ? base : "";
	now = now ? now : "";
	size_t start = *base && *now ? common_start(base, now) : 0;
	sheet_row(t);
	sheet_text(t, FACT, what);
	add_side(t, FACT_BASE, base, start);
	add_side(t, FACT_NEW, now, start);
	sheet_text(t, FACT_DIFFERS, strcmp(base, now) != 0 ? "differs" : "");
}

static void add_number_fact(struct sheet *t, const char *what, uint64_t base, uint64_t now)
{
	char texts[2][24];
	snprintf(texts[0], sizeof(texts[0]), "%" PRIu64, base);
	snprintf(texts[1], sizeof(texts[1]), "%" PRIu64, now);
	add_fact(t, what, texts[0], texts[1]);
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static const char *device_name(const struct diff_side *s)
{
	const char *name = s->device_count ? s->devices[0].name : "";
	return *name ? name : s->device_count ? s->devices[0].runtime : "";
}

/* What describes the run, and not what came of it, how an import went or what could not be had. */
static bool is_compared(const char *key)
{
	static const char *const others[] = {
		"asked.pid",  "blocked.", "cuda.",    "import.",
		"levelzero.", "merge.",   "missing.", "opencl.",
		"python.",    "unwind.",  "xe.",      "trace.distributedInfo.",
	};
	if (!strcmp(key, "cuda.sampling"))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		if (!strncmp(key, others[i], strlen(others[i])))
			return false;
	}
	return true;
}

/* Of the headers, what is not alike. */
static void add_origins(struct sheet *t, const struct analysis_summary *b,
			const struct analysis_summary *n)
{
	const struct {
		const char *what, *base, *now;
	} origins[] = {
		{ "source", b->source, n->source },    { "host", b->host, n->host },
		{ "kernel", b->kernel, n->kernel },    { "architecture", b->arch, n->arch },
		{ "recorded with", b->tool, n->tool }, { "samples of", b->event, n->event },
	};
	for (size_t i = 0; i < ARRAY_SIZE(origins); i++) {
		if (strcmp(origins[i].base, origins[i].now) != 0)
			add_fact(t, origins[i].what, origins[i].base, origins[i].now);
	}
	if (b->frequency != n->frequency)
		add_number_fact(t, "samples per second", b->frequency, n->frequency);
}

/* Everything that the captures say of themselves and not alike. */
static void add_infos(struct sheet *t, const struct diff *d)
{
	const char *key, *value, *other;

	for (int side = 0; side < MATCH_SIDES; side++) {
		const struct analysis *a = d->sides[side].a;
		for (size_t i = 0; analysis_info_get(a, i, &key, &value); i++) {
			if (!is_compared(key))
				continue;
			other = analysis_info(d->sides[!side].a, key);
			if (side == MATCH_BASE && (!other || strcmp(other, value) != 0))
				add_fact(t, key, value, other);
			else if (side == MATCH_NEW && !other)
				add_fact(t, key, NULL, value);
		}
	}
}

int diff_header(struct sheet *t, const struct diff *d, struct err *err)
{
	const struct diff_side *b = &d->sides[MATCH_BASE], *n = &d->sides[MATCH_NEW];
	static const char world[] = "trace.distributedInfo.world_size";
	static const char rank[] = "trace.distributedInfo.rank";

	(void)err;
	sheet_init(t, "compared", header_columns, ARRAY_SIZE(header_columns));
	/* Files differ, or there is nothing to compare; of long paths the end tells more. */
	const char *base = file_name(b->in->path), *now = file_name(n->in->path);
	bool is_clear = strcmp(base, now) != 0;
	add_fact(t, "file", is_clear ? base : b->in->path, is_clear ? now : n->in->path);
	sheet_text(t, FACT_DIFFERS, "");
	if (!d->is_host) {
		add_fact(t, "device", device_name(b), device_name(n));
		add_number_fact(t, "devices", b->device_count, n->device_count);
	}
	if (analysis_info(b->a, world) || analysis_info(n->a, world)) {
		add_fact(t, "ranks", analysis_info(b->a, world), analysis_info(n->a, world));
		add_fact(t, "rank", analysis_info(b->a, rank), analysis_info(n->a, rank));
	}
	if (!d->is_host)
		add_number_fact(t, "steps", b->s.steps, n->s.steps);
	add_origins(t, &b->s, &n->s);
	add_infos(t, d);
	return 0;
}
