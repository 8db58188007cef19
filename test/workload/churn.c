/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads and unloads two libraries by turns, which the dynamic linker puts at the same addresses, and
 * works in each for a few milliseconds: whoever still has the other one's unwind tables goes wrong.
 *
 *	churn SECONDS MILLISECONDS FIRST.so SECOND.so
 *
 * Of CPU time, so that there is as much to see on a busy machine.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

typedef uint64_t (*work_fn)(unsigned depth, uint64_t seed);

__attribute__((noinline, noclone)) static uint64_t visit(const char *path, double seconds)
{
	void *library = dlopen(path, RTLD_NOW);
	uint64_t sum = 0;

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	work_fn work = (work_fn)dlsym(library, "churn_work");
	for (double end = now() + seconds; now() < end;) {
		for (int i = 0; i < 16; i++)
			sum += work(12, sum);
	}
	dlclose(library);
	return sum;
}

int main(int argc, char **argv)
{
	volatile uint64_t sum = 0;

	if (argc < 5)
		return 2;
	double end = now() + strtod(argv[1], NULL), each = strtod(argv[2], NULL) / 1e3;
	while (now() < end) {
		sum = sum + visit(argv[3], each);
		sum = sum + visit(argv[4], each);
	}
	return 0;
}
