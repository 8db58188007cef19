/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/spawn.h"

#include "base/cleanup.h"
#include "worker/sandbox.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* _exit() throughout: the recorder's buffers and handlers are not ours to flush and run. */

static _Noreturn void worker_main(int orders, int socket, const struct worker_op *extra,
				  size_t extra_count)
{
	struct err err = { 0 };

	close(orders);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	/* The first message says whether the sandbox is closed; without it nothing is read. */
	struct worker_message hello = { .type = WORKER_REPLY };
	hello.status = sandbox_close(&err);
	memcpy(hello.text, err.text, sizeof(err.text));
	if (worker_send(socket, &hello, sizeof(hello), NULL, 0) == 0 && hello.status == 0)
		worker_serve(socket, extra, extra_count);
	_exit(0);
}

/* What @pid died of. */
static int reap(pid_t pid)
{
	int status;
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -1;
	}
	return status;
}

_Noreturn void spawner_run(int socket, const struct worker_op *extra, size_t extra_count)
{
	struct err err = { 0 };
	struct worker_message hello = { .type = WORKER_REPLY };
	pid_t worker = -1;

	hello.status = sandbox_drop(socket, &err);
	memcpy(hello.text, err.text, sizeof(err.text));
	prctl(PR_SET_NAME, "accel-prof-work", 0, 0, 0);
	/* Last, because a change of user clears it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (worker_send(socket, &hello, sizeof(hello), NULL, 0) < 0 || hello.status < 0)
		_exit(1);

	for (;;) {
		struct worker_order order;
		int fd = -1;
		size_t count = 1;
		if (worker_recv(socket, &order, sizeof(order), &fd, &count, 0) < 0)
			break;
		order.status = -1;
		if (worker > 0) {
			/* One that was asked to end by closing its socket may be busy or not. */
			kill(worker, SIGKILL);
			order.status = reap(worker);
			worker = -1;
		}
		if (order.type == WORKER_ORDER_START && count) {
			worker = fork();
			if (worker == 0)
				worker_main(socket, fd, extra, extra_count);
			order.status = worker < 0 ? -errno : 0;
		}
		if (count)
			close(fd);
		if (worker_send(socket, &order, sizeof(order), NULL, 0) < 0)
			break;
	}
	if (worker > 0) {
		kill(worker, SIGKILL);
		reap(worker);
	}
	_exit(0);
}
