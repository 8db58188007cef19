/* SPDX-License-Identifier: Apache-2.0 */
/* What the files about Python share. */
#pragma once

#include "base/hash.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "bpf/events.h"
#include "collect/python.h"
#include "python/code.h"

#include <stdbool.h>

/* An address space with an interpreter. What is forked shares its parent's: the same code objects
 * are at the same addresses, and each event carries a check of them. */
struct python_space {
	uint64_t runtime;
	uint64_t code_type;
	uint32_t layout; /* number */
};

/* What is known of a process. Exec is told of twice, and its mappings may be seen before or after. */
struct python_follower {
	uint32_t space;             /* 0: no interpreter */
	uint64_t seen_ns;           /* when it was seen there last */
	uint64_t image_ns, exec_ns; /* of the last python_image(), python_exec() */
};

struct known_code {
	struct python_code code; /* of none that could not be read */
	uint64_t address;
	uint32_t pid; /* whose event named it first */
	uint32_t layout;
	uint64_t code_type;
	uint32_t check;
	uint32_t object; /* of the capture; 0: not declared yet */
	bool is_read;
};

/*
 * Code objects of all targets. A program that makes code without end (exec() in a loop) would
 * otherwise make us do so too; those beyond are shown as not readable. PyTorch has 20,000.
 */
#define PYTHON_CODES_MAX (1u << 20)

struct python {
	struct capture_writer *writer;
	int processes_fd, layouts_fd;
	VEC(struct python_layout) layouts; /* by key of the map */
	VEC(struct python_space) spaces;   /* by number, from 1 */
	struct hash followers;             /* by pid -> struct python_follower * */

	struct strtab keys;           /* struct code_key -> number */
	VEC(struct known_code) codes; /* by that number */
	VEC(uint32_t) pending;        /* not read yet */
	uint64_t event[EVENT_MAX_BYTES / 8];
	uint32_t gone_object, gap_object; /* of the capture; 0: not declared yet */
	struct python_stats stats;
};

/* The number of the space of a process; 0: it has no interpreter. */
uint32_t python_space_of(const struct python *p, uint32_t pid);
