/* SPDX-License-Identifier: Apache-2.0 */
/* What the child processes of lib/device share: limits before they work, and waiting for them no longer than
 * until a deadline. Internal. */
#pragma once

#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* In the child: end with the parent, as signals say, within limits of memory (beyond what is in use now) and of
 * time. */
void child_begin(unsigned cpu_seconds, uint64_t memory_bytes);
/* In the parent: the deadline of what may take so long. */
uint64_t child_deadline(unsigned milliseconds);
/* Some bytes, 0 at the end, -EPIPE: failed, or not there by the deadline: a child that hangs is as good as dead. */
int64_t child_read(int fd, void *data, size_t size, uint64_t deadline);
/* Wait for it, or kill it first. As waitpid()'s status. */
int child_end(pid_t pid, bool is_killed);

/* In the child: refuse all system calls, rather than end it, but @allowed, what @add allows, and abort(). */
int child_close_off(const int *allowed, size_t count, int (*add)(scmp_filter_ctx ctx));
