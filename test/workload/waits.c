/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waits MODE COUNT: waits of known length, and prints how long they really took, measured around
 * each: "NAME NS". A second thread serves them.
 *	plain  COUNT times each: 20 ms for a lock that another thread holds, 10 ms of sleep, 30 ms for
 *	       a byte of a pipe and 40 ms for a futex
 *	often  COUNT times to and fro through two pipes, as fast as they go; and CPU time ("cpu NS")
 *	launch as plain, after a call that probes see (needs libOpenCL.so.1 to be loaded by name)
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint32_t word;
static int order[2], answer[2]; /* pipes: what the server is to do, and its bytes */

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void pause_ms(long ms)
{
	struct timespec t = { 0, ms * 1000000 };

	nanosleep(&t, NULL);
}

static char get(int fd)
{
	char byte = 0;

	if (read(fd, &byte, 1) != 1)
		return 0;
	return byte;
}

static void put(int fd, char byte)
{
	if (write(fd, &byte, 1) != 1)
		abort();
}

/* What keeps the others waiting. */
static void *serve(void *data)
{
	char what;

	(void)data;
	while ((what = get(order[0])) != 0) {
		switch (what) {
		case 'l':
			pthread_mutex_lock(&mutex);
			put(answer[1], 'l'); /* it is held now */
			pause_ms(20);
			pthread_mutex_unlock(&mutex);
			break;
		case 'r':
			pause_ms(30);
			put(answer[1], 'r');
			break;
		case 'f':
			pause_ms(40);
			__atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
			syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
			break;
		default:
			put(answer[1], what);
		}
	}
	return NULL;
}

NOINLINE static void wait_lock(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	__asm__ volatile("");
}

NOINLINE static void wait_sleep(void)
{
	pause_ms(10);
	__asm__ volatile("");
}

NOINLINE static void wait_read(void)
{
	get(answer[0]);
	__asm__ volatile("");
}

NOINLINE static void wait_futex(void)
{
	while (!__atomic_load_n(&word, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	__asm__ volatile("");
}

NOINLINE static void wait_pong(void)
{
	put(order[1], 'p');
	get(answer[0]);
	__asm__ volatile("");
}

static uint64_t timed(void (*wait)(void))
{
	uint64_t start = now();

	wait();
	return now() - start;
}

static void plain(long count)
{
	uint64_t lock = 0, sleep = 0, reading = 0, futex = 0;

	for (long i = 0; i < count; i++) {
		put(order[1], 'l');
		get(answer[0]);
		lock += timed(wait_lock);
		sleep += timed(wait_sleep);
		put(order[1], 'r');
		reading += timed(wait_read);
		word = 0;
		put(order[1], 'f');
		futex += timed(wait_futex);
	}
	printf("wait_lock %" PRIu64 "\nwait_sleep %" PRIu64 "\nwait_read %" PRIu64
	       "\nwait_futex %" PRIu64 "\n",
	       lock, sleep, reading, futex);
}

static void often(long count)
{
	uint64_t start = now();
	struct timespec cpu;

	for (long i = 0; i < count; i++)
		wait_pong();
	printf("wait_pong %" PRIu64 "\n", now() - start);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	printf("cpu %" PRIu64 "\n", (uint64_t)cpu.tv_sec * 1000000000 + (uint64_t)cpu.tv_nsec);
}

/* Any call that probes look at makes this a program that uses an accelerator. */
static void use_runtime(void)
{
	void *library = dlopen("libOpenCL.so.1", RTLD_NOW);
	int (*finish)(void *) = library ? (int (*)(void *))dlsym(library, "clFinish") : NULL;

	if (!finish) {
		puts("no libOpenCL.so.1");
		exit(77);
	}
	/* The recorder probes it now. */
	pause_ms(200);
	finish(NULL);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc != 3 || pipe(order) || pipe(answer) || pthread_create(&thread, NULL, serve, NULL))
		return 1;
	if (!strcmp(argv[1], "launch"))
		use_runtime();
	if (!strcmp(argv[1], "often"))
		often(atol(argv[2]));
	else
		plain(atol(argv[2]));
	put(order[1], 0);
	pthread_join(thread, NULL);
	return 0;
}
