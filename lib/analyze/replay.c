/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one loop over the records: what each type becomes. Whatever an id or a time says is taken
 * down as it is; what it means is found out afterwards, when everything has been seen.
 */
#include "analyze/tables.h"

#include <errno.h>

/* More than any accelerator's whole program; keeps one object from taking all memory. */
#define CODE_OBJECT_MAX_BYTES ((uint64_t)256 << 20)

/* Larger than any source file that people wrote. */
#define SOURCE_MAX_BYTES (16u << 20)

static uint64_t time_take(struct analysis *a, uint64_t time_ns)
{
	if (time_ns > TIME_MAX_NS) {
		a->odd.times++;
		return TIME_MAX_NS;
	}
	return time_ns;
}

/* The same for moments that say how long the capture is. */
static uint64_t time_seen(struct analysis *a, uint64_t time_ns)
{
	uint64_t t = time_take(a, time_ns);
	if (!a->first_ns || t < a->first_ns)
		a->first_ns = t;
	if (t > a->last_ns)
		a->last_ns = t;
	return t;
}

/* A duration that ends by TIME_MAX_NS when it starts at @time_ns. */
static uint64_t duration_take(struct analysis *a, uint64_t time_ns, uint64_t duration_ns)
{
	if (duration_ns > TIME_MAX_NS - time_ns) {
		a->odd.times++;
		return TIME_MAX_NS - time_ns;
	}
	return duration_ns;
}

static int replay_object(struct analysis *a, const struct record_object *o)
{
	uint32_t row;
	if (table_row(&a->objects, o->id, &row) < 0)
		return -ENOMEM;
	uint32_t code_object, build_id;
	if (table_row(&a->code_objects, o->code_object, &code_object) < 0 ||
	    strtab_intern(&a->detail_blobs, o->build_id.data, o->build_id.size, &build_id, NULL) <
		    0)
		return -ENOMEM;
	a->objects.data[row] = (struct object){
		.id = o->id,
		.kind = o->kind,
		.flags = o->flags,
		.name = o->name,
		.path = o->path,
		.build_id = build_id,
		.code_object = code_object,
		.frame_kind = o->frame_kind,
		.line = o->line,
	};
	if (o->kind == OBJECT_MISSING && !strcmp(analysis_text(a, o->name), "[graph replay]"))
		a->replay_object = row;
	a->holds_device_code |= (o->flags & OBJECT_HOLDS_DEVICE_CODE) != 0;
	a->holds_profiler |= (o->flags & OBJECT_IS_PROFILER) != 0;
	return 0;
}

static int replay_process(struct analysis *a, const struct record_process *p)
{
	uint32_t row, parent;
	if (table_row(&a->processes, p->id, &row) < 0 ||
	    table_row(&a->processes, p->parent, &parent) < 0)
		return -ENOMEM;
	if (!row)
		return 0;
	a->has_runs |= p->run != 0;
	a->processes.data[row] = (struct process){
		.id = p->id,
		.pid = p->pid,
		.ns_pid = p->ns_pid,
		.parent = parent,
		.comm = p->comm,
		.command = p->command,
		.rank = p->rank,
		.host = p->host,
		.run = p->run,
	};
	return 0;
}

static int replay_thread(struct analysis *a, const struct record_thread *t)
{
	uint32_t row, process;
	if (table_row(&a->threads, t->id, &row) < 0 ||
	    table_row(&a->processes, t->process, &process) < 0)
		return -ENOMEM;
	if (row)
		a->threads.data[row] = (struct thread){ process, t->tid, t->name };
	return 0;
}

static int replay_symbol(struct analysis *a, const struct record_symbol *s)
{
	uint32_t object;
	if (!s->count || s->count > SYMBOL_LINES_MAX)
		return 0;
	CLEANUP_FREE struct symbol_line *lines = calloc(s->count, sizeof(*lines));
	if (!lines || table_row(&a->objects, s->object, &object) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->count; i++) {
		lines[i] = (struct symbol_line){
			.name = analysis_text(a, s->lines[i].name),
			.file = s->lines[i].file ? analysis_text(a, s->lines[i].file) : NULL,
			.line = s->lines[i].line,
		};
	}
	return captured_symbols_add(a->captured, object, s->offset,
				    &(struct symbol){
					    .start = s->start,
					    .size = s->size,
					    .lines = lines,
					    .count = s->count,
				    });
}

