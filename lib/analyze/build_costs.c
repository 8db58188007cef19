/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of what launches had to do. */
#include "analyze/build.h"
#include "analyze/costs.h"

#include <errno.h>

/* Whether some launch has one of what costs_of() finds. */
static bool has_cost(const struct analysis *a, double (*value)(const struct launch_cost *))
{
	CLEANUP(costs_free) struct costs *c = NULL;
	if (costs_new(&c, a) < 0)
		return false;
	vec_for_each(&a->launches, l) {
		struct launch_cost cost;
		if (costs_of(c, l, 0, &cost) == 0 && value(&cost) >= 1)
			return true;
	}
	return false;
}

static double cost_flops(const struct launch_cost *c)
{
	return c->flops;
}

static double cost_bytes(const struct launch_cost *c)
{
	return c->bytes;
}

static uint64_t cost_number(double value)
{
	return value < 1e18 ? (uint64_t)(value + 0.5) : (uint64_t)1e18;
}

static int build_costs(struct build *b, double (*value)(const struct launch_cost *))
{
	CLEANUP(costs_free) struct costs *c = NULL;
	if (costs_new(&c, b->a) < 0)
		return -ENOMEM;
	vec_for_each(&b->a->launches, l) {
		struct launch_cost cost;
		uint32_t node;
		if (!build_launch_passes(b, l))
			continue;
		if (costs_of(c, l, 0, &cost) < 0 || build_launch_node(b, l, &node) < 0)
			return -ENOMEM;
		build_add(b, node, cost_number(value(&cost)));
	}
	return 0;
}

bool has_flops(const struct analysis *a)
{
	return has_cost(a, cost_flops);
}

int build_flops(struct build *b)
{
	return build_costs(b, cost_flops);
}

#define FLOPS_OF_WIDTH(width, number)                                \
	static double cost_flops##width(const struct launch_cost *c) \
	{                                                            \
		return c->flops_by[number];                          \
	}                                                            \
	bool has_flops##width(const struct analysis *a)              \
	{                                                            \
		return has_cost(a, cost_flops##width);               \
	}                                                            \
	int build_flops##width(struct build *b)                      \
	{                                                            \
		return build_costs(b, cost_flops##width);            \
	}

FLOPS_OF_WIDTH(8, OP_NUMBER_FP8)
FLOPS_OF_WIDTH(16, OP_NUMBER_BF16)
FLOPS_OF_WIDTH(32, OP_NUMBER_FP32)
FLOPS_OF_WIDTH(64, OP_NUMBER_FP64)

bool has_bytes(const struct analysis *a)
{
	vec_for_each(&a->ops, op) {
		if (op->bytes)
			return true;
	}
	return has_cost(a, cost_bytes);
}

/* What the launch says, and for copies what the device moved when the launch says nothing. */
int build_bytes(struct build *b)
{
	CLEANUP(costs_free) struct costs *c = NULL;
	if (build_costs(b, cost_bytes) < 0 || costs_new(&c, b->a) < 0)
		return -ENOMEM;
	vec_for_each(&b->a->ops, op) {
		const struct launch *l = analysis_op_launch(b->a, op);
		struct launch_cost cost = { .bytes = 0 };
		if (!op->bytes || !build_op_passes(b, op))
			continue;
		if ((l && costs_of(c, l, 0, &cost) < 0) ||
		    build_op(b, op, cost.bytes > 0 ? 0 : op->bytes) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Of a launch that became several pieces of work, each takes its part. */
static int build_roof(struct build *b, double (*value)(const struct launch_cost *))
{
	CLEANUP(costs_free) struct costs *c = NULL;
	if (costs_new(&c, b->a) < 0)
		return -ENOMEM;
	vec_for_each(&b->a->ops, op) {
		const struct launch *l = analysis_op_launch(b->a, op);
		struct launch_cost cost;
		if (!l || !build_op_passes(b, op))
			continue;
		if (costs_of(c, l, op->device, &cost) < 0 ||
		    build_op(b, op, cost_number(value(&cost) * 1000 / (l->ops ? l->ops : 1))) < 0)
			return -ENOMEM;
	}
	return 0;
}

static double cost_compute(const struct launch_cost *c)
{
	return c->compute_ns;
}

static double cost_memory(const struct launch_cost *c)
{
	return c->memory_ns;
}

int build_compute_roof(struct build *b)
{
	return build_roof(b, cost_compute);
}

int build_memory_roof(struct build *b)
{
	return build_roof(b, cost_memory);
}
