/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debug files from the servers of $DEBUGINFOD_URLS, by build-id, through libdebuginfod where the system
 * has it. Runs in the recorder, never in the worker, which has no network. Internal.
 */
#pragma once

#include "base/cleanup.h"
#include "elf/elf.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * How long a user waits for one file's names, and in total: so many times as long. libc's debug file has
 * 4 MB. DEBUGINFOD_TIMEOUT, in seconds, replaces the first. libdebuginfod keeps files, and what servers do
 * not have, in its cache.
 */
#define FETCH_FILE_NS     (30ull * 1000000000)
#define FETCH_TOTAL_FILES 3

struct debuginfod_client;
struct debug_fetch {
	struct debuginfod_client *client; /* NULL: not begun */
	void (*set_user_data)(struct debuginfod_client *client, void *data);
	int (*find)(struct debuginfod_client *client, const unsigned char *id, int size,
		    char **ret_path);
	void (*end)(struct debuginfod_client *client);
	bool is_given_up; /* no library, or no time left */
	uint64_t spent_ns;
	/* Of the file that is being fetched: */
	const char *name;
	uint64_t deadline_ns, told_ns;
};

/*
 * The file that a server has for @id: a descriptor that is yours, of unchecked bytes. -ENOENT: no servers
 * are set, or no library is here; else why there is none. @name: the object's, for the log.
 */
int debug_fetch_file(struct debug_fetch *f, const char *name, const struct elf_build_id *id);
void debug_fetch_release(struct debug_fetch *f);
