/* SPDX-License-Identifier: Apache-2.0 */
/* A capture in a memfd: written, then read, by the tests of this folder. */
#pragma once

#include "unit.h"

#include "capture/reader.h"
#include "capture/writer.h"

#include <sys/mman.h>
#include <unistd.h>

struct scratch_capture {
	int fd;
	struct capture_writer *w;
	struct capture_reader *r;
};

static inline void scratch_open(struct scratch_capture *c, const struct capture_writer_options *opt)
{
	struct capture_writer_options own = opt ? *opt : (struct capture_writer_options){ 0 };

	*c = (struct scratch_capture){ .fd = memfd_create("capture", MFD_CLOEXEC) };
	assert_true(c->fd >= 0);
	own.fd = c->fd;
	assert_int_equal(capture_writer_open(&c->w, &own, NULL), 0);
}

/* Finish writing, start reading. */
static inline void scratch_read(struct scratch_capture *c)
{
	struct err err = { "" };

	capture_writer_free(c->w);
	c->w = NULL;
	capture_reader_free(c->r);
	assert_int_equal(lseek(c->fd, 0, SEEK_SET), 0);
	assert_int_equal(capture_reader_open_fd(&c->r, c->fd, "scratch", &err), 0);
}

static inline void scratch_close(struct scratch_capture *c)
{
	capture_writer_free(c->w);
	capture_reader_free(c->r);
	close(c->fd);
}
