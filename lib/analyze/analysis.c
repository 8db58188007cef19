/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/analyze.h"

#include "analyze/account.h"
#include "analyze/attribute.h"
#include "analyze/outliers.h"
#include "analyze/scopes.h"
#include "analyze/tables.h"
#include "analyze/work_index.h"
#include "device/device.h"

#include <errno.h>

/* How many records between two calls of on_progress(). */
#define PROGRESS_RECORDS (1u << 16)

/* Row 0 of every table. */
static int analysis_start(struct analysis *a)
{
	if (vec_push(&a->processes, (struct process){ 0 }) < 0 ||
	    vec_push(&a->threads, (struct thread){ 0 }) < 0 ||
	    vec_push(&a->objects, (struct object){ .kind = OBJECT_MISSING }) < 0 ||
	    vec_push(&a->devices, (struct device){ 0 }) < 0 ||
	    vec_push(&a->queues, (struct queue){ 0 }) < 0 ||
	    vec_push(&a->kernels, (struct kernel){ 0 }) < 0 ||
	    vec_push(&a->code_objects, (struct code_object){ 0 }) < 0 ||
	    vec_push(&a->stacks, (struct stack){ 0 }) < 0 ||
	    vec_push(&a->sites, (struct site){ 0 }) < 0 ||
	    vec_push(&a->places, (struct place){ 0 }) < 0 ||
	    vec_push(&a->frames, (struct frame_ref){ 0 }) < 0)
		return -ENOMEM;
	/* Number 0 of a string table is the empty string, which none of these blobs is. */
	uint32_t zero;
	struct strtab *blobs[] = { &a->site_blobs, &a->place_blobs, &a->detail_blobs, &a->names };
	for (size_t i = 0; i < ARRAY_SIZE(blobs); i++) {
		if (strtab_add(blobs[i], "", &zero) < 0)
			return -ENOMEM;
	}
	if (captured_symbols_new(&a->captured) < 0)
		return -ENOMEM;
	return symbolizer_new(&a->symbolizer, a->captured);
}

static int analysis_read(struct analysis *a, const struct analysis_options *opt, struct err *err)
{
	struct record rec;
	int rc;

	while ((rc = capture_reader_next(a->reader, &rec, err)) > 0) {
		if (analysis_replay(a, &rec) < 0)
			return err_set(err, -ENOMEM, "cannot hold the capture");
		if (++a->records % PROGRESS_RECORDS == 0 && opt->on_progress)
			opt->on_progress(opt->data, a->records);
	}
	return rc;
}

int analysis_load(struct analysis **ret, struct capture_reader *r,
		  const struct analysis_options *opt, struct err *err)
{
	CLEANUP(analysis_free) struct analysis *a = calloc(1, sizeof(*a));
	if (!a || analysis_start(a) < 0)
		return err_set(err, -ENOMEM, "cannot start reading");
	a->reader = r;
	a->has_timeline = true;
	capture_reader_leave_kept(r);

	int rc = analysis_read(a, opt, err);
	if (rc < 0)
		return rc;
	if (analysis_find_scopes(a) < 0 || analysis_join(a) < 0 || analysis_find_steps(a) < 0 ||
	    analysis_find_outliers(a) < 0)
		return err_set(err, -ENOMEM, "cannot hold the capture");
	*ret = TAKE(a);
	return 0;
}

void analysis_free(struct analysis *a)
{
	if (!a)
		return;
	table_release(&a->processes);
	table_release(&a->threads);
	table_release(&a->objects);
	table_release(&a->devices);
	table_release(&a->queues);
	table_release(&a->kernels);
	vec_for_each(&a->code_objects, c) {
		device_close(c->code); /* whose bytes these are */
		vec_release(&c->bytes);
	}
	table_release(&a->code_objects);
	vec_for_each(&a->sources, s)
		strbuf_release(&s->text);
	vec_release(&a->sources);
	vec_release(&a->frames);
	slots_release(&a->frame_slots);
	pairtab_release(&a->stack_nodes);
	vec_release(&a->stack_at);
	vec_release(&a->nodes_read);
	vec_release(&a->expanded);
	vec_release(&a->stacks);
	idmap_release(&a->stack_ids);
	strtab_release(&a->site_blobs);
	vec_release(&a->sites);
	strtab_release(&a->place_blobs);
	free(a->place_slots);
	vec_release(&a->places);
	strtab_release(&a->detail_blobs);
	strtab_release(&a->names);
	hash_release(&a->name_of_text);
	hash_release(&a->stub_of_site);
	hash_release(&a->stack_of);
	vec_release(&a->captures);
	hash_release(&a->capture_of);
	hash_release(&a->graph_of);
	hash_release(&a->replays);
	symbolizer_free(a->symbolizer);
	captured_symbols_free(a->captured);
	vec_release(&a->info);
	vec_release(&a->sample_groups);
	hash_release(&a->sample_group_of);
	vec_release(&a->samples);
	vec_release(&a->event_samples);
	vec_release(&a->sample_events);
	vec_release(&a->blocked);
	vec_release(&a->device_samples);
	vec_release(&a->launches);
	free(a->launch_order);
	vec_release(&a->ops);
	vec_release(&a->outliers);
	vec_release(&a->syncs);
	vec_release(&a->marks);
	vec_release(&a->steps);
	vec_release(&a->phase_marks);
	vec_release(&a->repeats);
	vec_release(&a->counters);
	vec_release(&a->lost);
	attribution_free(a->attribution);
	work_index_free(a->work_index);
	account_free(a->account);
	free(a);
}

void analysis_span(const struct analysis *a, uint64_t *ret_begin_ns, uint64_t *ret_end_ns)
{
	*ret_begin_ns = a->first_ns;
	*ret_end_ns = a->last_ns;
}

const char *analysis_info(const struct analysis *a, const char *key)
{
	vec_for_each(&a->info, i) {
		if (!strcmp(analysis_text(a, i->key), key))
			return analysis_text(a, i->value);
	}
	return NULL;
}

const char *analysis_command(const struct analysis *a)
{
	const char *asked = analysis_info(a, "asked.command"), *only = NULL;

	for (size_t i = 0; i < a->processes.len && !asked; i++) {
		const struct process *p = &a->processes.data[i];
		const char *command = p->parent ? "" : analysis_text(a, p->command);
		if (*command && only)
			return NULL;
		only = *command ? command : only;
	}
	return asked ? asked : only;
}

const char *analysis_default_metric(const struct analysis *a)
{
	if (a->ops.len)
		return a->has_timeline ? "wall" : "device-time";
	if (a->device_samples.len)
		return "device-samples";
	if (a->launches.len)
		return "launches";
	/* A trace may tell how long host code took, without samples of it. */
	return !analysis_has_metric(a, "cpu-samples") && analysis_has_metric(a, "cpu-time")
		       ? "cpu-time"
		       : "cpu-samples";
}
