/* SPDX-License-Identifier: Apache-2.0 */
/* annotate --object: a file with accelerator code, without a capture. */
#include "cmd/annotate.h"

#include "base/io.h"
#include "base/utf8.h"
#include "cmd/annotate_files.h"
#include "cmd/cmd.h"
#include "cmd/tell.h"
#include "device/images.h"
#include "symbolize/demangle.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* Each takes 0.2 s more; a library has thousands. */
#define NVDISASM_IMAGES_MAX 64

struct shown {
	const struct annotate_options *opt;
	struct sources *sources; /* of the image that is shown */
	struct strbuf *out;
	struct json *json;
	size_t images, found;
	size_t texts; /* images of which instructions were shown */
	const struct device_object *last_text;
	struct err *err;
};

static bool is_wanted(const char *pattern, const char *name)
{
	struct strbuf text = { 0 };
	demangle(&text, name, 0);
	bool is = !pattern || fnmatch(pattern, name, 0) == 0 ||
		  fnmatch(pattern, strbuf_text(&text), 0) == 0;
	strbuf_release(&text);
	return is;
}

/* --offset: one place, innermost last. */
static void show_place(struct strbuf *out, const struct device_place *p)
{
	const struct device_function *f = p->function;
	annotate_name(out, f->name, DEMANGLE_PARAMS);
	strbuf_printf(out, "+0x%" PRIx64, p->offset - f->offset);
	if (f->kernel && strcmp(f->kernel, f->name) != 0) {
		strbuf_puts(out, " in kernel ");
		annotate_name(out, f->kernel, DEMANGLE_PARAMS);
	}
	strbuf_putc(out, '\n');
	for (size_t i = 0; i < p->line_count; i++) {
		strbuf_printf(out, "%*s", (int)(2 * i + 2), "");
		annotate_name(out, *p->lines[i].name ? p->lines[i].name : "[unknown]",
			      DEMANGLE_PARAMS);
		strbuf_puts(out, " at ");
		const char *file = analysis_source_name(p->lines[i].file);
		utf8_append_safe(out, file, strlen(file));
		strbuf_printf(out, ":%" PRIu32 ":%" PRIu32 "\n", p->lines[i].line,
			      p->lines[i].column);
	}
	if (!p->line_count)
		strbuf_puts(out, "  jit: no lines\n");
	if (p->text) {
		strbuf_puts(out, "  ");
		utf8_append_safe(out, p->text, strlen(p->text));
		strbuf_putc(out, '\n');
	}
	if (p->assembly) {
		strbuf_puts(out, "  // ");
		utf8_append_safe(out, p->assembly, strlen(p->assembly));
		strbuf_putc(out, '\n');
	}
}

static void list_functions(struct shown *s, struct device_object *o, const char *title)
{
	utf8_append_safe(s->out, title, strlen(title));
	strbuf_printf(s->out, ": %s\n", device_arch(o));
	for (size_t i = 0; i < device_function_count(o); i++) {
		const struct device_function *f = device_function_get(o, i);
		strbuf_printf(s->out, "  0x%08" PRIx64 " %8" PRIu64 "  %s ", f->offset, f->size,
			      f->is_kernel ? "kernel  " : "function");
		annotate_name(s->out, f->name, DEMANGLE_PARAMS);
		strbuf_putc(s->out, '\n');
	}
}

/* Before the first instruction of an image. */
static void want_text(struct shown *s, struct device_object *o)
{
	if (s->last_text == o)
		return;
	s->last_text = o;
	if (s->texts++ < NVDISASM_IMAGES_MAX)
		device_use_nvdisasm(o);
}

static int show_kernel(struct shown *s, struct device_object *o, const char *title,
		       const char *kernel)
{
	const struct annotate_options *opt = s->opt;
	struct annotated k = {
		.kernel = kernel,
		.object = o,
		.object_name = title,
		.sources = s->sources,
	};
	want_text(s, o);
	utf8_append_safe(s->out, title, strlen(title));
	strbuf_puts(s->out, ": kernel ");
	annotate_name(s->out, kernel, DEMANGLE_PARAMS);
	strbuf_putc(s->out, '\n');
	int rc = opt->source || !opt->assembly ? annotate_source(s->out, &k) : 0;
	if (!rc && (opt->assembly || !opt->source))
		rc = annotate_assembly(s->out, &k);
	return rc;
}

