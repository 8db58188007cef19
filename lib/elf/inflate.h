/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed parts of ELF files: SHF_COMPRESSED sections and .gnu_debugdata. Internal to lib/elf. */
#pragma once

#include "base/err.h"
#include "base/span.h"

#include <stdint.h>

/*
 * The contents of a SHF_COMPRESSED section @in, which begins with its Elf64_Chdr, in a malloc'ed
 * buffer. More than @max bytes is -EFBIG; @what names the section in messages.
 */
int inflate_section(struct span in, uint64_t max, const char *what, uint8_t **ret, size_t *ret_size,
		    struct err *err);
/* An xz stream of unknown inflated size, in a malloc'ed buffer. */
int inflate_xz(struct span in, uint64_t max, const char *what, uint8_t **ret, size_t *ret_size,
	       struct err *err);
