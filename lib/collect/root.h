/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The root folders that targets live in, which differ from ours in containers. Opens files below
 * them without ever following a link out of them. Knows no mapping and no ELF.
 */
#pragma once

#include "base/vec.h"

#include <stdint.h>

struct root {
	int fd; /* O_PATH; -1: our own root folder */
	uint64_t device, inode, mount_namespace;
};

/* Containers that are alive at once on one machine; beyond it, files are not found by path. */
#define ROOTS_MAX 1024

struct roots {
	VEC(struct root) list; /* [0] is ours */
};

int roots_init(struct roots *r);
void roots_release(struct roots *r);

/* The number of @pid's root, valid until roots_release(); a negative errno when it is gone. */
int roots_of(struct roots *r, uint32_t pid);
/* O_PATH descriptor of root @number, -1 for ours; borrowed. */
int root_fd(const struct roots *r, int number);

/* Open @path as root @number sees it: a regular file and nothing else (-EACCES), for reading,
 * without waiting. @flags may be O_NOFOLLOW. */
int root_open(const struct roots *r, int number, const char *path, int flags);
/* The same for any path of ours, magic links of /proc included. */
int root_open_regular(const char *path);
