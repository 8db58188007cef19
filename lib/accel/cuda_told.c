/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the library inside a target tells (inject/message.h): each launch, by a call with the stack,
 * and later when the device worked on it. Whatever it says is only as good as the target: numbers are
 * checked before they are used, and what makes no sense is left.
 */
#include "accel/cuda.h"

#include "accel/info.h"
#include "inject/message.h"

#include <errno.h>
#include <string.h>

/* CUpti_ActivityMemcpyKind, as CUPTI's and Kineto's users know them. */
static const char *const copy_names[] = {
	"Memcpy",      "Memcpy HtoD", "Memcpy DtoH", "Memcpy HtoA", "Memcpy AtoH", "Memcpy AtoA",
	"Memcpy AtoD", "Memcpy DtoA", "Memcpy DtoD", "Memcpy HtoH", "Memcpy PtoP",
};

uint64_t cuda_told_correlation(const struct cuda_process *p, uint32_t target)
{
	const struct cuda_told *told = p->told ? &p->told[target & (CUDA_TOLD_MAX - 1)] : NULL;

	return target && told && told->target == target ? told->correlation : 0;
}

static int told_slot(struct cuda_process *p, uint32_t target, struct cuda_told **ret)
{
	if (!p->told) {
		p->told = calloc(CUDA_TOLD_MAX, sizeof(*p->told));
		if (!p->told)
			return -ENOMEM;
	}
	*ret = &p->told[target & (CUDA_TOLD_MAX - 1)];
	return 0;
}

/* The record of a kernel if it has a name: readers then need not ask the device's. */
static uint32_t named_kernel(const struct cuda_process *p, uint64_t handle)
{
	const struct kernel *known = kernel_table_get(&p->functions, handle);

	return known && known->name ? known->record : 0;
}

int cuda_told_launch(struct cuda *c, struct cuda_process *p, const struct accel_event *e)
{
	struct cuda_thread *thread;
	struct cuda_told *told = NULL;
	int rc = cuda_thread(p, e->tid, &thread);

	if (rc == 0 && INJECT_LAUNCH_KIND(e->value[0]) == INJECT_LAUNCH_NODE)
		return cuda_told_node(c, p, e);
	if (rc == 0)
		rc = told_slot(p, (uint32_t)e->value[0], &told);
	if (rc < 0)
		return rc;
	/* A thread's first one may have been seen from outside as well, just before. */
	if (thread->launch &&
	    thread->launched_ns + INJECT_LAUNCH_AGE(e->value[0]) * 1000 >= e->time_ns)
		c->stats.untimed -= c->stats.untimed > 0;
	else
		thread->launch = 0;
	p->is_told = true;
	if (!thread->launch)
		rc = cuda_put_launch(c, p, thread, e);
	*told = (struct cuda_told){
		.correlation = thread->launch,
		.target = (uint32_t)e->value[0],
		.kernel = named_kernel(p, e->value[1]),
	};
	thread->launch = 0;
	return rc;
}

/* Work whose launch was before the recording, or was lost. */
static int put_unseen(struct cuda *c, const struct inject_work *w, uint32_t kernel,
		      const struct cuda_queue *queue, uint64_t correlation)
{
	struct record record = {
		.type = RECORD_LAUNCH,
		.launch = {
			.time_ns = w->start_ns,
			.kind = told_work_kind(w->kind),
			.kernel = kernel,
			.queue = queue->record,
			.correlation = correlation,
			.flags = LAUNCH_BEFORE_WINDOW,
		},
	};

	c->stats.before++;
	return capture_writer_put(c->host.writer, &record);
}

/* The record of what a graph's node was made of; 0: not known, or no graph's. */
static uint64_t captured_as(const struct cuda_process *p, const struct inject_work *w)
{
	uint64_t *known = w->node ? hash_get(&p->nodes, w->node) : NULL;

	return known ? *known : 0;
}

/* CUPTI's words for copies. */
static int name_of_work(struct cuda *c, const struct inject_work *w, uint32_t *ret)
{
	const char *name = w->kind == INJECT_LAUNCH_FILL        ? "Memset"
			   : w->detail < ARRAY_SIZE(copy_names) ? copy_names[w->detail]
								: copy_names[0];

	*ret = 0;
	return w->kind == INJECT_LAUNCH_KERNEL ? 0
					       : capture_writer_string(c->host.writer, name, ret);
}

