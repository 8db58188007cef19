/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/worker.h"

#include "worker/spawn.h"
#include "worker/worker_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* To fork and to drop privileges takes a millisecond; a machine under load gets time. */
#define START_TIMEOUT_NS (20ull * 1000000000)

/* A pair of sockets with numbers beyond stdin, stdout and stderr, which the child replaces. */
static int socket_pair(int *ret_ours, int *ret_theirs)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	for (size_t i = 0; i < 2; i++) {
		if (pair[i] > 2)
			continue;
		int fd = fcntl(pair[i], F_DUPFD_CLOEXEC, 3);
		if (fd < 0) {
			int code = -errno;
			close(pair[0]);
			close(pair[1]);
			return code;
		}
		close(pair[i]);
		pair[i] = fd;
	}
	*ret_ours = pair[0];
	*ret_theirs = pair[1];
	return 0;
}

/* The first message of either child: whether it could give up its privileges. */
static int read_hello(int socket, struct err *err)
{
	struct worker_message hello;
	int rc = worker_recv(socket, &hello, sizeof(hello), NULL, NULL, START_TIMEOUT_NS);
	if (rc < 0)
		return err_set(err, rc, "the worker does not start");
	if (hello.status < 0) {
		hello.text[sizeof(hello.text) - 1] = '\0';
		err_set(err, -EINVAL, "%s", hello.text); /* has the errno's words already */
		return hello.status;
	}
	return 0;
}

int worker_start_with(struct worker **ret, const struct worker_op *extra, size_t count,
		      struct err *err)
{
	CLEANUP_CLOSE int theirs = -1;
	CLEANUP(worker_free) struct worker *w = calloc(1, sizeof(*w));
	if (!w)
		return err_set(err, -ENOMEM, "worker");
	w->spawner = w->orders = w->socket = -1;
	int rc = socket_pair(&w->orders, &theirs);
	if (rc < 0)
		return err_set(err, rc, "cannot make a socket for the worker");

	w->spawner = fork();
	if (w->spawner < 0)
		return err_set(err, -errno, "cannot fork the worker");
	if (w->spawner == 0)
		spawner_run(theirs, extra, count);
	close(TAKE_FD(theirs));
	rc = read_hello(w->orders, err);
	if (rc < 0)
		return rc;
	/* One at once, so that a sandbox that cannot be closed here is found out before recording. */
	rc = worker_ensure(w, err);
	if (rc < 0)
		return rc;
	*ret = TAKE(w);
	return 0;
}

int worker_start(struct worker **ret, struct err *err)
{
	return worker_start_with(ret, NULL, 0, err);
}

void worker_free(struct worker *w)
{
	if (!w)
		return;
	if (w->socket >= 0)
		close(w->socket);
	/* It ends when its socket does, and ends what it has forked. */
	if (w->orders >= 0)
		close(w->orders);
	if (w->spawner > 0) {
		while (waitpid(w->spawner, NULL, 0) < 0 && errno == EINTR)
			;
	}
	debug_fetch_release(&w->fetch);
	free(w);
}

unsigned worker_restarts(const struct worker *w)
{
	return w->starts ? w->starts - 1 : 0;
}

/* An order and its answer; -EPIPE: the spawner is gone, which nothing mends. */
static int give_order(struct worker *w, struct worker_order *order, int fd, struct err *err)
{
	if (w->orders < 0)
		return err_set(err, -EPIPE, "the worker is gone");
	int rc = worker_send(w->orders, order, sizeof(*order), &fd, fd >= 0 ? 1 : 0);
	if (rc == 0)
		rc = worker_recv(w->orders, order, sizeof(*order), NULL, NULL, START_TIMEOUT_NS);
	if (rc == 0)
		return 0;
	close(TAKE_FD(w->orders));
	return err_set(err, -EPIPE, "the worker is gone");
}

int worker_ensure(struct worker *w, struct err *err)
{
	CLEANUP_CLOSE int ours = -1;
	CLEANUP_CLOSE int theirs = -1;

	if (w->socket >= 0)
		return 0;
	if (w->starts > WORKER_RESTARTS_MAX)
		return err_set(err, -EPIPE, "the worker died %u times", w->starts);
	int rc = socket_pair(&ours, &theirs);
	if (rc < 0)
		return err_set(err, rc, "cannot make a socket for the worker");
	struct worker_order order = { .type = WORKER_ORDER_START };
	w->starts++;
	rc = give_order(w, &order, theirs, err);
	if (rc < 0)
		return rc;
	if (order.status < 0)
		return err_set(err, order.status, "cannot fork the worker");
	close(TAKE_FD(theirs));
	rc = read_hello(ours, err);
	if (rc < 0)
		return rc;
	w->socket = TAKE_FD(ours);
	return 0;
}

void worker_stop(struct worker *w, char *ret, size_t size)
{
	struct worker_order order = { .type = WORKER_ORDER_STOP };

	if (w->socket >= 0)
		close(TAKE_FD(w->socket));
	snprintf(ret, size, "is gone");
	if (give_order(w, &order, -1, NULL) < 0 || order.status == -1)
		return;
	if (WIFSIGNALED(order.status))
		snprintf(ret, size, "died of signal %d", WTERMSIG(order.status));
	else
		snprintf(ret, size, "exited with status %d", WEXITSTATUS(order.status));
}
