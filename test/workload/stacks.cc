/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose stacks are hard to walk without frame pointers: deep recursion through virtual
 * calls with frames of all sizes, alloca, realigned vectors, callbacks out of the C library,
 * exceptions, longjmp, signal handlers on their own stack, the vDSO, and threads.
 *
 *	stacks MODE SECONDS [THREADS]
 *
 * The seconds are of the first thread's CPU time, so that there is as much to see on a busy machine.
 * MODE: `calls` (the deep recursion, about 53 frames on average, nothing else), `mixed` (all of the above but
 * exceptions), `signals` (mixed, interrupted by a handler that itself goes deep), `exceptions`
 * (nothing else: while libgcc installs the handler's context, it overwrites the return address of
 * its own frame, and nobody can walk that), `odd` (with frames that unwind tables cannot describe; one
 * thread), `leaf` (small functions only).
 * It adds up what it did, so that the compiler has to do it.
 */
#include <algorithm>
#include <alloca.h>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <sys/time.h>
#include <vector>

#define NOINLINE __attribute__((noinline, noclone))

static volatile unsigned long sink;
static volatile bool stop;
static bool is_mixed;

/* Work that keeps a leaf busy for a moment and calls nothing. */
NOINLINE static unsigned long spin(unsigned long seed, unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++)
		seed = seed * 6364136223846793005ul + (seed >> 29) + i;
	return seed;
}

struct node {
	virtual ~node() = default;
	virtual unsigned long visit(unsigned depth, unsigned long seed) = 0;
};

static node *nodes[6];

static inline unsigned long next(unsigned depth, unsigned long seed)
{
	if (!depth)
		return spin(seed, 400);
	return nodes[(depth + seed) % (is_mixed ? 6 : 3)]->visit(depth - 1, seed + depth) + 1;
}

struct small : node {
	NOINLINE unsigned long visit(unsigned depth, unsigned long seed) override
	{
		return next(depth, seed) ^ depth;
	}
};

/* Many values live across the call: all callee-saved registers are pushed. */
struct wide : node {
	NOINLINE unsigned long visit(unsigned depth, unsigned long seed) override
	{
		unsigned long a = seed * 3, b = seed ^ 0x55, c = seed >> 3, d = seed + 77,
			      e = ~seed, f = seed * 17;
		unsigned long r = next(depth, a + b);
		return r + a * b + c * d + e * f + spin(r, 3);
	}
};

/* A frame far larger than an 8-bit offset. */
struct large : node {
	NOINLINE unsigned long visit(unsigned depth, unsigned long seed) override
	{
		volatile unsigned char buffer[6000];
		buffer[seed % sizeof(buffer)] = (unsigned char)seed;
		unsigned long r = next(depth, seed * 5);
		return r + buffer[seed % sizeof(buffer)];
	}
};

/* The stack pointer moves by what only run time knows: the compiler needs a frame pointer. */
struct dynamic : node {
	NOINLINE unsigned long visit(unsigned depth, unsigned long seed) override
	{
		size_t size = 16 + seed % 500;
		volatile char *p = static_cast<volatile char *>(alloca(size));
		p[size - 1] = (char)seed;
		unsigned long r = next(depth, seed + 11);
		return r + (unsigned long)p[size - 1];
	}
};

/* 32-byte alignment in a frame: gcc realigns the stack and finds arguments through r10. */
struct aligned : node {
	typedef double vector __attribute__((vector_size(32)));
	NOINLINE unsigned long visit(unsigned depth, unsigned long seed) override
	{
		alignas(32) volatile double lanes[8];
		size_t size = 16 + seed % 100;
		volatile char *p = static_cast<volatile char *>(alloca(size));
		for (unsigned i = 0; i < 8; i++)
			lanes[i] = (double)(seed + i);
		p[0] = 1;
		unsigned long r = next(depth, seed + 13);
		return r + (unsigned long)lanes[seed % 8] + (unsigned long)p[0];
	}
};

/* Through std::function and a lambda that captures. */
struct closure : node {
	NOINLINE unsigned long visit(unsigned depth, unsigned long seed) override
	{
		std::function<unsigned long(unsigned long)> f = [=](unsigned long s) {
			return next(depth, s) + seed;
		};
		return f(seed * 7);
	}
};

NOINLINE static int compare_ints(const void *a, const void *b)
{
	int x = *static_cast<const int *>(a), y = *static_cast<const int *>(b);
	sink = sink + spin((unsigned long)x, 5);
	return (x > y) - (x < y);
}

/* From the C library back into the program, and its vectorised string functions. */
NOINLINE static void library(unsigned long seed)
{
	std::vector<int> values(200);
	for (auto &v : values)
		v = (int)(seed = seed * 1103515245 + 12345);
	qsort(values.data(), values.size(), sizeof(int), compare_ints);
	std::sort(values.begin(), values.end(), [](int a, int b) {
		sink = sink + spin((unsigned long)a, 2);
		return a > b;
	});
	std::string text(3000, 'x');
	memset(&text[0], 'y', text.size());
	sink = sink + strlen(text.c_str()) + (unsigned long)snprintf(&text[0], 100, "%lu", seed);
	timespec t;
	for (int i = 0; i < 30; i++)
		clock_gettime(CLOCK_MONOTONIC, &t); /* the vDSO */
	sink = sink + (unsigned long)t.tv_nsec;
}

