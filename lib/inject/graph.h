/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that is recorded into a graph instead of being done. Whether a call does one or the other is
 * known only when it has made a node of a graph or not: while streams are captured, calls are held
 * until then.
 */
#pragma once

#include "inject/cupti.h"

#include <stdbool.h>

/* What accel_prof_cuda_launch() is called with. */
#define GRAPH_WORDS 6
typedef void graph_tell(const uint64_t word[GRAPH_WORDS]);

/* The calls that begin or end a capture, by CUPTI's numbers, up to a 0. */
extern const uint16_t graph_calls[];
/* One of them has returned. */
void graph_captured(uint32_t id, cupti_result result);

/* Told, or held while streams are captured. */
void graph_launch(const uint64_t word[GRAPH_WORDS], graph_tell *tell);
/* The call has returned: what is still held is work. */
void graph_returned(graph_tell *tell);
/* CUPTI_NODE_CREATED: what is held has been recorded, or the call is one that adds nodes by name. */
void graph_node(const struct cupti *c, const struct cupti_graph *data, graph_tell *tell);
/* CUPTI_NODE_CLONED */
void graph_node_copied(const struct cupti *c, const struct cupti_graph *data);
