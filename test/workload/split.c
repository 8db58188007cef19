/* SPDX-License-Identifier: Apache-2.0 */
/*
 * split MODE MILLISECONDS: burns that much CPU time (per thread), 4/5 of it below often() and the rest
 * below seldom(), and prints how much each really took ("often NS" and "seldom NS"), so that a profile can
 * be compared with the truth. MODE:
 *	plain    as said
 *	threads  the same in four threads at once, named often-0 to often-3
 *	fork     in a child
 *	late     in late.so, which is loaded first, instead of burn()
 *	jit      in a copy of burn() in memory without a file, described by /tmp/perf-PID.map
 *	fixed    not a time but an amount of work, about as much as takes so long, below a stack of 20
 *		 functions; prints the CPU time that it took ("cpu NS")
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef uint64_t (*burn_fn)(uint64_t rounds, uint64_t x);

struct times {
	uint64_t often, seldom;
};

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

__attribute__((noinline)) static uint64_t burn(uint64_t rounds, uint64_t x)
{
	/* gcc gives a function that calls nothing no frame, whatever its options say. */
	__asm__ volatile("" ::"r"(__builtin_frame_address(0)));
	for (uint64_t i = 0; i < rounds; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}

__attribute__((noinline)) static uint64_t often(burn_fn fn, uint64_t rounds, uint64_t x)
{
	return fn(rounds * 4, x) + 1;
}

__attribute__((noinline)) static uint64_t seldom(burn_fn fn, uint64_t rounds, uint64_t x)
{
	return fn(rounds, x) + 1;
}

__attribute__((noinline)) static struct times work(burn_fn fn, uint64_t duration_ns)
{
	uint64_t end = now(CLOCK_THREAD_CPUTIME_ID) + duration_ns;
	static volatile uint64_t sink;
	struct times times = { 0 };
	uint64_t x = 1;

	while (now(CLOCK_THREAD_CPUTIME_ID) < end) {
		/* A steady rhythm could fall into step with the sampler's. */
		uint64_t rounds = 20000 + (x >> 33) % 60000;
		uint64_t a = now(CLOCK_THREAD_CPUTIME_ID);
		x = often(fn, rounds, x);
		uint64_t b = now(CLOCK_THREAD_CPUTIME_ID);
		x = seldom(fn, rounds, x);
		uint64_t c = now(CLOCK_THREAD_CPUTIME_ID);
		times.often += b - a;
		times.seldom += c - b;
	}
	sink = x;
	(void)sink;
	return times;
}

__attribute__((noinline)) static uint64_t deep(unsigned int depth, uint64_t rounds, uint64_t x)
{
	return depth ? deep(depth - 1, rounds, x) + 1 : burn(rounds, x);
}

static void work_fixed(uint64_t milliseconds)
{
	static volatile uint64_t sink;
	uint64_t start = now(CLOCK_PROCESS_CPUTIME_ID);

	for (uint64_t i = 0; i < milliseconds; i++)
		sink = deep(18, 1000000, i);
	printf("cpu %" PRIu64 "\n", now(CLOCK_PROCESS_CPUTIME_ID) - start);
}

struct worker {
	pthread_t thread;
	unsigned int number;
	uint64_t duration_ns;
	struct times times;
};

static void *worker_main(void *data)
{
	struct worker *w = data;
	char name[16];

	snprintf(name, sizeof(name), "often-%u", w->number);
	pthread_setname_np(pthread_self(), name);
	w->times = work(burn, w->duration_ns);
	return NULL;
}

static struct times work_in_threads(uint64_t duration_ns)
{
	struct worker workers[4];
	struct times sum = { 0 };

	for (unsigned int i = 0; i < 4; i++) {
		workers[i] = (struct worker){ .number = i, .duration_ns = duration_ns };
		if (pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]) != 0)
			exit(1);
	}
	for (unsigned int i = 0; i < 4; i++) {
		pthread_join(workers[i].thread, NULL);
		sum.often += workers[i].times.often;
		sum.seldom += workers[i].times.seldom;
	}
	return sum;
}

static void print(struct times times)
{
	printf("often %" PRIu64 "\nseldom %" PRIu64 "\n", times.often, times.seldom);
	fflush(stdout);
}

/* late.so lies beside this program. */
static burn_fn load_late(const char *program)
{
	char path[4096];
	const char *slash = strrchr(program, '/');

	snprintf(path, sizeof(path), "%.*s/late.so", slash ? (int)(slash - program) : 1,
		 slash ? program : ".");
	void *library = dlopen(path, RTLD_NOW);
	burn_fn fn = library ? (burn_fn)dlsym(library, "late_burn") : NULL;
	if (!fn) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return fn;
}

/* burn() is a loop that refers to nothing outside: its first bytes work anywhere. */
static burn_fn copy_burn(void)
{
	enum {
		SIZE = 128
	};
	char path[64];
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(code, (const void *)(uintptr_t)burn, SIZE);
	mprotect(code, 4096, PROT_READ | PROT_EXEC);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	FILE *map = fopen(path, "w");
	if (!map)
		exit(1);
	fprintf(map, "%lx %x jit::burn in memory\n", (unsigned long)code, SIZE);
	fclose(map);
	return (burn_fn)(uintptr_t)code;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	uint64_t duration_ns = strtoull(argv[2], NULL, 10) * 1000000;

	if (!strcmp(argv[1], "plain")) {
		print(work(burn, duration_ns));
	} else if (!strcmp(argv[1], "fixed")) {
		work_fixed(duration_ns / 1000000);
	} else if (!strcmp(argv[1], "threads")) {
		print(work_in_threads(duration_ns));
	} else if (!strcmp(argv[1], "late")) {
		print(work(load_late(argv[0]), duration_ns));
	} else if (!strcmp(argv[1], "jit")) {
		print(work(copy_burn(), duration_ns));
	} else if (!strcmp(argv[1], "fork")) {
		pid_t child = fork();
		if (child == 0) {
			print(work(burn, duration_ns));
			_exit(0);
		}
		waitpid(child, NULL, 0);
	} else {
		return 2;
	}
	return 0;
}
