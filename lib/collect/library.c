/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/library.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* 40,000 libraries with paths of 100 bytes. */
#define CACHE_MAX_BYTES (16u << 20)

/*
 * glibc's sysdeps/generic/dl-cache.h, struct cache_file_new: 20 bytes of magic and version, the
 * number of libraries, the length of the strings, and up to 48 bytes in all; then for each library
 * flags, offsets of name and path from the start of the file, an OS version and 8 bytes of hwcap.
 */
static const char cache_magic[] = "glibc-ld.so.cache1.1";
#define CACHE_HEADER_BYTES 48
#define CACHE_ENTRY_BYTES  24

/* FLAG_ELF_LIBC6 with FLAG_X8664_LIB64 or FLAG_AARCH64_LIB64. */
#if defined(__x86_64__)
#define CACHE_FLAGS 0x0303
#else
#define CACHE_FLAGS 0x0a03
#endif

static const char *text_at(struct span cache, uint32_t offset)
{
	if (offset >= cache.size || !memchr(cache.data + offset, '\0', cache.size - offset))
		return NULL;
	return (const char *)cache.data + offset;
}

const char *library_find_in_cache(struct span cache, const char *name)
{
	struct cursor c = cursor_of(cache, "ld.so.cache");
	struct span magic;
	uint32_t count;

	if (cursor_bytes(&c, sizeof(cache_magic) - 1, &magic, NULL) < 0 ||
	    memcmp(magic.data, cache_magic, magic.size) != 0 || cursor_u32(&c, &count, NULL) < 0 ||
	    cursor_seek(&c, CACHE_HEADER_BYTES, NULL) < 0)
		return NULL;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t flags, key, value;
		if (cursor_u32(&c, &flags, NULL) < 0 || cursor_u32(&c, &key, NULL) < 0 ||
		    cursor_u32(&c, &value, NULL) < 0 ||
		    cursor_skip(&c, CACHE_ENTRY_BYTES - 12, NULL) < 0)
			return NULL;
		const char *found = text_at(cache, key);
		if (flags == CACHE_FLAGS && found && !strcmp(found, name))
			return text_at(cache, value);
	}
	return NULL;
}

static char *find_in_path(const char *path, const char *name)
{
	while (path && *path) {
		size_t size = strcspn(path, ":");
		char *file = NULL;
		if (size && asprintf(&file, "%.*s/%s", (int)size, path, name) >= 0 &&
		    access(file, R_OK) == 0)
			return file;
		free(file);
		path += size + (path[size] == ':');
	}
	return NULL;
}

char *library_find(const char *name)
{
	CLEANUP_FREE char *cache = NULL;
	size_t size;

	char *found = find_in_path(getenv("LD_LIBRARY_PATH"), name);
	if (found)
		return found;
	if (io_read_file("/etc/ld.so.cache", CACHE_MAX_BYTES, &cache, &size) < 0)
		return NULL;
	const char *path = library_find_in_cache(span_of(cache, size), name);
	return path ? strdup(path) : NULL;
}

char *library_own(const char *name)
{
	/* From the folder of the program: where it is built, and where it is installed. */
	static const char *const places[] = { "../lib/inject", LIBRARY_INSTALLED };
	char program[PATH_MAX];
	ssize_t size = readlink("/proc/self/exe", program, sizeof(program) - 1);
	char *slash;

	if (size <= 0)
		return NULL;
	program[size] = '\0';
	slash = strrchr(program, '/');
	for (size_t i = 0; slash && i < ARRAY_SIZE(places); i++) {
		CLEANUP_FREE char *file = NULL;
		if (asprintf(&file, "%.*s/%s/%s", (int)(slash - program), program, places[i],
			     name) >= 0 &&
		    access(file, R_OK) == 0)
			return realpath(file, NULL);
	}
	return NULL;
}
