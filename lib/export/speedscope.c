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

DEFINE_CLEANUP(json_free, struct json *)

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

static int put_stacks(struct json *j, const struct profile *p, int metric)
{
	VEC(uint32_t) path = { 0 };
	int rc = 0;

	for (uint32_t n = PROFILE_ROOT; n != PROFILE_NONE && !rc; n = export_next(p, n)) {
		if (!profile_self(p, n, metric))
			continue;
		path.len = 0;
		for (uint32_t k = n; k != PROFILE_ROOT && !rc; k = profile_node(p, k).parent)
			rc = vec_push(&path, profile_node(p, k).frame);
		json_array(j);
		for (size_t i = path.len; i-- > 0;)
			json_number(j, path.data[i]);
		json_array_end(j);
	}
	vec_release(&path);
	return rc;
}

static int put_profile(struct json *j, const struct profile *p, int metric)
{
	struct profile_metric m = profile_metric_get(p, metric);

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
	int rc = put_stacks(j, p, metric);
	json_array_end(j);
	json_key(j, "weights");
	json_array(j);
	for (uint32_t n = PROFILE_ROOT; n != PROFILE_NONE; n = export_next(p, n)) {
		uint64_t value = profile_self(p, n, metric);
		if (value)
			json_number(j, value);
	}
	json_array_end(j);
	json_object_end(j);
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
