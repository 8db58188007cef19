/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/sample.h"

#include "collect/python.h"
#include "collect/ring.h"
#include "collect/unwind.h"
#include "python/walk.h"

#include <errno.h>
#include <string.h>

/* Remember the offset for the symbols at the end. */
static int count_hits(struct object *object, uint64_t offset, uint64_t count)
{
	uint64_t *hits = hash_get(&object->hits, offset);

	if (!hits)
		return hash_set(&object->hits, offset, count);
	*hits += count;
	return 0;
}

static int settle(struct sample_place *place)
{
	int rc = place->hits ? count_hits(place->object, place->offset, place->hits) : 0;

	place->hits = 0;
	return rc;
}

int sample_settle(struct samples *s)
{
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(s->places) && rc == 0; i++)
		rc = settle(&s->places[i]);
	return rc;
}

static const struct mapping *find_mapping(struct samples *s, struct process *process,
					  uint64_t address, uint64_t time_ns)
{
	const struct mapping *mapping = mappings_find(&process->mappings, address);

	if (mapping || process_read_maps(s->processes, process, time_ns) < 0)
		return mapping;
	return mappings_find(&process->mappings, address);
}

/* Whether the interpreter's loop is there. */
static enum merge_native loop_of(const struct object *object, uint64_t offset)
{
	const struct python_range *range =
		object->python ? python_binary_loop(object->python, offset) : NULL;

	if (!range)
		return MERGE_NATIVE;
	return range->is_inner ? MERGE_LOOP_INNER : MERGE_LOOP;
}

/* Where @address is: 1, or 0 when it is nowhere and so counts as memory without a file. */
static int place_of(struct samples *s, struct process *process, uint64_t address, uint64_t time_ns,
		    struct sample_place **ret)
{
	uint64_t mix = (address ^ (uint64_t)process->id << 48) * 0x9e3779b97f4a7c15ULL;
	struct sample_place *place = &s->places[mix >> (64 - SAMPLE_PLACES_SHIFT)];
	const struct mapping *mapping;
	const struct object *object;

	*ret = place;
	if (place->address == address && place->process == process->id &&
	    place->changes == process->mappings.changes)
		return 1;
	if (settle(place) < 0)
		return -ENOMEM;
	place->process = 0;
	mapping = find_mapping(s, process, address, time_ns);
	object = mapping ? mapping->object : NULL;
	if (!object && process_anon(s->processes, process, &object) < 0)
		return -ENOMEM;
	/* Mappings are const so that only this place and the process table change objects. */
	place->object = (struct object *)(uintptr_t)object;
	place->offset = mapping ? address - mapping->bias : address;
	place->loop = (uint8_t)loop_of(object, place->offset);
	if (!mapping || !mapping->object)
		return 0;
	place->address = address;
	place->process = process->id;
	place->changes = process->mappings.changes;
	return 1;
}

/*
 * User frames into s->natives. What stands in the stack of a caller is where it goes on; one byte
 * before that lies in the call, which is what is looked up and shown.
 */
static int user_frames(struct samples *s, struct process *process, const struct event_stack *stack,
		       uint64_t time_ns, uint32_t *count)
{
	struct sample_place *place;

	for (uint32_t i = 0; i < stack->user_count; i++) {
		uint64_t address = stack->ips[stack->skip + i] - (i > 0);
		int rc = place_of(s, process, address, time_ns, &place);
		if (rc == 0) {
			s->unknown++;
			/* Frame pointers lead anywhere in code that uses the register otherwise: no
			 * code, no caller. */
			if (i > 0 && !(stack->flags & EVENT_STACK_BY_TABLE))
				return 0;
		}
		if (rc < 0)
			return rc;
		place->hits++;
		place->object->leaves += i == 0;
		s->loops[*count] = place->loop;
		s->natives[*count].offset = place->offset;
		rc = object_declare(place->object, s->writer, &s->natives[*count].object);
		if (rc < 0)
			return rc;
		(*count)++;
	}
	return 0;
}