/* Few places have most samples: these are found without going through the table, whose memory is
 * all over. */
#define PLACE_SLOTS 1024

struct place_slot {
	struct place place;
	uint32_t number; /* + 1 */
};

static struct place_slot *place_slot(struct analysis *a, const struct place *p)
{
	uint64_t key = hash_u64(p->offset ^ hash_pair(p->kernel ^ p->code_object, p->reason));
	if (!a->place_slots)
		a->place_slots = calloc(PLACE_SLOTS, sizeof(*a->place_slots));
	return a->place_slots ? &a->place_slots[key % PLACE_SLOTS] : NULL;
}

/* What a device sample hit, as a number. */
static int place_intern(struct analysis *a, const struct place *place, uint32_t *ret)
{
	struct place_slot *slot = place_slot(a, place);
	bool fresh;
	if (!slot)
		return -ENOMEM;
	if (slot->number && !memcmp(&slot->place, place, sizeof(*place))) {
		*ret = slot->number - 1;
		return 0;
	}
	if (strtab_intern(&a->place_blobs, place, sizeof(*place), ret, &fresh) < 0 ||
	    (fresh && vec_push(&a->places, *place) < 0))
		return -ENOMEM;
	*slot = (struct place_slot){ *place, *ret + 1 };
	return 0;
}

/* A CPU sample inside accelerator code (POCL): a device sample, whose stack says what it hit. */
static int replay_device_code(struct analysis *a, const struct record_cpu_sample *s,
			      uint32_t thread, uint32_t row)
{
	struct stack *stack = &a->stacks.data[row];
	if (!stack->place) {
		const struct frame_ref *frames = analysis_stack(a, row);
		if (!frames)
			return -ENOMEM;
		const struct frame_ref *f = &frames[stack->device_frame - 1];
		struct place place = {
			.stack = row,
			.object = f->object,
			.code_object = a->objects.data[f->object].code_object,
			.offset = f->offset,
		};
		if (place_intern(a, &place, &stack->place) < 0)
			return -ENOMEM;
		stack->place++;
	}
	return vec_push(&a->device_samples,
			(struct device_sample){
				.time_ns = time_seen(a, s->time_ns),
				.thread = thread,
				.place = stack->place - 1,
				.count = s->weight > UINT32_MAX ? UINT32_MAX : (uint32_t)s->weight,
			});
}

/* Most stacks are of one thread. */
int analysis_sample_group(struct analysis *a, uint32_t thread, uint32_t row, uint32_t *ret)
{
	struct stack *stack = &a->stacks.data[row];
	uint64_t key = hash_pair(thread, row);
	uint32_t fresh = (uint32_t)a->sample_groups.len;

	if (stack->group && a->sample_groups.data[stack->group - 1].thread == thread) {
		*ret = stack->group - 1;
		return 0;
	}
	const uint64_t *known = stack->group ? hash_get(&a->sample_group_of, key) : NULL;
	if (known) {
		*ret = (uint32_t)*known;
		return 0;
	}
	if (vec_push(&a->sample_groups, (struct sample_group){ thread, row }) < 0 ||
	    (stack->group && hash_set(&a->sample_group_of, key, fresh) < 0))
		return -ENOMEM;
	if (!stack->group)
		stack->group = fresh + 1;
	*ret = fresh;
	return 0;
}

static int replay_event_sample(struct analysis *a, const struct record_cpu_sample *s,
			       uint32_t thread, uint32_t stack)
{
	struct event_sample row = { .time_ns = time_seen(a, s->time_ns), .weight = s->weight };

	while (row.event < a->sample_events.len && a->sample_events.data[row.event] != s->event)
		row.event++;
	if (row.event == a->sample_events.len && vec_push(&a->sample_events, s->event) < 0)
		return -ENOMEM;
	if (analysis_sample_group(a, thread, stack, &row.group) < 0)
		return -ENOMEM;
	return vec_push(&a->event_samples, row);
}

