/* SPDX-License-Identifier: Apache-2.0 */
/* perf_event_open(2) for one CPU and all its processes, and why it may fail. */
#pragma once

#include "base/err.h"

#include <linux/perf_event.h>
#include <stdint.h>

/* Possible CPUs, numbered from 0; those that are offline give -ENODEV when opened. */
uint32_t perf_cpu_count(void);
/* A descriptor (close-on-exec) or a negative errno. */
int perf_open(struct perf_event_attr *attr, uint32_t cpu);
/* Set a text for what perf_open() returned; returns @code. */
int perf_explain(int code, const char *what, struct err *err);
