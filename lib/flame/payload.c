/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/payload.h"

#include "base/strtab.h"
#include "base/vec.h"
#include "flame/look.h"
#include "flame/pack.h"
#include "flame/table.h"
#include "flame/text.h"
#include "profile/profile.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	COLUMN_KIND,
	COLUMN_CLASS,
	COLUMN_SHADE,
	COLUMN_LINE,
	COLUMN_FULL,
	COLUMN_FILE,
	COLUMN_MODULE,
	COLUMN_MERGED,
	COLUMN_SHAPE,
	COLUMN_FRAME,
	COLUMN_SELF, /* the first metric's */
	COLUMN_COUNT = COLUMN_SELF + PROFILE_METRICS_MAX
};

struct payload {
	const struct profile *profile;
	const struct payload_options *opt;
	struct table table;
	struct strtab strings;
	struct strbuf columns[COLUMN_COUNT];
	struct strbuf header;
	uint32_t nodes;
	const struct profile_node *tree;
	uint64_t *counts;                 /* a bit for each node: whether it has a value */
	int metrics[PROFILE_METRICS_MAX]; /* those with values, by the profile's number */
	const uint64_t *selves[PROFILE_METRICS_MAX];
	int metric_count;
};

static void payload_release(struct payload *b)
{
	table_release(&b->table);
	strtab_release(&b->strings);
	for (int i = 0; i < COLUMN_COUNT; i++)
		strbuf_release(&b->columns[i]);
	strbuf_release(&b->header);
	free(b->counts);
}
DEFINE_CLEANUP_EMBEDDED(payload_release, struct payload)

static void put(struct payload *b, int column, uint64_t value)
{
	pack_number(&b->columns[column], value);
}

static int put_string(struct payload *b, int column, const char *text)
{
	uint32_t number;
	if (strtab_add(&b->strings, text, &number) < 0)
		return -ENOMEM;
	put(b, column, number);
	return 0;
}

