/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the unwinder share. */
#pragma once

#include "base/hash.h"
#include "base/span.h"
#include "base/vec.h"
#include "collect/mapping.h"
#include "collect/table.h"
#include "collect/unwind.h"
#include "unwind/walk.h"

/*
 * A process with more executable mappings than this has tables only of those files that a stack is seen to
 * pass through: 15 of the 312 of PyTorch. The first stacks go by copies then, each of which says all that it
 * passes through. With fewer, making all takes a few milliseconds and no stack has to wait.
 */
#define SPACE_LAZY_FROM 64

struct unwinder;

/* Which pieces of 2 MiB of the address space have something in them, for 32 GiB: of the words on a stack
 * most are left out by it at once. */
#define REGION_SHIFT 21
#define REGIONS      16384u
struct regions {
	uint64_t bits[REGIONS / 64];
};

/* Executable mappings, by address, and what is mapped there (NULL: memory without a file, and what is no
 * mapping). */
struct layout {
	VEC(struct unwind_mapping) mappings;
	VEC(const struct object *) objects;
	struct regions
		*regions; /* of those without a table at the first layout_want(); NULL before */
};

void layout_release(struct layout *layout);
static inline bool layout_is_lazy(const struct layout *layout)
{
	return layout->mappings.len > SPACE_LAZY_FROM;
}
/* One more behind the others; its base is that of the object's 0. */
int layout_push(struct layout *layout, struct unwind_mapping mapping, const struct object *object);
/* The tables of its mappings, of files of at most @size_max, as far as they are to be made. */
int layout_fill(struct unwinder *u, struct layout *layout, uint64_t size_max, uint64_t now_ns);
/* Want the tables of all mappings that @bytes of a stack, or registers, point into. 1: there are some that
 * layout_fill() will get one for. */
int layout_want(struct unwinder *u, struct layout *layout, struct span bytes);

/* One address space, shared by what was forked from it until it maps something itself. */
struct space {
	uint32_t users;   /* processes; 0: free */
	uint64_t left_ns; /* when the last of them went */
	/* As the kernel has them: behind a head whose `pages` is how many there are. */
	struct layout layout;
};

struct follower {
	uint32_t pid;
	uint32_t space; /* 0: none */
	uint64_t next_look_ns;
	uint64_t changed_ns; /* when it has mapped something last, as far as we were told */
	bool is_marked;
	bool is_stale; /* it maps something else than when it was looked at */
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
	struct layout copy_layout;
	struct mappings copy_mappings; /* what it was made from; none: it does not hold */
	uint64_t copy_evicted;         /* tables, by then */
	VEC(struct unwind_object) copy_objects;
	uint32_t frames_max;

	uint64_t publications, refused_spaces;
	uint64_t copies, copies_ns;
};
