/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a recorder listens, and which one. A thread of its own looks ten times a second; what it finds others read in
 * passing. A library that was put into a running program is taken out again when nobody listens any more.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What a library does besides. */
struct watch {
	/* Somebody listens: called on each look, and once more when nobody does any more. NULLs: nothing to do. */
	void (*heard)(void);
	void (*silent)(void);
};

/* Is somebody there to be told? */
bool watch_is_heard(void);
/* Since which listener came, a number from 1: what was told before is news to that one. */
uint32_t watch_session(void);
/* Around what a thread of the program does in the library: it does not leave meanwhile. */
void watch_enter(void);
void watch_leave(void);
/* From the first call of the program that is of interest; the thread begins, unless it runs. */
void watch_start(const struct watch *watch);
/* The same for a library that was loaded by hand, which is @self; it is NULL when it was there already. It stays for
 * some seconds, in which a recorder has time to listen. */
int watch_start_inserted(const struct watch *watch, void *self);
