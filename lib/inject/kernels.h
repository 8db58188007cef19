/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of a program, each told once to each recorder: when it is made, or else when it is launched. Where the
 * library was put into a running program, its calls are led here for that. Does not know what there is to tell.
 */
#pragma once

#include "inject/hook.h"
#include "inject/known.h"
#include "inject/watch.h"

/* Of a runtime: each library has one. */
struct kernels_source {
	struct hook *hooks; /* the first @led of them are led through the library */
	size_t count, led;
	const char *const *except; /* as for hook_lead() */
	void (*find)(void);        /* what is real of the hooks; once */
	/* With the lock. @owner is what it was made of, if it was seen; NULL else. */
	void (*tell)(void *kernel, void *owner);
	void (*look)(void); /* now and then while somebody listens */
};
extern const struct kernels_source kernels_source;

extern struct known kernels_known;

/* Also over what kernels belong to. */
void kernels_lock(void);
void kernels_unlock(void);

/* As watch_enter(); then what is real is known. */
void kernels_enter(void);
void kernels_made(void *kernel, void *owner);
/* One that is there: made before, or by a call that is not seen. */
void kernels_tell(void *kernel);
/* Another may come to have its handle. */
void kernels_gone(void *kernel);

/* What a launch costs. */
static inline void kernels_pass(void *kernel)
{
	if (watch_is_heard() && known_session(&kernels_known, kernel) != watch_session())
		kernels_tell(kernel);
}

/* Were there no kernels before the library? */
bool kernels_are_all(void);
/* The library was loaded by hand, as for watch_start_inserted(). */
int kernels_start_inserted(void *self);
