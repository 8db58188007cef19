/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/xe_sample.h"

#include "base/hash.h"
#include "base/vec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Unknown code is told apart by what the driver allocates at a time. */
#define PAGE_BYTES (64u << 10)
/* Beyond it lies under one name: a forged stream makes no more records than this. */
#define PAGES_MAX 4096u

struct count {
	uint64_t address, count;
	enum xe_reason reason;
};

struct interval {
	uint64_t begin_ns, end_ns;
	VEC(struct count) counts;
};

struct xe_samples {
	const struct accel_host *host;
	uint32_t device;
	struct xe_samples_stats stats;
	struct hash pages; /* 64 KiB -> KERNEL's number */
	uint32_t others;   /* of pages beyond PAGES_MAX; 0: none yet */
	uint32_t several, replaced, functions;
	VEC(struct interval) waiting;
};

int xe_samples_new(struct xe_samples **ret, const struct accel_host *host, uint32_t device)
{
	struct xe_samples *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->host = host;
	s->device = device;
	*ret = s;
	return 0;
}

void xe_samples_free(struct xe_samples *s)
{
	if (!s)
		return;
	hash_release(&s->pages);
	vec_for_each(&s->waiting, i)
		vec_release(&i->counts);
	vec_release(&s->waiting);
	free(s);
}

/* @id 0: a new one. */
static int name_kernel(struct xe_samples *s, const char *name, uint32_t id, uint32_t *ret)
{
	struct record r = { .type = RECORD_KERNEL };
	int rc = capture_writer_string(s->host->writer, name, &r.kernel.name);
	if (rc < 0)
		return rc;
	r.kernel.id = id ? id : s->host->number(s->host->data);
	*ret = r.kernel.id;
	return capture_writer_put(s->host->writer, &r);
}

/* Of all samples that @name says no more of. */
static int common_kernel(struct xe_samples *s, const char *name, uint32_t *known, uint32_t *ret)
{
	int rc = *known ? 0 : name_kernel(s, name, 0, known);

	*ret = *known;
	return rc;
}

static int name_page(struct xe_samples *s, const char *what, uint64_t page, uint32_t id,
		     uint32_t *ret)
{
	char name[80];

	snprintf(name, sizeof(name), "[%s at 0x%" PRIx64 "]", what, page * PAGE_BYTES);
	return name_kernel(s, name, id, ret);
}

static int unknown_kernel(struct xe_samples *s, uint64_t address, uint32_t *ret)
{
	const uint64_t *known = hash_get(&s->pages, address / PAGE_BYTES);

	if (known) {
		*ret = (uint32_t)*known;
		return 0;
	}
	if (s->pages.len >= PAGES_MAX) {
		return common_kernel(s, "[unknown GPU code]", &s->others, ret);
	}
	int rc = name_page(s, "unknown GPU code", address / PAGE_BYTES, 0, ret);
	return rc < 0 ? rc : hash_set(&s->pages, address / PAGE_BYTES, *ret);
}

int xe_samples_name_unknown(struct xe_samples *s, const char *what)
{
	char name[80];
	uint32_t id;
	int rc = 0;

	snprintf(name, sizeof(name), "[%s]", what);
	if (s->others)
		rc = name_kernel(s, name, s->others, &id);
	hash_for_each(&s->pages, page)
		rc = rc ? rc : name_page(s, what, page->key, (uint32_t)page->value, &id);
	return rc;
}

static int on_count(void *data, uint64_t address, enum xe_reason reason, uint64_t count)
{
	struct interval *i = data;
	struct count c = { address, count, reason };

	return vec_push(&i->counts, c);
}

int xe_samples_take(struct xe_samples *s, struct xe_stalls *stalls, uint64_t begin_ns,
		    uint64_t end_ns)
{
	struct interval i = { .begin_ns = begin_ns, .end_ns = end_ns };
	int rc = xe_stalls_flush(stalls, on_count, &i);
	size_t count = i.counts.len;

	if (rc == 0 && count)
		rc = vec_push(&s->waiting, i);
	if (rc < 0 || !count)
		vec_release(&i.counts);
	return rc < 0 ? rc : (int)count;
}

static int write_count(struct xe_samples *s, struct xe_code *code, const struct interval *i,
		       const struct count *c)
{
	struct record r = { .type = RECORD_PC_SAMPLE,
			    .pc_sample = { .time_ns = i->begin_ns,
					   .interval_ns = i->end_ns - i->begin_ns,
					   .device = s->device,
					   .offset = c->address % PAGE_BYTES,
					   .count = c->count } };
	const struct xe_query query = { c->address, i->begin_ns, i->end_ns };
	struct accel_code found;
	uint64_t offset;
	int rc = 0;

	switch (xe_code_find(code, &query, &found, &offset)) {
	case XE_PLACE_ONE:
		r.pc_sample.kernel = found.kernel;
		r.pc_sample.offset = offset;
		if (!found.kernel) {
			rc = common_kernel(s, "[function of a module]", &s->functions,
					   &r.pc_sample.kernel);
			r.pc_sample.offset = c->address % PAGE_BYTES;
		}
		if (found.device)
			r.pc_sample.device = found.device;
		s->stats.placed += c->count;
		break;
	case XE_PLACE_SEVERAL:
		rc = common_kernel(s, "[code of one of several processes]", &s->several,
				   &r.pc_sample.kernel);
		s->stats.several += c->count;
		break;
	case XE_PLACE_REPLACED:
		rc = common_kernel(s, "[code that was replaced meanwhile]", &s->replaced,
				   &r.pc_sample.kernel);
		s->stats.several += c->count;
		break;
	case XE_PLACE_NONE:
		rc = unknown_kernel(s, c->address, &r.pc_sample.kernel);
		s->stats.unknown += c->count;
		break;
	}
	if (rc == 0)
		rc = capture_writer_string(s->host->writer, xe_reason_name(c->reason),
					   &r.pc_sample.reason);
	return rc < 0 ? rc : capture_writer_put(s->host->writer, &r);
}

bool xe_samples_are_due(const struct xe_samples *s, uint64_t until_ns)
{
	return s->waiting.len && s->waiting.data[0].end_ns <= until_ns;
}

void xe_samples_set_device(struct xe_samples *s, uint32_t device)
{
	s->device = device;
}

int xe_samples_write(struct xe_samples *s, struct xe_code *code, uint64_t until_ns)
{
	size_t done = 0;
	int rc = 0;

	for (; rc == 0 && done < s->waiting.len && s->waiting.data[done].end_ns <= until_ns;
	     done++) {
		struct interval *i = &s->waiting.data[done];
		for (size_t k = 0; rc == 0 && k < i->counts.len; k++)
			rc = write_count(s, code, i, &i->counts.data[k]);
		vec_release(&i->counts);
	}
	if (done) {
		memmove(s->waiting.data, s->waiting.data + done,
			(s->waiting.len - done) * sizeof(*s->waiting.data));
		s->waiting.len -= done;
	}
	return rc;
}

struct xe_samples_stats xe_samples_stats(const struct xe_samples *s)
{
	return s->stats;
}
