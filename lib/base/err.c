/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *err, int code, const char *fmt, ...)
{
	if (!err)
		return code;

	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);

	if (n < 0 || (size_t)n >= sizeof(err->text) || code == -EINVAL || code == -EBADMSG)
		return code;
	snprintf(err->text + n, sizeof(err->text) - (size_t)n, ": %s", strerror(-code));
	return code;
}

int err_prefix(struct err *err, int code, const char *fmt, ...)
{
	if (!err)
		return code;

	struct err old = *err;
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);

	if (n >= 0 && (size_t)n < sizeof(err->text))
		snprintf(err->text + n, sizeof(err->text) - (size_t)n, ": %s", old.text);
	return code;
}
