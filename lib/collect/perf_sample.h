/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sample of a perf ring as the events that our programs would have sent of it: EVENT_COPYs of
 * registers and stack, which is unwound when it is handled, and the EVENT_SAMPLE that it belongs to.
 * Knows perf_event_open(2)'s format, not whose the sample is.
 */
#pragma once

#include "base/cleanup.h"
#include "base/err.h"
#include "base/span.h"
#include "collect/ring.h"

#include <linux/perf_event.h>
#include <stdint.h>

#if defined(__x86_64__)
/* PERF_REG_X86_AX to _IP and _R8 to _R15 (asm/perf_regs.h), as the kernel has no numbers of DWARF. */
#define PERF_SAMPLE_REGS       0xff01ffull
#define PERF_SAMPLE_REGS_COUNT 17
#else
/* Copied stacks are not walked on other processors yet. */
#define PERF_SAMPLE_REGS       0
#define PERF_SAMPLE_REGS_COUNT 0
#endif

/* As much of a stack as fits into a record, whose size has 16 bits; the kernel cuts what is too much. */
#define PERF_SAMPLE_STACK_BYTES 65528u

struct perf_sample {
	uint32_t pid, tid, cpu;
	bool in_kernel;
	uint64_t ip, time_ns;
	uint64_t lost;  /* it is none, but tells that so many were lost */
	uint32_t event; /* number of what it was taken on; not in the record */
	/* Little-endian words; borrowed. */
	struct span chain;
	struct span regs;  /* empty: no user registers, as a kernel thread has none */
	struct span stack; /* from the stack pointer on */
};

/* 1 and a sample (or losses), 0 for a record that says nothing to us, -EBADMSG. */
int perf_sample_parse(struct span record, uint64_t sample_type, struct perf_sample *ret,
		      struct err *err);

struct perf_sample_buffers;
struct perf_sample_buffers *perf_sample_buffers_new(void);
void perf_sample_buffers_free(struct perf_sample_buffers *b);
DEFINE_CLEANUP(perf_sample_buffers_free, struct perf_sample_buffers *)

/* Its events, made in @b, to @fn; what that returns. */
int perf_sample_tell(const struct perf_sample *sample, struct perf_sample_buffers *b, ring_fn fn,
		     void *data);
