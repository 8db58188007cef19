/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the user wants of the runtimes: which of them, and with what options. Knows their names and the keys of their
 * options, not what they mean.
 */
#pragma once

#include "base/cleanup.h"
#include "base/err.h"
#include "base/vec.h"

#include <stdbool.h>

struct accel_wish {
	const char *runtime; /* NULL: any that has the option */
	const char *key;     /* NULL: just the runtime */
	const char *value;   /* NULL: none */
};

struct accel_wishes {
	VEC(struct accel_wish) list;
	VEC(char *) texts; /* what they point into */
	bool is_none;      /* no runtime at all */
};

void accel_wishes_release(struct accel_wishes *w);
/*
 * "NAME[:KEY[=VALUE]]...", several with commas between; "none" is none. -EINVAL: a name or a key that there is not, and
 * the text says which there are.
 */
int accel_wishes_add(struct accel_wishes *w, const char *text, struct err *err);
/* For all runtimes that have it; @key is borrowed. @value: one, or several with commas between. */
int accel_wishes_set(struct accel_wishes *w, const char *key, const char *value);

/* Is the runtime wanted, and was it named? */
bool accel_wishes_name(const struct accel_wishes *w, const char *runtime, bool *ret_is_named);
