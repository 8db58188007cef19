/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who uses a GPU of the xe driver, by what the kernel tells of each open descriptor (fdinfo,
 * Documentation/gpu/drm-usage-stats.rst): a stall stream has everyone's samples, and no record says whose it is.
 */
#pragma once

#include "accel/xe_device.h"
#include "base/cleanup.h"
#include "base/span.h"

struct xe_clients;

/* @pci: ACCEL_PCI() of the device; 0: any. @k is borrowed. */
int xe_clients_new(struct xe_clients **ret, const struct xe_kernel *k, uint32_t pci);
void xe_clients_free(struct xe_clients *c);
DEFINE_CLEANUP(xe_clients_free, struct xe_clients *)

/*
 * Look at all processes. What a client did before it was first seen does not count, and one that comes and goes between
 * two looks is not seen. @is_target: of these pids we know the code; NULL: of none.
 */
int xe_clients_look(struct xe_clients *c, bool (*is_target)(void *data, uint32_t pid), void *data);

struct xe_usage {
	uint64_t targets, others; /* cycles of engines that run kernels */
	size_t target_count;      /* processes among the targets that had some */
	uint32_t pid;             /* of the busiest of the others; 0: there is none */
	char comm[17];
};
struct xe_usage xe_clients_usage(const struct xe_clients *c);

/* What fdinfo says; false: it is not of the xe driver. */
struct xe_fdinfo {
	uint32_t pci;
	uint64_t client, cycles;
};
bool xe_fdinfo_parse(struct span text, struct xe_fdinfo *ret);
