/* SPDX-License-Identifier: Apache-2.0 */
/* Opens debug files for the worker, by paths that a hostile file may have chosen. Internal. */
#pragma once

#include "symbolize/elf_symbols.h"

struct debug_files {
	const char *path; /* the object's, as the target sees it; NULL: look by build-id only */
	int root_fd;      /* the target's root; -1: ours */
};

/*
 * The @attempt-th file, from 0 on, of those that @wanted can mean: a descriptor of a regular file that
 * begins as ELF files do; -ENOENT: there are no more.
 */
int debug_files_open(const struct debug_files *d, const struct elf_symbols_wanted *wanted,
		     uint32_t attempt);

/* Whether a descriptor is of such a file. */
bool debug_files_is_elf(int fd);
