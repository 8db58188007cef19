/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of `archive` share. */
#pragma once

#include "capture/reader.h"

/* Write the files that a capture brings along below @folder. How many were written in @ret_files. */
int archive_extract(struct capture_reader *r, const char *folder, uint64_t *ret_files,
		    struct err *err);