static int replay_cpu_sample(struct analysis *a, const struct record_cpu_sample *s)
{
	uint32_t thread, stack = analysis_stack_row(a, s->stack);
	if (table_row(&a->threads, s->thread, &thread) < 0)
		return -ENOMEM;
	if (s->event)
		return replay_event_sample(a, s, thread, stack);
	if (a->stacks.data[stack].device_frame && !(s->flags & CPU_SAMPLE_SPAN))
		return replay_device_code(a, s, thread, stack);

	struct sample row = {
		.time_ns = time_seen(a, s->time_ns),
		.weight = s->weight,
		.flags = s->flags,
	};
	if (analysis_sample_group(a, thread, stack, &row.group) < 0)
		return -ENOMEM;
	if (s->flags & CPU_SAMPLE_SPAN) {
		row.weight = duration_take(a, row.time_ns, s->weight);
		time_seen(a, row.time_ns + row.weight);
	}
	return vec_push(&a->samples, row);
}

static int replay_blocked(struct analysis *a, const struct record_blocked *b)
{
	struct blocked row = { .time_ns = time_seen(a, b->time_ns) };
	row.duration_ns = duration_take(a, row.time_ns, b->duration_ns);
	row.others_ns = duration_take(a, 0, b->others_ns);
	time_seen(a, row.time_ns + row.duration_ns);
	if (table_row(&a->threads, b->thread, &row.thread) < 0 ||
	    analysis_sample_group(a, row.thread, analysis_stack_row(a, b->stack), &row.group) < 0)
		return -ENOMEM;
	return vec_push(&a->blocked, row);
}

static int replay_device(struct analysis *a, const struct record_device *d)
{
	uint32_t row, process;
	if (table_row(&a->devices, d->id, &row) < 0 ||
	    table_row(&a->processes, d->process, &process) < 0)
		return -ENOMEM;
	if (row)
		a->devices.data[row] = (struct device){
			.id = d->id,
			.index = d->index,
			.text = d->name,
			.runtime = d->runtime,
			.process = process,
			.units = d->units,
		};
	return 0;
}

static int replay_queue(struct analysis *a, const struct record_queue *q)
{
	uint32_t row;
	struct queue queue = { .handle = q->handle, .text = q->name };
	if (table_row(&a->queues, q->id, &row) < 0 ||
	    table_row(&a->devices, q->device, &queue.device) < 0 ||
	    table_row(&a->processes, q->process, &queue.process) < 0)
		return -ENOMEM;
	if (row)
		a->queues.data[row] = queue;
	return 0;
}

/* Parts come in order; an object with a part missing stays incomplete and is not used. */
static int replay_code_object(struct analysis *a, const struct record_code_object *c)
{
	uint32_t row, process, device;
	if (table_row(&a->code_objects, c->id, &row) < 0 ||
	    table_row(&a->processes, c->process, &process) < 0 ||
	    table_row(&a->devices, c->device, &device) < 0)
		return -ENOMEM;
	struct code_object *o = &a->code_objects.data[row];
	if (!row || c->part_offset != o->bytes.len || c->total_bytes > CODE_OBJECT_MAX_BYTES ||
	    c->part.size > c->total_bytes - c->part_offset)
		return 0;
	o->kind = c->kind;
	o->process = process;
	o->device = device;
	o->text = c->name;
	o->load_address = c->load_address;
	o->total_bytes = c->total_bytes;
	if (!c->part.size)
		return 0;
	if (vec_reserve(&o->bytes, o->bytes.len + c->part.size) < 0)
		return -ENOMEM;
	memcpy(o->bytes.data + o->bytes.len, c->part.data, c->part.size);
	o->bytes.len += c->part.size;
	return 0;
}

