/* SPDX-License-Identifier: Apache-2.0 */
/* accel-prof export: a capture in the formats of other tools. */
#include "export/exporter.h"

#include "analyze/analyze.h"
#include "analyze/summary.h"
#include "base/cleanup.h"
#include "cmd/cmd.h"
#include "cmd/file_options.h"
#include "cmd/filter_options.h"
#include "cmd/input.h"
#include "cmd/options.h"
#include "cmd/output_file.h"
#include "cmd/tell.h"

#include "accel_prof_version.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct command_options {
	struct file_options files;
	const char *metric;
	const struct exporter *exporter;
	struct analysis_profile_options profile;
};

enum {
	KEY_FORMAT = 256,
	KEY_METRIC,
	KEY_FOLD,
};

static const struct argp_option options[] = {
	{ "format", KEY_FORMAT, "FORMAT", 0,
	  "'folded', 'pprof', 'speedscope', 'chrome', 'hatchet', 'perf-script', 'csv' or 'json'",
	  0 },
	{ "metric", KEY_METRIC, "NAME", 0,
	  "What 'folded' counts and what others show first: wall, device-time, device-samples, "
	  "launches, cpu-samples, ...",
	  0 },
	{ "fold", KEY_FOLD, NULL, 0,
	  "One frame for a run of framework frames, and for layers that differ by their number",
	  0 },
	{ 0 },
};

