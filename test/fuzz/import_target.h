/* SPDX-License-Identifier: Apache-2.0 */
/* One input through the importer of a format, and what must hold whatever the input is. */
#pragma once

#include "capture/writer.h"
#include "import/import.h"

#include <fcntl.h>
#include <stdlib.h>

static inline void fuzz_import(const char *format, const uint8_t *data, size_t size)
{
	CLEANUP_CLOSE int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	CLEANUP(capture_writer_free) struct capture_writer *w = NULL;
	struct capture_writer_options options = { .fd = fd };
	struct import_options import = { .format = format };
	struct import_trust t;
	struct err err = { .text = "" };

	if (fd < 0 || capture_writer_open(&w, &options, &err) < 0)
		abort();
	int rc = import_memory(w, data, size, &import, &t, &err);
	/* A failure says why, and is never one of the writer: what is written is ours. */
	if (rc < 0 && (!err.text[0] || capture_writer_error(w)[0]))
		abort();
	if (t.linked_ops > t.device_ops || t.linked_ns > t.device_ns ||
	    t.python_ops > t.device_ops || t.before_ops + t.unknown_ops > t.device_ops ||
	    t.captured_ops > t.graph_ops ||
	    t.linked_ops + t.before_ops + t.unknown_ops != t.device_ops)
		abort();
}