static int replay_kernel(struct analysis *a, const struct record_kernel *k)
{
	uint32_t row;
	struct kernel kernel = {
		.text = k->name,
		.offset = k->offset,
		.size = k->size,
		.metadata = k->metadata,
	};
	if (table_row(&a->kernels, k->id, &row) < 0 ||
	    table_row(&a->processes, k->process, &kernel.process) < 0 ||
	    table_row(&a->code_objects, k->code_object, &kernel.code_object) < 0)
		return -ENOMEM;
	if (row)
		a->kernels.data[row] = kernel;
	return 0;
}

int analysis_site(struct analysis *a, const struct site *site, uint32_t *ret)
{
	bool fresh;
	if (strtab_intern(&a->site_blobs, site, sizeof(*site), ret, &fresh) < 0 ||
	    (fresh && vec_push(&a->sites, *site) < 0))
		return -ENOMEM;
	return 0;
}

static int thread_site(struct analysis *a, uint32_t thread, uint32_t stack, uint32_t kind,
		       uint32_t *ret)
{
	return analysis_site(a, &(struct site){ .thread = thread, .stack = stack, .kind = kind },
			     ret);
}

static int replay_launch_detail(struct analysis *a, const struct record_launch *l, uint32_t *ret)
{
	struct launch_detail d = {
		.flops = l->flops,
		.bytes = l->bytes,
		.count = l->count ? l->count : 1,
		.metadata = l->metadata,
		.graph = l->graph > UINT32_MAX ? 0 : (uint32_t)l->graph,
	};
	memcpy(d.grid, l->grid, sizeof(d.grid));
	memcpy(d.block, l->block, sizeof(d.block));
	/* Mostly it is that of the launch before. */
	if (a->launches.len) {
		uint32_t last = vec_last(&a->launches)->detail;
		if (!memcmp(strtab_get(&a->detail_blobs, last).data, &d, sizeof(d))) {
			*ret = last;
			return 0;
		}
	}
	return strtab_intern(&a->detail_blobs, &d, sizeof(d), ret, NULL);
}

/*
 * A launch for which no stack was taken gets that of the thread's launch of the same kernel before: as
 * which ones had a stack was up to chance, each lends it to as many as it stands for. Returns whether
 * it has none of its own.
 */
static bool lend_stack(struct analysis *a, uint32_t thread, uint32_t kind, uint64_t what,
		       uint32_t *stack, int *rc)
{
	uint64_t key = hash_u64(hash_pair(thread, kind)) ^ hash_u64(what), *known;

	if (!(a->stacks.data[*stack].flags & STACK_NOT_TAKEN)) {
		*rc = *stack ? hash_set(&a->stack_of, key, *stack) : 0;
		return false;
	}
	known = hash_get(&a->stack_of, key);
	if (known)
		*stack = (uint32_t)*known;
	*rc = 0;
	return true;
}

/* What is recorded into a graph is nothing that the device does now. */
static int replay_capture(struct analysis *a, const struct record_launch *l,
			  const struct launch *row)
{
	uint32_t kernel_text = row->kernel ? a->kernels.data[row->kernel].text : 0;
	uint64_t *last = hash_get(&a->graph_of, l->graph);
	struct capture c = {
		.correlation = l->correlation,
		.site = row->site,
		.name = kernel_text ? kernel_text : l->name,
		.next = last ? (uint32_t)*last : 0,
	};
	if (vec_push(&a->captures, c) < 0 ||
	    hash_set(&a->capture_of, l->correlation, a->captures.len) < 0)
		return -ENOMEM;
	return l->graph ? hash_set(&a->graph_of, l->graph, a->captures.len) : 0;
}

