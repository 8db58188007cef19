/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intel's EU stall records (drivers/gpu/drm/xe/xe_eu_stall.c since Linux 6.15): decoded, and added up by address
 * and reason. Every record counts: at full rate there are a million a second of each Xe core, and what leaves here
 * is one number for each address and reason of an interval. Knows no device and no kernel's name.
 *
 *	CLEANUP(xe_stalls_free) struct xe_stalls *s = NULL;
 *	rc = xe_stalls_new(&s, XE_LAYOUT_XE2);
 *	xe_stalls_add(s, records);
 *	xe_stalls_flush(s, on_count, data);
 */
#pragma once

#include "base/cleanup.h"
#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

enum xe_layout {
	XE_LAYOUT_PVC,  /* Xe-HPC, 12.60 */
	XE_LAYOUT_XE2,  /* Xe2 and Xe3: graphics versions 20 to 34 */
	XE_LAYOUT_XE3P, /* from 35 on */
};

enum xe_reason {
	XE_ACTIVE,
	XE_TDR,
	XE_OTHER,
	XE_CONTROL,
	XE_PIPESTALL,
	XE_SEND,
	XE_DIST_ACC,
	XE_SBID,
	XE_SYNC,
	XE_INST_FETCH,
	XE_REASONS,
};

/* Of all layouts. */
#define XE_RECORD_BYTES 64u

/* The layout of a device's records, by the version of its graphics part and what it says of their size. -ENOTSUP:
 * one that is not known here. */
int xe_layout_choose(uint64_t record_bytes, uint16_t version_major, uint16_t version_minor,
		     enum xe_layout *ret);

/* "sbid", as the kernel's fields are called. */
const char *xe_reason_name(enum xe_reason reason);

/* Addresses of one interval that are told apart; 140 MB. Kernels of a model have some 100,000 instructions. */
#define XE_ADDRESSES_MAX (1u << 20)

struct xe_stalls;

struct xe_stalls_stats {
	uint64_t records;
	uint64_t
		damaged; /* records without the mark at their end that Xe2 and later have: left out */
	uint64_t overflowed; /* records of addresses beyond XE_ADDRESSES_MAX: left out */
};

int xe_stalls_new(struct xe_stalls **ret, enum xe_layout layout);
void xe_stalls_free(struct xe_stalls *s);
DEFINE_CLEANUP(xe_stalls_free, struct xe_stalls *)

/* Whole records; what is behind the last one is left out. 0, or -ENOMEM, when those before it counted. */
int xe_stalls_add(struct xe_stalls *s, struct span records);

/*
 * Give each count that is not 0, by address, then reason, and start anew. @address: Xe3p's is the whole one, those of
 * others are its lower 32 bits, as all code of a process lies in 4 GiB. A non-zero result of @fn ends it and is
 * returned; what was not given is lost. -ENOMEM: nothing was given, and all is kept.
 */
int xe_stalls_flush(struct xe_stalls *s,
		    int (*fn)(void *data, uint64_t address, enum xe_reason reason, uint64_t count),
		    void *data);
struct xe_stalls_stats xe_stalls_stats(const struct xe_stalls *s);
