/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/graph.h"

#include "inject/batch.h"

#include <string.h>

/* cuStreamBeginCapture, its second version and that into a graph; cuStreamEndCapture: each twice. */
const uint16_t graph_calls[] = { 495, 496, 539, 540, 720, 721, 497, 498, 0 };

static unsigned int captures; /* streams that are captured, as far as we saw */

static __thread struct {
	bool is_there;
	uint64_t word[GRAPH_WORDS];
} held;

void graph_captured(uint32_t id, cupti_result result)
{
	unsigned int count = __atomic_load_n(&captures, __ATOMIC_RELAXED);

	if (id != 497 && id != 498) {
		if (result == 0)
			__atomic_add_fetch(&captures, 1, __ATOMIC_RELAXED);
		return;
	}
	/* One that had begun before we listened is none of ours. */
	while (count && !__atomic_compare_exchange_n(&captures, &count, count - 1, true,
						     __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

void graph_launch(const uint64_t word[GRAPH_WORDS], graph_tell *tell)
{
	if (!__atomic_load_n(&captures, __ATOMIC_RELAXED)) {
		tell(word);
		return;
	}
	/* A call within a call: the outer one is what the program asked for. */
	if (held.is_there)
		tell(held.word);
	memcpy(held.word, word, sizeof(held.word));
	held.is_there = true;
}

void graph_returned(graph_tell *tell)
{
	if (!held.is_there)
		return;
	held.is_there = false;
	tell(held.word);
}

void graph_node(const struct cupti *c, const struct cupti_graph *data, graph_tell *tell)
{
	uint64_t word[GRAPH_WORDS] = { 0 }, id;
	uint32_t kind;

	if (held.is_there)
		memcpy(word, held.word, sizeof(word));
	held.is_there = false;
	switch (data->type) {
	case CUPTI_NODE_KERNEL:
		kind = INJECT_LAUNCH_KERNEL;
		break;
	case CUPTI_NODE_COPY:
		kind = INJECT_LAUNCH_COPY;
		break;
	case CUPTI_NODE_FILL:
		kind = INJECT_LAUNCH_FILL;
		break;
	default:
		return;
	}
	if (!c->node_id || c->node_id(data->node, &id) != CUPTI_OK)
		return;
	word[0] = INJECT_LAUNCH(kind, INJECT_LAUNCH_NODE, 0);
	word[5] = id;
	tell(word);
}

void graph_node_copied(const struct cupti *c, const struct cupti_graph *data)
{
	uint64_t id, original;

	if (c->node_id && c->node_id(data->node, &id) == CUPTI_OK &&
	    c->node_id(data->original_node, &original) == CUPTI_OK)
		batch_node(id, original);
}