/* The interpreter's loop in a stack of which the kernel did not know yet that there is one. */
static uint32_t python_flags(const struct samples *s, const struct event_stack *stack,
			     uint32_t native_count)
{
	if (!s->python || stack->python_flags & EVENT_PYTHON_KNOWN)
		return 0;
	for (uint32_t i = 0; i < native_count; i++) {
		if (s->loops[i] != MERGE_NATIVE)
			return STACK_PYTHON_LATE;
	}
	return 0;
}

/* @native_count of s->natives with the Python frames of @stack into s->frames from @count on. */
static int merge_frames(struct samples *s, const struct event_stack *stack, bool is_rooted,
			uint32_t native_count, uint32_t *count)
{
	struct python_stats *stats = python_stats(s->python);
	size_t before = (size_t)stack->skip + stack->user_count + stack->kernel_count;
	const struct merge_input in = {
		.natives = s->loops,
		.native_count = native_count,
		.entries = (const struct python_entry *)&stack->ips[before],
		.entry_count = stack->python_count,
		.is_rooted = is_rooted,
		.is_whole = !(stack->python_flags & EVENT_PYTHON_CUT),
	};
	uint32_t misplaced = 0;
	uint32_t items = python_merge(&in, s->items, &misplaced);

	stats->misplaced += misplaced;
	stats->cut += !in.is_whole;
	for (uint32_t i = 0; i < items; i++) {
		struct record_frame *to = &s->frames[*count];
		int rc = 1;
		switch ((enum merge_kind)s->items[i].kind) {
		case MERGE_ITEM_NATIVE:
			*to = s->natives[s->items[i].index];
			break;
		case MERGE_ITEM_PYTHON:
			rc = python_frame(s->python, &in.entries[s->items[i].index], to);
			break;
		case MERGE_ITEM_GAP:
			rc = python_gap_frame(s->python, to) < 0 ? -ENOMEM : 1;
			break;
		}
		if (rc < 0)
			return rc;
		*count += (uint32_t)rc;
	}
	return 0;
}

static int kernel_frames(struct samples *s, const struct event_stack *stack, uint32_t *count)
{
	const __u64 *ips = &stack->ips[stack->skip + stack->user_count];

	for (uint32_t i = 0; i < stack->kernel_count; i++) {
		struct record_frame *frame = &s->frames[*count];
		frame->offset = ips[i] - (i > 0);
		int rc = count_hits(s->objects->kernel, frame->offset, 1);
		if (rc >= 0)
			rc = object_declare(s->objects->kernel, s->writer, &frame->object);
		if (rc < 0)
			return rc;
		(*count)++;
	}
	return 0;
}

void sample_keep_copy(struct samples *s, const struct event_copy *copy)
{
	s->copies[s->copy_count++ % SAMPLE_COPIES] = copy;
}

void sample_forget_copies(struct samples *s)
{
	memset(s->copies, 0, sizeof(s->copies));
}

static const struct event_copy *find_part(const struct samples *s, uint64_t time_ns, uint32_t pid,
					  const struct event_copy *first, uint32_t part)
{
	for (size_t i = 0; i < SAMPLE_COPIES; i++) {
		const struct event_copy *copy = s->copies[i];
		if (copy && copy->header.time_ns == time_ns && copy->header.pid == pid &&
		    copy->part == part && (!first || copy->header.tid == first->header.tid))
			return copy;
	}
	return NULL;
}

/* The memory that was copied, of all parts, to s->copied. */
static void join_parts(struct samples *s, const struct event_copy *first)
{
	const struct event_copy *next = first;
	struct unwinder_memory *to = &s->copied;

	memset(to->missing, 0, sizeof(to->missing));
	to->size = 0;
	for (uint32_t part = 0; next && part < EVENT_COPY_PARTS;) {
		uint32_t begin = part * EVENT_COPY_BYTES;
		if (next->stack_address != first->stack_address + begin)
			break;
		memcpy(to->bytes + begin, next->stack, next->stack_size);
		to->missing[begin / EVENT_COPY_PIECE / 32] |= next->missing
							      << begin / EVENT_COPY_PIECE % 32;
		to->size = begin + next->stack_size;
		next = find_part(s, first->header.time_ns, first->header.pid, first, ++part);
	}
}