static int replay_launch(struct analysis *a, const struct record_launch *l)
{
	struct launch row = {
		.time_ns = time_seen(a, l->time_ns),
		.correlation = l->correlation,
		.name = l->name,
		.kind = (uint16_t)l->kind,
		.flags = (uint16_t)l->flags,
	};
	uint32_t stack = analysis_stack_row(a, l->stack);
	int rc;
	uint32_t kind = !stack && l->flags & LAUNCH_BEFORE_WINDOW ? SITE_BEFORE_WINDOW : SITE_STACK;

	row.duration_ns = duration_take(a, row.time_ns, l->duration_ns);
	if (table_row(&a->threads, l->thread, &row.thread) < 0 ||
	    table_row(&a->queues, l->queue, &row.queue) < 0 ||
	    table_row(&a->kernels, l->kernel, &row.kernel) < 0)
		return -ENOMEM;
	if (lend_stack(a, row.thread, l->kind, hash_pair(row.kernel, l->name), &stack, &rc))
		row.flags |= LAUNCH_STACK_LENT;
	if (rc < 0 || thread_site(a, row.thread, stack, kind, &row.site) < 0)
		return -ENOMEM;
	if (l->flags & LAUNCH_CAPTURED)
		return replay_capture(a, l, &row);
	if (replay_launch_detail(a, l, &row.detail) < 0)
		return -ENOMEM;
	return vec_push(&a->launches, row);
}

static int replay_op(struct analysis *a, struct op *op, uint32_t device, uint32_t queue)
{
	op->start_ns = time_seen(a, op->start_ns);
	op->end_ns = time_seen(a, op->end_ns);
	if (op->end_ns < op->start_ns) {
		a->odd.times++;
		op->end_ns = op->start_ns;
	}
	if (table_row(&a->devices, device, &op->device) < 0 ||
	    table_row(&a->queues, queue, &op->queue) < 0)
		return -ENOMEM;
	return vec_push(&a->ops, *op);
}

static int replay_dispatch(struct analysis *a, const struct record_dispatch *d)
{
	struct op op = {
		.start_ns = d->start_ns,
		.end_ns = d->end_ns,
		.correlation = d->correlation,
		.captured = d->captured,
		.name = d->name,
		.kind = d->kind ? d->kind : LAUNCH_KERNEL,
		.count = !d->count               ? 1
			 : d->count > UINT32_MAX ? UINT32_MAX
						 : (uint32_t)d->count,
	};
	if (table_row(&a->kernels, d->kernel, &op.kernel) < 0)
		return -ENOMEM;
	return replay_op(a, &op, d->device, d->queue);
}

static int replay_copy(struct analysis *a, const struct record_copy *c)
{
	struct op op = {
		.start_ns = c->start_ns,
		.end_ns = c->end_ns,
		.correlation = c->correlation,
		.captured = c->captured,
		.bytes = c->bytes,
		.name = c->name,
		.kind = c->kind == LAUNCH_FILL ? LAUNCH_FILL : LAUNCH_COPY,
		.count = 1,
	};
	return replay_op(a, &op, c->device, c->queue);
}

static int replay_pc_sample(struct analysis *a, const struct record_pc_sample *s)
{
	struct place place = {
		.offset = s->offset,
		.reason = s->reason,
		.function = s->function,
		.file = s->file,
		.line = s->line,
	};
	struct device_sample row = {
		.time_ns = time_seen(a, s->time_ns),
		.correlation = s->correlation,
		.interval_ns = s->interval_ns > UINT32_MAX ? UINT32_MAX : (uint32_t)s->interval_ns,
		.count = s->count > UINT32_MAX ? UINT32_MAX : (uint32_t)s->count,
	};
	if (table_row(&a->devices, s->device, &place.device) < 0 ||
	    table_row(&a->kernels, s->kernel, &place.kernel) < 0 ||
	    table_row(&a->code_objects, s->code_object, &place.code_object) < 0 ||
	    table_row(&a->threads, s->thread, &row.thread) < 0 ||
	    place_intern(a, &place, &row.place) < 0)
		return -ENOMEM;
	return vec_push(&a->device_samples, row);
}

static int replay_sync(struct analysis *a, const struct record_sync *s)
{
	struct sync row = { .time_ns = time_seen(a, s->time_ns), .text = s->name };
	uint32_t stack = analysis_stack_row(a, s->stack);
	int rc;

	row.duration_ns = duration_take(a, row.time_ns, s->duration_ns);
	if (table_row(&a->threads, s->thread, &row.thread) < 0 ||
	    table_row(&a->devices, s->device, &row.device) < 0)
		return -ENOMEM;
	lend_stack(a, row.thread, 0, s->name, &stack, &rc);
	if (rc < 0 || thread_site(a, row.thread, stack, SITE_STACK, &row.site) < 0)
		return -ENOMEM;
	return vec_push(&a->syncs, row);
}

