/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One error text, filled in by the statement that fails and printed once, by cmd/.
 *
 * Functions that can fail return 0 or more on success and a negative errno on failure. Those whose
 * cause a user should read take a `struct err *` as their last argument and set it exactly once:
 *
 *	if (fd < 0)
 *		return err_set(err, -errno, "cannot open '%s'", path);
 *
 * The grammar of a text: lower case, no full stop, cause first, the subject in single quotes, then
 * how to mend it. The errno's own words are appended by err_set() unless @code is -EINVAL or
 * -EBADMSG, whose words would add nothing to a text that says what was wrong.
 */
#pragma once

#include <stddef.h>

struct err {
	char text[512];
};

/*
 * Format the text and return @code, so that the failing statement can be the return statement.
 * @err may be NULL: the caller does not want to know.
 */
__attribute__((format(printf, 3, 4))) int err_set(struct err *err, int code, const char *fmt, ...);

/* Put "@fmt: " before a text that a callee has set; returns @code. */
__attribute__((format(printf, 3, 4))) int err_prefix(struct err *err, int code, const char *fmt,
						     ...);
