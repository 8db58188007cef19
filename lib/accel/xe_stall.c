/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/xe_stall.h"

#include "base/hash.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * What was counted at one address. As the fields lie 8 bits apart, they are added several at a time, in lanes of 16 bits:
 * fields 0, 2, 4, 6, then 1, 3, 5, then 7, 9, 8. Before a lane can overflow, they go into `totals`.
 */
struct counts {
	uint64_t ip;
	uint64_t lanes[3];
	uint32_t added;
};
#define ADDED_MAX 257u /* 257 * 255 = 65535 */

struct totals {
	uint64_t of[XE_REASONS];
};

struct xe_stalls {
	enum xe_layout layout;
	struct xe_stalls_stats stats;
	struct counts *list;   /* in order of arrival; @cap of them */
	struct totals *totals; /* of the same */
	uint32_t *slots;       /* index into `list` + 1; 0: free; 2 * @cap of them */
	uint32_t *order;       /* for flushing */
	uint32_t len, cap;
};

#define FIRST_CAP 1024u

static const char *const names[XE_REASONS] = {
	"active", "tdr",      "other", "control", "pipestall",
	"send",   "dist_acc", "sbid",  "sync",    "inst_fetch",
};

/* In the order of the fields, each of 8 bits, behind the address of 29 or 61. */
static const uint8_t fields_pvc[] = {
	XE_ACTIVE,   XE_OTHER, XE_CONTROL, XE_PIPESTALL,  XE_SEND,
	XE_DIST_ACC, XE_SBID,  XE_SYNC,    XE_INST_FETCH,
};
static const uint8_t fields_xe2[] = {
	XE_TDR,      XE_OTHER, XE_CONTROL, XE_PIPESTALL,  XE_SEND,
	XE_DIST_ACC, XE_SBID,  XE_SYNC,    XE_INST_FETCH, XE_ACTIVE,
};

struct layout {
	uint8_t at;       /* byte in which the first field begins, at bit 5 */
	uint8_t end_flag; /* bit that is always set; 0: none */
	uint64_t ip_mask;
	const uint8_t *fields;
	uint8_t field_count;
};

static const struct layout layouts[] = {
	[XE_LAYOUT_PVC] = { 3, 0, 0x1fffffff, fields_pvc, sizeof(fields_pvc) },
	[XE_LAYOUT_XE2] = { 3, 112, 0x1fffffff, fields_xe2, sizeof(fields_xe2) },
	[XE_LAYOUT_XE3P] = { 7, 144, 0x1fffffffffffffff, fields_xe2, sizeof(fields_xe2) },
};

int xe_layout_choose(uint64_t record_bytes, uint16_t version_major, uint16_t version_minor,
		     enum xe_layout *ret)
{
	if (record_bytes != XE_RECORD_BYTES)
		return -ENOTSUP;
	if (version_major == 12 && version_minor == 60)
		*ret = XE_LAYOUT_PVC;
	else if (version_major >= 20 && version_major < 35)
		*ret = XE_LAYOUT_XE2;
	else if (version_major >= 35)
		*ret = XE_LAYOUT_XE3P;
	else
		return -ENOTSUP;
	return 0;
}

const char *xe_reason_name(enum xe_reason reason)
{
	return names[reason];
}

int xe_stalls_new(struct xe_stalls **ret, enum xe_layout layout)
{
	CLEANUP(xe_stalls_free) struct xe_stalls *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->layout = layout;
	s->cap = FIRST_CAP;
	s->list = calloc(s->cap, sizeof(*s->list));
	s->totals = calloc(s->cap, sizeof(*s->totals));
	s->slots = calloc(2 * (size_t)s->cap, sizeof(*s->slots));
	if (!s->list || !s->totals || !s->slots)
		return -ENOMEM;
	*ret = TAKE(s);
	return 0;
}

void xe_stalls_free(struct xe_stalls *s)
{
	if (!s)
		return;
	free(s->list);
	free(s->totals);
	free(s->slots);
	free(s->order);
	free(s);
}

/* The slot of @ip: its own, or the free one where it belongs. */
static uint32_t *find_slot(const struct xe_stalls *s, uint64_t ip)
{
	uint32_t mask = 2 * s->cap - 1, i = (uint32_t)hash_u64(ip) & mask;
	while (s->slots[i] && s->list[s->slots[i] - 1].ip != ip)
		i = (i + 1) & mask;
	return &s->slots[i];
}

