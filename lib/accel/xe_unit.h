/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One Intel GPU that is sampled: its streams, one for each main GT, the intervals into which their stalls are added up,
 * the code that they hit, and what was lost.
 */
#pragma once

#include "accel/accel.h"
#include "accel/xe_device.h"
#include "accel/xe_sample.h"

struct xe_unit;

/* @k, @host are borrowed. */
int xe_unit_new(struct xe_unit **ret, const struct accel_host *host, const struct xe_kernel *k,
		const struct xe_device *device);
void xe_unit_free(struct xe_unit *u);
DEFINE_CLEANUP(xe_unit_free, struct xe_unit *)

/* Begin, every @period GPU cycles; readable streams are @epoll's. Errors as xe_device_sample(). */
int xe_unit_start(struct xe_unit *u, int epoll, uint64_t period, struct err *err);
/* Begin with the streams that @before has, which loses them. */
int xe_unit_succeed(struct xe_unit *u, int epoll, struct xe_unit *before, struct err *err);
bool xe_unit_is_at(const struct xe_unit *u, const struct xe_device *device);

int xe_unit_loaded(struct xe_unit *u, const struct accel_code *code, bool is_only_unit);
void xe_unit_unloaded(struct xe_unit *u, const struct accel_code *code);

/* Take what there is; @is_last: and end the interval. A stream of a GPU that was reset is opened anew. */
int xe_unit_read(struct xe_unit *u, uint64_t now_ns, bool is_last);
/* Write what was taken until then. */
int xe_unit_write(struct xe_unit *u, uint64_t until_ns);
/* INFO records. */
int xe_unit_describe(struct xe_unit *u);
