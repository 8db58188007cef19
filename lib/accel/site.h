/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probe sites as data: which function of which library is watched, and what of a call is taken
 * along. A runtime (accel.h) states its sites in these terms; site_choose() turns one into the
 * instruction where the probe goes and the places where the values lie there. Knows nothing of
 * BPF, processes or runtimes.
 *
 * A probe is placed on the first instruction of the function's first basic block that the kernel
 * emulates (about 0.5 us a hit) rather than steps (9 us). Arguments may have moved by then, which
 * is why their places are part of the answer.
 */
#pragma once

#include "base/cleanup.h"
#include "base/err.h"
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROBE_VALUES 16 /* POCL's event, seven words of it, and twice four of its command */
#define PROBE_DEREFS 3

enum probe_base {
	PROBE_NONE,
	PROBE_ARGUMENT, /* argument @index from 0, by the C calling convention, integer class */
	PROBE_RETURN,   /* what the function returned; sites with PROBE_AT_RETURN only */
	PROBE_VALUE,    /* value @index, which an earlier accessor has made */
	PROBE_OUT,      /* the same, but what it points to is read when the function has returned:
			   where it leaves a result; sites with PROBE_AT_RETURN only, @derefs at
			   least 1 */
};

/*
 * v = argument; for each dereference v = *(v + offset). The last step (or, without any, the
 * argument itself) is @size bytes wide, zero-extended; @count > 1 takes that many consecutive
 * ones of 8 bytes as as many values. A null pointer on the way gives 0 and no failure.
 */
struct probe_value {
	uint8_t base; /* enum probe_base */
	uint8_t index;
	uint8_t derefs;
	uint8_t size;  /* 1, 2, 4 or 8; 0: 8 */
	uint8_t count; /* 0: 1 */
	int16_t offset[PROBE_DEREFS];
};

enum probe_text_kind {
	PROBE_TEXT_NONE,
	PROBE_TEXT_STRING,  /* NUL-terminated, at value[pointer] */
	PROBE_TEXT_STRINGS, /* value[count] char pointers at value[pointer], with size_t lengths at
			       value[lengths], where 0, or no array, is NUL-terminated; joined */
	PROBE_TEXT_BYTES,   /* value[count] * scale bytes at value[pointer] */
	PROBE_TEXT_WINDOW,  /* @max bytes at value[pointer], or as many as can be read: for what
			       tells its own size */
};

/* The text of a site with PROBE_AT_RETURN, named by the numbers of its values, each below 8; it is
 * read when the function returns. At most @max bytes of it are taken. */
struct probe_text {
	uint8_t kind; /* enum probe_text_kind */
	uint8_t pointer, count, lengths;
	uint8_t scale;
	uint32_t max;
};

enum probe_flag {
	PROBE_STACK = 1 << 0,       /* the caller's stack is wanted; not with PROBE_AT_RETURN */
	PROBE_AT_RETURN = 1 << 1,   /* reported when the function returns; values are of the entry.
				     Never on a hot path: a pending return probe costs more and
				     hides the caller from unwinders */
	PROBE_OPTIONAL = 1 << 2,    /* versions of the library without this symbol are fine */
	PROBE_TELLS = 1 << 3,       /* says better what sites with PROBE_UNLESS_TOLD say, */
	PROBE_ON_REQUEST = 1 << 5,  /* armed where the runtime wants it, see accel_wants() */
	PROBE_UNLESS_TOLD = 1 << 4, /* which are passed over in a process where it was hit */
};

#define LASTS_BY_THREAD  0xfe /* it is of the calling thread */
#define LASTS_BY_MESSAGE 0xff /* the text is messages of a library of ours (told.h) */

struct probe_site {
	/* The file's base name is this and then a dot, or a dash (wheels rename what they bundle):
	 * "libOpenCL" is libOpenCL.so.1 and libOpenCL-1ef0e16e.so.1.0.0. */
	const char *library;
	const char *symbol; /* in .dynsym, any version */
	uint16_t id;        /* the runtime's own word for it */
	uint16_t flags;     /* enum probe_flag */
	struct probe_value value[PROBE_VALUES];
	struct probe_text text;
	/* What a hit tells holds until the next one of the same thing: 1 + the number of the value that
	 * says of what; or LASTS_BY_...; 0: it is over with the call. */
	uint8_t lasts;
	/* A 16-bit variable of the library that counts the probes on it, or NULL: how those inside
	 * find out that somebody listens. */
	const char *counter;
};

/* How many values the accessors of @site make, counting arrays; at most PROBE_VALUES. */
unsigned int site_value_count(const struct probe_site *site);
/* Is a file with this path or base name one of @site's library? */
bool site_in_library(const struct probe_site *site, const char *path);
/* The same for the name of a library. */
bool library_has_name(const char *library, const char *path);

/* Registers by the number that instructions use: 0 rax, 1 rcx, 2 rdx, 3 rbx, 4 rsp, 5 rbp, ... */
#define PLACE_REGISTERS 16
#define PLACE_ARGUMENTS 16 /* none of the calls probed has more */

enum place_kind {
	PLACE_LOST, /* overwritten before the probe */
	PLACE_REGISTER,
	PLACE_STACK, /* 8 bytes at stack pointer + offset */
};

struct place {
	uint8_t kind; /* enum place_kind */
	uint8_t reg;
	int16_t offset;
};

/* Where a probe goes and what is where when it hits. */
struct probe_place {
	uint32_t skip;          /* bytes behind the function's first one */
	int32_t return_address; /* stack pointer + this is where the return address lies */
	bool emulated;          /* the kernel does not have to step the instruction */
	struct place argument[PLACE_ARGUMENTS];
};

/*
 * Choose the instruction in @code, which is the function from its first byte to its last (or as
 * much of it as is known), for the ELF machine @machine. Every argument that @site names is
 * reachable at the place chosen; the entry is always a valid answer, and is the one for
 * PROBE_AT_RETURN. Of a row of nops before a function that counts its probes it is any one.
 * -ENOTSUP for a machine whose calling convention is not known here.
 */
int site_choose(const struct probe_site *site, uint16_t machine, struct span code,
		struct probe_place *ret);

/* A library file whose sites are looked for. */
struct site_file;

/* @fd is borrowed and stays open until site_file_close(); @name is for messages, and copied. */
int site_file_open(struct site_file **ret, int fd, const char *name, struct err *err);
void site_file_close(struct site_file *f);
DEFINE_CLEANUP(site_file_close, struct site_file *)

/*
 * site_choose() for the site's function in this file. @ret_offset is the offset in the file that a
 * uprobe is put at. -ENOENT when the library has no such function.
 */
int site_resolve(struct site_file *f, const struct probe_site *site, struct probe_place *ret,
		 uint64_t *ret_offset, struct err *err);
/* Where the site's counter lies in the file; 0: it has none. */
int site_counter(struct site_file *f, const struct probe_site *site, uint64_t *ret_offset,
		 struct err *err);
