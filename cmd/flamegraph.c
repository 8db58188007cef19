/* SPDX-License-Identifier: Apache-2.0 */
/* accel-prof flamegraph: the tree of a capture as a picture. */
#include "analyze/analyze.h"
#include "base/cleanup.h"
#include "base/parse.h"
#include "cmd/cmd.h"
#include "cmd/file_options.h"
#include "cmd/filter_options.h"
#include "cmd/input.h"
#include "cmd/options.h"
#include "cmd/output_file.h"
#include "cmd/tell.h"
#include "export/folded.h"
#include "flame/flame.h"
#include "profile/diff.h"
#include "profile/filter.h"
#include "profile/profile.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum format {
	FORMAT_SVG,
	FORMAT_HTML,
	FORMAT_FOLDED,
};

struct flamegraph_options {
	struct file_options files;
	const char *base;
	const char *metric, *title;
	const char *root, *focus, *ignore, *hide;
	struct analysis_profile_options profile;
	enum format format;
	uint32_t width_px;
	bool reverse, inverted, full;
};

enum {
	KEY_METRIC = 256,
	KEY_TITLE,
	KEY_WIDTH,
	KEY_FORMAT,
	KEY_DIFF,
	KEY_ROOT,
	KEY_FOCUS,
	KEY_IGNORE,
	KEY_HIDE,
	KEY_REVERSE,
	KEY_INVERTED,
	KEY_FULL,
	KEY_NO_INLINE,
};

static const struct argp_option options[] = {
	{ "format", KEY_FORMAT, "FORMAT", 0, "'svg' (usual), 'html' or 'folded' lines", 0 },
	{ "metric", KEY_METRIC, "NAME", 0,
	  "What the width means: wall, device-time, device-samples, launches, cpu-samples, ... In "
	  "the picture one can switch to the others",
	  0 },
	{ "diff", KEY_DIFF, "BASE", 0, "Show what changed since the capture BASE", 0 },
	{ "title", KEY_TITLE, "TEXT", 0, "Head the picture with TEXT", 0 },
	{ "width", KEY_WIDTH, "PIXELS", 0, "Draw so wide; else as wide as the window", 0 },
	{ "inverted", KEY_INVERTED, NULL, 0, "Put the root at the top", 0 },
	{ "full", KEY_FULL, NULL, 0, "Show framework frames and numbered layers one by one", 0 },
	{ "no-inline", KEY_NO_INLINE, NULL, 0, "Leave out inlined functions of host code", 0 },

	{ NULL, 0, NULL, 0, "Which frames, by extended regular expressions:", 2 },
	{ "root", KEY_ROOT, "REGEX", 0, "Start each path at its first matching frame", 2 },
	{ "focus", KEY_FOCUS, "REGEX", 0, "Only paths that have a matching frame", 2 },
	{ "ignore", KEY_IGNORE, "REGEX", 0, "Only paths that have none", 2 },
	{ "hide", KEY_HIDE, "REGEX", 0, "Leave matching frames out of their paths", 2 },
	{ "reverse", KEY_REVERSE, NULL, 0, "Merge paths from the leaf on", 2 },
	{ 0 },
};

/* The texts that go on as they are; NULL for another option. */
static const char **text_option(struct flamegraph_options *opt, int key)
{
	switch (key) {
	case KEY_DIFF:
		return &opt->base;
	case KEY_METRIC:
		return &opt->metric;
	case KEY_TITLE:
		return &opt->title;
	case KEY_ROOT:
		return &opt->root;
	case KEY_FOCUS:
		return &opt->focus;
	case KEY_IGNORE:
		return &opt->ignore;
	case KEY_HIDE:
		return &opt->hide;
	default:
		return NULL;
	}
}

