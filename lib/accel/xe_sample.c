/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/xe_sample.h"

#include "base/hash.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Unknown code is told apart by what the driver allocates at a time. */
#define PAGE_BYTES (64u << 10)
/* Beyond it lies under one name: a forged stream makes no more records than this. */
#define PAGES_MAX 4096u

struct xe_samples {
	const struct accel_host *host;
	uint32_t device;
	struct xe_samples_stats stats;
	struct hash pages; /* 64 KiB -> KERNEL's number */
	uint32_t others;   /* of pages beyond PAGES_MAX; 0: none yet */
	uint32_t several;
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
	free(s);
}

static int name_kernel(struct xe_samples *s, const char *name, uint32_t *ret)
{
	struct record r = { .type = RECORD_KERNEL };
	int rc = capture_writer_string(s->host->writer, name, &r.kernel.name);
	if (rc < 0)
		return rc;
	r.kernel.id = s->host->number(s->host->data);
	*ret = r.kernel.id;
	return capture_writer_put(s->host->writer, &r);
}

static int unknown_kernel(struct xe_samples *s, uint64_t address, uint32_t *ret)
{
	const uint64_t *known = hash_get(&s->pages, address / PAGE_BYTES);
	char name[64];

	if (known) {
		*ret = (uint32_t)*known;
		return 0;
	}
	if (s->pages.len >= PAGES_MAX) {
		int rc = s->others ? 0 : name_kernel(s, "[unknown GPU code]", &s->others);
		*ret = s->others;
		return rc;
	}
	snprintf(name, sizeof(name), "[unknown GPU code at 0x%" PRIx64 "]",
		 address / PAGE_BYTES * PAGE_BYTES);
	int rc = name_kernel(s, name, ret);
	return rc < 0 ? rc : hash_set(&s->pages, address / PAGE_BYTES, *ret);
}

/* One call of xe_samples_write(). */
struct write {
	struct xe_samples *s;
	struct xe_code *code;
	uint64_t time_ns, interval_ns;
};

static int on_count(void *data, uint64_t address, enum xe_reason reason, uint64_t count)
{
	struct write *w = data;
	struct xe_samples *s = w->s;
	struct record r = { .type = RECORD_PC_SAMPLE,
			    .pc_sample = { .time_ns = w->time_ns,
					   .interval_ns = w->interval_ns,
					   .device = s->device,
					   .offset = address % PAGE_BYTES,
					   .count = count } };
	struct xe_range range;
	uint64_t offset;
	int rc = 0;

	switch (xe_code_find(w->code, address, &range, &offset)) {
	case XE_PLACE_ONE:
		r.pc_sample.kernel = range.kernel;
		r.pc_sample.offset = offset;
		s->stats.placed += count;
		break;
	case XE_PLACE_SEVERAL:
		if (!s->several)
			rc = name_kernel(s, "[code of one of several processes]", &s->several);
		r.pc_sample.kernel = s->several;
		s->stats.several += count;
		break;
	case XE_PLACE_NONE:
		rc = unknown_kernel(s, address, &r.pc_sample.kernel);
		s->stats.unknown += count;
		break;
	}
	if (rc == 0)
		rc = capture_writer_string(s->host->writer, xe_reason_name(reason),
					   &r.pc_sample.reason);
	return rc < 0 ? rc : capture_writer_put(s->host->writer, &r);
}

int xe_samples_write(struct xe_samples *s, struct xe_stalls *stalls, struct xe_code *code,
		     uint64_t time_ns, uint64_t interval_ns)
{
	struct write w = { s, code, time_ns, interval_ns };
	int rc = xe_stalls_flush(stalls, on_count, &w);
	return rc < 0 ? rc : 0;
}

struct xe_samples_stats xe_samples_stats(const struct xe_samples *s)
{
	return s->stats;
}
