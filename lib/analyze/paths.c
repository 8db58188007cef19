/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/paths.h"

#include <errno.h>

/* Where a node of the tree of stacks is in the profile, when its stack begins at @start there. */
struct stack_place {
	uint32_t start, node; /* 0: not known */
};

/* Where device work, or that there is none, belongs. */
struct device_place {
	uint32_t site, boundary; /* frame */
	uint32_t what, is_idle;  /* name, or enum account_state */
};

/* A few places have most of the work: their numbers, without a look into the table. */
#define DEVICE_SLOTS 2048

struct device_slot {
	struct device_place place;
	uint32_t number;
	bool is_used;
};

struct paths {
	struct analysis *a;
	struct profile *p;
	struct frames *frames;
	VEC(struct stack_place) places; /* by node of the tree of stacks */
	VEC(uint32_t) process_nodes;    /* by process; 0: not known yet */
	VEC(uint32_t) group_nodes;      /* by sample group; 0: not known yet */
	VEC(uint32_t) steps;
	struct hash sites;          /* site -> node */
	struct strtab device_blobs; /* of struct device_place */
	VEC(uint32_t) device_nodes; /* by its number */
	struct device_slot *device_slots;
	struct hash boundaries; /* (device, queue) -> frame */
	unsigned details;
	uint32_t boundary; /* frame of the device work at hand */
};

int paths_new(struct paths **ret, struct analysis *a, struct profile *p, bool long_names)
{
	CLEANUP(paths_free) struct paths *t = calloc(1, sizeof(*t));
	if (!t || !(t->device_slots = calloc(DEVICE_SLOTS, sizeof(*t->device_slots))) ||
	    frames_new(&t->frames, a, p, long_names) < 0 ||
	    frames_boundary(t->frames, 0, 0, &t->boundary) < 0)
		return -ENOMEM;
	t->a = a;
	t->p = p;
	*ret = TAKE(t);
	return 0;
}

void paths_leave_out_inlined(struct paths *t)
{
	frames_leave_out_inlined(t->frames);
}

void paths_detail(struct paths *t, unsigned details)
{
	t->details = details;
	frames_detail(t->frames, details);
}

int paths_on(struct paths *t, uint32_t device, uint32_t queue)
{
	if (!(t->details & (ANALYSIS_DETAIL_DEVICE | ANALYSIS_DETAIL_STREAM)))
		return 0;
	const uint64_t *known = hash_get(&t->boundaries, hash_pair(device, queue));
	if (known) {
		t->boundary = (uint32_t)*known;
		return 0;
	}
	int rc = frames_boundary(t->frames, device, queue, &t->boundary);
	return rc < 0 ? rc : hash_set(&t->boundaries, hash_pair(device, queue), t->boundary);
}

static int device_number(struct paths *t, const struct device_place *place, uint32_t *ret)
{
	uint64_t key = hash_u64(hash_pair(place->site, place->what) ^
				hash_pair(place->is_idle, place->boundary));
	struct device_slot *slot = &t->device_slots[key % DEVICE_SLOTS];
	if (!slot->is_used || memcmp(&slot->place, place, sizeof(*place)) != 0) {
		if (strtab_intern(&t->device_blobs, place, sizeof(*place), &slot->number, NULL) < 0)
			return -ENOMEM;
		slot->place = *place;
		slot->is_used = true;
	}
	*ret = slot->number;
	return 0;
}

/* The node of a place that is known: 1; else 0, and the one to be set. */
static int device_node(struct paths *t, uint32_t site, uint32_t what, bool is_idle, uint32_t **ret)
{
	const struct device_place place = { site, t->boundary, what, is_idle };
	uint32_t number;
	if (device_number(t, &place, &number) < 0)
		return -ENOMEM;
	while (t->device_nodes.len <= number) {
		if (vec_push(&t->device_nodes, PROFILE_ROOT) < 0)
			return -ENOMEM;
	}
	*ret = &t->device_nodes.data[number];
	return **ret != PROFILE_ROOT;
}

