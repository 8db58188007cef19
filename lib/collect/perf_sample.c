/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/perf_sample.h"

#include "bpf/events.h"
#include "capture/record.h"

#include <stdlib.h>
#include <string.h>

/* The two events of a sample. */
struct perf_sample_buffers {
	uint64_t copy[(sizeof(struct event_copy) + EVENT_COPY_BYTES) / 8];
	uint64_t sample[EVENT_MAX_BYTES / 8];
};

struct perf_sample_buffers *perf_sample_buffers_new(void)
{
	return calloc(1, sizeof(struct perf_sample_buffers));
}

void perf_sample_buffers_free(struct perf_sample_buffers *b)
{
	free(b);
}

/* A number of words, then those. */
static int parse_chain(struct cursor *c, struct span *ret, struct err *err)
{
	uint64_t count;

	int rc = cursor_u64(c, &count, err);
	if (rc < 0)
		return rc;
	if (count > (c->span.size - c->pos) / 8)
		return cursor_fail(c, err, "more addresses than there is room for");
	return cursor_bytes(c, count * 8, ret, err);
}

/* PERF_SAMPLE_REGS_ABI_64, then the registers; none of a kernel thread. */
static int parse_regs(struct cursor *c, struct span *ret, struct err *err)
{
	uint64_t abi;

	int rc = cursor_u64(c, &abi, err);
	if (rc < 0 || abi == PERF_SAMPLE_REGS_ABI_NONE)
		return rc;
	rc = cursor_bytes(c, PERF_SAMPLE_REGS_COUNT * 8, ret, err);
	if (rc >= 0 && abi != PERF_SAMPLE_REGS_ABI_64)
		*ret = span_of(NULL, 0);
	return rc;
}

/* The size asked for, that many bytes, and how many of them are the stack's. */
static int parse_stack(struct cursor *c, struct span *ret, struct err *err)
{
	uint64_t size, used;
	int rc;

	if ((rc = cursor_u64(c, &size, err)) < 0 || !size)
		return rc;
	if ((rc = cursor_bytes(c, size, ret, err)) < 0 || (rc = cursor_u64(c, &used, err)) < 0)
		return rc;
	if (used > size)
		return cursor_fail(c, err, "a stack larger than its copy");
	ret->size = used;
	return 0;
}

static int parse_body(struct cursor *c, uint64_t type, struct perf_sample *s, struct err *err)
{
	int rc;

	if ((rc = cursor_u64(c, &s->ip, err)) < 0 || (rc = cursor_u32(c, &s->pid, err)) < 0 ||
	    (rc = cursor_u32(c, &s->tid, err)) < 0 || (rc = cursor_u64(c, &s->time_ns, err)) < 0 ||
	    (rc = cursor_u32(c, &s->cpu, err)) < 0 || (rc = cursor_skip(c, 4, err)) < 0)
		return rc;
	if (type & PERF_SAMPLE_CALLCHAIN && (rc = parse_chain(c, &s->chain, err)) < 0)
		return rc;
	if (type & PERF_SAMPLE_REGS_USER && (rc = parse_regs(c, &s->regs, err)) < 0)
		return rc;
	return type & PERF_SAMPLE_STACK_USER ? parse_stack(c, &s->stack, err) : 0;
}

int perf_sample_parse(struct span record, uint64_t sample_type, struct perf_sample *ret,
		      struct err *err)
{
	struct cursor c = cursor_of(record, "perf sample");
	struct perf_sample s = { 0 };
	uint16_t misc, size;
	uint32_t type;
	int rc;