static int replay_mark(struct analysis *a, const struct record_mark *m)
{
	struct mark row = {
		.time_ns = time_seen(a, m->time_ns),
		.iteration = m->iteration,
		.value = m->value,
		.kind = m->kind,
		.text = m->name,
		.metadata = m->metadata,
	};
	row.duration_ns = duration_take(a, row.time_ns, m->duration_ns);
	time_seen(a, row.time_ns + row.duration_ns);
	if (table_row(&a->threads, m->thread, &row.thread) < 0)
		return -ENOMEM;
	return vec_push(&a->marks, row);
}

/* Binaries are for other tools; what is shown here has its names from the capture. */
static int replay_file(struct analysis *a, const struct record_file *f)
{
	if (f->kind != FILE_SOURCE || f->total_bytes > SOURCE_MAX_BYTES)
		return 0;
	if (!f->part_offset && vec_push(&a->sources, (struct source_text){ .path = f->path }) < 0)
		return -ENOMEM;
	struct source_text *s = a->sources.len ? vec_last(&a->sources) : NULL;
	if (!s || s->path != f->path || f->part_offset != s->text.len)
		return 0;
	strbuf_add(&s->text, f->part.data, f->part.size);
	return strbuf_finish(&s->text);
}

int analysis_replay(struct analysis *a, const struct record *rec)
{
	switch (rec->type) {
	case RECORD_HEADER:
		a->header = rec->header;
		a->has_timeline = strncmp(analysis_text(a, rec->header.clock), "none", 4) != 0;
		if (rec->header.time_ns)
			time_seen(a, rec->header.time_ns);
		return 0;
	case RECORD_INFO:
		return vec_push(&a->info, rec->info);
	case RECORD_OBJECT:
		return replay_object(a, &rec->object);
	case RECORD_PROCESS:
		return replay_process(a, &rec->process);
	case RECORD_THREAD:
		return replay_thread(a, &rec->thread);
	case RECORD_STACK:
		return analysis_stack_define(a, &rec->stack);
	case RECORD_SYMBOL:
		return replay_symbol(a, &rec->symbol);
	case RECORD_CPU_SAMPLE:
		return replay_cpu_sample(a, &rec->cpu_sample);
	case RECORD_BLOCKED:
		return replay_blocked(a, &rec->blocked);
	case RECORD_DEVICE:
		return replay_device(a, &rec->device);
	case RECORD_QUEUE:
		return replay_queue(a, &rec->queue);
	case RECORD_CODE_OBJECT:
		return replay_code_object(a, &rec->code_object);
	case RECORD_KERNEL:
		return replay_kernel(a, &rec->kernel);
	case RECORD_LAUNCH:
		return replay_launch(a, &rec->launch);
	case RECORD_DISPATCH:
		return replay_dispatch(a, &rec->dispatch);
	case RECORD_PC_SAMPLE:
		return replay_pc_sample(a, &rec->pc_sample);
	case RECORD_COPY:
		return replay_copy(a, &rec->copy);
	case RECORD_SYNC:
		return replay_sync(a, &rec->sync);
	case RECORD_MARK:
		return replay_mark(a, &rec->mark);
	case RECORD_COUNTER:
		return vec_push(&a->counters, rec->counter);
	case RECORD_LOST:
		return vec_push(&a->lost,
				(struct lost){ rec->lost.what, rec->lost.why, rec->lost.count });
	case RECORD_END:
		a->end = rec->end;
		a->has_end = true;
		if (rec->end.time_ns)
			time_seen(a, rec->end.time_ns);
		return 0;
	case RECORD_FILE:
		return replay_file(a, &rec->file);
	case RECORD_STRING: /* the reader keeps them */
	case RECORD_CLOCK:
	case RECORD_TYPE_COUNT:
		return 0;
	}
	return 0; /* of a newer writer */
}
