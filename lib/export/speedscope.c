/* SPDX-License-Identifier: Apache-2.0 */
/*
 * speedscope's JSON (https://www.speedscope.app/file-format-schema.json): the frames once, then one
 * "sampled" profile for each metric, of one stack and weight for each node with a value.
 */
#include "base/cleanup.h"
#include "base/vec.h"
#include "export/formats.h"
#include "export/json.h"

#include <errno.h>
#include <string.h>

static void put_frames(struct json *j, const struct profile *p)
{
	json_key(j, "shared");
	json_object(j);
	json_key(j, "frames");
	json_array(j);
	for (uint32_t i = 0; i < profile_frame_count(p); i++) {
		struct frame f = profile_frame_get(p, i);
		json_object(j);
		json_key(j, "name");
		json_text(j, *f.name ? f.name : "[unknown]");
		/* Frames of one name and file are one to speedscope; a binary stands in for a
		 * file, so that equal names of two binaries stay apart. */
		const char *file = f.file && *f.file ? f.file : f.module;
		if (file && *file) {
			json_key(j, "file");
			json_text(j, file);
		}
		if (f.line) {
			json_key(j, "line");
			json_number(j, f.line);
		}
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}

static const char *unit_word(const char *unit)
{
	return !strcmp(unit, "ns") ? "nanoseconds" : !strcmp(unit, "bytes") ? "bytes" : "none";
}

struct open_node {
	uint32_t node;
	size_t size; /* of the text up to here */
};

/* Of each node with a value its frames from the root on, and the value. A node's text begins with its
 * parent's. */
static int put_stacks(struct json *j, const struct profile *p, int metric, struct strbuf *weights)
{
	VEC(struct open_node) open = { 0 };
	struct strbuf text = { 0 };
	int rc = vec_push(&open, (struct open_node){ PROFILE_ROOT, 1 });

	strbuf_putc(&text, '[');
	for (uint32_t n = export_next_with(p, PROFILE_ROOT, metric); n != PROFILE_NONE && !rc;
	     n = export_next_with(p, n, metric)) {
		struct profile_node node = profile_node(p, n);
		uint64_t value = profile_self(p, n, metric);
		while (vec_last(&open)->node != node.parent)
			open.len--;
		text.len = vec_last(&open)->size;
		if (open.len > 1)
			strbuf_putc(&text, ',');
		export_number(&text, node.frame, 1);
		rc = vec_push(&open, (struct open_node){ n, text.len });
		if (!value)
			continue;
		strbuf_putc(&text, ']');
		export_number(weights, value, 1);
		strbuf_putc(weights, ',');
		rc = rc ? rc : strbuf_finish(&text);
		json_raw(j, strbuf_text(&text));
	}
	vec_release(&open);
	strbuf_release(&text);
	return rc;
}

static int put_profile(struct json *j, const struct profile *p, int metric)
{
	struct profile_metric m = profile_metric_get(p, metric);
	struct strbuf weights = { 0 };

	strbuf_putc(&weights, '[');
	json_object(j);
	json_key(j, "type");
	json_text(j, "sampled");
	json_key(j, "name");
	json_text(j, m.name);
	json_key(j, "unit");
	json_text(j, unit_word(m.unit));
	json_key(j, "startValue");
	json_number(j, 0);
	json_key(j, "endValue");
	json_number(j, profile_total(p, PROFILE_ROOT, metric));
	json_key(j, "samples");
	json_array(j);
	int rc = put_stacks(j, p, metric, &weights);
	json_array_end(j);
	json_key(j, "weights");
	if (weights.len && !weights.failed)
		weights.data[weights.len - 1] = ']'; /* the comma */
	rc = rc ? rc : strbuf_finish(&weights);
	json_raw(j, strbuf_text(&weights));
	json_object_end(j);
	strbuf_release(&weights);
	return rc;
}

static int speedscope_write(FILE *out, const struct profile *p, const struct export_options *opt,
			    struct err *err)
{
	CLEANUP(json_free) struct json *j = NULL;
	int metrics[PROFILE_METRICS_MAX], rc = 0;
	int first = export_metric(p, opt, err);
	if (first < 0)
		return first;
	if (json_new_compact(&j, out) < 0)
		return err_set(err, -ENOMEM, "cannot write a speedscope profile");

	int count = export_metrics(p, metrics);
	json_object(j);
	json_key(j, "$schema");
	json_text(j, "https://www.speedscope.app/file-format-schema.json");
	json_key(j, "name");
	json_text(j, opt->title ? opt->title : "");
	json_key(j, "exporter");
	json_text(j, opt->version ? opt->version : "accel-prof");
	for (int i = 0; i < count; i++) {
		if (metrics[i] != first)
			continue;
		json_key(j, "activeProfileIndex");
		json_number(j, (uint64_t)i);
	}
	put_frames(j, p);
	json_key(j, "profiles");
	json_array(j);
	for (int i = 0; i < count && !rc; i++)
		rc = put_profile(j, p, metrics[i]);
	json_array_end(j);
	json_object_end(j);
	if (rc < 0)
		return err_set(err, rc, "cannot write a speedscope profile");
	return json_finish(j, err);
}

const struct exporter speedscope_exporter = {
	.name = "speedscope",
	.what = "speedscope's JSON, one profile for each metric",
	.write = speedscope_write,
};
