/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/protocol.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

int worker_send(int socket, const void *data, size_t size, const int *fds, size_t count)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int) * WORKER_FD_COUNT)];
		struct cmsghdr header;
	} control = { 0 };
	struct iovec iov = { .iov_base = (void *)(uintptr_t)data, .iov_len = size };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (count) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * count);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int) * count);
		memcpy(CMSG_DATA(&control.header), fds, sizeof(int) * count);
	}
	ssize_t n;
	do
		n = sendmsg(socket, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == size ? 0 : -EPROTO;
}

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int wait_readable(int socket, uint64_t timeout_ns)
{
	struct pollfd p = { .fd = socket, .events = POLLIN };
	uint64_t deadline = now_ns() + timeout_ns;

	for (;;) {
		int ms = -1;
		if (timeout_ns) {
			uint64_t now = now_ns();
			if (now >= deadline)
				return -ETIMEDOUT;
			uint64_t left = (deadline - now) / 1000000 + 1;
			ms = left > 3600000 ? 3600000 : (int)left;
		}
		int n = poll(&p, 1, ms);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
	}
}

/* Descriptors of a message, into @fds as far as there is room; the rest is closed. */
static size_t take_fds(struct msghdr *msg, int *fds, size_t room, bool *ret_is_odd)
{
	size_t count = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) {
			*ret_is_odd = true;
			continue;
		}
		for (size_t at = CMSG_LEN(0); at + sizeof(int) <= c->cmsg_len; at += sizeof(int)) {
			int fd;
			memcpy(&fd, (uint8_t *)c + at, sizeof(fd));
			if (count < room) {
				fds[count++] = fd;
			} else {
				*ret_is_odd = true;
				close(fd);
			}
		}
	}
	return count;
}

int worker_recv(int socket, void *data, size_t size, int *fds, size_t *count, uint64_t timeout_ns)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int) * WORKER_FD_COUNT)];
		struct cmsghdr align;
	} control;
	struct iovec iov = { .iov_base = data, .iov_len = size };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	int got[WORKER_FD_COUNT];
	bool is_odd = false;

	int rc = wait_readable(socket, timeout_ns);
	if (rc < 0)
		return rc;
	ssize_t n;
	do
		n = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n == 0 || errno == ECONNRESET ? -EPIPE : -errno;
	size_t received = take_fds(&msg, got, count ? *count : 0, &is_odd);
	if ((size_t)n != size || is_odd || (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
		for (size_t i = 0; i < received; i++)
			close(got[i]);
		return -EPROTO;
	}
	if (count) {
		if (received)
			memcpy(fds, got, received * sizeof(*fds));
		*count = received;
	}
	return 0;
}