static void list_formats(char *ret, size_t size)
{
	size_t len = 0;
	for (size_t i = 0; exporter_get(i) && len < size; i++)
		len += (size_t)snprintf(ret + len, size - len, "%s%s", i ? ", " : "",
					exporter_get(i)->name);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct command_options *opt = state->input;
	char formats[256];

	list_formats(formats, sizeof(formats));
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &opt->profile.filter;
		state->child_inputs[1] = &opt->files;
		state->child_inputs[2] = opt->profile.leaf;
		return 0;
	case KEY_METRIC:
		opt->metric = arg;
		return 0;
	case KEY_FORMAT:
		opt->exporter = exporter_find(arg);
		if (!opt->exporter)
			argp_error(state, "no format '%s': %s", arg, formats);
		return 0;
	case KEY_FOLD:
		opt->profile.full = false;
		return 0;
	case ARGP_KEY_END:
		if (!opt->exporter)
			argp_error(state, "which format? --format %s", formats);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- what the formats may tell besides the tree ---- */

struct build_ids {
	const struct analysis *a;
	char text[2 * ANALYSIS_BUILD_ID_MAX + 1];
};

static const char *find_build_id(void *data, const char *module)
{
	struct build_ids *ids = data;
	const char *id = analysis_build_id(ids->a, module, ids->text);
	return *id ? id : NULL;
}

/* Lists that live as long as the export. */
struct facts {
	struct analysis_summary summary;
	struct analysis_device *devices;
	struct export_device *export_devices;
	struct export_missing *missing;
	struct build_ids ids;
};

static void facts_release(struct facts *f)
{
	analysis_summary_release(&f->summary);
	free(f->devices);
	free(f->export_devices);
	free(f->missing);
}
DEFINE_CLEANUP_EMBEDDED(facts_release, struct facts)

static int find_facts(struct facts *f, struct analysis *a, const struct command_options *opt,
		      struct export_options *ret, struct err *err)
{
	int rc = analysis_describe(a, &f->summary, err);
	if (rc < 0)
		return rc;
	rc = analysis_devices(a, &opt->profile.filter, &f->devices, &ret->device_count, err);
	if (rc < 0)
		return rc;
	const struct analysis_summary *s = &f->summary;
	f->export_devices = calloc(ret->device_count + 1, sizeof(*f->export_devices));
	f->missing = calloc(s->missing_count + s->lost_count + 1, sizeof(*f->missing));
	if (!f->export_devices || !f->missing)
		return err_set(err, -ENOMEM, "cannot describe the capture");
	for (size_t i = 0; i < ret->device_count; i++) {
		const struct analysis_device *d = &f->devices[i];
		f->export_devices[i] =
			(struct export_device){ d->name, d->runtime, d->index, d->units };
	}
	for (size_t i = 0; i < s->missing_count; i++)
		f->missing[ret->missing_count++] =
			(struct export_missing){ s->missing[i].key, s->missing[i].value };
	for (size_t i = 0; i < s->lost_count; i++)
		f->missing[ret->missing_count++] =
			(struct export_missing){ s->lost[i].what, s->lost[i].why };
	ret->devices = f->export_devices;
	ret->missing = f->missing;
	ret->begin_ns = s->begin_ns;
	ret->end_ns = s->end_ns;
	ret->period_ns = s->frequency ? 1000000000 / s->frequency : 0;
	f->ids.a = a;
	ret->build_id = find_build_id;
	ret->data = &f->ids;
	return 0;
}

/* ---- writing ---- */

static int write_events(FILE *out, struct analysis *a, const struct command_options *opt,
			const struct export_options *facts, struct err *err)
{
	struct event_sink sink;
	int rc = opt->exporter->start(out, facts, &sink, err);
	if (rc < 0)
		return rc;
	rc = analysis_events(a, &opt->profile, &sink, err);
	int end = opt->exporter->finish(&sink, rc < 0, rc < 0 ? NULL : err);
	return rc < 0 ? rc : end;
}

/* "FILE.meta.json" beside a file. */
static int write_description(const struct profile *p, const struct command_options *opt,
			     const struct export_options *facts, struct err *err)
{
	CLEANUP(output_file_release) struct output_file out = { 0 };
	CLEANUP_FREE char *path = NULL;
	if (!opt->exporter->describe || file_options_to_stdout(&opt->files))
		return 0;
	if (asprintf(&path, "%s.meta.json", opt->files.output) < 0)
		return err_set(err, -ENOMEM, "cannot describe '%s'", opt->files.output);
	int rc = output_file_open(&out, path, err);
	if (rc == 0)
		rc = opt->exporter->describe(out.stream, p, facts, err);
	return rc < 0 ? rc : output_file_commit(&out, err);
}

static int check_metric(const struct profile *p, const char *name, struct err *err)
{
	int metric = name ? profile_metric_find(p, name) : 0;
	if (metric < 0 || (name && !profile_total(p, PROFILE_ROOT, metric)))
		return err_set(err, -EINVAL, "nothing of '%s' to export", name);
	return 0;
}

static int export(struct analysis *a, const struct command_options *opt, const char *title,
		  struct err *err)
{
	CLEANUP(facts_release) struct facts facts = { .devices = NULL };
	CLEANUP(output_file_release) struct output_file out = { 0 };
	CLEANUP(profile_free) struct profile *p = NULL;
	struct export_options more = {
		.title = title,
		.version = "accel-prof " ACCEL_PROF_VERSION,
		.metric = opt->metric ? opt->metric : analysis_default_metric(a),
	};
	struct analysis_profile_options tree = opt->profile;
	if (opt->exporter->has_details)
		tree.details = ANALYSIS_DETAIL_PROCESS | ANALYSIS_DETAIL_DEVICE |
			       ANALYSIS_DETAIL_STREAM | ANALYSIS_DETAIL_INLINED;
	if (opt->exporter->has_one_value) {
		tree.metrics = &more.metric;
		tree.metric_count = 1;
	}
	int rc = find_facts(&facts, a, opt, &more, err);
	if (rc == 0 && opt->exporter->write)
		rc = analysis_profile(a, &tree, &p, err);
	if (rc == 0 && p)
		rc = check_metric(p, opt->metric, err);
	if (rc == 0)
		rc = output_file_open(&out, opt->files.output, err);
	if (rc < 0)
		return rc;
	rc = p ? opt->exporter->write(out.stream, p, &more, err)
	       : write_events(out.stream, a, opt, &more, err);
	if (rc == 0)
		rc = write_description(p, opt, &more, err);
	return rc < 0 ? rc : output_file_commit(&out, err);
}

int cmd_export(int argc, char **argv)
{
	static const struct argp_child children[] = {
		FILTER_OPTIONS,
		{ .argp = &file_options },
		{ .argp = &leaf_options },
		{ 0 },
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.children = children,
		.args_doc = "[FILE]",
		.doc = "Write a capture in the format of another tool.",
	};
	/* Another tool gets everything; it has means of its own to fold. */
	struct command_options opt = { .profile.full = true };
	struct input *in = NULL;
	struct analysis *a = NULL;
	struct err err;

	options_parse(&argp, argc, argv, &opt);
	if (opt.exporter->is_binary && file_options_to_stdout(&opt.files) && isatty(STDOUT_FILENO))
		return tell_usage("%s is nothing for a terminal: add '-o FILE'.",
				  opt.exporter->name);
	int rc = input_open(&in, opt.files.path, &err);
	if (rc == 0)
		rc = analysis_load(&a, in->reader, &(struct analysis_options){ 0 }, &err);
	if (rc == 0) {
		const char *command = analysis_command(a);
		rc = export(a, &opt, command ? command : in->path, &err);
	}
	int status = rc < 0 ? tell_error(&err) : CMD_OK;
	analysis_free(a);
	return input_close(in, status);
}
