/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Probes of library functions: what the recorder tells launch.bpf.c to take along at each, and the
 * event that comes back. Plain C for both sides; a struct probe_program is a struct probe_site
 * (lib/accel/site.h) with the places that the values have at the chosen instruction.
 */
#pragma once

#include "bpf/events.h"

/* Sites times library files they are found in. Some thirty sites; a machine full of containers has
 * a few dozen copies of a library. */
#define PROBE_PROGRAMS_MAX 1024

#define EVENT_PROBE_VALUES 16 /* as PROBE_VALUES */
#define EVENT_PROBE_DEREFS 3  /* as PROBE_DEREFS */
#define EVENT_PROBE_WORDS  8  /* consecutive ones that one read takes */

enum probe_program_flag {
	PROBE_PROGRAM_STACK = 1 << 0,
	PROBE_PROGRAM_TELLS = 1 << 1,       /* as PROBE_TELLS */
	PROBE_PROGRAM_UNLESS_TOLD = 1 << 2, /* as PROBE_UNLESS_TOLD */
};

enum probe_read_from {
	/* 0 to 31: a word of the kernel's struct pt_regs */
	PROBE_READ_STACK = 32, /* 8 bytes at stack pointer + @stack */
	PROBE_READ_RETURN,     /* the return value */
	PROBE_READ_VALUE = 64, /* to 79: a value that is there already */
	PROBE_READ_LATER = 96, /* to 111: the same, when the function has returned */
};

struct probe_read {
	__u8 from; /* enum probe_read_from */
	__u8 to;   /* number of the value */
	__u8 derefs;
	__u8 bytes; /* of the last step: 1, 2, 4, 8; with dereferences up to 8 * EVENT_PROBE_WORDS */
	__s16 stack;
	__s16 step[EVENT_PROBE_DEREFS - 1]; /* offsets of the dereferences before the last */
	__s16 last;
};

enum probe_program_text {
	PROBE_PROGRAM_NO_TEXT,
	PROBE_PROGRAM_STRING,
	PROBE_PROGRAM_STRINGS,
	PROBE_PROGRAM_BYTES,
	PROBE_PROGRAM_WINDOW,
};

/* Indexed by the attach cookie. */
struct probe_program {
	__u32 site;           /* accel_site()'s number */
	__u16 flags;          /* enum probe_program_flag */
	__u8 reads;           /* used ones of @read */
	__u8 values;          /* that they make */
	__s32 return_address; /* stack pointer + this is where it lies */
	__u32 text_max;
	__u8 text;                                               /* enum probe_program_text */
	__u8 text_pointer, text_count, text_lengths, text_scale; /* numbers of values */
	__u8 reserved[7];
	struct probe_read read[EVENT_PROBE_VALUES];
};

enum event_probe_flag {
	EVENT_PROBE_FAILED = 1 << 0, /* memory could not be read: a value is 0, text is missing */
	EVENT_PROBE_CUT = 1 << 1,    /* the text was longer */
	EVENT_PROBE_MORE = 1 << 2,   /* more text of this hit follows in another event */
	EVENT_PROBE_UNSTACKED = 1 << 3, /* the thread's stacks have taken their share of its time */
};

/* Behind it, at @text_offset, text_size bytes, or the stack that the header tells of. */
struct event_probe {
	struct event_header header;
	__u32 site;
	__u16 flags; /* enum event_probe_flag */
	__u16 values;
	__u32 text_size;
	__u32 text_start;                /* of these bytes in the whole text */
	__u64 value[EVENT_PROBE_VALUES]; /* only the first @values are sent where nothing follows */
};

/* Text in one event. Longer ones, such as a program's source, come in several. */
#define EVENT_PROBE_TEXT_BYTES (8u << 10)

EVENT_ASSERT(sizeof(struct probe_read) == 12);
EVENT_ASSERT(sizeof(struct probe_program) == 220);
EVENT_ASSERT(sizeof(struct event_probe) == 48 + 8 * EVENT_PROBE_VALUES);
EVENT_ASSERT(sizeof(struct event_probe) + sizeof(struct event_stack) +
		     (EVENT_USER_FRAMES + EVENT_KERNEL_FRAMES) * 8 + EVENT_PYTHON_FRAMES * 16 <=
	     EVENT_MAX_BYTES);
EVENT_ASSERT(sizeof(struct event_probe) + EVENT_PROBE_TEXT_BYTES <= EVENT_MAX_BYTES);
