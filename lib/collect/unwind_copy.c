/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the unwinder that works on copies. */
#include "collect/unwind_internal.h"

#include "base/log.h"
#include "bpf/events.h"
#include "capture/record.h"
#include "collect/mapping.h"
#include "collect/object.h"
#include "unwind/copy.h"
#include "worker/unwind.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* Is the layout that of the copy before, and does it hold? */
static bool is_known(const struct unwinder *u, const struct mappings *mappings)
{
	const struct mappings *before = &u->copy_mappings;

	return before->list.len && before->list.len == mappings->list.len &&
	       u->copy_evicted == u->tables.evicted &&
	       !memcmp(before->list.data, mappings->list.data,
		       before->list.len * sizeof(*before->list.data));
}

/* 1: it is new. */
static int layout_of(struct unwinder *u, const struct mappings *mappings)
{
	struct layout *layout = &u->copy_layout;

	if (is_known(u, mappings))
		return 0;
	layout_release(layout);
	vec_for_each(&mappings->list, m) {
		const struct unwind_mapping mapping = { m->start, m->end, m->bias, 0, 0 };
		bool has_file = m->object->kind != OBJECT_ANON;
		if (layout_push(layout, mapping, has_file ? m->object : NULL) < 0)
			return -ENOMEM;
	}
	return mappings_copy(&u->copy_mappings, mappings) < 0 ? -ENOMEM : 1;
}

/* Are there tables that are wanted for @copy, which the layout does not have? Negative errno. */
static int want_tables(struct unwinder *u, const struct unwind_copy *copy)
{
	const struct span parts[] = {
		span_of((const uint8_t *)&copy->state.pc, 8),
		span_of((const uint8_t *)copy->regs, copy->regs ? UNWIND_REG_COUNT * 8 : 0),
		copy->stack,
	};
	int found = 0;

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		int rc = layout_want(u, &u->copy_layout, parts[i]);
		if (rc < 0)
			return rc;
		found |= rc;
	}
	return found;
}

/* The address space as it was at the time of the event. */
static int space_of(struct unwinder *u, const struct mappings *mappings,
		    const struct unwind_copy *copy, uint64_t now_ns, struct unwind_space *ret)
{
	struct layout *layout = &u->copy_layout;
	int fresh = layout_of(u, mappings);
	int wanted = fresh >= 0 && layout_is_lazy(layout) ? want_tables(u, copy) : 0;

	if (fresh < 0 || wanted < 0 ||
	    ((fresh || wanted) && layout_fill(u, layout, UINT64_MAX, now_ns) < 0)) {
		u->copy_mappings.list.len = 0;
		return -ENOMEM;
	}
	u->copy_evicted = u->tables.evicted;
	u->copy_objects.len = 0;
	vec_for_each(&u->tables.list, table) {
		struct unwind_object object = {
			.table = table->rows.rows ? &table->rows : NULL,
			.elf = table->object ? table->object->elf : NULL,
		};
		if (vec_push(&u->copy_objects, object) < 0)
			return -ENOMEM;
	}
	*ret = (struct unwind_space){ layout->mappings.data, layout->mappings.len,
				      u->copy_objects.data, u->copy_objects.len };
	return 0;
}

static int open_object(void *data, uint32_t number)
{
	const struct tables *tables = data;
	const struct table *table = table_at(tables, number);
	int fd = table->object ? fcntl(table->object->fd, F_DUPFD_CLOEXEC, 3) : -EBADF;

	return fd == -1 ? -errno : fd;
}

/* libunwind is not made for hostile files: the worker has it, and without one nobody. */
static int walk_odd(void *data, const struct unwind_space *space, const struct unwind_copy *copy,
		    struct unwind_frame *frames, size_t max)
{
	struct unwinder *u = data;
	const struct worker_unwind_ask ask = {
		.space = space,
		.copy = copy,
		.open = open_object,
		.data = &u->tables,
	};
	struct err err;

	if (!u->tables.worker)
		return -ENOSYS;
	int rc = worker_unwind_frames(u->tables.worker, &ask, frames, max, &err);
	if (rc < 0)
		log_debug("%s", err.text);
	return rc;
}

static uint8_t cause_of(enum unwind_result end, uint8_t before)
{
	switch (end) {
	case UNWIND_ROOT:
		return STACK_CAUSE_NONE;
	case UNWIND_OK:
		return STACK_CAUSE_TOO_DEEP;
	case UNWIND_UNREADABLE: /* beyond the copy */
		return STACK_CAUSE_UNREADABLE;
	case UNWIND_NO_ROW:
	case UNWIND_UNSUPPORTED:
	case UNWIND_STUCK:
		break;
	}
	return before;
}

int unwinder_continue(struct unwinder *u, const struct mappings *mappings,
		      const struct event_copy *event, const struct unwinder_memory *memory,
		      const struct event_stack *stack, struct event_stack *ret, uint64_t now_ns)
{
	struct unwind_copy copy = {
		.state = {
			.pc = event->pc,
			.sp = event->sp,
			.fp = event->fp,
			.has_fp = event->has_fp != 0,
			.is_return = event->is_return != 0,
			.is_leaf = event->is_leaf != 0,
		},
		.regs = (const uint64_t *)event->regs,
		.stack_address = event->stack_address,
		.stack = span_of(memory->bytes, memory->size),
	};
	uint64_t start_ns = table_clock_ns();
	struct unwind_space space;
	struct unwind_walked walked;
	uint32_t count = stack->user_count;

	static_assert(sizeof(copy.missing) == sizeof(memory->missing) &&
			      UNWIND_COPY_PIECE == EVENT_COPY_PIECE,
		      "the same bits");
	memcpy(copy.missing, memory->missing, sizeof(copy.missing));
	int rc = space_of(u, mappings, &copy, now_ns, &space);
	if (rc < 0)
		return rc;
	*ret = *stack;
	ret->skip = 0;
	memcpy(ret->ips, &stack->ips[stack->skip], count * sizeof(*ret->ips));
	const struct unwind_copy_walk walk = {
		.ips = (uint64_t *)&ret->ips[count],
		.max = u->frames_max - count,
		.odd = walk_odd,
		.data = u,
	};
	unwind_copy_walk(&space, &copy, &walk, &walked);
	if (walked.count)
		ret->flags |= walked.used_scan ? EVENT_STACK_BY_SCAN : EVENT_STACK_BY_COPY;
	if (walked.end == UNWIND_ROOT)
		ret->flags |= EVENT_STACK_ROOTED;
	ret->status = walked.left_signal_stack ? STACK_CAUSE_SIGNAL_STACK
					       : cause_of(walked.end, stack->status);
	ret->user_count = (uint16_t)(count + walked.count);
	memcpy(&ret->ips[ret->user_count], &stack->ips[stack->skip + count],
	       stack->kernel_count * sizeof(*ret->ips));
	u->copies++;
	u->copies_ns += table_clock_ns() - start_ns;
	return 0;
}
