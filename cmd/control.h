/* SPDX-License-Identifier: Apache-2.0 */
/* Orders to a recording that runs: by SIGUSR2, and by lines through a pipe, as perf has them. */
#pragma once

#include "base/cleanup.h"
#include "base/err.h"
#include "collect/session.h"

#include <stdbool.h>

struct control {
	int orders, answers; /* -1: none */
	char line[256];
	size_t filled;
	bool quiet;
};

/* @text: "fifo:ORDERS[,ANSWERS]" or "fd:N[,N]". */
int control_open(struct control *ret, const char *text, struct err *err);
void control_close(struct control *c);

/* session_watch functions, of struct control: the lines "enable", "disable", "ping" and "stop"; and of a
 * signalfd, each signal of which begins or ends a window. */
int control_read(void *control, struct session *s);
int control_toggle(void *signal_fd, struct session *s);
