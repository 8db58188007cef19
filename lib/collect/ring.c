/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/ring.h"

#include "bpf/python.h"
#include "collect/programs.h"

#include "recorder.skel.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

struct ring {
	struct ring_buffer *buffer;
	ring_fn fn;
	void *data;
	uint64_t malformed;
};

static bool stack_is_valid(const struct event_header *event)
{
	size_t left = event->size - event->stack_offset;
	struct event_stack stack;

	if (event->stack_offset < sizeof(*event) || event->stack_offset > event->size ||
	    left < sizeof(stack))
		return false;
	memcpy(&stack, (const char *)event + event->stack_offset, sizeof(stack));
	size_t frames = (size_t)stack.skip + stack.user_count + stack.kernel_count;
	size_t words = frames + 2 * (size_t)stack.python_count;
	return event->stack_offset % 8 == 0 && words <= (left - sizeof(stack)) / 8;
}

static bool exec_is_valid(const struct event_header *event)
{
	struct event_exec exec;

	if (event->size < sizeof(exec) || event->stack_offset)
		return false;
	memcpy(&exec, event, sizeof(exec));
	return exec.arguments_size <= event->size - sizeof(exec);
}

static bool code_is_valid(const struct event_header *event)
{
	const struct event_python_code *code = (const struct event_python_code *)event;
	size_t least = offsetof(struct event_python_code, lines);

	return event->size >= least && !event->stack_offset &&
	       code->lines_bytes <= event->size - least;
}

static bool copy_is_valid(const struct event_header *event)
{
	const struct event_copy *copy = (const struct event_copy *)event;

	return event->size >= sizeof(*copy) && !event->stack_offset &&
	       copy->stack_size <= EVENT_COPY_BYTES &&
	       copy->stack_size <= event->size - sizeof(*copy);
}

bool event_is_valid(const void *bytes, size_t size)
{
	const struct event_header *event = bytes;
	size_t least = sizeof(*event);

	if (size < sizeof(*event) || event->size != size)
		return false;
	switch ((enum event_type)event->type) {
	case EVENT_SAMPLE:
		return size >= sizeof(struct event_sample) && stack_is_valid(event);
	case EVENT_BLOCK:
		return size >= sizeof(struct event_block) && stack_is_valid(event);
	case EVENT_RESUME:
		least = sizeof(struct event_resume);
		break;
	case EVENT_FORK:
		least = sizeof(struct event_fork);
		break;
	case EVENT_EXEC:
		return exec_is_valid(event);
	case EVENT_EXIT:
		least = sizeof(struct event_exit);
		break;
	case EVENT_PROBE:
		return !event->stack_offset || stack_is_valid(event);
	case EVENT_PYTHON_CODE:
		return code_is_valid(event);
	case EVENT_COPY:
		return copy_is_valid(event);
	default:
		return false;
	}
	return size >= least && !event->stack_offset;
}

const struct event_stack *event_stack(const struct event_header *event)
{
	if (!event->stack_offset)
		return NULL;
	return (const void *)((const char *)event + event->stack_offset);
}

/* libbpf's callback. The ring aligns its records to 8 bytes. */
static int ring_on_event(void *data, void *bytes, size_t size)
{
	struct ring *r = data;

	if (!event_is_valid(bytes, size)) {
		r->malformed++;
		return 0;
	}
	return r->fn(r->data, bytes);
}

int ring_open(struct ring **ret, const struct programs *programs, ring_fn fn, void *data,
	      struct err *err)
{
	CLEANUP(ring_close) struct ring *r = calloc(1, sizeof(*r));

	if (!r)
		return err_set(err, -ENOMEM, "no memory for the ring");
	r->fn = fn;
	r->data = data;
	r->buffer = ring_buffer__new(bpf_map__fd(programs->skeleton->maps.events), ring_on_event, r,
				     NULL);
	if (!r->buffer)
		return err_set(err, -errno, "cannot map the ring of events");
	*ret = TAKE(r);
	return 0;
}

void ring_close(struct ring *r)
{
	if (!r)
		return;
	ring_buffer__free(r->buffer);
	free(r);
}

int ring_fd(const struct ring *r)
{
	return ring_buffer__epoll_fd(r->buffer);
}

int ring_drain(struct ring *r)
{
	return ring_buffer__consume(r->buffer);
}

uint64_t ring_malformed(const struct ring *r)
{
	return r->malformed;
}
