/* SPDX-License-Identifier: Apache-2.0 */
/* What can be recorded on this machine, by trying it, and how to mend what cannot. */
#pragma once

#include <stdbool.h>

enum check_state {
	CHECK_YES,
	CHECK_PARTLY, /* recording works, with less in it */
	CHECK_NO,     /* recording does not work */
};

struct check {
	const char *name;
	enum check_state state;
	char found[256]; /* what is there */
	char mend[256];  /* a command or an action; "" when there is nothing to mend */
};

typedef void (*check_fn)(void *data, const struct check *check);

/* Call @fn for each thing looked at. True when recording works. */
bool check_all(check_fn fn, void *data);
