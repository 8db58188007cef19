/* SPDX-License-Identifier: Apache-2.0 */
/* accel-prof check: what can be recorded here, one thing a line, with what mends it and who can. */
#include "collect/check.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/tell.h"
#include "export/json.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct check_options {
	uint32_t pid;
	bool json, verbose;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct check_options *opt = state->input;

	switch (key) {
	case 'p':
		if (parse_u32(arg, 10, &opt->pid) < 0 || !opt->pid || opt->pid > INT32_MAX)
			argp_error(state, "'%s' is no process id", arg);
		return 0;
	case 'j':
		opt->json = true;
		return 0;
	case 'v':
		opt->verbose = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void log_stderr(void *data, const char *text)
{
	(void)data;
	tell("%s", text);
}

static const char *const states[] = {
	[CHECK_YES] = "yes",
	[CHECK_PARTLY] = "partly",
	[CHECK_NO] = "no",
	[CHECK_ABSENT] = "none",
};

static const char *const people[] = {
	[CHECK_YOU] = "you",
	[CHECK_ROOT] = "root",
	[CHECK_OWNER] = "who runs the machine",
};

/* With names of processes and files in them, which may be orders to a terminal. */
static void print_safe(const char *text)
{
	struct strbuf safe = { 0 };

	utf8_append_safe(&safe, text, strlen(text));
	puts(strbuf_text(&safe));
	strbuf_release(&safe);
}

static void print_line(void *data, const struct check *check)
{
	(void)data;
	printf("%-15s %-7s ", check->name, states[check->state]);
	print_safe(check->found);
	if (!check->mend[0])
		return;
	printf("%-15s %-7s mend (%s): ", "", "", people[check->who]);
	print_safe(check->mend);
}

static void print_json(void *data, const struct check *check)
{
	struct json *j = data;

	json_object(j);
	json_key(j, "group");
	json_text(j, check->group);
	json_key(j, "name");
	json_text(j, check->name);
	json_key(j, "state");
	json_text(j, states[check->state]);
	json_key(j, "found");
	json_text(j, check->found);
	if (check->mend[0]) {
		json_key(j, "mend");
		json_text(j, check->mend);
		json_key(j, "who");
		json_text(j, people[check->who]);
	}
	json_object_end(j);
}

static const struct {
	const char *engine, *text;
} verdicts[] = {
	[CHECK_BY_BPF] = { "bpf", "recording works" },
	[CHECK_BY_PERF] = { "perf", "recording works for your own programs, by perf events alone: "
				    "no launches, no Python frames, no waits" },
	[CHECK_BY_NOTHING] = { "none", "recording does not work" },
	[CHECK_NOT_THIS] = { "none", "recording this process does not work" },
};

static bool works(enum check_verdict verdict)
{
	return verdict == CHECK_BY_BPF || verdict == CHECK_BY_PERF;
}

static int check_text(const struct check_options *opt, enum check_verdict *ret, struct err *err)
{
	int rc = check_all(opt->pid, print_line, NULL, ret, err);

	if (rc >= 0)
		puts(verdicts[*ret].text);
	return rc;
}

static int check_json(const struct check_options *opt, enum check_verdict *ret, struct err *err)
{
	CLEANUP(json_free) struct json *j = NULL;

	if (json_new(&j, stdout) < 0)
		return err_set(err, -ENOMEM, "no memory");
	json_object(j);
	json_key(j, "checks");
	json_array(j);
	int rc = check_all(opt->pid, print_json, j, ret, err);
	if (rc < 0)
		return rc;
	json_array_end(j);
	json_key(j, "engine");
	json_text(j, verdicts[*ret].engine);
	json_key(j, "works");
	json_bool(j, works(*ret));
	json_object_end(j);
	return json_finish(j, err);
}

int cmd_check(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "pid", 'p', "PID", 0, "Look at this process, too, and at the runtimes in it", 0 },
		{ "json", 'j', NULL, 0, "Write JSON", 0 },
		{ "verbose", 'v', NULL, 0, "Say what the kernel says", 0 },
		{ 0 },
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.doc = "Find out what can be recorded on this machine, and who can mend what cannot.",
	};
	struct check_options opt = { 0 };
	enum check_verdict verdict;
	struct err err;

	options_parse(&argp, argc, argv, &opt);
	if (opt.verbose)
		log_set(log_stderr, NULL);
	int rc = opt.json ? check_json(&opt, &verdict, &err) : check_text(&opt, &verdict, &err);
	if (rc < 0)
		return tell_error(&err);
	return works(verdict) ? CMD_OK : CMD_FAILED;
}
