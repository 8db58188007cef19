/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Walks that are known already. A thread that launches does so from a few places again and again,
 * and a walk of six frames costs as much as all the rest of a launch's probes.
 *
 * A walk by tables is decided by where it starts (pc, sp, frame pointer), by the tables, and by the
 * words that it reads of the stack: each frame's return address, and the frame pointer where one
 * was pushed. So when a walk that starts alike with the same tables finds the same words at the
 * same places, it goes the same way, whatever else has changed. All of these words are read at once.
 *
 * Only walks with none but ordinary frames, up to the thread's first function, are kept.
 */
#pragma once

#include "bpf/kernel.h"

/* Deeper walks cost more for other reasons, and there are fewer of them. */
#define UNWIND_MEMO_FRAMES 32
/* Bytes of the stack that a walk spans; the words are read in one go. A power of two. */
#define UNWIND_MEMO_SPAN 4096

struct unwind_memo_key {
	u64 pc, sp;
	u32 tid;
	u32 reserved;
};

/* Frame 0 is where the walk starts. */
struct unwind_memo {
	u64 fp;        /* at the start */
	u64 looked_ns; /* which mappings were walked by */
	u32 count;     /* frames */
	u32 span;      /* bytes from sp to the last word read */
	u64 ips[UNWIND_MEMO_FRAMES];
	u64 fps[UNWIND_MEMO_FRAMES]; /* of the caller */
	u16 ip_at
		[UNWIND_MEMO_FRAMES]; /* word from sp on where the return address to frame i + 1 is */
	u16 fp_at[UNWIND_MEMO_FRAMES]; /* where the caller's frame pointer is, + 1; 0: not pushed */
};
