/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the files of /proc/PID as bytes and lists its threads. Interprets nothing; the parsers are
 * next to it. A process that is gone is -ENOENT or -ESRCH, depending on the moment.
 */
#pragma once

#include "base/vec.h"

#include <stddef.h>
#include <stdint.h>

/* Limits for one file: a maps line is about 100 bytes, and 65,530 mappings are the default most. */
#define PROC_MAPS_MAX_BYTES  (64u << 20)
#define PROC_SMALL_MAX_BYTES (1u << 20)

/* All of /proc/@pid/@name, malloc'ed, with a NUL behind it. More than @max bytes: -EFBIG. */
int proc_read(uint32_t pid, const char *name, size_t max, char **ret, size_t *ret_size);

/* Up to @size - 1 bytes of it, NUL-terminated: the length. For comm and other short ones. */
int64_t proc_read_some(uint32_t pid, const char *name, char *ret, size_t size);

struct proc_ids {
	VEC(uint32_t) ids;
};
void proc_ids_release(struct proc_ids *p);

/* The threads of @pid. */
int proc_threads(uint32_t pid, struct proc_ids *ret);
/* All processes of the machine, or as much of it as this /proc shows. */
int proc_processes(struct proc_ids *ret);

/* The inode number of a namespace, such as "pid": equal numbers are the same namespace. */
int proc_namespace(uint32_t pid, const char *name, uint64_t *ret);

/* The name of @pid's thread @tid. */
int64_t proc_thread_name(uint32_t pid, uint32_t tid, char *ret, size_t size);
