/* SPDX-License-Identifier: Apache-2.0 */
/* accel-prof merge: many captures into one. */
#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "capture/writer.h"
#include "cmd/cmd.h"
#include "cmd/file_options.h"
#include "cmd/input.h"
#include "cmd/merged.h"
#include "cmd/options.h"
#include "cmd/output_name.h"
#include "cmd/tell.h"

#include <string.h>

enum {
	KEY_FRAMES = 256,
	KEY_ALIGN,
	KEY_RANKS,
};

struct merge_command {
	struct files_options files;
	struct merged_options merged;
};

static const struct argp_option options[] = {
	{ "frames", KEY_FRAMES, "WHAT[,WHAT]", 0,
	  "What keeps call paths apart, as part of their first frame: 'rank', 'host', 'run' or "
	  "'none'; 'rank,host' is usual, and --rank, --host and --run filter by all",
	  0 },
	{ "align", KEY_ALIGN, "HOW", 0,
	  "'clock': one time for all; 'start': runs of the same, laid over each other; 'auto', the "
	  "usual one, is 'clock' where they overlap",
	  0 },
	{ "ranks", KEY_RANKS, NULL, 0,
	  "The files are ranks 0, 1, ... of one job, unless they say theirs", 0 },
	{ 0 },
};

static bool is_frame_list(const char *list)
{
	static const char *const known[] = { "rank", "host", "run" };
	if (!strcmp(list, "none"))
		return true;
	for (const char *p = list;; p++) {
		size_t size = strcspn(p, ",");
		bool found = false;
		for (size_t i = 0; i < ARRAY_SIZE(known); i++)
			found |= strlen(known[i]) == size && !strncmp(known[i], p, size);
		if (!found)
			return false;
		p += size;
		if (!*p)
			return true;
	}
}

static enum merge_align parse_align(const char *arg, struct argp_state *state)
{
	static const char *const words[] = { [MERGE_ALIGN_AUTO] = "auto",
					     [MERGE_ALIGN_CLOCK] = "clock",
					     [MERGE_ALIGN_START] = "start" };
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (!strcmp(arg, words[i]))
			return (enum merge_align)i;
	}
	argp_error(state, "--align is 'auto', 'clock' or 'start', not '%s'", arg);
	return MERGE_ALIGN_AUTO;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct merge_command *c = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &c->files;
		return 0;
	case KEY_FRAMES:
		if (!is_frame_list(arg))
			argp_error(state,
				   "--frames is a list of 'rank', 'host' and 'run', or 'none'");
		c->merged.frames = arg;
		return 0;
	case KEY_ALIGN:
		c->merged.align = parse_align(arg, state);
		return 0;
	case KEY_RANKS:
		c->merged.numbers_ranks = true;
		return 0;
	case ARGP_KEY_END:
		if (!c->files.paths.len)
			argp_error(state, "no files to merge");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int run(struct merge_command *c)
{
	CLEANUP(capture_writer_free) struct capture_writer *w = NULL;
	CLEANUP_FREE char *output = output_name(c->files.output);
	struct err err = { .text = "" };
	int status = CMD_OK;

	if (!output)
		return tell("cannot make a file name of '%s'", c->files.output);
	int rc = capture_writer_open(&w, &(struct capture_writer_options){ .path = output }, &err);
	if (rc == 0)
		rc = merged_write(w, c->files.paths.data, c->files.paths.len, &c->merged, &status,
				  &err);
	if (rc == 0)
		rc = capture_writer_commit(w, &err);
	if (rc < 0)
		return tell_error(&err);
	if (!c->files.is_quiet)
		tell("%zu file%s, %llu records", c->files.paths.len,
		     c->files.paths.len == 1 ? "" : "s",
		     (unsigned long long)capture_writer_stats(w).records);
	return status;
}

int cmd_merge(int argc, char **argv)
{
	static const struct argp_child children[] = { { .argp = &files_options }, { 0 } };
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.children = children,
		.args_doc = "FILE...",
		.doc = "Make one capture out of many: of ranks, hosts, repeated runs, or of different "
		       "tools that looked at the same program.",
	};
	struct merge_command c = { .files.output = INPUT_DEFAULT, .merged.frames = "rank,host" };

	options_parse(&argp, argc, argv, &c);
	int status = run(&c);
	vec_release(&c.files.paths);
	return status;
}
