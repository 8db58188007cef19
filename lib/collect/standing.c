/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/standing.h"

#include <errno.h>

/* Nine times the weight of a program at 0: enough to run at once when there is something to do,
 * which is a few per cent of one CPU at most. */
#define STANDING_NICE (-10)

void standing_raise(struct standing *ret)
{
	struct rlimit files;

	*ret = (struct standing){ 0 };
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
		ret->files = files;
		files.rlim_cur = files.rlim_max;
		ret->has_files = setrlimit(RLIMIT_NOFILE, &files) == 0;
	}
	errno = 0;
	ret->nice = getpriority(PRIO_PROCESS, 0);
	if (errno == 0 && ret->nice > STANDING_NICE)
		ret->has_nice = setpriority(PRIO_PROCESS, 0, STANDING_NICE) == 0;
}

void standing_restore(const struct standing *before)
{
	if (before->has_files)
		(void)setrlimit(RLIMIT_NOFILE, &before->files);
	if (before->has_nice)
		(void)setpriority(PRIO_PROCESS, 0, before->nice);
}
