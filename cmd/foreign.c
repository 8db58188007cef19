/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/foreign.h"

#include "base/strbuf.h"
#include "capture/limits.h"
#include "capture/reader.h"
#include "capture/writer.h"
#include "cmd/tell.h"
#include "import/import.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

/* Four chunks: neither side waits for the other's next one. What unprivileged users may have. */
#define PIPE_BYTES (1 << 20)

struct foreign {
	const char *const *paths;
	size_t count;
	int in, out; /* ends of the pipe; -1: closed */
	pthread_t thread;
	bool is_running; /* or has to be joined */
	/* The thread's, until it is joined. */
	int rc;
	struct err err;
	struct import_trust trust;
};

static int import(struct foreign *f)
{
	CLEANUP(capture_writer_free) struct capture_writer *w = NULL;
	const struct capture_writer_options opt = {
		.fd = f->in,
		.level = CAPTURE_LEVEL_STORED,
		.epoch_frames = CAPTURE_EPOCH_FRAMES_MAX,
	};
	const struct import_options import_opt = { .format = NULL };

	int rc = capture_writer_open(&w, &opt, &f->err);
	if (!rc)
		rc = import_files(w, f->paths, f->count, &import_opt, &f->trust, &f->err);
	if (rc < 0)
		return rc;
	rc = capture_writer_flush(w);
	return rc < 0 ? err_set(&f->err, rc, "cannot import '%s'", f->paths[0]) : 0;
}

static void *run(void *data)
{
	struct foreign *f = data;
	sigset_t pipe;

	/* When the reader has given up, writing fails; it does not end the program. */
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, NULL);
	f->rc = import(f);
	close(f->in);
	return NULL;
}

/* What of it is not in the result; a whole import is not worth a word. */
static void tell_flaws(const struct foreign *f)
{
	const char *file =
		f->count > 1 && f->trust.first_file[0] ? f->trust.first_file : f->paths[0];
	struct strbuf text = { 0 };
	if (!import_is_flawed(&f->trust))
		return;
	import_trust_text(&f->trust, &text);
	tell("'%s': %s", file, strbuf_text(&text));
	strbuf_release(&text);
}

/* All has been read: whether it was all. */
static int foreign_end(void *data, struct err *err)
{
	struct foreign *f = data;

	if (f->is_running) {
		pthread_join(f->thread, NULL);
		f->is_running = false;
		if (!f->rc)
			tell_flaws(f);
	}
	if (f->rc < 0)
		*err = f->err;
	return f->rc;
}

void foreign_close(struct foreign *f)
{
	if (!f)
		return;
	if (f->out >= 0)
		close(f->out);
	if (f->is_running)
		pthread_join(f->thread, NULL);
	free(f);
}

static int start(struct foreign *f)
{
	int fds[2];
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	f->out = fds[0];
	f->in = fds[1];
	(void)fcntl(f->in, F_SETPIPE_SZ, PIPE_BYTES);
	int rc = -pthread_create(&f->thread, NULL, run, f);
	f->is_running = !rc;
	if (rc)
		close(f->in);
	return rc;
}

int foreign_open(struct foreign **ret, const char *const *paths, size_t count,
		 struct capture_reader **ret_reader, struct err *err)
{
	CLEANUP(foreign_close) struct foreign *f = calloc(1, sizeof(*f));
	CLEANUP(capture_reader_free) struct capture_reader *reader = NULL;

	if (!f)
		return err_set(err, -ENOMEM, "cannot import '%s'", paths[0]);
	f->paths = paths;
	f->count = count;
	f->out = -1;
	int rc = start(f);
	if (rc < 0)
		return err_set(err, rc, "cannot import '%s'", paths[0]);
	rc = capture_reader_open_fd(&reader, f->out, paths[0], err);
	if (rc < 0) {
		/* An import that failed at once says why. */
		int import_rc = foreign_end(f, err);
		return import_rc < 0 ? import_rc : rc;
	}
	capture_reader_on_end(reader, foreign_end, f);
	*ret_reader = TAKE(reader);
	*ret = TAKE(f);
	return 0;
}
