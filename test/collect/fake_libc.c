/* SPDX-License-Identifier: Apache-2.0 */
/* A library that looks like a C library to whoever calls its functions from outside, and lies. */
#include <signal.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int fake_answer;              /* of memfd_create() */
EXPORT volatile int fake_is_endless; /* it gets signals instead, and never returns */
EXPORT volatile int fake_calls;      /* of anything else */

EXPORT int memfd_create(const char *name, unsigned flags);
EXPORT void *dlopen(const char *path, int flags);
EXPORT void *dlsym(void *library, const char *name);
EXPORT int close(int fd);

int memfd_create(const char *name, unsigned flags)
{
	(void)name, (void)flags;
	while (fake_is_endless)
		raise(SIGUSR1);
	return fake_answer;
}

void *dlopen(const char *path, int flags)
{
	(void)path, (void)flags;
	fake_calls++;
	return 0;
}

void *dlsym(void *library, const char *name)
{
	(void)library, (void)name;
	fake_calls++;
	return 0;
}

int close(int fd)
{
	(void)fd;
	fake_calls++;
	return 0;
}
