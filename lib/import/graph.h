/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that was replayed from a graph. One call launches all of it, so that its stack says nothing of
 * where a kernel comes from; the calls that were recorded into the graph do. They are in the trace
 * itself or in one made while the graph was captured, and come in the order of the replay.
 */
#pragma once

#include "import/trace.h"

/*
 * Gives replayed work the path of the call that was captured, where a capture fits, and the path of
 * the replay with "[graph replay]" on it where none does. @captures may be NULL.
 */
int graph_match(struct trace *t, const struct trace *captures);
