/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/switch_output.h"

#include "base/parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

int switch_output_parse(struct switch_output *s, const char *text)
{
	s->is_on = true;
	s->bytes = s->time_ns = 0;
	if (!text || !strcmp(text, "signal"))
		return 0;
	/* As perf: 100M is a size, 30s and 5m are times; a bare m is a minute, a bare M a megabyte. */
	if (strpbrk(text, "BKMG"))
		return parse_size(text, &s->bytes) < 0 || !s->bytes ? -EINVAL : 0;
	return parse_duration(text, &s->time_ns) < 0 || !s->time_ns ? -EINVAL : 0;
}

void switch_output_release(struct switch_output *s)
{
	vec_for_each(&s->files, file)
		free(*file);
	vec_release(&s->files);
}

const char *switch_output_next(struct switch_output *s, const char *output)
{
	struct timespec now;
	struct tm local;
	char stamp[32], *name;

	clock_gettime(CLOCK_REALTIME, &now);
	if (!localtime_r(&now.tv_sec, &local) ||
	    !strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%S", &local) ||
	    asprintf(&name, "%s.%s%02ld", output, stamp, now.tv_nsec / 10000000) < 0)
		return NULL;
	if (vec_push(&s->files, name) < 0) {
		free(name);
		return NULL;
	}
	while (s->files_max && s->files.len > s->files_max) {
		char *oldest = s->files.data[0];
		(void)unlink(oldest);
		memmove(s->files.data, s->files.data + 1,
			(s->files.len - 1) * sizeof(*s->files.data));
		s->files.len--;
		free(oldest);
	}
	return name;
}

int switch_output_signal(void *data, struct session *session)
{
	const struct switch_signal *s = data;
	struct signalfd_siginfo info;

	(void)session;
	if (read(s->fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return 0;
	s->output->is_wanted = true;
	return 1;
}