static int kernel_of_work(struct cuda_process *p, const struct inject_work *w,
			  const struct cuda_told *told, uint32_t *ret)
{
	uint64_t *name = hash_get(&p->names, w->name);
	struct kernel_facts facts = { 0 };
	struct kernel function = { 0 };
	int rc;

	*ret = told ? told->kernel : 0;
	if (*ret || !name || w->kind != INJECT_LAUNCH_KERNEL)
		return 0;
	facts.name = (uint32_t)*name;
	rc = kernel_table_add(&p->functions, &facts, &function);
	*ret = function.record;
	return rc;
}

static int take_work(struct cuda *c, struct cuda_process *p, const struct inject_work *w)
{
	/* A stream's number is no handle: those are addresses. */
	uint64_t stream = w->stream;
	struct cuda_told *told;
	struct cuda_queue queue;
	uint64_t correlation;
	uint32_t kernel;
	int rc;

	if (w->end_ns < w->start_ns || w->device >= UINT32_MAX || w->kind < INJECT_LAUNCH_KERNEL ||
	    w->kind > INJECT_LAUNCH_FILL)
		return 0;
	rc = told_slot(p, w->correlation, &told);
	if (rc == 0 && (told->correlation == 0 || told->target != w->correlation))
		told = NULL;
	if (rc == 0)
		rc = kernel_of_work(p, w, told, &kernel);
	if (rc == 0)
		rc = cuda_queue(c, p, w->device + 1, stream, &queue);
	if (rc < 0)
		return rc;
	correlation = told ? told->correlation : c->host.correlation(c->host.data);
	if (!told)
		rc = put_unseen(c, w, kernel, &queue, correlation);
	if (rc < 0)
		return rc;
	struct accel_done done = {
		.kind = told_work_kind(w->kind),
		.correlation = correlation,
		.device = queue.device,
		.queue = queue.record,
		.kernel = kernel,
		.bytes = w->bytes,
		.start_ns = w->start_ns,
		.end_ns = w->end_ns,
		.captured = captured_as(p, w),
	};
	rc = name_of_work(c, w, &done.name);
	return rc < 0 ? rc : accel_done(c->host.writer, &done);
}

static int take_dropped(struct cuda *c, const struct accel_event *e, struct cursor *m)
{
	uint64_t work, samples;
	int rc;

	if (cursor_u64(m, &work, NULL) < 0 || cursor_u64(m, &samples, NULL) < 0)
		return 0;
	c->stats.dropped += work;
	rc = accel_lost(&c->host, e->time_ns, "dispatch", "CUPTI had no buffer left", work);
	return rc ? rc
		  : accel_lost(&c->host, e->time_ns, "pc-sample", "the GPU had no buffer left",
			       samples);
}

static int take_status(struct cuda *c, uint16_t about, struct span text)
{
	static const char *const keys[] = {
		[INJECT_STATUS_TIME] = "missing.device-time",
		[INJECT_STATUS_SAMPLES] = "missing.instructions",
		[INJECT_STATUS_SAMPLING] = "cuda.sampling",
	};
	char copy[256];
	size_t size = text.size < sizeof(copy) - 1 ? text.size : sizeof(copy) - 1;

	memcpy(copy, text.data, size);
	copy[size] = '\0';
	return about < ARRAY_SIZE(keys) ? accel_info(c->host.writer, keys[about], copy) : 0;
}

static int take_message(struct cuda *c, struct cuda_process *p, const struct accel_event *e,
			struct told_message *m)
{
	struct inject_work work;

	switch (m->type) {
	case INJECT_STATUS:
		return take_status(c, m->about, m->body.span);
	case INJECT_NAME:
		return told_name(&p->names, c->host.writer, &m->body);
	case INJECT_WORK:
		if (m->whole.size < sizeof(work))
			return 0;
		memcpy(&work, m->whole.data, sizeof(work));
		return take_work(c, p, &work);
	case INJECT_CODE:
		return cuda_told_code(p, &m->body);
	case INJECT_SAMPLES:
		return cuda_told_samples(c, p, &m->body);
	case INJECT_NODE:
		return cuda_told_copy(p, &m->body);
	case INJECT_DROPPED:
		return take_dropped(c, e, &m->body);
	default: /* of a newer library */
		return 0;
	}
}

int cuda_told_batch(struct cuda *c, struct cuda_process *p, const struct accel_event *e)
{
	struct span batch = span_of(e->text, e->text_size);
	struct told_message message;
	int rc = 0;

	while (rc == 0 && told_next(&batch, &message))
		rc = take_message(c, p, e, &message);
	return rc;
}
