/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/control.h"

#include "base/io.h"
#include "base/parse.h"
#include "cmd/tell.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_fifo(const char *path, int flags, int *ret, struct err *err)
{
	/* Both ways, so that neither opening waits for the other end nor a writer that goes is an end. */
	CLEANUP_CLOSE int fd = open(path, flags | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return err_set(err, -errno, "cannot open '%s'", path);
	/* Not even to say that its lines are no orders: it may be a file of secrets. */
	if (fstat(fd, &st) < 0 || !S_ISFIFO(st.st_mode))
		return err_set(err, -EINVAL, "'%s' is no FIFO: make one with mkfifo", path);
	*ret = TAKE_FD(fd);
	return 0;
}

static int parse_fd(const char *text, int *ret, struct err *err)
{
	uint32_t fd;

	if (parse_u32(text, 10, &fd) < 0 || fcntl((int)fd, F_GETFD) < 0)
		return err_set(err, -EBADF, "'%s' is no open descriptor", text);
	*ret = (int)fd;
	return 0;
}

int control_open(struct control *ret, const char *text, struct err *err)
{
	struct control c = { .orders = -1, .answers = -1 };
	bool is_fifo = !strncmp(text, "fifo:", 5);

	if (!is_fifo && strncmp(text, "fd:", 3) != 0)
		return err_set(err, -EINVAL, "'%s' is no way to control: fifo:PATH or fd:N", text);
	CLEANUP_FREE char *names = strdup(strchr(text, ':') + 1);
	if (!names)
		return err_set(err, -ENOMEM, "no memory");
	char *comma = strchr(names, ',');
	if (comma)
		*comma++ = '\0';
	int rc = is_fifo ? open_fifo(names, O_RDWR, &c.orders, err)
			 : parse_fd(names, &c.orders, err);
	if (rc >= 0 && comma)
		rc = is_fifo ? open_fifo(comma, O_RDWR, &c.answers, err)
			     : parse_fd(comma, &c.answers, err);
	if (rc < 0) {
		if (is_fifo)
			control_close(&c);
		return rc;
	}
	*ret = c;
	return 0;
}

void control_close(struct control *c)
{
	if (c->orders >= 0)
		close(c->orders);
	if (c->answers >= 0)
		close(c->answers);
	c->orders = c->answers = -1;
}

static void say(const struct control *c, const struct session *s)
{
	if (!c->quiet)
		fprintf(stderr, "[ accel-prof record: Recording is %s ]\n",
			session_is_enabled(s) ? "on" : "off");
}

/* One line: 1: end. What is not known is said, and answered all the same, so that nobody waits. */
static int obey(struct control *c, const char *line, struct session *s)
{
	int rc = 0;

	if (!strcmp(line, "enable") || !strcmp(line, "disable")) {
		rc = session_enable(s, line[0] == 'e');
		say(c, s);
	} else if (!strcmp(line, "stop")) {
		rc = 1;
	} else if (*line && strcmp(line, "ping") != 0) {
		tell("--control: '%s' is none of enable, disable, ping and stop", line);
	}
	if (*line && c->answers >= 0)
		(void)io_write_all(c->answers, "ack\n", 4);
	return rc;
}

int control_read(void *control, struct session *s)
{
	struct control *c = control;
	ssize_t got = read(c->orders, c->line + c->filled, sizeof(c->line) - 1 - c->filled);
	int rc = 0;

	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (got == 0) /* the other end of a descriptor is closed: no more orders */
		return -ENODATA;
	c->filled += (size_t)got;
	c->line[c->filled] = '\0';
	for (char *end; rc == 0 && (end = strchr(c->line, '\n'));) {
		*end++ = '\0';
		c->line[strcspn(c->line, "\r")] = '\0';
		rc = obey(c, c->line, s);
		c->filled -= (size_t)(end - c->line);
		memmove(c->line, end, c->filled + 1);
	}
	if (c->filled == sizeof(c->line) - 1) /* no order is so long */
		c->filled = 0;
	return rc;
}

int control_toggle(void *signal_fd, struct session *s)
{
	struct signalfd_siginfo info;
	const int *fd = signal_fd;

	if (read(*fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return 0;
	return session_enable(s, !session_is_enabled(s));
}