void paths_free(struct paths *t)
{
	if (!t)
		return;
	frames_free(t->frames);
	vec_release(&t->places);
	vec_release(&t->steps);
	vec_release(&t->process_nodes);
	vec_release(&t->group_nodes);
	hash_release(&t->sites);
	strtab_release(&t->device_blobs);
	vec_release(&t->device_nodes);
	free(t->device_slots);
	hash_release(&t->boundaries);
	free(t);
}

static int path_text(struct paths *t, enum frame_kind kind, const char *text, uint32_t *node)
{
	uint32_t frame;
	if (frames_text(t->frames, kind, text, &frame) < 0)
		return -ENOMEM;
	return profile_child(t->p, *node, frame, node);
}

int paths_missing(struct paths *t, const char *text, uint32_t *ret)
{
	*ret = PROFILE_ROOT;
	return path_text(t, FRAME_MISSING, text, ret);
}

/* Work of nobody known hangs from the root, as that of a trace that knows no processes. */
int paths_process(struct paths *t, uint32_t process, uint32_t *ret)
{
	const struct process *p = &t->a->processes.data[process];
	uint32_t frame;

	while (t->process_nodes.len <= process) {
		if (vec_push(&t->process_nodes, PROFILE_ROOT) < 0)
			return -ENOMEM;
	}
	uint32_t *node = &t->process_nodes.data[process];
	if (*node == PROFILE_ROOT && process &&
	    (*analysis_text(t->a, p->comm) || p->pid || p->rank) &&
	    (frames_process(t->frames, process, &frame) < 0 ||
	     profile_child(t->p, PROFILE_ROOT, frame, node) < 0))
		return -ENOMEM;
	*ret = *node;
	return 0;
}

static bool is_missing_frame(const struct analysis *a, uint32_t frame)
{
	return a->objects.data[analysis_frame(a, frame).object].kind == OBJECT_MISSING;
}

/* The nodes of @stack from the leaf down to the first that has a place above @start, into t->steps;
 * that place. */
