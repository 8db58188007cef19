/* SPDX-License-Identifier: Apache-2.0 */
/* Which functions an image has call frame information for, by address. */
#pragma once

#include "base/vec.h"
#include "unwind/image.h"

struct unwind_fde {
	uint32_t start;  /* from the image's text; code beyond 4 GiB of it is left out */
	uint32_t offset; /* of the FDE in its section, with the bit below */
};
#define UNWIND_FDE_DEBUG (1u << 31) /* in .debug_frame */

enum unwind_fdes_flag {
	UNWIND_FDES_SEARCH = 1 << 0, /* believe .eh_frame_hdr; those who run the FDEs check it */
	UNWIND_FDES_DEBUG = 1 << 1,  /* .debug_frame too */
};

struct unwind_fdes {
	VEC(struct unwind_fde) list;
	bool used_search_table;
};

/* Sorted by start; at one start those of .eh_frame come first. -E2BIG, -ENOMEM. */
int unwind_fdes_list(const struct unwind_image *image, unsigned flags, struct unwind_fdes *ret,
		     struct err *err);
void unwind_fdes_release(struct unwind_fdes *fdes);
DEFINE_CLEANUP_EMBEDDED(unwind_fdes_release, struct unwind_fdes)

/* CIEs by where they are: most of a library's FDEs share a few. */
#define CIE_CACHE_SLOTS 64
struct cie_cache {
	struct cie_slot {
		uint64_t key; /* offset + 1, and the section in bit 63 */
		struct cfi_cie cie;
		int rc;
	} slots[CIE_CACHE_SLOTS];
	uint64_t work_bytes; /* what has been read so far */
};

/* Of work_bytes, against files where each FDE has a CIE of its own that spans all of the file:
 * honest ones read each CIE a few times and each FDE once. */
static inline uint64_t cie_cache_limit(const struct unwind_image *image)
{
	return 16 * ((uint64_t)image->eh_frame.data.size + image->debug_frame.data.size) + 65536;
}

/* Borrowed until the next call; NULL where there is none that can be used. */
const struct cfi_cie *cie_cache_get(struct cie_cache *cache, const struct cfi_section *s,
				    uint64_t offset);
