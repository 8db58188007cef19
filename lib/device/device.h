/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One accelerator code object: an offset in it → kernel, inlined calls, source line, instruction.
 * Knows nothing of launches, samples or captures; whether what has no source is "jit" is for the
 * caller to say.
 *
 *	CLEANUP(device_close) struct device_object *o = NULL;
 *	struct device_place place;
 *	rc = device_open(&o, bytes, name, 0, err);
 *	if (device_resolve(o, offset, &place) == 0)
 *		... place.function->name, place.lines[], place.text ...
 *
 * What an offset is: in linked objects (POCL, AMDGPU, zebin from the driver) the ELF address; in
 * those whose functions all begin at address 0 (cubin, zebin from ocloc) the place in the file. An
 * offset that a runtime counts from the start of a function is added to the function's own.
 *
 * Objects come from strangers. ELF, cubin and fatbin structures are read here, through spans. libdw,
 * libLLVM and libiga64, which are large, get to see an object only in a child process that can do
 * nothing but answer (helper.h); without it, or without those libraries, parts of an answer are
 * missing, which is no error.
 *
 * To add a format: one file with a `const struct device_ops` (object.h), and its line in object.c.
 */
#pragma once

#include "base/cleanup.h"
#include "base/err.h"
#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

struct device_object;

enum device_format {
	DEVICE_POCL = 1, /* shared object of one kernel, made by POCL */
	DEVICE_AMDGPU,
	DEVICE_CUBIN,
	DEVICE_ZEBIN,
};

enum device_flag {
	DEVICE_NO_TEXT = 1 << 0,  /* no disassembler */
	DEVICE_NO_CHILD = 1 << 1, /* for tests: libdw in this process, and no disassembler */
};

/* More are left out. The largest library kernels seen have some thousand in one object. */
#define DEVICE_FUNCTIONS_MAX (1u << 18)
/* Instructions that are kept for one object, about 1.3 GB; the largest kernels seen have 100,000. */
#define DEVICE_ROWS_MAX (16u << 20)

/*
 * @bytes are borrowed until device_close(). @name is for messages. -ENOTSUP: an ELF file of another
 * kind, or something else; containers are for images.h. -EBADMSG: damaged.
 */
int device_open(struct device_object **ret, struct span bytes, const char *name, unsigned flags,
		struct err *err);
void device_close(struct device_object *o);
DEFINE_CLEANUP(device_close, struct device_object *)

/*
 * From now on have NVIDIA's disassembler, where the user has it, write the instructions of a cubin, which
 * otherwise are mnemonics. It takes 0.2 s for an object. Before the first question about it.
 */
void device_use_nvdisasm(struct device_object *o);

enum device_format device_format(const struct device_object *o);
/* "gfx90a", "sm_90", "pvc", "x86-64"; "" where it does not say. */
const char *device_arch(const struct device_object *o);

/* Static facts of a kernel that bear on its speed; 0: not known, or none. */
struct device_facts {
	uint32_t registers;        /* per work item: vector registers, GRF per thread */
	uint32_t scalar_registers; /* AMD: per wave */
	uint32_t shared_bytes;     /* per work group: LDS, SLM, shared memory */
	uint32_t private_bytes;    /* per work item: stack, scratch */
	uint32_t spill_bytes;
	uint32_t simd; /* work items that one instruction handles, where the compiler chose */
};

struct device_function {
	const char *name;   /* as in the symbol table, mangled; POCL: the kernel's */
	const char *kernel; /* the kernel that it is a part of; NULL: not known, or of several */
	uint64_t offset, size;
	bool is_kernel;
	struct device_facts facts;
};

/* By offset. The same kernel may have several, as POCL's do. */
size_t device_function_count(const struct device_object *o);
const struct device_function *device_function_get(const struct device_object *o, size_t index);
/* The kernel, else the function, of that mangled name; -ENOENT. */
int device_function_find(const struct device_object *o, const char *name, size_t *ret);

struct device_line {
	const char *name; /* of the function, as in device_function; "": not known */
	const char *file; /* "": not known */
	uint32_t line;    /* 0: none; code that belongs to no line */
	uint32_t column;
};

struct device_place {
	const struct device_function *function;
	uint64_t offset;      /* of the instruction; what was asked for where @length is 0 */
	uint32_t length;      /* 0: not known */
	struct span bytes;    /* @length of them, or empty */
	const char *text;     /* NULL: not known; else the instruction, or its mnemonic */
	const char *assembly; /* the PTX that it was made of; NULL */
	/* Outermost function first; all but the last are calls that were inlined. Empty: the object
	 * has no lines for this place. */
	const struct device_line *lines;
	size_t line_count;
};

/*
 * What stands at @offset. Strings live until device_close(). The first question about a function
 * costs reading all of it; after that an answer is two searches. -ENOENT: no function is there.
 */
int device_resolve(struct device_object *o, uint64_t offset, struct device_place *ret);

/* All instructions of a function, or where they are not known its stretches of one line: how many,
 * or -ENOMEM. Without those of functions that lie inside it. */
int64_t device_place_count(struct device_object *o, size_t function);
void device_place_get(struct device_object *o, size_t function, size_t index,
		      struct device_place *ret);