static int parse_format(const char *text, enum format *ret)
{
	static const char *const names[] = {
		[FORMAT_SVG] = "svg",
		[FORMAT_HTML] = "html",
		[FORMAT_FOLDED] = "folded",
	};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(text, names[i])) {
			*ret = (enum format)i;
			return 0;
		}
	}
	return -EINVAL;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct flamegraph_options *opt = state->input;
	const char **text = text_option(opt, key);

	if (text) {
		*text = arg;
		return 0;
	}
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &opt->profile.filter;
		state->child_inputs[1] = &opt->files;
		state->child_inputs[2] = opt->profile.leaf;
		return 0;
	case KEY_FORMAT:
		if (parse_format(arg, &opt->format) < 0)
			argp_error(state, "no format '%s': svg, html or folded", arg);
		return 0;
	case KEY_WIDTH:
		if (parse_u32(arg, 10, &opt->width_px) < 0 || opt->width_px < FLAME_WIDTH_MIN ||
		    opt->width_px > FLAME_WIDTH_MAX)
			argp_error(state, "the width is a number of pixels from %d to %d",
				   FLAME_WIDTH_MIN, FLAME_WIDTH_MAX);
		return 0;
	case KEY_REVERSE:
		opt->reverse = true;
		return 0;
	case KEY_INVERTED:
		opt->inverted = true;
		return 0;
	case KEY_FULL:
		opt->full = true;
		return 0;
	case KEY_NO_INLINE:
		opt->profile.no_inline = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	case ARGP_KEY_END:
		if (opt->base && opt->format == FORMAT_FOLDED)
			argp_error(state, "folded lines cannot show a difference");
		return 0;
	}
}

typedef int (*filter_fn)(const struct profile *p, const uint8_t *match, struct profile **ret);

/* Replace the profile by what @filter leaves of it; @regex NULL: as it is. */
static int apply_filter(struct profile **p, filter_fn filter, const char *regex, struct err *err)
{
	CLEANUP_FREE uint8_t *match = NULL;
	struct profile *left = NULL;

	if (!regex)
		return 0;
	int rc = profile_match(*p, regex, &match, err);
	if (rc < 0)
		return rc;
	if (filter(*p, match, &left) < 0)
		return err_set(err, -ENOMEM, "cannot filter by '%s'", regex);
	profile_free(*p);
	*p = left;
	return 0;
}

static int apply_filters(struct profile **p, const struct flamegraph_options *opt, struct err *err)
{
	int rc = apply_filter(p, profile_ignore, opt->ignore, err);
	if (rc == 0)
		rc = apply_filter(p, profile_focus, opt->focus, err);
	if (rc == 0)
		rc = apply_filter(p, profile_root_at, opt->root, err);
	if (rc == 0)
		rc = apply_filter(p, profile_hide, opt->hide, err);
	if (rc < 0 || !opt->reverse)
		return rc;

	struct profile *reversed = NULL;
	if (profile_reverse(*p, &reversed) < 0)
		return err_set(err, -ENOMEM, "cannot merge paths from the leaf on");
	profile_free(*p);
	*p = reversed;
	return 0;
}

/*
 * Measured time stands on kernels, samples on what is below. A tower goes on to the instruction
 * and its stall reason, so the time is shared out by the samples.
 */
static int spread_time(struct profile *p, struct err *err)
{
	static const char *const times[] = { "wall", "device-time" };
	int samples = profile_metric_find(p, "device-samples");

	for (size_t i = 0; samples >= 0 && i < ARRAY_SIZE(times); i++) {
		int time = profile_metric_find(p, times[i]);
		if (time >= 0 && profile_spread(p, time, samples) < 0)
			return err_set(err, -ENOMEM, "cannot share time out by samples");
	}
	return 0;
}

static int find_metric(const struct profile *p, const char *name, struct err *err)
{
	char have[256] = "";
	size_t len = 0;
	int metric = profile_metric_find(p, name);

	if (metric >= 0 && profile_total(p, PROFILE_ROOT, metric))
		return metric;
	for (int m = 0; m < profile_metric_count(p); m++) {
		if (profile_total(p, PROFILE_ROOT, m) && len < sizeof(have))
			len += (size_t)snprintf(have + len, sizeof(have) - len, "%s%s",
						len ? ", " : "", profile_metric_get(p, m).name);
	}
	if (!len)
		return err_set(err, -EINVAL, "nothing to draw: no sample and no launch is left");
	return err_set(err, -EINVAL, "nothing to draw: there is no '%s' here, only %s", name, have);
}

/* A capture and the tree of it that was asked for. */
struct source {
	struct input *in;
	struct analysis *analysis;
	struct profile *profile;
};

static int source_open(struct source *s, const char *path, const struct flamegraph_options *opt,
		       struct err *err)
{
	int rc = input_open(&s->in, path, err);
	if (rc == 0)
		rc = analysis_load(&s->analysis, s->in->reader, &(struct analysis_options){ 0 },
				   err);
	if (rc == 0)
		rc = analysis_profile(s->analysis, &opt->profile, &s->profile, err);
	if (rc == 0)
		rc = spread_time(s->profile, err);
	return rc < 0 ? rc : apply_filters(&s->profile, opt, err);
}

