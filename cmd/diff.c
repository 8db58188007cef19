/* SPDX-License-Identifier: Apache-2.0 */
/* accel-prof diff: what changed between two captures, for people and for scripts. */
#include "cmd/diff.h"

#include "base/cleanup.h"
#include "base/parse.h"
#include "cmd/cmd.h"
#include "cmd/filter_options.h"
#include "cmd/options.h"
#include "cmd/tell.h"
#include "export/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Exit statuses of --fail-on. */
#define DIFF_EXIT_FAILS       3
#define DIFF_EXIT_CANNOT_TELL 4

#define DIFF_COLUMNS 100
#define DIFF_ROWS    10
#define DIFF_NOISE   1.0
#define GATES_MAX    32

struct diff_options {
	const char *paths[MATCH_SIDES];
	struct diff_gate gates[GATES_MAX];
	size_t gate_count;
	struct diff diff;
	bool is_absolute, is_json;
};

enum {
	KEY_FAIL_ON = 256,
	KEY_ABSOLUTE,
	KEY_NOISE,
	KEY_LIMIT,
	KEY_JSON,
};

static const struct argp_option options[] = {
	{ "fail-on", KEY_FAIL_ON, "CONDITION", 0,
	  "Exit with 3 when it holds: 'step > +5%', 'idle > +5%', 'kernel PATTERN > +5%', "
	  "'module PATTERN > +5%'; can be given more than once",
	  0 },
	{ "absolute", KEY_ABSOLUTE, NULL, 0, "Whole captures instead of the time of a step", 0 },
	{ "noise", KEY_NOISE, "PERCENT", 0, "Leave out smaller changes; 1 is usual", 0 },
	{ "limit", KEY_LIMIT, "ROWS", 0, "Show so many rows of each table; 10 is usual", 0 },
	{ "json", KEY_JSON, NULL, 0, "Write JSON, for programs", 0 },
	{ 0 },
};

static void parse_gate(struct diff_options *opt, const char *arg, struct argp_state *state)
{
	struct err err;
	if (opt->gate_count == GATES_MAX)
		argp_error(state, "more than %d conditions", GATES_MAX);
	if (diff_gate_parse(arg, &opt->gates[opt->gate_count++], &err) < 0)
		argp_error(state, "%s", err.text);
}

static void parse_noise(struct diff_options *opt, const char *arg, struct argp_state *state)
{
	char *end;
	opt->diff.noise = strtod(arg, &end);
	if (end == arg || *end || !(opt->diff.noise >= 0 && opt->diff.noise <= 100))
		argp_error(state, "the noise is a number of percent from 0 to 100");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct diff_options *opt = state->input;
	uint32_t number;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &opt->diff.filter;
		return 0;
	case KEY_FAIL_ON:
		parse_gate(opt, arg, state);
		return 0;
	case KEY_ABSOLUTE:
		opt->is_absolute = true;
		return 0;
	case KEY_NOISE:
		parse_noise(opt, arg, state);
		return 0;
	case KEY_LIMIT:
		if (parse_u32(arg, 10, &number) < 0 || !number)
			argp_error(state, "the limit is a number of rows");
		opt->diff.limit = number;
		return 0;
	case KEY_JSON:
		opt->is_json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num >= MATCH_SIDES)
			argp_error(state, "more than two files");
		opt->paths[state->arg_num] = arg;
		return 0;
	case ARGP_KEY_END:
		if (state->arg_num != MATCH_SIDES)
			argp_error(state, "two files are compared: BASE and NEW");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- reading ---- */

static int side_load(struct diff_side *s, const char *path, const struct analysis_filter *filter,
		     struct err *err)
{
	CLEANUP_FREE struct step_summary *steps = NULL;
	int rc = input_open(&s->in, path, err);
	rc = rc ? rc : analysis_load(&s->a, s->in->reader, &(struct analysis_options){ 0 }, err);
	rc = rc ? rc : analysis_step_list(s->a, filter, &steps, &s->step_count, err);
	if (rc < 0)
		return rc;
	/* Without those of a warm-up, which is at the beginning; of each of several runs. */
	uint64_t first = UINT64_MAX, last = 0;
	for (size_t i = 0; i < s->step_count; i++) {
		if (steps[i].is_warmup)
			continue;
		last = last > steps[i].number ? last : steps[i].number;
		first = first < steps[i].number ? first : steps[i].number;
	}
	s->has_marks = s->step_count && *steps[0].name;
	snprintf(s->steady_steps, sizeof(s->steady_steps), "%" PRIu64 "-%" PRIu64, first, last);
	s->filter = *filter;
	return 0;
}

