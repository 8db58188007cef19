/* SPDX-License-Identifier: Apache-2.0 */
/* Control groups (version 2) as folders: which one is meant, and who is in it. */
#pragma once

#include "base/cleanup.h"
#include "base/err.h"

#include <stdint.h>

struct cgroup {
	int fd;         /* of its folder; 0: none */
	uint64_t id;    /* as the kernel tells it: the folder's inode number */
	uint32_t level; /* folders below the root */
};

/*
 * @name is a path, from the root of all control groups or in the file system, or the name of the one
 * folder among them that is called so or has it in its name: a container's name or the beginning of
 * its id. -ENOENT: there is none; -EINVAL: there are several; the text says so.
 */
int cgroup_find(const char *name, struct cgroup *ret, struct err *err);
void cgroup_close(struct cgroup *g);
DEFINE_CLEANUP_EMBEDDED(cgroup_close, struct cgroup)

/* Called for each process in it or below; a negative value ends that. */
int cgroup_processes(const struct cgroup *g, int (*fn)(void *data, uint32_t pid), void *data);
