/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of a running program from its libraries into another one, led through functions of ours: by the pointers that
 * the dynamic linker has put into each of them. Calls by pointers that a program got from dlsym() are not led.
 */
#pragma once

#include <stddef.h>

struct hook {
	const char *name;
	void *ours;
	void *real; /* what is called then; hook_find() fills it in */
};

/* Find the real functions in the library whose file's name begins with @library, or in what stands before it. */
void hook_find(struct hook *hooks, size_t count, const char *library);
/* Lead calls from all libraries but those whose names begin with one of @except, a list up to a NULL. Again and again:
 * libraries come and go. */
void hook_lead(const struct hook *hooks, size_t count, const char *const *except);
/* Let them go as they went before. */
void hook_release(const struct hook *hooks, size_t count);
