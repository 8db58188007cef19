/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library of ours into a process that runs: one of its threads is stopped for some milliseconds and
 * made to load the library from memory, by calls of the C library's own functions. Knows ptrace and
 * the calling convention of x86-64; not what the library does.
 *
 * The process must map glibc 2.34 or newer, and no debugger may hold it.
 */
#pragma once

#include "base/err.h"

#include <stdint.h>

/* Bytes of the largest library taken. */
#define INSERT_LIBRARY_MAX (16u << 20)

/*
 * Load the library @path and have @function of it called, which takes the library's handle, with which it
 * can be closed again, and a NULL, and gives an int that is not 0. A copy that is there already is not
 * loaded again: its function is called with two NULLs. -EAGAIN: the thread was inside a function that
 * could not be called again; at another moment it may work.
 */
int insert_library(uint32_t pid, const char *path, const char *function, struct err *err);