static int grow(struct xe_stalls *s)
{
	uint32_t cap = 2 * s->cap;
	struct counts *list = realloc(s->list, cap * sizeof(*list));
	if (!list)
		return -ENOMEM;
	s->list = list;
	struct totals *totals = realloc(s->totals, cap * sizeof(*totals));
	if (!totals)
		return -ENOMEM;
	s->totals = totals;
	uint32_t *slots = calloc(2 * (size_t)cap, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(s->slots);
	s->slots = slots;
	s->cap = cap;
	for (uint32_t i = 0; i < s->len; i++)
		*find_slot(s, s->list[i].ip) = i + 1;
	return 0;
}

/* NULL: there is no room for another address, or, with *@failed, no memory. */
static struct counts *find_counts(struct xe_stalls *s, uint64_t ip, bool *failed)
{
	uint32_t *slot = find_slot(s, ip);
	if (*slot)
		return &s->list[*slot - 1];
	if (s->len == XE_ADDRESSES_MAX)
		return NULL;
	if (s->len == s->cap) {
		*failed = grow(s) < 0;
		if (*failed)
			return NULL;
		slot = find_slot(s, ip);
	}
	s->list[s->len] = (struct counts){ .ip = ip };
	s->totals[s->len] = (struct totals){ .of = { 0 } };
	*slot = ++s->len;
	return &s->list[s->len - 1];
}

static uint64_t load(const uint8_t *p)
{
	uint64_t value;
	memcpy(&value, p, sizeof(value));
	return le64toh(value);
}

/* The lanes of an address into its totals. */
static void spill(struct xe_stalls *s, struct counts *c)
{
	static const uint8_t field_of[3][4] = { { 0, 2, 4, 6 }, { 1, 3, 5, 0 }, { 7, 9, 8, 0 } };
	static const uint8_t count_of[3] = { 4, 3, 3 };
	const struct layout *l = &layouts[s->layout];
	struct totals *t = &s->totals[c - s->list];

	for (size_t lane = 0; lane < 3; lane++) {
		for (size_t i = 0; i < count_of[lane]; i++) {
			size_t field = field_of[lane][i];
			if (field < l->field_count)
				t->of[l->fields[field]] += c->lanes[lane] >> 16 * i & 0xffff;
		}
		c->lanes[lane] = 0;
	}
	c->added = 0;
}

int xe_stalls_add(struct xe_stalls *s, struct span records)
{
	const struct layout *l = &layouts[s->layout];
	const uint8_t *end = records.data + records.size / XE_RECORD_BYTES * XE_RECORD_BYTES;
	bool failed = false;

	for (const uint8_t *p = records.data; p < end; p += XE_RECORD_BYTES) {
		if (l->end_flag && !(p[l->end_flag / 8] >> l->end_flag % 8 & 1)) {
			s->stats.damaged++;
			continue;
		}
		struct counts *c = find_counts(s, load(p) & l->ip_mask, &failed);
		if (failed)
			return -ENOMEM;
		if (!c) {
			s->stats.overflowed++;
			continue;
		}
		/* Of a word 59 bits are left, seven fields. */
		uint64_t low = load(p + l->at) >> 5, high = load(p + l->at + 7) >> 5;
		c->lanes[0] += low & 0x00ff00ff00ff00ff;
		c->lanes[1] += low >> 8 & 0x000000ff00ff00ff;
		c->lanes[2] += (high & 0x00ff00ff) | (high & 0xff00) << 24;
		if (++c->added == ADDED_MAX)
			spill(s, c);
		s->stats.records++;
	}
	return 0;
}

static int compare(const void *va, const void *vb, void *data)
{
	const struct counts *list = data;
	uint64_t a = list[*(const uint32_t *)va].ip, b = list[*(const uint32_t *)vb].ip;
	return a < b ? -1 : a > b;
}

int xe_stalls_flush(struct xe_stalls *s,
		    int (*fn)(void *data, uint64_t address, enum xe_reason reason, uint64_t count),
		    void *data)
{
	int rc = 0;
	if (!s->len)
		return 0;
	uint32_t *order = realloc(s->order, s->cap * sizeof(*order));

	if (!order)
		return -ENOMEM;
	s->order = order;
	for (uint32_t i = 0; i < s->len; i++) {
		order[i] = i;
		spill(s, &s->list[i]);
	}
	qsort_r(order, s->len, sizeof(*order), compare, s->list);
	for (uint32_t i = 0; i < s->len && !rc; i++) {
		const struct totals *t = &s->totals[order[i]];
		/* Instructions lie at multiples of 8. */
		for (unsigned r = 0; r < XE_REASONS && !rc; r++)
			rc = t->of[r] ? fn(data, s->list[order[i]].ip << 3, r, t->of[r]) : 0;
	}
	s->len = 0;
	memset(s->slots, 0, 2 * (size_t)s->cap * sizeof(*s->slots));
	return rc;
}

struct xe_stalls_stats xe_stalls_stats(const struct xe_stalls *s)
{
	return s->stats;
}
