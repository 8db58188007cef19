/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/tell.h"

#include "base/strbuf.h"
#include "base/utf8.h"
#include "cmd/cmd.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

__attribute__((format(printf, 1, 0))) static void print(const char *fmt, va_list ap,
							const char *after)
{
	char text[2048];
	struct strbuf safe = { 0 };

	vsnprintf(text, sizeof(text), fmt, ap);
	utf8_append_safe(&safe, text, strlen(text));
	fprintf(stderr, "accel-prof: %s%s\n", strbuf_text(&safe), after);
	strbuf_release(&safe);
}

int tell(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	print(fmt, ap, "");
	va_end(ap);
	return CMD_FAILED;
}

int tell_error(const struct err *err)
{
	return tell("%s", err->text);
}

int tell_usage(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	print(fmt, ap, " See 'accel-prof --help'.");
	va_end(ap);
	return CMD_USAGE;
}

/* One mutable word, so that no command can lose the error by flushing stdout without looking. */
static bool stdout_error_was_told;

int tell_stdout_error(void)
{
	if (!ferror(stdout))
		return CMD_OK;
	if (!stdout_error_was_told)
		tell("cannot write to standard output: %s", strerror(errno));
	stdout_error_was_told = true;
	return CMD_FAILED;
}

void tell_at_exit(void)
{
	errno = 0;
	/* Where nothing was written, stdout may as well be closed (>&-). */
	if (fflush(stdout) == 0 && !ferror(stdout) && (close(STDOUT_FILENO) == 0 || errno == EBADF))
		return;
	if (!stdout_error_was_told)
		tell("cannot write to standard output%s%s", errno ? ": " : "",
		     errno ? strerror(errno) : "");
	_exit(CMD_FAILED);
}
