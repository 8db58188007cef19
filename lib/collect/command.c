/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/command.h"

#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child. Does not return. */
static void run_command(int go, int failure, char *const argv[], const char *const environment[],
			const struct standing *standing)
{
	sigset_t none;
	char byte;

	/* Blocked signals and ignored ones survive exec: the recorder's are not the command's. */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	standing_restore(standing);
	for (size_t i = 0; environment && environment[i]; i++) {
		char *copy = strdup(environment[i]);
		if (copy)
			putenv(copy);
	}
	/* End of file: the recorder is gone, or does not want us any more. */
	if (io_read_full(go, &byte, 1) != 1)
		_exit(0);
	execvp(argv[0], argv);
	int code = errno;
	(void)io_write_all(failure, &code, sizeof(code));
	_exit(127);
}

int command_fork(struct command *ret, char *const argv[], const char *const environment[],
		 const struct standing *standing, struct err *err)
{
	int go[2], failure[2];

	if (pipe2(go, O_CLOEXEC) < 0)
		return err_set(err, -errno, "cannot make a pipe for the command");
	CLEANUP_CLOSE int go_read = go[0];
	CLEANUP_CLOSE int go_write = go[1];
	if (pipe2(failure, O_CLOEXEC) < 0)
		return err_set(err, -errno, "cannot make a pipe for the command");
	CLEANUP_CLOSE int failure_read = failure[0];
	CLEANUP_CLOSE int failure_write = failure[1];

	pid_t pid = fork();
	if (pid < 0)
		return err_set(err, -errno, "cannot fork");
	if (pid == 0) {
		close(go_write); /* or it would never see the end of file */
		run_command(go_read, failure_write, argv, environment, standing);
	}
	*ret = (struct command){
		.pid = pid,
		.pidfd = (int)syscall(SYS_pidfd_open, pid, 0),
		.go = TAKE_FD(go_write),
		.failure = TAKE_FD(failure_read),
	};
	if (ret->pidfd < 0) {
		int code = -errno;
		command_close(ret);
		return err_set(err, code, "cannot watch the command");
	}
	return 0;
}

int command_start(struct command *c, const char *name, struct err *err)
{
	int code;

	int rc = io_write_all(c->go, "g", 1);
	close(TAKE_FD(c->go));
	if (rc < 0)
		return err_set(err, rc, "cannot start '%s'", name);
	/* exec closes the other end. */
	int64_t size = io_read_full(c->failure, &code, sizeof(code));
	close(TAKE_FD(c->failure));
	if (size == (int64_t)sizeof(code))
		return err_set(err, -code, "cannot run '%s'", name);
	return 0;
}

bool command_poll(struct command *c)
{
	if (c->pid && !c->has_ended)
		c->has_ended = waitpid(c->pid, &c->wait_status, WNOHANG) == c->pid;
	return c->has_ended;
}

int command_wait(struct command *c)
{
	while (c->pid && !c->has_ended) {
		pid_t pid = waitpid(c->pid, &c->wait_status, 0);
		if (pid == c->pid)
			c->has_ended = true;
		else if (errno != EINTR)
			break;
	}
	return command_exit_status(c);
}

void command_signal(struct command *c, int signal)
{
	if (c->pid && !command_poll(c))
		kill(c->pid, signal);
}

void command_close(struct command *c)
{
	if (!c->pid)
		return;
	if (c->go >= 0) { /* never started: it ends by itself */
		close(TAKE_FD(c->go));
		if (!c->has_ended)
			waitpid(c->pid, &c->wait_status, 0);
	}
	if (c->failure >= 0)
		close(c->failure);
	if (c->pidfd >= 0)
		close(c->pidfd);
	memset(c, 0, sizeof(*c));
}

int command_exit_status(const struct command *c)
{
	if (!c->has_ended)
		return -1;
	if (WIFSIGNALED(c->wait_status))
		return 128 + WTERMSIG(c->wait_status);
	return WEXITSTATUS(c->wait_status);
}