/* Says what was damaged; the exit status. */
static int source_close(struct source *s, int status)
{
	profile_free(s->profile);
	analysis_free(s->analysis);
	return input_close(s->in, status);
}

/* "python3 train.py", as it was recorded; else the file. */
static const char *default_title(const struct source *s)
{
	const char *command = analysis_command(s->analysis);
	const char *slash = strrchr(s->in->path, '/');
	return command ? command : slash ? slash + 1 : s->in->path;
}

/* How the sums changed, which the picture, drawn in shares, does not show. */
static char *diff_note(uint64_t now, uint64_t base, const char *path)
{
	char *note = NULL;
	double percent = 100 * ((double)now - (double)base) / (double)base;
	if (asprintf(&note, "%+.1f %% in all since '%s', drawn as if it were the same", percent,
		     path) < 0)
		return NULL;
	return note;
}

/* Put what changed since opt->base into @picture, and the tree of it in place of s->profile. */
static int make_diff(struct source *s, const struct flamegraph_options *opt, const char *metric,
		     struct flame_options *picture, char **ret_note, struct err *err)
{
	struct source base = { 0 };
	struct profile *both = NULL;
	int now_metric = picture->metric, base_metric = -EINVAL;

	int rc = source_open(&base, opt->base, opt, err);
	if (rc == 0)
		rc = base_metric = find_metric(base.profile, metric, err);
	if (rc < 0)
		err_prefix(err, rc, "'%s'", opt->base);
	if (rc >= 0 && profile_diff(base.profile, base_metric, s->profile, now_metric, &both) < 0)
		rc = err_set(err, -ENOMEM, "cannot compare with '%s'", opt->base);
	if (rc >= 0) {
		*ret_note = diff_note(profile_total(s->profile, PROFILE_ROOT, now_metric),
				      profile_total(base.profile, PROFILE_ROOT, base_metric),
				      opt->base);
		profile_free(s->profile);
		s->profile = both;
		picture->metric = DIFF_BOTH;
		picture->is_diff = true;
		picture->note = *ret_note;
		rc = 0;
	}
	int status = source_close(&base, CMD_OK);
	if (rc == 0 && status != CMD_OK)
		return err_set(err, -EBADMSG, "cannot compare with a damaged '%s'", opt->base);
	return rc;
}

static int draw(struct source *s, const struct flamegraph_options *opt, struct err *err)
{
	CLEANUP(output_file_release) struct output_file out = { 0 };
	CLEANUP_FREE char *note = NULL;
	const char *name = opt->metric ? opt->metric : analysis_default_metric(s->analysis);
	bool is_time = !strcmp(name, "wall") || !strcmp(name, "device-time");
	struct flame_options picture = {
		.format = opt->format == FORMAT_HTML ? FLAME_HTML : FLAME_SVG,
		.title = opt->title ? opt->title : default_title(s),
		.note = is_time ? NULL : analysis_info(s->analysis, "missing.device-time"),
		.width_px = opt->width_px,
		.inverted = opt->inverted,
		.full = opt->full,
	};

	int rc = picture.metric = find_metric(s->profile, name, err);
	if (rc >= 0 && opt->base)
		rc = make_diff(s, opt, name, &picture, &note, err);
	if (rc >= 0)
		rc = output_file_open(&out, opt->files.output, err);
	if (rc >= 0)
		rc = opt->format == FORMAT_FOLDED
			     ? folded_write(out.stream, s->profile, picture.metric, err)
			     : flame_write(out.stream, s->profile, &picture, err);
	return rc < 0 ? rc : output_file_commit(&out, err);
}

int cmd_flamegraph(int argc, char **argv)
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
		.doc = "Draw where the time of accelerators and host code goes, as one SVG.",
	};
	struct flamegraph_options opt = { .files = { .path = NULL } };
	struct source s = { 0 };
	struct err err;

	options_parse(&argp, argc, argv, &opt);
	bool to_stdout = file_options_to_stdout(&opt.files);
	if (to_stdout && opt.format != FORMAT_FOLDED && isatty(STDOUT_FILENO))
		return tell_usage(
			"a picture is nothing for a terminal: add '> out.svg' or '-o out.svg'.");
	/* A picture folds by itself, since it can show everything at a click. */
	opt.profile.full = opt.full || opt.format != FORMAT_FOLDED;

	int rc = source_open(&s, opt.files.path, &opt, &err);
	if (rc == 0)
		rc = draw(&s, &opt, &err);
	return source_close(&s, rc < 0 ? tell_error(&err) : CMD_OK);
}
