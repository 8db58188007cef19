/* SPDX-License-Identifier: Apache-2.0 */
/* accel-prof import: foreign traces to a capture. */
#include "import/import.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "capture/limits.h"
#include "capture/writer.h"
#include "cmd/cmd.h"
#include "cmd/file_options.h"
#include "cmd/input.h"
#include "cmd/options.h"
#include "cmd/output_name.h"
#include "cmd/tell.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	KEY_FORMAT = 0x100,
	KEY_STRICT,
	KEY_CAPTURE_TRACE,
};

struct import_command {
	struct files_options files;
	struct import_options import;
};

static bool is_format(const char *name)
{
	for (size_t i = 0; import_format_name(i); i++) {
		if (!strcmp(import_format_name(i), name))
			return true;
	}
	return false;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct import_command *c = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &c->files;
		return 0;
	case KEY_FORMAT:
		if (!is_format(arg))
			argp_error(state, "unknown format '%s'", arg);
		c->import.format = arg;
		return 0;
	case KEY_STRICT:
		c->import.is_strict = true;
		return 0;
	case KEY_CAPTURE_TRACE:
		c->import.capture_trace = arg;
		return 0;
	case ARGP_KEY_END:
		if (!c->files.paths.len)
			argp_error(state, "no file to import");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* On a terminal, in one line that the result then takes the place of. */
static void show_progress(void *data, uint64_t bytes)
{
	(void)data;
	fprintf(stderr, "\r%" PRIu64 " MB read", bytes / 1000000);
}

static int run(struct import_command *c)
{
	CLEANUP(capture_writer_free) struct capture_writer *writer = NULL;
	CLEANUP_FREE char *output = output_name(c->files.output);
	struct strbuf line = { 0 };
	struct import_trust trust;
	struct err err = { .text = "" };

	if (!output)
		return tell("cannot make a file name of '%s'", c->files.output);
	struct capture_writer_options options = {
		.path = output,
		.epoch_frames = CAPTURE_EPOCH_FRAMES_MAX,
	};
	bool shows = !c->files.is_quiet && isatty(STDERR_FILENO);
	if (shows)
		c->import.progress = show_progress;
	int rc = capture_writer_open(&writer, &options, &err);
	if (!rc)
		rc = import_files(writer, c->files.paths.data, c->files.paths.len, &c->import,
				  &trust, &err);
	if (shows)
		fputs("\r\033[K", stderr);
	if (rc < 0 || capture_writer_flush(writer) < 0 || capture_writer_commit(writer, &err) < 0) {
		if (writer && capture_writer_error(writer)[0])
			return tell("%s", capture_writer_error(writer));
		return tell_error(&err);
	}
	if (c->files.is_quiet)
		return CMD_OK;
	import_trust_text(&trust, &line);
	tell("%s", strbuf_text(&line));
	strbuf_release(&line);
	return CMD_OK;
}

int cmd_import(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "format", KEY_FORMAT, "NAME", 0,
		  "Take the input for NAME, one of chrome, hatchet, folded, rocprof, instead of looking",
		  0 },
		{ "strict", KEY_STRICT, NULL, 0, "Malformed input is an error", 0 },
		{ "capture-trace", KEY_CAPTURE_TRACE, "FILE", 0,
		  "Trace in which the graphs that are replayed were captured", 0 },
		{ 0 },
	};
	static const struct argp_child children[] = { { .argp = &files_options }, { 0 } };
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.children = children,
		.args_doc = "FILE...",
		.doc = "Make a capture out of traces of other tools. Several files, or the files of a "
		       "folder, are ranks of one job.",
	};
	struct import_command c = { .files.output = INPUT_DEFAULT };

	options_parse(&argp, argc, argv, &c);
	int status = run(&c);
	vec_release(&c.files.paths);
	return status;
}