	if ((rc = cursor_u32(&c, &type, err)) < 0 || (rc = cursor_u16(&c, &misc, err)) < 0 ||
	    (rc = cursor_u16(&c, &size, err)) < 0)
		return rc;
	if (size != record.size)
		return cursor_fail(&c, err, "not the size it says");
	s.in_kernel = (misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	if (type == PERF_RECORD_LOST)
		rc = (rc = cursor_skip(&c, 8, err)) < 0 ? rc : cursor_u64(&c, &s.lost, err);
	else if (type == PERF_RECORD_SAMPLE)
		rc = parse_body(&c, sample_type, &s, err);
	else
		return 0;
	if (rc < 0)
		return rc;
	*ret = s;
	return 1;
}

static uint64_t word(struct span words, size_t i)
{
	uint64_t value;

	memcpy(&value, words.data + i * 8, sizeof(value));
	return value;
}

/* By DWARF number (System V ABI AMD64, figure 3.36): the place among those of PERF_SAMPLE_REGS. */
static const uint8_t place_of_register[EVENT_REGS] = {
	0, 3, 2, 1, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 8,
};
enum {
	REGISTER_FP = 6,
	REGISTER_SP = 7,
	REGISTER_PC = 16,
};

static void fill_header(const struct perf_sample *s, uint16_t type, struct event_header *ret)
{
	*ret = (struct event_header){
		.type = type,
		.time_ns = s->time_ns,
		.pid = s->pid,
		.tid = s->tid,
		.cpu = s->cpu,
	};
}

/* Part @number of the stack's copy, with the registers, which count in the first. */
static struct event_header *fill_copy(const struct perf_sample *s, uint32_t number,
				      struct perf_sample_buffers *b)
{
	struct event_copy *copy = (struct event_copy *)b->copy;
	size_t begin = (size_t)number * EVENT_COPY_BYTES;
	size_t left = s->stack.size > begin ? s->stack.size - begin : 0;
	size_t size = left < EVENT_COPY_BYTES ? left : EVENT_COPY_BYTES;

	memset(copy, 0, sizeof(*copy));
	fill_header(s, EVENT_COPY, &copy->header);
	for (size_t i = 0; i < EVENT_REGS; i++)
		copy->regs[i] = word(s->regs, place_of_register[i]);
	copy->pc = copy->regs[REGISTER_PC];
	copy->sp = copy->regs[REGISTER_SP];
	copy->stack_address = copy->sp + begin;
	copy->fp = copy->regs[REGISTER_FP];
	copy->has_fp = copy->is_leaf = 1;
	copy->part = number;
	copy->stack_size = (uint32_t)size;
	if (size)
		memcpy(copy->stack, s->stack.data + begin, size);
	copy->header.size = (uint32_t)(sizeof(*copy) + size);
	return &copy->header;
}

/* The addresses of the chain that belong to @context, which begins with a mark, to @ret. */
static uint16_t take_chain(struct span chain, uint64_t context, uint64_t *ret, size_t max)
{
	bool is_wanted = false;
	size_t count = 0;

	for (size_t i = 0; i < chain.size / 8 && count < max; i++) {
		uint64_t ip = word(chain, i);
		if (ip >= PERF_CONTEXT_MAX)
			is_wanted = ip == context;
		else if (is_wanted)
			ret[count++] = ip;
	}
	return (uint16_t)count;
}

static struct event_header *fill_sample(const struct perf_sample *s, struct perf_sample_buffers *b)
{
	struct event_sample *sample = (struct event_sample *)b->sample;
	struct event_stack *stack = &sample->stack;
	uint64_t *ips = (uint64_t *)stack->ips;

	memset(sample, 0, sizeof(*sample));
	fill_header(s, EVENT_SAMPLE, &sample->header);
	sample->header.stack_offset = offsetof(struct event_sample, stack);
	sample->flags = s->in_kernel ? EVENT_SAMPLE_IN_KERNEL : 0;
	sample->event = s->event;
	if (s->regs.size) {
		stack->flags = EVENT_STACK_BY_TABLE | EVENT_STACK_COPIED;
		stack->status = STACK_CAUSE_NO_TABLE;
		ips[stack->user_count++] = word(s->regs, place_of_register[REGISTER_PC]);
	} else {
		stack->user_count = take_chain(s->chain, PERF_CONTEXT_USER, ips, EVENT_USER_FRAMES);
		stack->status = STACK_CAUSE_FRAME_POINTER;
		/* No chain at all: without stacks. */
		if (!s->chain.size && !s->in_kernel)
			ips[stack->user_count++] = s->ip;
	}
	if (s->in_kernel)
		stack->kernel_count = take_chain(s->chain, PERF_CONTEXT_KERNEL,
						 &ips[stack->user_count], EVENT_KERNEL_FRAMES);
	sample->header.size =
		(uint32_t)(sizeof(*sample) + ((size_t)stack->user_count + stack->kernel_count) * 8);
	return &sample->header;
}

int perf_sample_tell(const struct perf_sample *sample, struct perf_sample_buffers *b, ring_fn fn,
		     void *data)
{
	uint32_t parts = sample->regs.size ? 1 : 0;
	int rc = 0;

	if (parts && sample->stack.size)
		parts = (uint32_t)((sample->stack.size - 1) / EVENT_COPY_BYTES) + 1;
	for (uint32_t i = 0; i < parts && rc >= 0; i++)
		rc = fn(data, fill_copy(sample, i, b));
	return rc < 0 ? rc : fn(data, fill_sample(sample, b));
}
