/* SPDX-License-Identifier: Apache-2.0 */
/* Whole reads and writes on file descriptors. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* All of @size bytes or a negative errno; interrupted calls are repeated. */
int io_write_all(int fd, const void *data, size_t size);
/* Up to @size bytes, fewer only at the end of the file: the count, or a negative errno. */
int64_t io_read_full(int fd, void *data, size_t size);
int64_t io_pread_full(int fd, void *data, size_t size, uint64_t offset);
/*
 * Everything from the current position of @fd, which need not be a regular file, in a malloc'ed
 * buffer with a NUL behind it. More than @max bytes is -EFBIG.
 */
int io_read_all(int fd, size_t max, char **ret, size_t *ret_size);
/* The same for the file at @path, opened O_NONBLOCK so that a FIFO in its place cannot hang us. */
int io_read_file(const char *path, size_t max, char **ret, size_t *ret_size);
