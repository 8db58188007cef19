/* SPDX-License-Identifier: Apache-2.0 */
/* DWARF of any bytes: our walk over what libdw gives must end, and hold its own promises. Crashes inside
 * libdw are its maintainers' to mend, and the worker's to survive. */
#include "dwarf/debug_info.h"

#include "elf/elf.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(elf_close) struct elf_file *elf = NULL;
	CLEANUP(debug_info_close) struct debug_info *d = NULL;
	struct debug_place place;
	struct elf_section text;

	if (elf_open_memory(&elf, span_of(data, size), "fuzz", NULL) < 0 ||
	    debug_info_open_memory(&d, span_of(data, size), "fuzz", NULL) < 0)
		return 0;
	if (elf_section_find(elf, ".text", &text) < 0)
		text.addr = 0;
	for (uint64_t at = text.addr; at < text.addr + 64; at++) {
		if (debug_info_at(d, at, 0, &place) < 0)
			continue;
		if (!place.count || place.count > DEBUG_LINES_MAX)
			abort();
	}
	return 0;
}