static int side_open(struct diff_side *s, struct err *err)
{
	const struct analysis_filter *filter = &s->filter;
	int rc = analysis_summarize(s->a, filter, &s->s, err);
	rc = rc ? rc : analysis_work(s->a, filter, &s->work, err);
	rc = rc ? rc : analysis_devices(s->a, filter, &s->devices, &s->device_count, err);
	if (rc < 0)
		return rc;
	if (diff_side_index(s) < 0)
		return err_set(err, -ENOMEM, "cannot compare");
	for (size_t i = 0; i < s->work.step_count; i++)
		s->has_runs |= s->work.steps[i].run != 0;
	return 0;
}

static bool is_of_host(const struct analysis *a)
{
	return !strncmp(analysis_default_metric(a), "cpu-", 4);
}

/* What is compared: of the device, or where neither side has one that worked, of the CPUs. */
static int side_add_up(struct diff_side *s, bool is_host, struct err *err)
{
	const char *metric = is_host ? "cpu-time" : analysis_default_metric(s->a);
	if (!is_host && !s->work.item_count)
		return err_set(err, -EINVAL, "'%s' has no device time to compare", s->in->path);
	struct analysis_profile_options opt = {
		.metrics = &metric,
		.metric_count = 1,
		.filter = s->filter,
		.full = true,
	};
	int rc = analysis_profile(s->a, &opt, &s->p, err);
	return rc == -EINVAL && is_host
		       ? err_set(err, rc, "'%s' has neither device time nor CPU time to compare",
				 s->in->path)
		       : rc;
}

static int side_close(struct diff_side *s, int status)
{
	work_release(&s->work);
	free(s->devices);
	free(s->item_ops);
	free(s->item_first);
	profile_free(s->p);
	analysis_summary_release(&s->s);
	analysis_free(s->a);
	return input_close(s->in, status);
}

static int diff_open(struct diff_options *opt, struct err *err)
{
	struct diff *d = &opt->diff;
	struct diff_side *sides = d->sides;
	int rc = side_load(&sides[0], opt->paths[0], &d->filter, err);
	rc = rc ? rc : side_load(&sides[1], opt->paths[1], &d->filter, err);
	/* Steps that were found by the work that repeats are not all of the time, as marked ones are. */
	if (rc == 0 && !opt->is_absolute && sides[0].step_count && sides[1].step_count &&
	    !(sides[0].has_marks && sides[1].has_marks) && !d->filter.step)
		for (int side = 0; side < MATCH_SIDES; side++)
			sides[side].filter.step = sides[side].steady_steps;
	rc = rc ? rc : side_open(&sides[0], err);
	rc = rc ? rc : side_open(&sides[1], err);
	d->is_host = !rc && is_of_host(sides[0].a) && is_of_host(sides[1].a);
	rc = rc ? rc : side_add_up(&sides[0], d->is_host, err);
	rc = rc ? rc : side_add_up(&sides[1], d->is_host, err);
	if (rc < 0)
		return rc;
	const struct analysis_summary *b = &d->sides[0].s, *n = &d->sides[1].s;
	d->is_per_step = !opt->is_absolute && b->steps && n->steps;
	for (int side = 0; side < MATCH_SIDES; side++) {
		struct diff_side *s = &d->sides[side];
		s->divisor = d->is_per_step      ? s->s.device_steps
			     : s->s.device_count ? s->s.device_count
						 : 1;
	}
	return match_work(&d->sides[0].work, &d->sides[1].work, &d->match) < 0
		       ? err_set(err, -ENOMEM, "cannot compare")
		       : 0;
}

/* ---- writing ---- */

static bool has_device(const struct diff *d)
{
	return !d->is_host;
}

/* Without a timeline nothing is known of what the time went to. */
static bool has_timeline(const struct diff *d)
{
	return d->sides[MATCH_BASE].s.device_count || d->sides[MATCH_NEW].s.device_count;
}

static const struct {
	int (*make)(struct sheet *t, const struct diff *d, struct err *err);
	bool (*is_told)(const struct diff *d); /* in text; NULL: always */
} tables[] = {
	{ diff_parts, has_timeline }, { diff_families, has_device }, { diff_code, NULL },
	{ diff_rows, has_device },    { diff_levels, has_device },
};

static int print_table(int (*make)(struct sheet *, const struct diff *, struct err *),
		       const struct diff *d, struct err *err)
{
	struct sheet t = { .name = "" };
	int rc = make(&t, d, err);
	if (rc == 0 && sheet_rows(&t)) {
		rc = sheet_print(stdout, &t, DIFF_COLUMNS, err);
		putchar('\n');
	}
	sheet_release(&t);
	return rc;
}

static int print_verdict(const struct diff *d, struct err *err)
{
	struct strbuf text = { 0 };
	int rc = diff_verdict(d, &text, err);
	if (rc == 0)
		printf("%s\n", strbuf_text(&text));
	strbuf_release(&text);
	return rc;
}

