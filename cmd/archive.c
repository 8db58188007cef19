/* SPDX-License-Identifier: Apache-2.0 */
/* accel-prof archive: a capture with the binaries and sources that it was made with, as one file. */
#include "cmd/archive.h"

#include "base/cleanup.h"
#include "capture/merge.h"
#include "cmd/archive_files.h"
#include "cmd/cmd.h"
#include "cmd/input.h"
#include "cmd/options.h"
#include "cmd/tell.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define OUTPUT_DEFAULT "accel-prof.archive"

struct archive_command {
	const char *path, *output, *source_path, *extract;
	bool is_quiet;
};

enum {
	KEY_SOURCE_PATH = 256,
	KEY_EXTRACT,
};

static const struct argp_option options[] = {
	{ "input", 'i', "FILE", 0, "Read FILE", 0 },
	{ "output", 'o', "FILE", 0, "Write to FILE ('" OUTPUT_DEFAULT "'); '-' is standard output",
	  0 },
	{ "source-path", KEY_SOURCE_PATH, "FOLDER", 0,
	  "Look for source files below FOLDER, besides those that a checksum tells", 0 },
	{ "extract", KEY_EXTRACT, "FOLDER", 0,
	  "Put the files of an archive into FOLDER instead, for debuggers and the like", 0 },
	{ "quiet", 'q', NULL, 0, "Do not say what was taken", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct archive_command *c = state->input;

	switch (key) {
	case 'i':
	case ARGP_KEY_ARG:
		if (c->path)
			argp_error(state, "more than one file");
		c->path = arg;
		return 0;
	case 'o':
		c->output = arg;
		return 0;
	case 'q':
		c->is_quiet = true;
		return 0;
	case KEY_SOURCE_PATH:
		c->source_path = arg;
		return 0;
	case KEY_EXTRACT:
		c->extract = arg;
		return 0;
	case ARGP_KEY_END:
		if (c->extract && (c->output || c->source_path))
			argp_error(state, "--extract goes with neither -o nor --source-path");
		/* Of one that is not there, opening it tells. */
		if (!c->extract && c->path && !input_can_be_read_twice(c->path) &&
		    (!strcmp(c->path, "-") || access(c->path, F_OK) == 0))
			argp_error(state, "'%s' is read twice: it must be a file", c->path);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int find_files(struct archive_files **ret, const struct archive_command *c, struct err *err)
{
	struct input *in = NULL;
	int rc = archive_files_new(ret, c->source_path, err);
	rc = rc ? rc : input_open(&in, c->path, err);
	rc = rc ? rc : archive_files_find(*ret, in->reader, err);
	input_drop(in);
	return rc;
}

static void tell_count(const struct archive_count *n)
{
	tell("%" PRIu64 " binaries, %" PRIu64 " debug files, %" PRIu64 " source files, %" PRIu64
	     " MB",
	     n->binaries, n->debug, n->sources, n->bytes / 1000000);
	if (n->no_binaries)
		tell("%" PRIu64 " binaries are not here, or not those that were recorded",
		     n->no_binaries);
	if (n->no_sources)
		tell("%" PRIu64 " source files are not here, or nothing says that they are the "
		     "right ones; --source-path does",
		     n->no_sources);
}

/* The capture as it is, and the files behind it. */
static int write_archive(const struct archive_command *c, struct capture_writer *w, int *ret_status,
			 struct err *err)
{
	CLEANUP(archive_files_free) struct archive_files *files = NULL;
	CLEANUP(merge_free) struct merge *m = NULL;
	struct archive_count count;
	struct input *in = NULL;

	int rc = find_files(&files, c, err);
	rc = rc ? rc : merge_new(&m, w, &(struct merge_options){ .is_copy = true }, err);
	rc = rc ? rc : input_open(&in, c->path, err);
	rc = rc ? rc : merge_add(m, in->reader, &(struct merge_source){ .name = in->path }, err);
	rc = rc ? rc : archive_files_write(files, w, &count, err);
	rc = rc ? rc : merge_end(m, err);
	*ret_status = input_close(in, CMD_OK);
	if (rc == 0 && !c->is_quiet)
		tell_count(&count);
	return rc;
}

static int archive(const struct archive_command *c)
{
	CLEANUP(capture_writer_free) struct capture_writer *w = NULL;
	struct capture_writer_options opt = { .path = c->output ? c->output : OUTPUT_DEFAULT };
	struct err err = { .text = "" };
	int status = CMD_OK;

	int rc = capture_writer_open(&w, &opt, &err);
	rc = rc ? rc : write_archive(c, w, &status, &err);
	rc = rc ? rc : capture_writer_commit(w, &err);
	return rc < 0 ? tell_error(&err) : status;
}

static int extract(const struct archive_command *c)
{
	struct input *in = NULL;
	struct err err = { .text = "" };
	uint64_t files = 0;

	int rc = input_open(&in, c->path, &err);
	rc = rc ? rc : archive_extract(in->reader, c->extract, &files, &err);
	int status = input_close(in, rc < 0 ? tell_error(&err) : CMD_OK);
	if (rc == 0 && !c->is_quiet)
		tell("%" PRIu64 " files", files);
	return status;
}

int cmd_archive(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "[FILE]",
		.doc = "Put a capture and the binaries and sources that it was made with into one file, "
		       "which every command reads on another machine.",
	};
	struct archive_command c = { .path = NULL };

	options_parse(&argp, argc, argv, &c);
	return c.extract ? extract(&c) : archive(&c);
}
