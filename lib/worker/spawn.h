/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that workers are forked from: a copy of the recorder as it was at its start, before it had
 * BPF maps, rings or other programs' data, with its privileges dropped. Internal to lib/worker.
 */
#pragma once

#include "worker/job.h"

/* Runs in the child; never returns. Takes orders from @socket until it is closed. */
_Noreturn void spawner_run(int socket, const struct worker_op *extra, size_t extra_count);