static int show_kernels(struct shown *s, struct device_object *o, const char *title)
{
	const char *last = NULL;
	int rc = 0;
	for (size_t i = 0; i < device_function_count(o) && !rc; i++) {
		const struct device_function *f = device_function_get(o, i);
		const char *kernel = f->kernel ? f->kernel : f->name;
		if ((!f->is_kernel && f->kernel) || (last && !strcmp(last, kernel)) ||
		    !is_wanted(s->opt->kernel, kernel))
			continue;
		last = kernel;
		s->found++;
		rc = show_kernel(s, o, title, kernel);
	}
	return rc;
}

static int show_object(struct shown *s, struct device_object *o, const char *title)
{
	struct device_place place;

	s->images++;
	if (s->json || s->opt->has_offset)
		want_text(s, o);
	if (s->opt->has_offset && device_resolve(o, s->opt->offset, &place) == 0) {
		s->found++;
		if (!s->json)
			show_place(s->out, &place);
	}
	if (s->json) {
		s->found++;
		return annotate_json(s->json, &(struct annotated){ .kernel = s->opt->kernel,
								   .object = o,
								   .object_name = title,
								   .sources = s->sources });
	}
	if (s->opt->has_offset)
		return 0;
	if (s->opt->kernel || s->opt->source || s->opt->assembly)
		return show_kernels(s, o, title);
	s->found++;
	list_functions(s, o, title);
	return 0;
}

static int on_image(void *data, const struct device_image *image)
{
	struct shown *s = data;
	CLEANUP_FREE uint8_t *owned = NULL;
	CLEANUP(device_close) struct device_object *o = NULL;
	struct span bytes;
	char title[512];

	if (image->kind != IMAGE_ELF)
		return 0;
	int rc = device_image_inflate(image, &bytes, &owned, s->err);
	if (rc < 0)
		return rc;
	snprintf(title, sizeof(title), "%s%s%s%s%s", s->opt->object, *image->target ? " " : "",
		 image->target, *image->name ? " " : "", image->name);
	rc = device_open(&o, bytes, title, 0, s->err);
	if (rc < 0)
		return rc;
	CLEANUP(sources_free) struct sources *sources = NULL;
	rc = sources_new(&sources, s->opt->source_path);
	if (rc < 0)
		return err_set(s->err, rc, "cannot open '%s'", s->opt->source_path);
	s->sources = sources;
	rc = show_object(s, o, title);
	s->last_text = NULL; /* the next may lie at the same place */
	if (rc < 0)
		return err_set(s->err, rc, "cannot show '%s'", title);
	/* What there is so far goes out, so that memory holds one image. */
	if (!s->json)
		fwrite(strbuf_text(s->out), 1, s->out->len, stdout);
	strbuf_reset(s->out);
	return 0;
}

/* The file in memory; a copy, as a mapped one can be truncated under us. */
static int read_object(const char *path, char **ret, size_t *ret_size, struct err *err)
{
	int rc = io_read_file(path, 4ull << 30, ret, ret_size);
	return rc < 0 ? err_set(err, rc, "cannot read '%s'", path) : 0;
}

static int run(struct shown *s)
{
	CLEANUP_FREE char *data = NULL;
	size_t size;
	const struct annotate_options *opt = s->opt;

	int rc = read_object(opt->object, &data, &size, s->err);
	if (rc == 0)
		rc = device_images(span_of(data, size), opt->object, on_image, s, NULL, s->err);
	if (rc < 0)
		return rc;
	if (!s->images)
		return err_set(s->err, -EINVAL, "'%s' holds no accelerator code that is known here",
			       opt->object);
	if (s->found)
		return 0;
	if (opt->has_offset)
		return err_set(s->err, -EINVAL, "'%s' has no code at 0x%" PRIx64, opt->object,
			       opt->offset);
	return err_set(s->err, -EINVAL, "'%s' has no kernel '%s'", opt->object,
		       opt->kernel ? opt->kernel : "*");
}

int annotate_object(const struct annotate_options *opt)
{
	struct strbuf out = { 0 };
	struct err err = { "" };
	struct shown s = { .opt = opt, .out = &out, .err = &err };
	int rc;

	if (opt->json && json_new(&s.json, stdout) < 0)
		return tell("out of memory");
	if (s.json)
		json_array(s.json);
	rc = run(&s);
	if (s.json) {
		json_array_end(s.json);
		if (rc == 0)
			rc = json_finish(s.json, &err);
		json_free(s.json);
	}
	strbuf_release(&out);
	return rc < 0 ? tell_error(&err) : CMD_OK;
}
