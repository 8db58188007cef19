/* SPDX-License-Identifier: Apache-2.0 */
/* accel-prof annotate: source and instructions of one kernel, with what was sampled there. */
#include "cmd/annotate.h"

#include "base/parse.h"
#include "base/utf8.h"
#include "cmd/annotate_files.h"
#include "cmd/cmd.h"
#include "cmd/input.h"
#include "cmd/options.h"
#include "cmd/tell.h"
#include "symbolize/demangle.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	KEY_OBJECT = 256,
	KEY_OFFSET,
	KEY_SOURCE,
	KEY_ASM,
	KEY_STALLS,
	KEY_SOURCE_PATH,
	KEY_PID,
	KEY_COMM,
	KEY_DEVICE,
	KEY_TIME,
	KEY_JSON,
	KEY_STDIO,
};

static const struct argp_option options[] = {
	{ "input", 'i', "FILE", 0, "Read FILE; '-' is standard input", 0 },
	{ "source", KEY_SOURCE, NULL, 0, "Show the source, with samples for each line", 0 },
	{ "asm", KEY_ASM, NULL, 0, "Show the instructions, with samples for each", 0 },
	{ "stalls", KEY_STALLS, NULL, 0, "Show why instructions waited, and what that means", 0 },
	{ "source-path", KEY_SOURCE_PATH, "FOLDER", 0, "Look for source files below FOLDER", 0 },
	{ "object", KEY_OBJECT, "FILE", 0,
	  "Read the code of FILE (cubin, fatbin, zebin, AMDGPU, POCL) instead of a capture", 0 },
	{ "offset", KEY_OFFSET, "OFFSET", 0, "With --object: show what stands at this offset", 0 },
	{ "pid", KEY_PID, "PID[,PID]", 0, "Only samples of these processes", 0 },
	{ "comm", KEY_COMM, "NAME[,NAME]", 0, "Only processes and threads of these names", 0 },
	{ "device", KEY_DEVICE, "N[,N]", 0, "Only samples on these devices", 0 },
	{ "time", KEY_TIME, "FROM,TO", 0,
	  "Only this time: seconds since the start, or shares as 10%-20%", 0 },
	{ "json", KEY_JSON, NULL, 0, "Write JSON", 0 },
	{ "stdio", KEY_STDIO, NULL, 0, "Accepted for perf's sake: it is always so", 0 },
	{ 0 },
};

