/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Foreign files as a capture, for who reads one: made by a thread of its own and read through a pipe
 * meanwhile, so that reading it costs neither memory nor the time that it takes to make it. Knows
 * no format.
 */
#pragma once

#include "base/cleanup.h"
#include "base/err.h"

#include <stddef.h>

struct capture_reader;
struct foreign;

/*
 * @paths stay the caller's and have to live on. When the import fails, so does the reading: with the
 * import's error, here or by its end. What it could not keep is told on stderr before that.
 */
int foreign_open(struct foreign **ret, const char *const *paths, size_t count,
		 struct capture_reader **ret_reader, struct err *err);
/* Before the reader is freed; ends an import that has not ended. NULL is fine. */
void foreign_close(struct foreign *f);
DEFINE_CLEANUP(foreign_close, struct foreign *)
