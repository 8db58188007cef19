/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What addresses belong to: files mapped by targets, the kernel, the vDSO, memory without a file.
 * A file is opened when it is first seen and its descriptor kept, so that containers, deleted files
 * and processes that end do not matter later; that also pins its inode number, which identifies it.
 * Knows no process table; each hit offset is remembered here for the symbols at the end.
 *
 * Of a target's file only the ELF header, the header tables and the build-id's note are read in this
 * process, and the symbols of libraries that are probed or hold Python, by a reader that expects
 * hostile bytes and is bounded (ELF_OPEN_LEAN); other symbols and DWARF are the worker's.
 */
#pragma once

#include "base/err.h"
#include "base/hash.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "capture/writer.h"
#include "collect/root.h"
#include "elf/elf.h"
#include "python/find.h"

#include <stdbool.h>
#include <stdint.h>

/* The process that memory without a file belongs to. */
struct object_owner {
	uint32_t pid, ns_pid, uid;
	uint32_t process; /* of the capture */
};

struct object {
	enum object_kind kind;
	uint32_t flags; /* enum object_flag */
	uint32_t id;    /* of the capture, 0 before object_declare() */
	int fd;         /* readable, -1: could not be opened */
	int root;       /* number in struct roots: whose paths @path means */
	char *path;     /* as the target sees it; "" for none */
	uint64_t size;  /* of the file */
	uint64_t device, inode;
	uint32_t attempts;    /* to open it */
	struct elf_file *elf; /* NULL: not one, or not openable */
	struct elf_build_id build_id;
	struct python_binary *python; /* the interpreter in it; NULL: none */
	bool is_jitdump;
	bool is_foreign;           /* an ELF file of another kind than ours: 32 bit */
	uint32_t code_object;      /* of the capture */
	struct object_owner owner; /* OBJECT_ANON: whose memory it is */
	const struct object
		*jitdump; /* OBJECT_ANON: the file that tells its functions; NULL: none */
	struct hash hits; /* offset -> how often */
	uint64_t leaves;  /* stacks that end in it, towards the leaf */
};

/* What the kernel says of a mapped file. */
struct object_place {
	uint32_t pid;
	uint64_t start, end;
	uint32_t major, minor;
	uint64_t inode;   /* 0: no file */
	struct span path; /* perhaps with " (deleted)" behind it */
	bool is_deleted;
};

/* One descriptor each; a PyTorch process has about 320. Later ones are one object, and counted. */
#define OBJECTS_MAX 65536

struct objects {
	struct roots roots;
	struct strtab keys;          /* (device, inode) -> number */
	VEC(struct object *) files;  /* by that number */
	VEC(struct object *) others; /* kernel, vDSO, one for the JIT memory of each process */
	struct object *kernel, *vdso;
	struct object *rest; /* the files beyond OBJECTS_MAX */
	uint64_t unopened;
	/* Called once for each ELF file when it has been opened; may be NULL. */
	void (*on_open)(void *data, struct object *object, const struct object_place *place);
	void *data;
};

int objects_init(struct objects *o, struct err *err);
void objects_release(struct objects *o);

/*
 * The object of a mapped place, a file being opened now if it is new. NULL for memory without a
 * file, for which there is objects_anon(); so is what lies in files that are no ELF files, of which
 * only the one that a JIT compiler describes its functions in is given (is_jitdump).
 */
int objects_place(struct objects *o, const struct object_place *place, struct object **ret);
/* A new one for the memory without a file of one process. */
int objects_anon(struct objects *o, const struct object_owner *owner, struct object **ret);

/*
 * Where offset 0 of the object's address space lies for a mapping at @start of file offset @offset:
 * address - bias is what frames store.
 */
uint64_t object_bias(const struct object *object, uint64_t start, uint64_t offset);

/* Its number in the capture; the record is written on the first call. */
int object_declare(struct object *object, struct capture_writer *w, uint32_t *ret);
