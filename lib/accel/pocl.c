/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the device did what was asked for, on POCL.
 *
 * POCL makes an event for each command, whether or not the program asked for one, and tells its
 * steps by exported functions: submitted (to the device's driver), running (a worker took it) and
 * complete. The event's address is what these have in common; addresses are used again, so all of
 * this goes by the order in time. Which launch an event belongs to:
 *
 * - Submission happens inside the enqueue call, on its thread, when the command depends on nothing
 *   unfinished. Then the launch that the thread is in is the one: no doubt is possible.
 * - Otherwise the thread that completes what it waited for submits it. Then the event's queue and
 *   command type, read from the event, lead to the oldest launch of that kind in the queue that is
 *   not joined: commands of an in-order queue are submitted in the order they were enqueued. When
 *   threads enqueue to one queue at the same time, their order at our probe may not be the queue's;
 *   the kernel and the number of work groups tell them apart where they differ.
 *
 * Whatever joins beyond doubt also shows that older launches of an in-order queue whose calls had
 * ended before are not to be joined any more: the calls failed. Or, with several threads, the order
 * was not the queue's and another launch has got the command; so they stay as a last resort.
 *
 * The place of the queue in the event depends on POCL's version and build. Around it all known
 * layouts are { context, queue, command type, command }, so it is found by looking for a queue that
 * we know followed by a command type. Times are those of the probes, CLOCK_MONOTONIC: POCL's own are
 * CLOCK_MONOTONIC_RAW.
 */
#include "accel/opencl.h"

#include <errno.h>

/* Commands that may come without a launch before a queue is taken to be in step. When a recording
 * starts, a few commands are under way; a program whose queue never runs empty shows no launch
 * beyond doubt. */
#define UNJOINED_MAX 256

struct command_view {
	uint64_t event;
	uint64_t kernel;        /* handle; 0: none, or not known */
	const uint64_t *groups; /* of work items in each dimension, where the kernel is known */
	size_t queue;
	uint16_t command;
};

static bool is_command(uint64_t word)
{
	return (uint32_t)word >= COMMAND_NDRANGE && (uint32_t)word <= COMMAND_LAST;
}

/* The queue and the command of an event; false when they are not what we watch. */
static bool view_command(struct opencl_process *p, const struct accel_event *e,
			 struct command_view *ret)
{
	const uint64_t *window = &e->value[1];
	int first = p->window_word >= 0 ? p->window_word : 0;
	int last = p->window_word >= 0 ? p->window_word : POCL_WINDOW - 2;

	for (int i = first; i <= last; i++) {
		uint64_t *queue = hash_get(&p->queue_index, window[i]);
		if (!window[i] || !queue || !is_command(window[i + 1]))
			continue;
		p->window_word = i;
		ret->event = e->value[0];
		ret->queue = *queue;
		ret->command = (uint16_t)window[i + 1];
		/* clEnqueueTask is an ND-range of one item. */
		if (ret->command == COMMAND_TASK)
			ret->command = COMMAND_NDRANGE;
		ret->kernel = 0;
		ret->groups = NULL;
		for (size_t k = 1 + POCL_WINDOW; k + POCL_RUN <= PROBE_VALUES; k += POCL_RUN)
			if (kernel_table_get(&p->kernels, e->value[k])) {
				ret->kernel = e->value[k];
				ret->groups = &e->value[k + 1];
			}
		return true;
	}
	return false;
}

static bool groups_fit(const struct opencl_launch *launch, const struct command_view *view)
{
	for (size_t i = 0; i < 3; i++)
		if (launch->grid[i] && launch->grid[i] != view->groups[i])
			return false;
	return true;
}

/* Whether the numbers of groups are where we look shows with launches that are certain. */
static void learn_groups(struct opencl_process *p, const struct opencl_launch *launch,
			 const struct command_view *view)
{
	if (!view->groups || !launch->grid[0])
		return;
	if (groups_fit(launch, view))
		p->groups_agree = true;
	else
		p->groups_disagree = true;
}

static bool launch_fits(const struct opencl_launch *launch, const struct command_view *view)
{
	return !launch->is_joined && launch->command == view->command &&
	       (!view->kernel || launch->kernel_handle == view->kernel);
}

/* The launch whose call this thread is in, if it is of this command. */
static struct opencl_launch *launch_in_call(struct opencl_process *p, const struct accel_event *e,
					    const struct command_view *view)
{
	struct opencl_thread *thread;
	struct opencl_launch *launch;

	if (opencl_thread(p, e->tid, &thread) < 0 || !thread->in_call ||
	    thread->queue != view->queue)
		return NULL;
	launch = opencl_launch_get(&p->queues.data[view->queue], thread->launch);
	if (!launch || !launch_fits(launch, view))
		return NULL;
	thread->in_call = false;
	return launch;
}

/* Launches that should have been submitted before @launch were not. */
static void pass_over(struct opencl_queue *q, const struct opencl_launch *launch)
{
	if (q->out_of_order)
		return;
	for (size_t i = q->first; i < q->launches.len && i < q->first + OPENCL_SEARCH_MAX; i++) {
		struct opencl_launch *older = &q->launches.data[i];
		if (older == launch)
			return;
		if (older->ended_ns && older->ended_ns <= launch->time_ns)
			older->is_passed_over = true;
	}
}

static struct opencl_launch *launch_in_order(const struct opencl_process *p, struct opencl_queue *q,
					     const struct command_view *view)
{
	bool use_groups = view->groups && p->groups_agree && !p->groups_disagree;
	if (!q->is_synced && q->unjoined < UNJOINED_MAX) {
		q->unjoined++;
		return NULL;
	}
	struct opencl_launch *passed_over = NULL;
	for (size_t i = q->first; i < q->launches.len && i < q->first + OPENCL_SEARCH_MAX; i++) {
		struct opencl_launch *launch = &q->launches.data[i];
		if (!launch_fits(launch, view) || (use_groups && !groups_fit(launch, view)))
			continue;
		if (!launch->is_passed_over)
			return launch;
		if (!passed_over)
			passed_over = launch;
	}
	return passed_over;
}

/* A command whose launch was not seen gets one without a caller: it was before the recording, or
 * it is among those that were lost. */
static int launch_unseen(struct opencl *o, struct opencl_process *p, const struct accel_event *e,
			 const struct command_view *view, struct opencl_command_state *state)
{
	struct kernel kernel = { 0 };
	struct record record = { .type = RECORD_LAUNCH };
	struct record_launch *r = &record.launch;
	int rc = 0;

	if (view->kernel)
		rc = opencl_kernel(o, p, view->kernel, &kernel);
	if (rc < 0)
		return rc;
	state->kind = view->command == COMMAND_NDRANGE ? LAUNCH_KERNEL : LAUNCH_OTHER;
	state->kernel = kernel.record;
	state->correlation = o->host.correlation(o->host.data);
	r->time_ns = e->time_ns;
	r->kind = state->kind;
	r->kernel = state->kernel;
	r->queue = p->queues.data[view->queue].record;
	r->correlation = state->correlation;
	if (p->queues.data[view->queue].is_synced) {
		o->stats.unseen++;
	} else {
		r->flags = LAUNCH_BEFORE_WINDOW;
		o->stats.before++;
	}
	return capture_writer_put(o->host.writer, &record);
}

static int join(struct opencl *o, struct opencl_process *p, const struct accel_event *e,
		const struct command_view *view, struct opencl_command_state *state)
{
	struct opencl_queue *q = &p->queues.data[view->queue];
	struct opencl_launch *launch = launch_in_call(p, e, view);

	if (launch) {
		o->stats.joined_in_call++;
		q->is_synced = true;
		pass_over(q, launch);
		learn_groups(p, launch, view);
	} else {
		launch = launch_in_order(p, q, view);
		if (!launch)
			return launch_unseen(o, p, e, view, state);
		o->stats.joined_in_order++;
	}
	launch->is_joined = true;
	state->correlation = launch->correlation;
	state->bytes = launch->bytes;
	state->launched_ns = launch->time_ns;
	state->kernel = launch->kernel;
	state->name = launch->name;
	state->kind = launch->kind;
	return 0;
}

static bool is_watched(uint16_t command)
{
	/* Markers, barriers and user events are no work; images through GL are not watched. */
	return command != 0x11fe && command != 0x11ff && command != 0x1200 && command != 0x1204 &&
	       command != 0x1205 && command != 0x1209;
}

static void forget_command(struct opencl_process *p, uint64_t event)
{
	uint64_t *index = hash_get(&p->command_index, event);

	if (!index)
		return;
	/* Without memory the place is not used again: no harm. */
	(void)vec_push(&p->free_commands, (size_t)*index);
	hash_remove(&p->command_index, event);
}

static int add_command(struct opencl_process *p, uint64_t event,
		       const struct opencl_command_state *state)
{
	size_t index = p->commands.len;

	if (p->free_commands.len)
		index = p->free_commands.data[--p->free_commands.len];
	else if (vec_push(&p->commands, *state) < 0)
		return -ENOMEM;
	p->commands.data[index] = *state;
	return hash_set(&p->command_index, event, index);
}

static int begin_command(struct opencl *o, struct opencl_process *p, const struct accel_event *e)
{
	struct opencl_command_state state = { .submitted_ns = e->time_ns };
	struct command_view view;
	int rc;

	forget_command(p, e->value[0]);
	if (p->command_index.len >= OPENCL_WAITING_MAX) {
		o->stats.given_up++;
		return 0;
	}
	if (!view_command(p, e, &view) || !is_watched(view.command))
		return 0;
	state.queue = view.queue;
	rc = join(o, p, e, &view, &state);
	return rc < 0 ? rc : add_command(p, view.event, &state);
}

/* Waits that this completion may be the end of. */
static void update_waits(struct opencl_process *p, const struct accel_event *e,
			 const struct opencl_command_state *state)
{
	vec_for_each(&p->waits, it) {
		bool ends = state && it->queue &&
			    p->queues.data[state->queue].handle == it->queue &&
			    state->submitted_ns && state->launched_ns <= it->time_ns;
		for (size_t i = 0; i < WAIT_EVENTS && !ends && !it->queue; i++)
			ends = it->event[i] && it->event[i] == e->value[0];
		if (ends)
			it->end_ns = e->time_ns;
	}
}

static int end_command(struct opencl *o, struct opencl_process *p, const struct accel_event *e)
{
	uint64_t *index = hash_get(&p->command_index, e->value[0]);
	int rc;

	update_waits(p, e, index ? &p->commands.data[*index] : NULL);
	if (!index)
		return 0;
	const struct opencl_command_state *state = &p->commands.data[*index];
	rc = opencl_dispatched(o, &p->queues.data[state->queue], state, e->time_ns);
	forget_command(p, e->value[0]);
	return rc;
}

int pocl_event(struct opencl *o, struct opencl_process *p, const struct accel_event *e)
{
	uint64_t *index;

	/* The library inside tells it all. */
	if (p->is_timed)
		return 0;
	p->has_pocl = true;
	switch (e->site->id) {
	case SITE_POCL_SUBMITTED:
		return begin_command(o, p, e);
	case SITE_POCL_RUNNING:
		index = hash_get(&p->command_index, e->value[0]);
		if (index && !p->commands.data[*index].start_ns)
			p->commands.data[*index].start_ns = e->time_ns;
		return 0;
	default:
		return end_command(o, p, e);
	}
}
