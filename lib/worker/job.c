/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/job.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static const struct worker_op ops[WORKER_OP_COUNT] = {
	[WORKER_OP_SYMBOLIZE] = { "symbolize", worker_symbolize_job },
	[WORKER_OP_UNWIND_TABLE] = { "unwind table", worker_unwind_table_job },
	[WORKER_OP_UNWIND_FRAMES] = { "unwind frames", worker_unwind_frames_job },
};

int worker_job_input(const struct worker_job *job, size_t max, void **ret, size_t *ret_size,
		     struct err *err)
{
	struct stat st;
	if (fstat(job->input_fd, &st) < 0)
		return err_set(err, -errno, "worker input");
	if (st.st_size < 0 || (uint64_t)st.st_size > max)
		return err_set(err, -E2BIG, "worker input");
	size_t size = (size_t)st.st_size;
	CLEANUP_FREE void *data = malloc(size ? size : 1);
	if (!data)
		return err_set(err, -ENOMEM, "worker input");
	int64_t n = io_pread_full(job->input_fd, data, size, 0);
	if (n < 0 || (size_t)n != size)
		return err_set(err, n < 0 ? (int)n : -EIO, "worker input");
	*ret = TAKE(data);
	*ret_size = size;
	return 0;
}

int worker_job_write(struct worker_job *job, const void *data, size_t size, struct err *err)
{
	int rc = io_write_all(job->output_fd, data, size);
	if (rc < 0)
		return err_set(err, rc, "worker output for '%s'", job->name);
	job->written += size;
	return 0;
}

int worker_job_open(struct worker_job *job, const struct elf_symbols_wanted *wanted,
		    uint32_t attempt)
{
	struct worker_message m = { .type = WORKER_WANT_FILE,
				    .attempt = attempt,
				    .wanted = *wanted };
	int fd = -1;
	size_t count = 1;

	int rc = worker_send(job->socket, &m, sizeof(m), NULL, 0);
	if (rc == 0)
		rc = worker_recv(job->socket, &m, sizeof(m), &fd, &count, 0);
	if (rc < 0)
		return rc;
	if (m.status < 0 || !count)
		return m.status < 0 ? m.status : -ENOENT;
	return fd;
}

static int run(struct worker_job *job, uint32_t op, const struct worker_op *extra,
	       size_t extra_count, struct err *err)
{
	if (op >= WORKER_OP_TEST && op - WORKER_OP_TEST < extra_count)
		return extra[op - WORKER_OP_TEST].run(job, err);
	if (op < WORKER_OP_COUNT) {
		for (size_t i = 0; i < extra_count; i++) {
			if (strcmp(extra[i].name, ops[op].name) == 0)
				return extra[i].run(job, err);
		}
		return ops[op].run(job, err);
	}
	return err_set(err, -ENOSYS, "worker op %u", op);
}

void worker_serve(int socket, const struct worker_op *extra, size_t extra_count)
{
	struct worker_message m;
	int fds[WORKER_FD_COUNT];

	for (;;) {
		size_t count = WORKER_FD_COUNT;
		if (worker_recv(socket, &m, sizeof(m), fds, &count, 0) < 0 ||
		    count != WORKER_FD_COUNT)
			return;
		struct worker_job job = {
			.name = m.text,
			.fd = fds[WORKER_FD_OBJECT],
			.input_fd = fds[WORKER_FD_INPUT],
			.output_fd = fds[WORKER_FD_OUTPUT],
			.socket = socket,
			.args = m.args,
		};
		struct err err = { 0 };
		struct worker_message reply = { .type = WORKER_REPLY };
		reply.status = run(&job, m.op, extra, extra_count, &err);
		reply.size = job.written;
		memcpy(reply.args, job.reply, sizeof(reply.args));
		memcpy(reply.text, err.text, sizeof(err.text));
		for (size_t i = 0; i < WORKER_FD_COUNT; i++)
			close(fds[i]);
		if (worker_send(socket, &reply, sizeof(reply), NULL, 0) < 0)
			return;
	}
}

_Static_assert(sizeof(((struct err *)0)->text) <= WORKER_NAME_BYTES, "an error fits into a reply");