static error_t parse_filter(struct annotate_options *opt, int key, const char *arg)
{
	switch (key) {
	case KEY_PID:
		opt->filter.pid = arg;
		return 0;
	case KEY_COMM:
		opt->filter.comm = arg;
		return 0;
	case KEY_DEVICE:
		opt->filter.device = arg;
		return 0;
	case KEY_TIME:
		opt->filter.time = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct annotate_options *opt = state->input;
	switch (key) {
	case 'i':
		opt->input = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (opt->kernel)
			argp_error(state, "more than one kernel");
		opt->kernel = arg;
		return 0;
	case KEY_OBJECT:
		opt->object = arg;
		return 0;
	case KEY_OFFSET: {
		bool is_hex = !strncmp(arg, "0x", 2);
		if (parse_u64(is_hex ? arg + 2 : arg, is_hex ? 16 : 10, &opt->offset) < 0)
			argp_error(state, "bad offset '%s'", arg);
		opt->has_offset = true;
		return 0;
	}
	case KEY_SOURCE:
		opt->source = true;
		return 0;
	case KEY_ASM:
		opt->assembly = true;
		return 0;
	case KEY_STALLS:
		opt->stalls = true;
		return 0;
	case KEY_SOURCE_PATH:
		opt->source_path = arg;
		return 0;
	case KEY_JSON:
		opt->json = true;
		return 0;
	case KEY_STDIO:
		return 0;
	case ARGP_KEY_END:
		if (opt->object && opt->input)
			argp_error(state, "--object and --input exclude each other");
		if (opt->has_offset && !opt->object)
			argp_error(state, "--offset needs --object");
		return 0;
	default:
		return parse_filter(opt, key, arg);
	}
}

/* What kernel this is, where it ran, what else there is of it. */
static void add_title(struct strbuf *out, const struct annotated *k)
{
	const struct analysis_kernel_hits *h = k->hits;

	strbuf_puts(out, "kernel ");
	annotate_name(out, k->kernel, DEMANGLE_PARAMS);
	strbuf_printf(out, "\n%" PRIu64 " samples, %.1f%% of %" PRIu64 " of all kernels",
		      h->kernel_samples, 100.0 * (double)h->kernel_samples / (double)h->all_samples,
		      h->all_samples);
	if (h->samples != h->kernel_samples)
		strbuf_printf(out, "; %" PRIu64 " of them in the build that is shown", h->samples);
	if (*h->device) {
		strbuf_puts(out, ", on ");
		utf8_append_safe(out, h->device, strlen(h->device));
	}
	strbuf_puts(out, "\n");
	if (*h->object_name) {
		utf8_append_safe(out, h->object_name, strlen(h->object_name));
		if (k->object)
			strbuf_printf(out, ", %s", device_arch(k->object));
		strbuf_puts(out, "\n");
	}
	if (*h->metadata) {
		utf8_append_safe(out, h->metadata, strlen(h->metadata));
		strbuf_puts(out, "\n");
	}
}

static int print_text(const struct annotated *k, struct err *err)
{
	struct strbuf out = { 0 };
	int rc = 0;

	add_title(&out, k);
	if (k->show_source)
		rc = annotate_source(&out, k);
	if (!rc && k->show_assembly)
		rc = annotate_assembly(&out, k);
	if (!rc && k->show_stalls)
		rc = annotate_stalls(&out, k);
	if (rc < 0 || strbuf_finish(&out) < 0)
		rc = err_set(err, -ENOMEM, "cannot show '%s'", k->kernel);
	else
		fwrite(strbuf_text(&out), 1, out.len, stdout);
	strbuf_release(&out);
	return rc;
}

static int print_json(const struct annotated *k, struct err *err)
{
	struct json *j = NULL;
	if (json_new(&j, stdout) < 0)
		return err_set(err, -ENOMEM, "cannot write JSON");
	int rc = annotate_json(j, k);
	rc = rc < 0 ? err_set(err, rc, "cannot show '%s'", k->kernel) : json_finish(j, err);
	json_free(j);
	return rc;
}

static int show(const struct annotate_options *opt, struct analysis *a, struct err *err)
{
	CLEANUP(analysis_kernel_hits_release) struct analysis_kernel_hits hits = { .hits = NULL };
	CLEANUP(sources_free) struct sources *sources = NULL;
	bool all = !opt->source && !opt->assembly && !opt->stalls;
	struct span program;
	const char *name;

	int rc = sources_new(&sources, opt->source_path);
	if (rc < 0)
		return err_set(err, rc, "cannot open '%s'", opt->source_path);
	sources_set_archive(sources, a);
	rc = analysis_kernel_hits(a, opt->kernel, &opt->filter, &hits, err);
	if (rc < 0)
		return rc;
	if (hits.object)
		device_use_nvdisasm(hits.object);
	if (analysis_kernel_source(a, &hits, &program, &name) == 0)
		sources_set_program(sources, program);
	struct annotated k = {
		.kernel = hits.kernel,
		.object = hits.object,
		.object_name = hits.object_name,
		.hits = &hits,
		.sources = sources,
		.show_source = all || opt->source,
		.show_assembly = all || opt->assembly,
		.show_stalls = all || opt->stalls,
	};
	return opt->json ? print_json(&k, err) : print_text(&k, err);
}

int cmd_annotate(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "[KERNEL]",
		.doc = "Show the source and the instructions of an accelerator kernel, with samples.",
	};
	struct annotate_options opt = { .input = NULL };
	CLEANUP(analysis_free) struct analysis *a = NULL;
	struct input *in = NULL;
	struct err err = { "" };

	options_parse(&argp, argc, argv, &opt);
	if (opt.object)
		return annotate_object(&opt);
	if (!opt.input && opt.kernel && input_can_be_read_twice(opt.kernel))
		return tell("'%s' would be a kernel's name: a file is named by '-i %s'", opt.kernel,
			    opt.kernel);
	if (input_open(&in, opt.input, &err) < 0)
		return tell_error(&err);
	int rc = analysis_load(&a, in->reader, &(struct analysis_options){ 0 }, &err);
	rc = rc < 0 ? rc : show(&opt, a, &err);
	int status = rc < 0 ? tell_error(&err) : CMD_OK;
	if (fflush(stdout) != 0)
		status = CMD_FAILED; /* tell_at_exit() says why */
	analysis_free(TAKE(a));      /* before the reader, whose strings it shows */
	return input_close(in, status);
}
