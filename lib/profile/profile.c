/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/profile.h"

#include "profile/tree.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int profile_new(struct profile **ret)
{
	CLEANUP(profile_free) struct profile *p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;

	uint32_t frame;
	int rc = profile_frame(p, &(struct frame){ .kind = FRAME_ROOT, .name = "all" }, &frame);
	if (rc < 0)
		return rc;
	if (vec_push(&p->nodes, (struct profile_node){ .frame = frame,
						       .parent = PROFILE_NONE,
						       .first_child = PROFILE_NONE,
						       .next = PROFILE_NONE }) < 0)
		return -ENOMEM;
	*ret = TAKE(p);
	return 0;
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	for (int i = 0; i < p->metric_count; i++) {
		free(p->metrics[i].self);
		free(p->metrics[i].total);
	}
	vec_release(&p->nodes);
	slots_release(&p->slots);
	strtab_release(&p->frames);
	strtab_release(&p->strings);
	free(p);
}

int profile_metric(struct profile *p, const char *name, const char *unit)
{
	int metric = profile_metric_find(p, name);
	if (metric >= 0)
		return metric;
	if (p->metric_count == PROFILE_METRICS_MAX)
		return -E2BIG;

	struct metric m = { 0 };
	if (strtab_add(&p->strings, name, &m.name) < 0 ||
	    strtab_add(&p->strings, unit ? unit : "", &m.unit) < 0)
		return -ENOMEM;
	p->metrics[p->metric_count] = m;
	return p->metric_count++;
}

int profile_metric_find(const struct profile *p, const char *name)
{
	for (int i = 0; i < p->metric_count; i++) {
		if (!strcmp(strtab_text(&p->strings, p->metrics[i].name), name))
			return i;
	}
	return -ENOENT;
}

int profile_metric_count(const struct profile *p)
{
	return p->metric_count;
}

struct profile_metric profile_metric_get(const struct profile *p, int metric)
{
	assert(metric >= 0 && metric < p->metric_count);
	return (struct profile_metric){
		.name = strtab_text(&p->strings, p->metrics[metric].name),
		.unit = strtab_text(&p->strings, p->metrics[metric].unit),
	};
}

static int profile_text(struct profile *p, const char *text, uint32_t *ret)
{
	return strtab_add(&p->strings, text ? text : "", ret) < 0 ? -ENOMEM : 0;
}

int profile_frame(struct profile *p, const struct frame *frame, uint32_t *ret)
{
	struct frame_record record = {
		.line = frame->line,
		.kind = (uint16_t)frame->kind,
		.class = (uint8_t)frame->class,
		.is_inlined = frame->is_inlined,
	};
	uint32_t id;

	assert(frame->kind < FRAME_KIND_COUNT && frame->class < FRAME_CLASS_COUNT);
	if (profile_text(p, frame->name, &record.name) < 0 ||
	    profile_text(p, frame->full, &record.full) < 0 ||
	    profile_text(p, frame->file, &record.file) < 0 ||
	    profile_text(p, frame->module, &record.module) < 0 ||
	    strtab_intern(&p->frames, &record, sizeof(record), &id, NULL) < 0)
		return -ENOMEM;
	*ret = id - 1;
	return 0;
}

struct frame profile_frame_get(const struct profile *p, uint32_t frame)
{
	struct frame_record record;

	assert(frame < profile_frame_count(p));
	memcpy(&record, strtab_get(&p->frames, frame + 1).data, sizeof(record));
	return (struct frame){
		.kind = record.kind,
		.class = record.class,
		.is_inlined = record.is_inlined,
		.name = strtab_text(&p->strings, record.name),
		.full = strtab_text(&p->strings, record.full),
		.file = strtab_text(&p->strings, record.file),
		.module = strtab_text(&p->strings, record.module),
		.line = record.line,
	};
}

uint32_t profile_frame_count(const struct profile *p)
{
	return strtab_count(&p->frames) - 1;
}

uint32_t profile_launcher(const struct profile *p, uint32_t node)
{
	uint32_t parent = profile_node(p, node).parent;
	for (uint32_t n = parent; n != PROFILE_NONE; n = profile_node(p, n).parent) {
		if (profile_frame_get(p, profile_node(p, n).frame).kind == FRAME_BOUNDARY)
			return profile_node(p, n).parent;
	}
	return parent;
}