NOINLINE static void thrower(unsigned depth, unsigned long seed)
{
	std::string owned = "destroyed on the way " + std::to_string(seed);
	if (!depth)
		throw std::runtime_error(owned);
	thrower(depth - 1, seed + 1);
	sink = sink + owned.size();
}

NOINLINE static void exceptions(unsigned long seed)
{
	try {
		thrower(10, seed);
	} catch (const std::exception &e) {
		sink = sink + strlen(e.what());
	}
}

/* Ends by longjmp() at depth 0, which gcc does not see. */
#pragma GCC diagnostic ignored "-Winfinite-recursion"
NOINLINE static void jumper(jmp_buf *env, unsigned depth)
{
	volatile char frame[300];
	frame[depth % 300] = (char)depth;
	if (!depth)
		longjmp(*env, 1);
	jumper(env, depth - 1);
	sink = sink + (unsigned long)frame[depth % 300];
}

NOINLINE static void jumps(unsigned depth)
{
	jmp_buf env;
	if (!setjmp(env))
		jumper(&env, depth);
	sink = sink + spin(depth, 50);
}

NOINLINE static void run(unsigned long seed)
{
	sink = sink + next(62, seed);
	if (is_mixed) {
		library(seed);
		jumps(8);
	}
}

NOINLINE static void leaves(unsigned long seed)
{
	for (unsigned i = 0; i < 100; i++)
		sink = sink + spin(seed + i, i % 7);
}

/*
 * A frame whose CFA is in rbx while it calls: what glibc's _dl_runtime_resolve has, and functions
 * that gcc realigns with a register that calls preserve. A row cannot say it.
 */
asm(R"(
	.text
	.type odd_frame, @function
odd_frame:
	.cfi_startproc
	push %rbx
	.cfi_def_cfa_offset 16
	.cfi_offset rbx, -16
	mov %rsp, %rbx
	.cfi_def_cfa_register rbx
	sub $200, %rsp
	and $-64, %rsp
	call *%rsi
	mov %rbx, %rsp
	.cfi_def_cfa_register rsp
	pop %rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size odd_frame, .-odd_frame
)");
extern "C" void odd_frame(unsigned long seed, void (*f)(unsigned long));

static unsigned odd_depth;

NOINLINE static void odd(unsigned long seed)
{
	if (odd_depth++ < 3)
		odd_frame(seed, odd);
	else
		sink = sink + next(3, seed);
	odd_depth--;
}

/* A tenth of the time. */
static void on_signal(int)
{
	for (unsigned long i = 0; i < 100; i++)
		sink = sink + next(12, i);
}

static void (*work)(unsigned long) = run;

static void *thread_main(void *)
{
	stack_t alternative = {};
	alternative.ss_size = 256 << 10;
	alternative.ss_sp = malloc(alternative.ss_size);
	sigaltstack(&alternative, nullptr);
	for (unsigned long i = 0; !stop; i++)
		work(i);
	alternative.ss_flags = SS_DISABLE;
	sigaltstack(&alternative, nullptr);
	free(alternative.ss_sp);
	return nullptr;
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr,
			"usage: stacks calls|mixed|signals|exceptions|odd|leaf SECONDS [THREADS]\n");
		return 2;
	}
	static small s;
	static wide w;
	static large l;
	static dynamic d;
	static aligned a;
	static closure c;
	nodes[0] = &s, nodes[1] = &w, nodes[2] = &l, nodes[3] = &d, nodes[4] = &a, nodes[5] = &c;

	std::string mode = argv[1];
	double seconds = strtod(argv[2], nullptr);
	int threads = argc > 3 ? atoi(argv[3]) : 0;
	is_mixed = mode == "mixed" || mode == "signals";
	if (mode == "leaf")
		work = leaves;
	if (mode == "exceptions")
		work = exceptions;
	if (mode == "odd")
		work = odd;
	if (mode == "signals") {
		struct sigaction action = {};
		action.sa_handler = on_signal;
		action.sa_flags = SA_RESTART | SA_ONSTACK;
		sigaction(SIGPROF, &action, nullptr);
		itimerval interval = { { 0, 1000 }, { 0, 1000 } };
		setitimer(ITIMER_PROF, &interval, nullptr);
	}
	std::vector<pthread_t> ids((size_t)threads);
	for (auto &id : ids)
		pthread_create(&id, nullptr, thread_main, nullptr);

	timespec start, now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
	for (unsigned long i = 0;; i++) {
		work(i);
		if (i % 16)
			continue;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
		if ((double)(now.tv_sec - start.tv_sec) +
			    (double)(now.tv_nsec - start.tv_nsec) / 1e9 >
		    seconds)
			break;
	}
	stop = true;
	for (auto &id : ids)
		pthread_join(id, nullptr);
	return 0;
}
