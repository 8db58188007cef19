/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debug information in files of its own: what a file says about where it is, and whether a file found is
 * the right one. Opens nothing: paths are the business of whoever may look at them.
 *
 * gdb's manual, "Debugging Information in Separate Files": by build-id
 * /usr/lib/debug/.build-id/ab/cdef.debug, else by .gnu_debuglink in the object's folder, in its .debug
 * folder, and in the same folder below /usr/lib/debug.
 */
#pragma once

#include "elf/elf.h"

#define ELF_DEBUG_ROOT       "/usr/lib/debug"
#define ELF_DEBUG_NAME_BYTES 256  /* NAME_MAX + 1 */
#define ELF_DEBUG_PATH_BYTES 4096 /* PATH_MAX */

struct elf_debug_link {
	char name
		[ELF_DEBUG_NAME_BYTES]; /* of a file in a folder: without '/', not "..", never "" */
	uint32_t crc;                   /* of the whole debug file */
};

/* .gnu_debuglink; -ENOENT: none, or one that makes no sense. */
int elf_debug_link(struct elf_file *f, struct elf_debug_link *ret);

struct elf_debug_alt {
	char path[ELF_DEBUG_PATH_BYTES]; /* as the file says: check it before opening anything */
	struct elf_build_id build_id;
};

/* .gnu_debugaltlink: where dwz moved what several debug files share; -ENOENT. */
int elf_debug_alt(struct elf_file *f, struct elf_debug_alt *ret);

/* "/usr/lib/debug/.build-id/ab/cdef.debug", with a NUL. */
#define ELF_BUILD_ID_PATH_BYTES (sizeof(ELF_DEBUG_ROOT "/.build-id//.debug") + 2 * ELF_BUILD_ID_MAX)
void elf_build_id_path(const struct elf_build_id *id, char ret[ELF_BUILD_ID_PATH_BYTES]);

/*
 * Whether @debug belongs to @f: the same build-id where both have one, else the CRC that @f's
 * .gnu_debuglink names.
 */
bool elf_debug_matches(struct elf_file *f, struct elf_file *debug);
