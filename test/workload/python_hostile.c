/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks like a CPython 3.12 to a profiler, and leads it astray:
 *
 *	python_hostile SECONDS threads	interpreters and threads without end, none of them this one
 *	python_hostile SECONDS frames	frames that call each other in a circle
 *	python_hostile SECONDS nowhere	a frame whose code is not mapped
 *	python_hostile SECONDS huge	names of 2^60 characters
 *	python_hostile SECONDS flicker	a code object that changes all the time
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

/* Words of what lib/python/offsets.c says of 3.12. */
EXPORT uint64_t _PyRuntime[64];
EXPORT const unsigned long Py_Version = 0x030c00f0;
EXPORT uint64_t PyCode_Type[8];
EXPORT double _PyEval_EvalFrameDefault(double seconds);

static uint64_t interp[64], thread[64], other[64], cframe[4], frames[2][16], code[64], file[16],
	text[16], table[8];

static uint64_t address(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static void build(void)
{
	_PyRuntime[40 / 8] = address(interp);
	interp[72 / 8] = address(thread);
	thread[136 / 8] = (uint64_t)pthread_self();
	thread[56 / 8] = address(cframe);
	cframe[0] = address(frames[0]);
	for (int i = 0; i < 2; i++) {
		frames[i][0] = address(code);
		frames[i][8 / 8] = i ? 0 : address(frames[1]);
		frames[i][56 / 8] = address(code) + 192;
	}
	code[0] = 1;
	code[1] = address(PyCode_Type);
	code[112 / 8] = address(file);
	code[120 / 8] = code[128 / 8] = address(text);
	code[136 / 8] = address(table);
	text[16 / 8] = 4;
	text[32 / 8] = 1 << 2 | 1 << 5 | 1 << 6; /* one byte each, compact, ASCII */
	memcpy((char *)text + 40, "fake", 4);
	memcpy(file, text, sizeof(file));
}

static void mislead(const char *how)
{
	if (!strcmp(how, "threads")) {
		thread[136 / 8] = 1;
		other[136 / 8] = 2;
		thread[1] = address(other);
		other[1] = address(thread);
		interp[0] = address(interp);
	} else if (!strcmp(how, "frames")) {
		frames[1][1] = address(frames[0]);
	} else if (!strcmp(how, "nowhere")) {
		frames[0][0] = frames[1][0] = 0x1000;
	} else if (!strcmp(how, "huge")) {
		text[16 / 8] = 1ull << 60;
		table[16 / 8] = 1ull << 60;
	}
}

double _PyEval_EvalFrameDefault(double seconds)
{
	struct timespec begin, now;
	volatile uint64_t *line = &code[64 / 8];

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		for (int i = 0; i < 100000; i++)
			*line += 1ull << 32;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((double)(now.tv_sec - begin.tv_sec) +
			 (double)(now.tv_nsec - begin.tv_nsec) * 1e-9 <
		 seconds);
	return seconds;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	build();
	mislead(argv[2]);
	return _PyEval_EvalFrameDefault(atof(argv[1])) < 0;
}
