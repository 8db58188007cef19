/* SPDX-License-Identifier: Apache-2.0 */
/* Records of the runtimes that are alike: INFO and LOST, of what was collected, what was not, and why; devices and
 * queues; and what a device has done. */
#pragma once

#include "accel/accel.h"

#include <stdint.h>

int accel_info(struct capture_writer *w, const char *key, const char *value);
/* Nothing is written for 0. */
int accel_info_number(struct capture_writer *w, const char *key, uint64_t number);
/* A LOST record, and what accel_loss() adds up; nothing for 0. The texts live as long as the program. */
int accel_lost(const struct accel_host *host, uint64_t time_ns, const char *what, const char *why,
	       uint64_t count);

/* A DEVICE record, complete but for its number and these; @vendor NULL: what it has. */
int accel_device(const struct accel_host *host, struct record_device *device, const char *runtime,
		 const char *vendor);
/* A QUEUE record of a device of the capture; its number is @ret. @handle 0: there is none. */
int accel_queue(const struct accel_host *host, uint32_t process, uint32_t device, uint64_t handle,
		uint32_t *ret);

/* What a device has done. */
struct accel_done {
	uint8_t kind;                         /* enum launch_kind */
	uint32_t device, queue, kernel, name; /* of the capture */
	uint64_t correlation, bytes;
	uint64_t captured; /* of a graph's: the record of what it was made of; 0: none */
	uint64_t start_ns, end_ns;
};
/* A COPY record of what copies and fills, a DISPATCH record of all else. */
int accel_done(struct capture_writer *w, const struct accel_done *done);
