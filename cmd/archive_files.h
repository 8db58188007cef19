/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of this machine that an archive takes along. Which they are says the capture, a stranger's
 * word: a binary is taken only if its build-id is the one that was recorded, a source file only below
 * --source-path or if the code object's checksum says that it is the very one.
 */
#pragma once

#include "base/err.h"
#include "base/vec.h"
#include "capture/merge.h"

struct archive_count {
	uint64_t binaries, debug, sources; /* taken */
	uint64_t bytes;                    /* of them */
	uint64_t no_binaries, no_sources;  /* named, and not here or not the same */
};

struct archive_files;

/* @source_path may be NULL. */
int archive_files_new(struct archive_files **ret, const char *source_path, struct err *err);
void archive_files_free(struct archive_files *f);
DEFINE_CLEANUP(archive_files_free, struct archive_files *)

/* What a capture names, from its reader's records to the last. */
int archive_files_find(struct archive_files *f, struct capture_reader *r, struct err *err);
/* Write those that may be taken. */
int archive_files_write(struct archive_files *f, struct capture_writer *w,
			struct archive_count *ret, struct err *err);
