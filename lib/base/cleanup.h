/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ownership that a reader can check within one function: an owning local is declared with a
 * cleanup attribute and an initial value, and leaves the function only through TAKE().
 *
 *	CLEANUP_FREE char *line = NULL;
 *	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
 *	CLEANUP(capture_reader_free) struct capture_reader *r = NULL;
 *	...
 *	*ret = TAKE(r);
 *
 * CLEANUP(fn) needs fn(struct foo *) that accepts NULL, and DEFINE_CLEANUP(fn, type) once, below
 * the destructor's declaration. CLEANUP(foo_release) works for embedded structs in the same way
 * with DEFINE_CLEANUP_EMBEDDED.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(fn) __attribute__((cleanup(cleanup_##fn)))

#define DEFINE_CLEANUP(fn, type)                                         \
	__attribute__((unused)) static inline void cleanup_##fn(type *p) \
	{                                                                \
		fn(*p);                                                  \
	}

#define DEFINE_CLEANUP_EMBEDDED(fn, type)                                \
	__attribute__((unused)) static inline void cleanup_##fn(type *p) \
	{                                                                \
		fn(p);                                                   \
	}

static inline void cleanup_free_pointer(void *p)
{
	free(*(void **)p);
}
#define CLEANUP_FREE __attribute__((cleanup(cleanup_free_pointer)))

static inline void cleanup_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}
#define CLEANUP_CLOSE __attribute__((cleanup(cleanup_close_fd)))

static inline void cleanup_fclose_file(FILE **file)
{
	if (*file)
		fclose(*file);
}
#define CLEANUP_FCLOSE __attribute__((cleanup(cleanup_fclose_file)))

/* Hand a pointer on: the local no longer owns it. */
#define TAKE(p)                                \
	({                                     \
		__typeof__(p) take_tmp_ = (p); \
		(p) = NULL;                    \
		take_tmp_;                     \
	})

/* The same for a file descriptor. */
#define TAKE_FD(fd)                   \
	({                            \
		int take_tmp_ = (fd); \
		(fd) = -1;            \
		take_tmp_;            \
	})

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
