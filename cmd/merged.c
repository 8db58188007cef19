/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/merged.h"

#include "base/cleanup.h"
#include "cmd/cmd.h"
#include "cmd/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What is known of an input before it is read. */
struct part {
	const char *path;
	uint32_t place; /* as given, from 1 */
	uint64_t realtime_ns;
};

struct plan {
	struct part *parts;
	size_t count;
	bool differs_in_frequency, differs_in_host;
	uint64_t frequency;
	char *host;
};

static void plan_release(struct plan *p)
{
	free(p->parts);
	free(p->host);
}
DEFINE_CLEANUP_EMBEDDED(plan_release, struct plan)

/* Only a capture in a file can be looked at twice. */
static int look_at(struct plan *p, struct part *part)
{
	CLEANUP(capture_reader_free) struct capture_reader *r = NULL;
	struct record_header h;

	if (!input_can_be_read_twice(part->path) || capture_reader_open(&r, part->path, NULL) < 0 ||
	    merge_header(r, &h, NULL) < 0)
		return 0;
	const char *host = capture_reader_text(r, h.host);
	part->realtime_ns = h.realtime_ns;
	if (h.frequency && p->frequency && h.frequency != p->frequency)
		p->differs_in_frequency = true;
	p->frequency = h.frequency ? h.frequency : p->frequency;
	if (!*host)
		return 0;
	if (p->host && strcmp(p->host, host) != 0)
		p->differs_in_host = true;
	if (!p->host && !(p->host = strdup(host)))
		return -ENOMEM;
	return 0;
}

/* In the order in which they were made, so that the next one shows whether it overlaps. */
static int compare_parts(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	if (x->realtime_ns && y->realtime_ns && x->realtime_ns != y->realtime_ns)
		return x->realtime_ns < y->realtime_ns ? -1 : 1;
	if (!x->realtime_ns != !y->realtime_ns)
		return x->realtime_ns ? -1 : 1;
	return x->place < y->place ? -1 : 1;
}

static int make_plan(struct plan *p, const char *const *paths, size_t count)
{
	p->parts = calloc(count + 1, sizeof(*p->parts));
	p->count = count;
	if (!p->parts)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		p->parts[i] = (struct part){ .path = paths[i], .place = (uint32_t)i + 1 };
		if (look_at(p, &p->parts[i]) < 0)
			return -ENOMEM;
	}
	qsort(p->parts, count, sizeof(*p->parts), compare_parts);
	return 0;
}

static int put_frames(struct capture_writer *w, const char *frames)
{
	struct record rec = { .type = RECORD_INFO };
	if (!frames)
		return 0;
	int rc = capture_writer_string(w, "merge.frames", &rec.info.key);
	rc = rc ? rc : capture_writer_string(w, frames, &rec.info.value);
	return rc ? rc : capture_writer_put(w, &rec);
}

static int add_part(struct merge *m, const struct part *part, bool is_rank, int *ret_status,
		    struct err *err)
{
	struct merge_source source = { .name = part->path, .rank = is_rank ? part->place : 0 };
	struct input *in = NULL;
	int rc = input_open(&in, part->path, err);
	rc = rc ? rc : merge_add(m, in->reader, &source, err);
	*ret_status = input_close(in, *ret_status);
	return rc;
}

int merged_write(struct capture_writer *w, const char *const *paths, size_t count,
		 const struct merged_options *opt, int *ret_status, struct err *err)
{
	CLEANUP(merge_free) struct merge *m = NULL;
	CLEANUP(plan_release) struct plan plan = { 0 };

	*ret_status = CMD_OK;
	if (make_plan(&plan, paths, count) < 0)
		return err_set(err, -ENOMEM, "cannot merge");
	const struct merge_options options = {
		.align = opt->align,
		.drops_frequency = plan.differs_in_frequency,
		.drops_host = plan.differs_in_host,
		.command = opt->command,
	};
	int rc = merge_new(&m, w, &options, err);
	for (size_t i = 0; i < count && !rc; i++)
		rc = add_part(m, &plan.parts[i], opt->numbers_ranks, ret_status, err);
	if (rc == 0 && put_frames(w, opt->frames) < 0)
		rc = err_set(err, -ENOMEM, "cannot merge");
	return rc < 0 ? rc : merge_end(m, err);
}