static int frames_put(struct payload *b)
{
	for (uint32_t i = 0; i < b->table.row_count; i++) {
		const struct table_row *row = &b->table.rows[i];
		const struct frame *f = &row->frame;
		put(b, COLUMN_KIND, f->kind);
		put(b, COLUMN_CLASS, f->class);
		put(b, COLUMN_SHADE, look_shade(f->name));
		put(b, COLUMN_LINE, f->line);
		put(b, COLUMN_MERGED, row->merged == TABLE_NONE ? 0 : row->merged + 1);
		if (put_string(b, COLUMN_FULL, f->full) < 0 ||
		    put_string(b, COLUMN_FILE, f->file) < 0 ||
		    put_string(b, COLUMN_MODULE, f->module) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Looked at for each node and its sibling, in the order of the picture: bits stay in the cache. */
static int counts_make(struct payload *b)
{
	size_t nodes = profile_node_count(b->profile);

	b->counts = calloc(nodes / 64 + 1, sizeof(*b->counts));
	if (!b->counts)
		return -ENOMEM;
	for (int i = 0; i < b->metric_count; i++) {
		const uint64_t *totals = profile_totals(b->profile, b->metrics[i]);
		for (size_t node = 0; node < nodes; node++)
			b->counts[node / 64] |= (uint64_t)(totals[node] != 0) << node % 64;
	}
	return 0;
}

static void metrics_choose(struct payload *b)
{
	b->tree = profile_nodes(b->profile);
	for (int m = 0; m < profile_metric_count(b->profile); m++) {
		if (!profile_total(b->profile, PROFILE_ROOT, m))
			continue;
		b->metrics[b->metric_count] = m;
		b->selves[b->metric_count] = profile_selves(b->profile, m);
		b->metric_count++;
	}
}

static bool node_counts(const struct payload *b, uint32_t node)
{
	return b->counts[node / 64] >> node % 64 & 1;
}

/* From @node on, the first of the siblings that has a value. */
static uint32_t first_counting(const struct payload *b, uint32_t node)
{
	while (node != PROFILE_NONE && !node_counts(b, node))
		node = b->tree[node].next;
	return node;
}

static void node_put(struct payload *b, uint32_t node, uint32_t left_row)
{
	uint32_t row = b->table.row_of[b->tree[node].frame], next = b->tree[node].next;

	/* Where the picture goes on has nothing to do with where nodes lie in memory: the sibling may
	 * come while this one's children are written. */
	if (next != PROFILE_NONE) {
		__builtin_prefetch(&b->tree[next]);
		__builtin_prefetch(&b->selves[0][next]);
	}
	assert(left_row == TABLE_NONE || row >= left_row);
	put(b, COLUMN_FRAME, left_row == TABLE_NONE ? row : row - left_row);
	for (int i = 0; i < b->metric_count; i++)
		put(b, COLUMN_SELF + i, b->selves[i][node]);
	b->nodes++;
}

static void nodes_put(struct payload *b)
{
	uint32_t node = PROFILE_ROOT;

	node_put(b, node, TABLE_NONE);
	for (;;) {
		uint32_t child = first_counting(b, b->tree[node].first_child);
		if (child != PROFILE_NONE) {
			put(b, COLUMN_SHAPE, 0);
			node_put(b, child, TABLE_NONE);
			node = child;
			continue;
		}

		uint32_t next = PROFILE_NONE;
		for (uint32_t up = 1; node != PROFILE_ROOT; up++) {
			next = first_counting(b, b->tree[node].next);
			if (next != PROFILE_NONE) {
				put(b, COLUMN_SHAPE, up);
				break;
			}
			node = b->tree[node].parent;
		}
		if (next == PROFILE_NONE)
			return;
		node_put(b, next, b->table.row_of[b->tree[node].frame]);
		node = next;
	}
}

static void header_put_metrics(struct payload *b)
{
	struct strbuf *h = &b->header;
	for (int i = 0; i < b->metric_count; i++) {
		struct profile_metric metric = profile_metric_get(b->profile, b->metrics[i]);
		strbuf_puts(h, i ? ",{\"name\":" : "{\"name\":");
		text_json(h, metric.name);
		strbuf_puts(h, ",\"unit\":");
		text_json(h, metric.unit);
		strbuf_puts(h, ",\"meaning\":");
		text_json(h, text_metric(metric.name));
		strbuf_putc(h, '}');
	}
}

static void header_put(struct payload *b)
{
	struct strbuf *h = &b->header;
	int columns = COLUMN_SELF + b->metric_count;
	int first = 0;

	while (first < b->metric_count - 1 && b->metrics[first] != b->opt->metric)
		first++;
	strbuf_puts(h, "{\"version\":1,\"title\":");
	text_json(h, b->opt->title);
	strbuf_puts(h, ",\"note\":");
	text_json(h, b->opt->note);
	strbuf_printf(
		h,
		",\"nodes\":%u,\"metric\":%d,\"fluid\":%d,\"inverted\":%d,\"full\":%d,\"diff\":%d",
		b->nodes, first, b->opt->fluid, b->opt->inverted, b->opt->full, b->opt->diff);
	strbuf_puts(h, ",\"kinds\":[");
	for (int kind = 0; kind < FRAME_KIND_COUNT; kind++) {
		strbuf_puts(h, kind ? "," : "");
		text_json(h, text_kind(kind));
	}
	strbuf_puts(h, "],\"metrics\":[");
	header_put_metrics(b);
	strbuf_puts(h, "],\n\"names\":[");
	for (uint32_t i = 0; i < b->table.row_count; i++) {
		strbuf_puts(h, i ? "," : "");
		text_json(h, b->table.rows[i].frame.name);
	}
	strbuf_puts(h, "],\n\"strings\":[");
	for (uint32_t i = 0; i < strtab_count(&b->strings); i++) {
		strbuf_puts(h, i ? "," : "");
		text_json(h, strtab_text(&b->strings, i));
	}
	strbuf_puts(h, "],\n\"columns\":[");
	for (int i = 0; i < columns; i++)
		strbuf_printf(h, "%s%zu", i ? "," : "", b->columns[i].len);
	strbuf_puts(h, "]}");
}

static int payload_pack(struct payload *b, struct strbuf *ret)
{
	CLEANUP(packer_release) struct packer k = { 0 };
	if (b->header.len > UINT32_MAX)
		return -ENOMEM;
	uint32_t size = (uint32_t)b->header.len;
	packer_add(&k,
		   (uint8_t[]){ (uint8_t)size, (uint8_t)(size >> 8), (uint8_t)(size >> 16),
				(uint8_t)(size >> 24) },
		   4);
	packer_add(&k, b->header.data, size);
	for (int i = 0; i < COLUMN_SELF + b->metric_count; i++) {
		packer_add(&k, b->columns[i].data, b->columns[i].len);
		strbuf_release(&b->columns[i]);
	}
	return packer_end(&k, ret);
}

int payload_make(const struct profile *p, const struct payload_options *opt, struct strbuf *ret)
{
	CLEANUP(payload_release) struct payload b = { .profile = p, .opt = opt };

	if (table_make(p, &b.table) < 0 || frames_put(&b) < 0)
		return -ENOMEM;
	metrics_choose(&b);
	if (counts_make(&b) < 0)
		return -ENOMEM;
	nodes_put(&b);
	header_put(&b);
	for (int i = 0; i < COLUMN_COUNT; i++) {
		if (strbuf_finish(&b.columns[i]) < 0)
			return -ENOMEM;
	}
	if (strbuf_finish(&b.header) < 0)
		return -ENOMEM;
	return payload_pack(&b, ret);
}