/* What the kernel could not walk to its end goes on with the copy that was sent ahead. */
static int go_on(struct samples *s, struct process *process, uint64_t time_ns,
		 const struct event_stack **stack)
{
	struct event_stack *whole = (struct event_stack *)s->whole;
	const struct event_copy *copy = find_part(s, time_ns, process->pid, NULL, 0);

	if (!s->unwinder || !copy)
		return 0;
	/* Frames that no mapping tells of yet may be in one that was not reported. */
	if (!mappings_find(&process->mappings, copy->pc - (copy->is_return != 0)) &&
	    process_read_maps(s->processes, process, time_ns) < 0)
		return 0;
	join_parts(s, copy);
	int rc = unwinder_continue(s->unwinder, &process->mappings, copy, &s->copied, *stack, whole,
				   time_ns);
	if (rc == 0)
		*stack = whole;
	return rc;
}

static uint32_t stack_flags(const struct event_stack *stack)
{
	uint32_t flags = (uint32_t)stack->status << STACK_CAUSE_SHIFT;

	if (stack->flags & EVENT_STACK_ROOTED)
		flags = STACK_ROOTED;
	if (stack->flags & EVENT_STACK_BY_TABLE)
		flags |= STACK_BY_TABLE;
	if (stack->flags & EVENT_STACK_BY_COPY)
		flags |= STACK_BY_COPY;
	if (stack->flags & EVENT_STACK_BY_SCAN)
		flags |= STACK_BY_SCAN;
	return flags;
}

int sample_stack(struct samples *s, struct process *process, const struct event_stack *stack,
		 uint64_t time_ns, uint32_t *ret)
{
	const struct event_stack *sent = stack;
	uint32_t count = 0, natives = 0, flags;

	s->stacks++;
	int rc = stack->flags & EVENT_STACK_COPIED ? go_on(s, process, time_ns, &stack) : 0;
	if (rc < 0)
		return rc;
	flags = stack_flags(stack);
	rc = kernel_frames(s, stack, &count);
	if (rc < 0)
		return rc;
	if (!stack->kernel_count)
		process->is_executing = false; /* whatever was not told */
	if (process->is_executing)
		flags = STACK_ROOTED; /* the new image has no user stack yet: this is all */
	else
		rc = user_frames(s, process, stack, time_ns, &natives);
	flags |= python_flags(s, sent, natives);
	if (rc >= 0 && natives && s->python && sent->python_count) {
		rc = merge_frames(s, sent, stack->flags & EVENT_STACK_ROOTED, natives, &count);
	} else {
		if (s->python && sent->python_flags & EVENT_PYTHON_CUT)
			python_stats(s->python)->cut++;
		memcpy(&s->frames[count], s->natives, natives * sizeof(*s->natives));
		count += natives;
	}
	if (rc < 0)
		return rc;
	return capture_writer_stack(s->writer, s->frames, count, flags, ret);
}

int sample_take(struct samples *s, const struct event_sample *event)
{
	const struct event_header *header = &event->header;
	struct record rec = { .type = RECORD_CPU_SAMPLE };
	struct thread *thread;
	int rc;

	rec.cpu_sample = (struct record_cpu_sample){
		.time_ns = header->time_ns,
		.cpu = header->cpu,
		.flags = event->flags & EVENT_SAMPLE_IN_KERNEL ? CPU_SAMPLE_IN_KERNEL : 0,
		.weight = 1,
	};
	if (event->event && event->event < EVENT_KINDS && s->events[event->event] &&
	    (rc = capture_writer_string(s->writer, s->events[event->event],
					&rec.cpu_sample.event)) < 0)
		return rc;
	if ((rc = thread_get(s->processes, header->pid, header->tid, header->time_ns, &thread)) < 0)
		return rc;
	if ((rc = thread_declare(s->processes, thread, &rec.cpu_sample.thread)) < 0)
		return rc;
	if ((rc = sample_stack(s, thread->process, event_stack(header), header->time_ns,
			       &rec.cpu_sample.stack)) < 0)
		return rc;
	s->count++;
	return capture_writer_put(s->writer, &rec);
}
