/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the unwinder share. */
#pragma once

#include "base/hash.h"
#include "base/vec.h"
#include "collect/table.h"
#include "collect/unwind.h"
#include "unwind/walk.h"

/* One address space, shared by what was forked from it until it maps something itself. */
struct space {
	uint32_t users;   /* processes; 0: free */
	uint64_t left_ns; /* when the last of them went */
	/* As the kernel has them: behind a head whose `pages` is how many there are. */
	VEC(struct unwind_mapping) mappings;
};

struct follower {
	uint32_t pid;
	uint32_t space; /* 0: none */
	uint64_t next_look_ns;
	uint64_t changed_ns; /* when it has mapped something last, as far as we were told */
	bool is_marked;
};

/* A process whose address space has another number than before. */
struct moved {
	uint32_t pid, space;
	uint64_t flags; /* of the update */
};

struct unwinder {
	struct objects *objects;
	struct python *python;
	struct tables tables;
	int spaces_fd, processes_fd;
	uint32_t spaces_limit;
	VEC(struct space) spaces; /* by number; 0 is not used */
	struct hash followers;    /* by pid -> struct follower * */
	VEC(struct follower *) marked;

	uint64_t size_max; /* of files whose tables are made by the look going on */
	/* Found by it, to be published together. */
	VEC(uint32_t) numbers;
	VEC(int) fds;
	VEC(struct moved) moved;
	struct inner_updates updates;

	/* The address space that a copied stack is walked in; see unwind_copy.c. */
	VEC(struct unwind_mapping) copy_mappings;
	VEC(struct unwind_object) copy_objects;
	uint32_t frames_max;

	uint64_t publications, refused_spaces;
	uint64_t copies, copies_ns;
};
