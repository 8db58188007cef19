/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What targets have told that holds until they tell otherwise: what their handles stand for, and what code they have. It is
 * kept where another recording is to go on (--switch-output), which then hears of it at its beginning. Which hits are
 * kept is said by their sites; what they mean is for the runtimes.
 */
#pragma once

#include "accel/accel.h"

struct lasting;

/* NULL: no memory. */
struct lasting *lasting_new(void);
void lasting_free(struct lasting *l);

/* In the place of what was told of the same thing before. 0 or -ENOMEM. */
int lasting_keep(struct lasting *l, const struct accel_event *e);
/* What it did last may still be taken by a recording that goes on: it is forgotten a while later. */
void lasting_exited(struct lasting *l, uint32_t process, uint64_t time_ns);

/* All that a process has told, in order; processes in none. Ends with what @take returns below 0. */
int lasting_each(const struct lasting *l, int (*take)(void *data, const struct accel_event *e),
		 void *data);
/* What was told when there was no room. */
uint64_t lasting_dropped(const struct lasting *l);
