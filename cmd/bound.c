/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/bound.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/parse.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define MEMINFO_BYTES_MAX (64u << 10)
/* However little there is: what an ordinary report takes. */
#define LEAST_BYTES (256ull << 20)

/* The memory of sanitizers themselves is all there is, several times. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED true
#else
#define IS_SANITIZED false
#endif

/* "MemAvailable:   12345678 kB" (proc_meminfo(5)); 0: not told. */
static uint64_t line_bytes(const char *text, const char *name)
{
	const char *at = strstr(text, name);
	uint64_t kib;

	if (!at)
		return 0;
	at += strlen(name);
	at += strspn(at, " ");
	return parse_digits(&at, at + strlen(at), 10, &kib) < 0 || kib > UINT64_MAX >> 10
		       ? 0
		       : kib << 10;
}

void bound_memory(void)
{
	CLEANUP_FREE char *text = NULL;
	struct rlimit limit;
	size_t size;

	if (IS_SANITIZED || getrlimit(RLIMIT_DATA, &limit) < 0 ||
	    io_read_file("/proc/meminfo", MEMINFO_BYTES_MAX, &text, &size) < 0)
		return;
	uint64_t available = line_bytes(text, "MemAvailable:");
	if (!available)
		return;
	available += line_bytes(text, "SwapFree:");
	if (available < LEAST_BYTES)
		available = LEAST_BYTES;
	if (limit.rlim_cur <= available)
		return;
	limit.rlim_cur = available;
	(void)setrlimit(RLIMIT_DATA, &limit);
}