/* The facts and the warning come before any number. */
static int write_text(const struct diff *d, struct err *err)
{
	struct sheet t = { .name = "" };
	size_t differing = 0;

	int rc = diff_header(&t, d, err);
	if (rc == 0)
		rc = sheet_print(stdout, &t, DIFF_COLUMNS, err);
	for (size_t row = 1; rc == 0 && row < sheet_rows(&t); row++) {
		const struct sheet_cell *cell = &t.cells.data[(row + 1) * t.column_count - 1];
		differing += *strtab_text(&t.texts, cell->text) != 0;
	}
	sheet_release(&t);
	if (rc == 0 && differing)
		printf("Not the same conditions: %zu of these differ.\n", differing);
	putchar('\n');
	rc = rc ? rc : print_verdict(d, err);
	for (size_t i = 0; i < ARRAY_SIZE(tables) && rc == 0 && !diff_is_none(d); i++) {
		if (!tables[i].is_told || tables[i].is_told(d))
			rc = print_table(tables[i].make, d, err);
	}
	return rc;
}

static int json_table(struct json *j,
		      int (*make)(struct sheet *, const struct diff *, struct err *),
		      const struct diff *d, struct err *err)
{
	struct sheet t = { .name = "" };
	int rc = make(&t, d, err);
	if (rc == 0) {
		json_key(j, t.name);
		sheet_json(j, &t);
	}
	sheet_release(&t);
	return rc;
}

static int write_json(const struct diff *d, struct err *err)
{
	CLEANUP(json_free) struct json *j = NULL;
	struct diff_change c;

	if (json_new(&j, stdout) < 0 || diff_step_change(d, &c) < 0)
		return err_set(err, -ENOMEM, "cannot write JSON");
	json_object(j);
	json_key(j, "format");
	json_text(j, "accel-prof diff 1");
	json_key(j, "per_step");
	json_bool(j, d->is_per_step);
	json_key(j, "cpu_time"); /* all times are, as there is no device work */
	json_bool(j, d->is_host);
	json_key(j, "same");
	json_bool(j, diff_is_none(d));
	json_key(j, "step_ns");
	json_array(j);
	json_number(j, diff_step_ns(&d->sides[0]));
	json_number(j, diff_step_ns(&d->sides[1]));
	json_array_end(j);
	json_key(j, "device_ns");
	json_array(j);
	json_number(j, diff_device_ns(&d->sides[0]));
	json_number(j, diff_device_ns(&d->sides[1]));
	json_array_end(j);
	json_key(j, "step_is_certain");
	c.is_known ? json_bool(j, c.is_certain) : json_null(j);
	int rc = json_table(j, diff_header, d, err);
	for (size_t i = 0; i < ARRAY_SIZE(tables) && rc == 0; i++)
		rc = json_table(j, tables[i].make, d, err);
	json_object_end(j);
	return rc < 0 ? rc : json_finish(j, err);
}

/* Each condition's line goes to stderr; the worst is the exit status. */
static int check_gates(const struct diff_options *opt, int *ret_status, struct err *err)
{
	for (size_t i = 0; i < opt->gate_count; i++) {
		struct strbuf text = { 0 };
		enum diff_verdict verdict;
		int rc = diff_gate_check(&opt->diff, &opt->gates[i], &verdict, &text, err);
		if (rc == 0)
			(void)tell("%s", strbuf_text(&text));
		strbuf_release(&text);
		if (rc < 0)
			return rc;
		if (verdict == DIFF_FAILS)
			*ret_status = DIFF_EXIT_FAILS;
		else if (verdict == DIFF_CANNOT_TELL && *ret_status != DIFF_EXIT_FAILS)
			*ret_status = DIFF_EXIT_CANNOT_TELL;
	}
	return 0;
}

int cmd_diff(int argc, char **argv)
{
	static const struct argp_child children[] = { FILTER_OPTIONS, { 0 } };
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.children = children,
		.args_doc = "BASE NEW",
		.doc = "Show what changed between two captures, and whether it is more than noise.",
	};
	struct diff_options opt = { .diff = { .noise = DIFF_NOISE, .limit = DIFF_ROWS } };
	int status = CMD_OK;
	struct err err;

	options_parse(&argp, argc, argv, &opt);
	int rc = diff_open(&opt, &err);
	if (rc == 0)
		rc = opt.is_json ? write_json(&opt.diff, &err) : write_text(&opt.diff, &err);
	if (rc == 0)
		rc = check_gates(&opt, &status, &err);
	if (rc < 0)
		status = tell_error(&err);
	match_release(&opt.diff.match);
	for (int side = 0; side < MATCH_SIDES; side++)
		status = side_close(&opt.diff.sides[side], status);
	return status;
}
