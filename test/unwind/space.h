/* SPDX-License-Identifier: Apache-2.0 */
/* The code of a live process as an unwind_space, for tests: reads /proc/PID/maps and the files. */
#pragma once

#include "unwind/walk.h"

#include "base/vec.h"

#include <sys/types.h>

struct live_object {
	char path[512];
	struct elf_file *elf;
	int fd;
	void *bytes; /* of the vDSO */
	struct unwind_table table;
};

/* All-zero is an empty one. */
struct live_space {
	struct unwind_space space;
	VEC(struct unwind_mapping) mappings;
	VEC(struct live_object) objects; /* by number; 0 is not used */
	VEC(struct unwind_object) known; /* the same for the walk */
	char *maps;                      /* the text they were made from */
	size_t maps_size;
};

/* 1 when something changed, 0 when not, negative errno. */
int live_space_update(struct live_space *s, pid_t pid);
void live_space_release(struct live_space *s);
/* "libc.so.6+0x1234", in @text. */
/* Is there executable memory without a file? */
bool live_space_is_anonymous(const struct live_space *s, uint64_t address);
const char *live_space_name(const struct live_space *s, uint64_t address, char text[256]);
