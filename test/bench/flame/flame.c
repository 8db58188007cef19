/* SPDX-License-Identifier: Apache-2.0 */
/* flame FOLDED OUT.svg: draw folded lines, and say how long each part took and how much memory. */
#include "flame/flame.h"
#include "folded.h"
#include "profile/profile.h"

#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double cpu_s(void)
{
	struct rusage r;
	getrusage(RUSAGE_SELF, &r);
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
	       (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
	struct profile *p = NULL;
	struct err err;
	if (argc != 3)
		return 2;

	double begin_s = now_s(), begin_cpu_s = cpu_s();
	if (folded_read(argv[1], "device-samples", &p, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	double read_s = now_s(), read_cpu_s = cpu_s();
	FILE *out = fopen(argv[2], "w");
	if (!out || flame_write(out, p, &(struct flame_options){ .title = "bench" }, &err) < 0 ||
	    fclose(out)) {
		fprintf(stderr, "cannot write '%s'\n", argv[2]);
		return 1;
	}

	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	printf("{\"frames\": %u, \"read_s\": %.3f, \"read_cpu_s\": %.3f, \"draw_s\": %.3f, "
	       "\"draw_cpu_s\": %.3f, \"rss_mb\": %.1f}\n",
	       profile_node_count(p), read_s - begin_s, read_cpu_s - begin_cpu_s, now_s() - read_s,
	       cpu_s() - read_cpu_s, (double)usage.ru_maxrss / 1024);
	profile_free(p);
	return 0;
}