static int climb(struct paths *t, const struct stack *stack, uint32_t start, uint32_t *ret)
{
	const struct pairtab *nodes = &t->a->stack_nodes;

	while (t->places.len < pairtab_count(nodes)) {
		if (vec_push(&t->places, (struct stack_place){ 0 }) < 0)
			return -ENOMEM;
	}
	*ret = start;
	t->steps.len = 0;
	for (uint32_t n = stack->leaf; n; n = pairtab_get(nodes, n).first) {
		const struct stack_place *known = &t->places.data[n];
		if (known->node && known->start == start) {
			*ret = known->node;
			break;
		}
		if (vec_push(&t->steps, n) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* The root-most frame. */
static uint32_t root_frame(const struct analysis *a, const struct stack *stack)
{
	struct pair step = { 0, 0 };
	for (uint32_t n = stack->leaf; n; n = step.first)
		step = pairtab_get(&a->stack_nodes, n);
	return step.second;
}

static int path_frames(struct paths *t, const struct stack *stack, uint32_t *node)
{
	/* A root-most frame that says itself what is missing is not said again. */
	bool is_taken = !(stack->flags & STACK_NOT_TAKEN);
	if (!(stack->flags & STACK_ROOTED) &&
	    !(stack->count && is_missing_frame(t->a, root_frame(t->a, stack))) &&
	    path_text(t, FRAME_MISSING, is_taken ? "[truncated]" : "[stack not taken]", node) < 0)
		return -ENOMEM;
	uint32_t start = *node;
	if (climb(t, stack, start, node) < 0)
		return -ENOMEM;
	while (t->steps.len) {
		uint32_t n = t->steps.data[--t->steps.len];
		struct frame_run run;
		if (frames_host(t->frames, pairtab_get(&t->a->stack_nodes, n).second, &run) < 0)
			return -ENOMEM;
		for (size_t k = 0; k < run.count; k++) {
			if (profile_child(t->p, *node, run.frames[k], node) < 0)
				return -ENOMEM;
		}
		t->places.data[n] = (struct stack_place){ start, *node };
	}
	return 0;
}

/* process, host frames: the node of a thread's stack. */
static int paths_stack(struct paths *t, uint32_t process, uint32_t stack, uint32_t *ret)
{
	int rc = paths_process(t, process, ret);
	return rc ? rc : path_frames(t, &t->a->stacks.data[stack], ret);
}

int paths_group(struct paths *t, uint32_t group, uint32_t *ret)
{
	const struct sample_group *g = &t->a->sample_groups.data[group];

	while (t->group_nodes.len <= group) {
		if (vec_push(&t->group_nodes, PROFILE_ROOT) < 0)
			return -ENOMEM;
	}
	uint32_t *node = &t->group_nodes.data[group];
	if (*node == PROFILE_ROOT &&
	    paths_stack(t, t->a->threads.data[g->thread].process, g->stack, node) < 0)
		return -ENOMEM;
	*ret = *node;
	return 0;
}

int paths_site(struct paths *t, uint32_t site, uint32_t *ret)
{
	const uint64_t *known = hash_get(&t->sites, site);
	if (known) {
		*ret = (uint32_t)*known;
		return 0;
	}
	const struct site *s = &t->a->sites.data[site];
	uint32_t process = analysis_site_process(t->a, site);
	int rc = s->kind == SITE_STACK ? paths_stack(t, process, s->stack, ret)
				       : paths_process(t, process, ret);
	if (!rc && s->kind == SITE_UNATTRIBUTED)
		rc = path_text(t, FRAME_MISSING, "[unattributed]", ret);
	else if (!rc && s->kind == SITE_BEFORE_WINDOW)
		rc = path_text(t, FRAME_MISSING, "[launched before recording]", ret);
	return rc < 0 ? rc : hash_set(&t->sites, site, *ret);
}

static int path_device(struct paths *t, uint32_t site, uint32_t state, uint32_t frame,
		       uint32_t *ret)
{
	struct frame_run run = { .count = 0 };
	if (paths_site(t, site, ret) < 0 || profile_child(t->p, *ret, t->boundary, ret) < 0 ||
	    (state && frames_host(t->frames, state, &run) < 0))
		return -ENOMEM;
	for (size_t i = 0; i < run.count; i++) {
		if (profile_child(t->p, *ret, run.frames[i], ret) < 0)
			return -ENOMEM;
	}
	return profile_child(t->p, *ret, frame, ret);
}

int paths_kernel(struct paths *t, uint32_t site, uint32_t name, uint32_t *ret)
{
	uint32_t frame, *node;
	int rc = device_node(t, site, name, false, &node);
	if (rc < 0)
		return rc;
	uint32_t state = t->a->sites.data[site].state;
	if (!rc && (frames_kernel(t->frames, name, &frame) < 0 ||
		    path_device(t, site, state, frame, node) < 0))
		return -ENOMEM;
	*ret = *node;
	return 0;
}

int paths_place(struct paths *t, uint32_t site, const struct place *place,
		const enum analysis_leaf *order, uint32_t *ret)
{
	struct frame_run run;
	if (paths_kernel(t, site, place->name, ret) < 0 ||
	    frames_place(t->frames, place, order, &run) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < run.count; i++) {
		if (profile_child(t->p, *ret, run.frames[i], ret) < 0)
			return -ENOMEM;
	}
	return 0;
}

int paths_call(struct paths *t, uint32_t site, uint32_t text, uint32_t *ret)
{
	const struct stack *stack = &t->a->stacks.data[t->a->sites.data[site].stack];
	const char *name = analysis_text(t->a, text);
	uint32_t frame;

	if (paths_site(t, site, ret) < 0)
		return -ENOMEM;
	if (!*name || (stack->count &&
		       !strcmp(name, profile_frame_get(t->p, profile_node(t->p, *ret).frame).name)))
		return 0;
	if (frames_text(t->frames, FRAME_NATIVE, name, &frame) < 0)
		return -ENOMEM;
	return profile_child(t->p, *ret, frame, ret);
}

int paths_idle(struct paths *t, uint32_t site, enum account_state state, uint32_t *ret)
{
	char text[64];
	uint32_t frame, *node;
	int rc = device_node(t, site, state, true, &node);
	if (rc < 0)
		return rc;
	if (!rc) {
		snprintf(text, sizeof(text), "[idle: %s]", account_state_name(state));
		if (frames_text(t->frames, FRAME_IDLE, text, &frame) < 0 ||
		    path_device(t, site, 0, frame, node) < 0)
			return -ENOMEM;
	}
	*ret = *node;
	return 0;
}
