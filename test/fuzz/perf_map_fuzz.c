/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a perf map, and as the kernel's own symbols. */
#include "proc/symbols.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lines text = lines_of(span_of(data, size), "perf map");
	struct perf_map_entry entry;
	struct proc_symbol symbol;
	size_t entries = 0, skipped = 0;
	struct err err;

	while (perf_map_next(&text, &entry, &skipped) > 0) {
		assert(entry.size && entry.start + entry.size > entry.start);
		assert(entry.name.size && entry.name.data + entry.name.size <= data + size);
		entries++;
	}
	assert(entries + skipped == text.number);

	text = lines_of(span_of(data, size), "kallsyms");
	while (proc_kallsyms_next(&text, &symbol, &err) > 0)
		assert(symbol.name.size);
	return 0;
}
