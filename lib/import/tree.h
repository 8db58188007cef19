/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile that is a tree of totals, as Hatchet's literal format has it (Proton, FlagTree): nodes with
 * a name and metrics, and the devices they ran on. What hatchet.c reads and tree_emit.c writes.
 */
#pragma once

#include "base/vec.h"
#include "import/session.h"

#include <stdbool.h>
#include <stdint.h>

struct tree_metric {
	uint32_t key, value; /* strings */
};

struct tree_node {
	uint32_t parent;       /* before it in the list; the root is its own */
	uint32_t name;         /* string */
	uint32_t path;         /* with itself; set by tree_emit() */
	uint32_t first, count; /* its metrics, in tree.metrics */
	uint32_t kernel;       /* node + 1 of the kernel that it is inside of; 0: none */
	bool is_kernel;        /* it has device time, or says which device */
	bool is_hidden;        /* under Proton's own launch metadata */
};

/* What tells how fast a device can be at best, under the keys that Proton has for it. */
enum tree_clock {
	TREE_CLOCK_RATE,  /* kHz */
	TREE_MEMORY_RATE, /* kHz */
	TREE_BUS_WIDTH,   /* bits */
	TREE_CLOCK_COUNT
};
extern const char *const tree_clock_keys[TREE_CLOCK_COUNT];

struct tree_device {
	uint32_t type; /* string: "CUDA" */
	uint32_t index;
	uint32_t arch;  /* string */
	uint64_t units; /* "num_sms" */
	uint64_t clocks[TREE_CLOCK_COUNT];
	uint32_t id;     /* the capture's */
	uint64_t now_ns; /* where its next work is laid */
};

struct tree {
	VEC(struct tree_node) nodes;
	VEC(struct tree_metric) metrics;
	VEC(struct tree_device) devices;
};

void tree_release(struct tree *t);
/* The device of that type ("CUDA") and number, made when it is new. */
int tree_device(struct tree *t, uint32_t type, uint32_t index, struct tree_device **ret);

/*
 * As records. A tree has no times: the work of each device is laid end to end from 0 on, so that its
 * sums come out, and the header's clock says so.
 */
int tree_emit(struct session *s, struct tree *t);
