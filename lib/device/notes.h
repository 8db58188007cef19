/* SPDX-License-Identifier: Apache-2.0 */
/* ELF notes of code objects, and the MessagePack that AMD's hold. Internal. */
#pragma once

#include "base/hash.h"
#include "base/span.h"
#include "base/strtab.h"
#include "elf/elf.h"

struct note {
	uint32_t type;
	struct span owner, desc; /* @owner with its NUL */
};

/* The next note of a section of notes; false: there is none. */
bool note_next(struct cursor *c, struct note *ret);

/* Vector registers that the compiler spilled, by kernel. */
struct amdgpu_spills {
	struct strtab kernels;
	struct hash registers; /* number of the kernel's name -> count */
};

/* From the metadata of a code object (llvm.org, "User Guide for AMDGPU Backend", "Code Object V3 Metadata"). What is
 * damaged ends the reading. 0, -ENOMEM. */
int amdgpu_spills_read(struct amdgpu_spills *s, struct elf_file *elf);
void amdgpu_spills_release(struct amdgpu_spills *s);
/* 0: none, or not known. 0, -ENOMEM. */
int amdgpu_spills_find(struct amdgpu_spills *s, const char *kernel, uint32_t *ret);
