/* SPDX-License-Identifier: Apache-2.0 */
/* INFO and LOST records of the runtimes: what was collected, what was not, and why. */
#pragma once

#include "capture/writer.h"

#include <stdint.h>

int accel_info(struct capture_writer *w, const char *key, const char *value);
/* Nothing is written for 0. */
int accel_info_number(struct capture_writer *w, const char *key, uint64_t number);
/* A LOST record; nothing is written for 0. */
int accel_lost(struct capture_writer *w, uint64_t time_ns, const char *what, const char *why,
	       uint64_t count);
