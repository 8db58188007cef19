/* SPDX-License-Identifier: Apache-2.0 */
/* INFO and LOST records of the runtimes: what was collected, what was not, and why. */
#pragma once

#include "accel/accel.h"

#include <stdint.h>

int accel_info(struct capture_writer *w, const char *key, const char *value);
/* Nothing is written for 0. */
int accel_info_number(struct capture_writer *w, const char *key, uint64_t number);
/* A LOST record, and what accel_loss() adds up; nothing for 0. The texts live as long as the program. */
int accel_lost(const struct accel_host *host, uint64_t time_ns, const char *what, const char *why,
	       uint64_t count);
