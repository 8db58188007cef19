/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An object and its formats, from inside lib/device.
 *
 * A format says which functions there are (open), and lists the instructions of one when it is first
 * asked about (list). What list() learns goes through listing_add() into tables that a helper process
 * can send to its parent.
 */
#pragma once

#include "base/arena.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "device/device.h"
#include "elf/elf.h"

/* ELF machines that Debian 12's elf.h has not, or by other names. */
#define EM_CUDA_    190
#define EM_INTELGT_ 205
#define EM_AMDGPU_  224

struct device_ops {
	enum device_format format;
	bool (*is_mine)(struct elf_file *elf);
	/* Add the functions and set @arch. May set @state. */
	int (*open)(struct device_object *o, struct err *err);
	/* Rows of one function. 0, or -ENOMEM; what is not known is left out. */
	int (*list)(struct device_object *o, size_t function);
	/* In the helper, before it loses its rights: load libraries. May be NULL. */
	void (*prepare)(struct device_object *o);
	void (*close)(struct device_object *o);
	bool needs_helper; /* list() uses libdw or a disassembler */
};

extern const struct device_ops device_pocl, device_amdgpu, device_cubin, device_zebin;

/* One instruction, or stretch of code, that reaches to the next row. Sent between processes. */
struct row {
	uint64_t offset;
	uint32_t length;         /* 0: not known */
	uint32_t text, assembly; /* strings */
	uint32_t chain;          /* 0: none */
};

struct function {
	struct device_function pub;
	struct span code; /* as large as pub.size, or shorter where the file ends */
	uint32_t around;  /* the last one that began before and ends later, + 1; 0: none */
	uint64_t tag;     /* the format's */
	VEC(struct row) rows;
	bool is_listed;
};

/* One place of a chain, in numbers of `strings`. */
struct chain_line {
	uint32_t name, file, line, column;
};

struct chain {
	const struct device_line *lines;
	size_t count;
};

/* Deeper ones are cut at their outer end; as in lib/dwarf. */
#define CHAIN_LINES_MAX 256u
/* In all chains of an object, 400 MB; then only the innermost line of a place is kept. A kernel of 100,000
 * instructions has some hundred thousand. */
#define CHAIN_TOTAL_MAX (8u << 20)

struct device_object {
	const struct device_ops *ops;
	struct span bytes;
	char *name;
	unsigned flags;
	struct elf_file *elf;
	char arch[32];
	VEC(struct function) functions;
	uint32_t *by_name;  /* indices of functions */
	size_t row_count;   /* in all functions */
	size_t chain_total; /* lines in all chains */
	struct strtab strings;
	struct strtab chain_blobs; /* struct chain_line[] */
	VEC(struct chain) chains;  /* same numbers */
	struct arena arena;
	struct helper *helper;
	struct source_table *sources; /* read when first asked about */
	bool uses_nvdisasm;
	/* what list() uses, made by prepare() or when first needed */
	struct debug_info *debug;
	struct disassembler *disassembler;
	void *state;
};

/* @code is cut to the file. @name and @kernel are copied. 0, -ENOMEM; too many are left out. */
int object_add_function(struct device_object *o, const struct device_function *f, uint64_t file_pos,
			uint64_t tag);
/* The function that holds @offset and starts last; -ENOENT. */
int object_function_at(const struct device_object *o, uint64_t offset, size_t *ret);

int object_string(struct device_object *o, const char *text, uint32_t *ret);
/* The number of a chain, outermost first. */
int object_chain(struct device_object *o, const struct chain_line *lines, size_t count,
		 uint32_t *ret);
/* Rows come by rising offset. 0, -ENOMEM; 1: there is no room for more, listing may stop. */
int object_add_row(struct device_object *o, size_t function, const struct row *row);
