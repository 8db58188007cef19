/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command that we start ourselves: forked early, run only when everything is armed. Knows nothing
 * of recording.
 */
#pragma once

#include "base/cleanup.h"
#include "base/err.h"
#include "collect/standing.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct command {
	pid_t pid;   /* 0: none */
	int pidfd;   /* readable when it has ended */
	int go;      /* closing or writing lets it run */
	int failure; /* errno of its exec, or end of file */
	bool has_ended;
	int wait_status; /* as waitpid() gives it, once it has ended */
};

/* @argv as for execvp(). @environment: "KEY=VALUE" to set, up to a NULL, or NULL. The command gets no
 * blocked signals, and our @standing as it was before. */
int command_fork(struct command *ret, char *const argv[], const char *const environment[],
		 const struct standing *standing, struct err *err);
/* Let it run. When it cannot be: its errno, the text saying why. */
int command_start(struct command *c, const char *name, struct err *err);
/* Take note that it has ended, if it has; true then. */
bool command_poll(struct command *c);
/* Wait until it has ended, if there is one: its exit status. */
int command_wait(struct command *c);
/* Send it a signal, if it runs. */
void command_signal(struct command *c, int signal);
/* One that was never started ends; a running one is left alone. */
void command_close(struct command *c);
DEFINE_CLEANUP_EMBEDDED(command_close, struct command)

/* What a shell would give: the status, or 128 + the signal. */
int command_exit_status(const struct command *c);
