/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn SECONDS RATE PROGRAM: runs the program again and again, as often as it can or, with a RATE above
 * 0, so many times a second; one at a time. Prints how many a second it were and how much CPU time each
 * took, its own included ("RATE/s US us").
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void sleep_until(double when)
{
	const struct timespec t = {
		.tv_sec = (time_t)when,
		.tv_nsec = (long)(1e9 * (when - (double)(time_t)when)),
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static double cpu_us(int who)
{
	struct rusage u;

	getrusage(who, &u);
	return 1e6 * (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	const double seconds = atof(argv[1]), rate = atof(argv[2]), start = now();
	long count = 0;
	int status;

	while (now() - start < seconds) {
		pid_t pid = vfork();
		if (pid == 0) {
			execv(argv[3], argv + 3);
			_exit(127);
		}
		if (waitpid(pid, &status, 0) != pid || status)
			return 1;
		count++;
		/* Late ones are made up for. */
		if (rate > 0 && (double)count / rate > now() - start)
			sleep_until(start + (double)count / rate);
	}
	printf("%.0f/s %.1f us\n", (double)count / (now() - start),
	       (cpu_us(RUSAGE_SELF) + cpu_us(RUSAGE_CHILDREN)) / (double)count);
	return 0;
}
