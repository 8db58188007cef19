/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

/* The one mutable global of the library besides the stop flag (style rule 5). */
static log_fn log_callback;
static void *log_data;

void log_set(log_fn fn, void *data)
{
	log_callback = fn;
	log_data = data;
}

void log_debug(const char *fmt, ...)
{
	if (!log_callback)
		return;

	char text[1024];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_callback(log_data, text);
}
