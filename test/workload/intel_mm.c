/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intel_mm ze|cl FILE ROUNDS [HOW [wait]]: the three multiplications of mm.cl by Intel's driver, which needs no GPU for
 * it in its mode for simulators, where nothing is computed. FILE is a zebin, or for OpenCL the text. HOW:
 *
 *	list	  a command list for each round, executed once (the default)
 *	immediate each into an immediate command list
 *	replay	  one command list, executed in each round
 *	late	  as list, but what is needed is made only when it begins
 *	anew	  as list, but its kernels are made once more then
 *
 * With "wait" it says "ready" when everything is made and waits for a line before it begins, and for another or the end
 * of its input before it ends. Its last lines are for programs to read: what was launched by which function, and where
 * the driver says that the code is.
 *
 *	launched multiply_basic mm_basic 30 address 0x8000fffe0000
 *
 * "intel_mm fast FILE COUNT" appends COUNT launches to lists that are never executed, and says "ns_per_launch 1200".
 *
 * What the driver has made of the module, as its debugger would read it, goes into the file $INTEL_MM_DUMP.
 */
#include "intel_mm.h"

#include <time.h>

/* Most of what a launch costs the host, and all of it that a tool can add to. */
static void measure(const char *file, int count)
{
	enum {
		EACH = 1000
	};
	struct timespec begin, end;
	long long ns = 0;

	ze_backend.open(file, "list");
	for (int i = -EACH; i < count; i += EACH) {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
		for (int k = 0; k < EACH; k += 2) {
			ze_backend.multiply_basic();
			ze_backend.multiply_local();
		}
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
		/* Not the first time, in which memory is made. */
		if (i >= 0)
			ns += (end.tv_sec - begin.tv_sec) * 1000000000ll + end.tv_nsec -
			      begin.tv_nsec;
		ze_backend.empty();
	}
	printf("ns_per_launch %lld\n", ns / (count / EACH * EACH));
}

int main(int argc, char **argv)
{
	const struct backend *b =
		argc > 1 && strcmp(argv[1], "cl") == 0 ? &cl_backend : &ze_backend;
	static const char *const functions[VERSIONS] = { "multiply_basic", "multiply_local",
							 "multiply_tiled" };
	int rounds = argc > 3 ? atoi(argv[3]) : 1;
	char line[16];

	if (argc < 3)
		return 2;
	if (strcmp(argv[1], "fast") == 0) {
		measure(argv[2], rounds > 1000 ? rounds : 1000);
		return 0;
	}
	bool is_late = argc > 4 && strcmp(argv[4], "late") == 0;
	if (!is_late)
		b->open(argv[2], argc > 4 ? argv[4] : "list");
	else
		b->begin();
	if (argc > 5) {
		puts("ready");
		fflush(stdout);
		if (!fgets(line, sizeof(line), stdin))
			return 1;
	}
	if (is_late)
		b->open(argv[2], "list");
	if (argc > 4 && strcmp(argv[4], "anew") == 0)
		b->anew();
	for (int i = 0; i < rounds; i++) {
		b->multiply_basic();
		b->multiply_local();
		b->multiply_tiled();
		b->finish();
	}
	if (getenv("INTEL_MM_DUMP"))
		b->dump(getenv("INTEL_MM_DUMP"));
	for (int i = 0; i < VERSIONS; i++)
		printf("launched %s %s %d address %#llx\n", functions[i], kernel_names[i], rounds,
		       (unsigned long long)b->address(i));
	fflush(stdout);
	if (argc > 5)
		(void)!fgets(line, sizeof(line), stdin);
	return 0;
}
