/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof: a gzip of protocol buffers. Messages that follow each other are one message with all their
 * repeated fields, so that each sample is packed and compressed by itself and nothing is collected.
 *
 * Every frame is a function. A location is a frame and what was inlined into it; what has a binary has
 * a mapping. Labels tell what pprof can filter and group by: -tagfocus, -tagroot, -tagleaf.
 */
#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/strtab.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "export/deflater.h"
#include "export/formats.h"
#include "pprof.pb-c.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct pprof {
	const struct profile *p;
	const struct export_options *opt;
	struct deflater out;
	struct strtab strings; /* 0 is "", as the format wants it */
	struct strbuf text;
	struct strtab modules; /* number: mapping id */
	VEC(uint32_t) mapping_names;
	int metrics[PROFILE_METRICS_MAX], metric_count;
	struct strtab places;   /* numbers of frames, innermost first; number: location id */
	VEC(uint32_t) inlined;  /* such a list */
	VEC(Pprof__Line) lines; /* of a location */
	VEC(Pprof__Line *) line_pointers;
	VEC(uint64_t) path; /* location ids, leaf first */
	bool failed;
};

static void pprof_release(struct pprof *x)
{
	deflater_release(&x->out);
	strtab_release(&x->strings);
	strbuf_release(&x->text);
	strtab_release(&x->modules);
	vec_release(&x->mapping_names);
	strtab_release(&x->places);
	vec_release(&x->inlined);
	vec_release(&x->lines);
	vec_release(&x->line_pointers);
	vec_release(&x->path);
}
DEFINE_CLEANUP_EMBEDDED(pprof_release, struct pprof)

/* Number of a text, made valid, in the table that comes last. */
static int64_t string(struct pprof *x, const char *text)
{
	uint32_t id = 0;
	strbuf_reset(&x->text);
	utf8_append_safe(&x->text, text ? text : "", text ? strlen(text) : 0);
	if (strbuf_finish(&x->text) < 0 || strtab_add(&x->strings, strbuf_text(&x->text), &id) < 0)
		x->failed = true;
	return id;
}

static int pack(struct pprof *x, const Pprof__Profile *part)
{
	CLEANUP_FREE uint8_t *bytes = NULL;
	size_t size = pprof__profile__get_packed_size(part);
	if (x->failed || !(bytes = malloc(size + 1)))
		return -ENOMEM;
	pprof__profile__pack(part, bytes);
	return deflater_put(&x->out, bytes, size);
}

/* ---- what the numbers mean ---- */

static int put_head(struct pprof *x, int first)
{
	Pprof__ValueType types[PROFILE_METRICS_MAX], *pointers[PROFILE_METRICS_MAX];
	Pprof__ValueType period = PPROF__VALUE_TYPE__INIT;
	int64_t comments[] = { string(x, x->opt->title), string(x, x->opt->version) };
	Pprof__Profile head = PPROF__PROFILE__INIT;

	for (int i = 0; i < x->metric_count; i++) {
		struct profile_metric m = profile_metric_get(x->p, x->metrics[i]);
		bool is_unit = !strcmp(m.unit, "ns") || !strcmp(m.unit, "bytes");
		const char *unit = !is_unit ? "count" : *m.unit == 'n' ? "nanoseconds" : "bytes";
		types[i] = (Pprof__ValueType)PPROF__VALUE_TYPE__INIT;
		types[i].type = string(x, m.name);
		types[i].unit = string(x, unit);
		pointers[i] = &types[i];
	}
	head.n_sample_type = (size_t)x->metric_count;
	head.sample_type = pointers;
	head.default_sample_type = string(x, profile_metric_get(x->p, first).name);
	head.n_comment = ARRAY_SIZE(comments);
	head.comment = comments;
	if (x->opt->end_ns > x->opt->begin_ns)
		head.duration_nanos = (int64_t)(x->opt->end_ns - x->opt->begin_ns);
	if (x->opt->period_ns) {
		period.type = string(x, "cpu");
		period.unit = string(x, "nanoseconds");
		head.period_type = &period;
		head.period = (int64_t)x->opt->period_ns;
	}
	return pack(x, &head);
}

/* ---- places ---- */

static int put_mapping(struct pprof *x, const char *module, uint64_t *ret)
{
	uint32_t number;
	if (!module || !*module) {
		*ret = 0;
		return 0;
	}
	bool is_new = false;
	if (strtab_intern(&x->modules, module, strlen(module), &number, &is_new) < 0)
		return -ENOMEM;
	*ret = number;
	if (!is_new)
		return 0;

	Pprof__Mapping mapping = PPROF__MAPPING__INIT, *pointer = &mapping;
	Pprof__Profile part = PPROF__PROFILE__INIT;
	const struct export_options *opt = x->opt;
	mapping.id = number;
	mapping.filename = string(x, module);
	mapping.build_id = string(x, opt->build_id ? opt->build_id(opt->data, module) : NULL);
	/* So that pprof does not look for the files to name what is named already. */
	mapping.has_functions = true;
	mapping.has_filenames = true;
	mapping.has_line_numbers = true;
	part.n_mapping = 1;
	part.mapping = &pointer;
	return pack(x, &part);
}

/* What these say besides their name goes into labels. */
static bool is_label(const struct frame *f)
{
	return f->kind == FRAME_PROCESS || f->kind == FRAME_BOUNDARY;
}

static int put_function(struct pprof *x, uint32_t number)
{
	struct frame frame = profile_frame_get(x->p, number);
	Pprof__Function function = PPROF__FUNCTION__INIT, *pointer = &function;
	Pprof__Profile part = PPROF__PROFILE__INIT;

	function.id = number + 1ull;
	function.name = string(x, *frame.name ? frame.name : "[unknown]");
	function.system_name = function.name;
	if (!is_label(&frame) && frame.full && *frame.full)
		function.system_name = string(x, frame.full);
	function.filename = string(x, frame.file);
	part.n_function = 1;
	part.function = &pointer;
	return pack(x, &part);
}

/* Of the frames in x->inlined. */
static int put_location(struct pprof *x, uint64_t id)
{
	Pprof__Location location = PPROF__LOCATION__INIT, *pointer = &location;
	Pprof__Profile part = PPROF__PROFILE__INIT;
	struct frame frame = { .kind = FRAME_ROOT };

	x->lines.len = x->line_pointers.len = 0;
	if (vec_reserve(&x->lines, x->inlined.len) < 0)
		return -ENOMEM; /* so that pointers into it stay */
	vec_for_each(&x->inlined, number) {
		Pprof__Line line = PPROF__LINE__INIT;
		frame = profile_frame_get(x->p, *number);
		line.function_id = *number + 1ull;
		line.line = is_label(&frame) ? 0 : frame.line;
		x->lines.data[x->lines.len++] = line;
		if (vec_push(&x->line_pointers, vec_last(&x->lines)) < 0)
			return -ENOMEM;
	}
	location.id = id;
	location.n_line = x->lines.len;
	location.line = x->line_pointers.data;
	int rc = is_label(&frame) ? 0 : put_mapping(x, frame.module, &location.mapping_id);
	part.n_location = 1;
	part.location = &pointer;
	return rc < 0 ? rc : pack(x, &part);
}

/* Add the location of x->inlined to the path. */
static int end_location(struct pprof *x)
{
	uint32_t id;
	bool is_new;
	if (strtab_intern(&x->places, x->inlined.data, x->inlined.len * sizeof(*x->inlined.data),
			  &id, &is_new) < 0)
		return -ENOMEM;
	int rc = is_new ? put_location(x, id) : 0;
	x->inlined.len = 0;
	return rc < 0 ? rc : vec_push(&x->path, id);
}

/* ---- samples ---- */

#define LABELS_MAX 16

struct labels {
	Pprof__Label list[LABELS_MAX], *pointers[LABELS_MAX];
	size_t count;
};

static void label(struct pprof *x, struct labels *l, const char *key, const char *text)
{
	if (l->count == LABELS_MAX)
		return;
	Pprof__Label *label = &l->list[l->count];
	*label = (Pprof__Label)PPROF__LABEL__INIT;
	label->key = string(x, key);
	label->str = string(x, text);
	l->pointers[l->count++] = label;
}

static void label_number(struct pprof *x, struct labels *l, const char *key, uint32_t number)
{
	char text[16];
	snprintf(text, sizeof(text), "%" PRIu32, number);
	label(x, l, key, text);
}

static void label_frame(struct pprof *x, struct labels *l, const struct frame *f)
{
	switch (f->kind) {
	case FRAME_PROCESS:
		if (f->module && *f->module)
			label(x, l, "host", f->module);
		if (f->line)
			label_number(x, l, "rank", f->line - 1);
		label(x, l, export_kind(f->kind), f->name);
		break;
	case FRAME_BOUNDARY:
		if (f->full && *f->full)
			label(x, l, "stream", f->full);
		if (!f->line)
			break;
		label(x, l, "device", f->module);
		label_number(x, l, "device-id", f->line - 1);
		break;
	case FRAME_KERNEL:
	case FRAME_STALL:
	case FRAME_IDLE:
		label(x, l, export_kind(f->kind), f->name);
		break;
	default:
		break;
	}
}

/* The samples inside a kernel that runs on the host do not say which device that is; of the only
 * one there is no doubt. */
static void label_only_device(struct pprof *x, struct labels *l)
{
	for (size_t i = 0; i < l->count; i++) {
		if (!strcmp(strtab_text(&x->strings, (uint32_t)l->list[i].key), "device"))
			return;
	}
	if (x->opt->device_count != 1)
		return;
	label(x, l, "device", x->opt->devices[0].name);
	label_number(x, l, "device-id", x->opt->devices[0].index);
}

static int put_sample(struct pprof *x, uint32_t node)
{
	int64_t values[PROFILE_METRICS_MAX];
	struct labels labels = { .count = 0 };
	Pprof__Sample sample = PPROF__SAMPLE__INIT, *pointer = &sample;
	Pprof__Profile part = PPROF__PROFILE__INIT;
	bool has_value = false;
	bool is_device = false;

	for (int i = 0; i < x->metric_count; i++) {
		uint64_t value = profile_self(x->p, node, x->metrics[i]);
		values[i] = value > INT64_MAX ? INT64_MAX : (int64_t)value;
		has_value |= value != 0;
	}
	if (!has_value)
		return 0;
	x->path.len = 0;
	for (uint32_t n = node; n != PROFILE_ROOT; n = profile_node(x->p, n).parent) {
		uint32_t number = profile_node(x->p, n).frame;
		struct frame frame = profile_frame_get(x->p, number);
		label_frame(x, &labels, &frame);
		is_device |= frame.kind == FRAME_BOUNDARY;
		if (vec_push(&x->inlined, number) < 0)
			return -ENOMEM;
		if (!frame.is_inlined && end_location(x) < 0)
			return -ENOMEM;
	}
	if (x->inlined.len && end_location(x) < 0)
		return -ENOMEM;
	if (is_device)
		label_only_device(x, &labels);
	sample.n_location_id = x->path.len;
	sample.location_id = x->path.data;
	sample.n_value = (size_t)x->metric_count;
	sample.value = values;
	sample.n_label = labels.count;
	sample.label = labels.pointers;
	part.n_sample = 1;
	part.sample = &pointer;
	return pack(x, &part);
}

/* ---- the whole ---- */

static int put_strings(struct pprof *x)
{
	for (uint32_t i = 0; i < strtab_count(&x->strings); i++) {
		char *pointer = (char *)strtab_text(&x->strings, i);
		Pprof__Profile part = PPROF__PROFILE__INIT;
		part.n_string_table = 1;
		part.string_table = &pointer;
		int rc = pack(x, &part);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int put_all(struct pprof *x, int first)
{
	uint32_t zero;
	int rc = strtab_add(&x->strings, "", &zero);
	rc = rc ? rc : strtab_add(&x->modules, "", &zero);
	rc = rc ? rc : strtab_add(&x->places, "", &zero);
	rc = rc ? rc : put_head(x, first);
	/* The root is no frame of ours: pprof has one of its own. */
	uint32_t root = profile_node(x->p, PROFILE_ROOT).frame;
	for (uint32_t i = 0; i < profile_frame_count(x->p) && !rc; i++)
		rc = i == root ? 0 : put_function(x, i);
	for (uint32_t n = PROFILE_ROOT; n != PROFILE_NONE && !rc; n = export_next(x->p, n))
		rc = put_sample(x, n);
	rc = rc ? rc : put_strings(x);
	return rc ? rc : deflater_finish(&x->out);
}

static int pprof_write(FILE *out, const struct profile *p, const struct export_options *opt,
		       struct err *err)
{
	CLEANUP(pprof_release) struct pprof x = { .p = p, .opt = opt };
	int first = export_metric(p, opt, err);
	if (first < 0)
		return first;
	x.metric_count = export_metrics(p, x.metrics);
	int rc = deflater_init(&x.out, out);
	rc = rc ? rc : put_all(&x, first);
	return rc < 0 ? err_set(err, rc, "cannot write a pprof profile") : 0;
}

const struct exporter pprof_exporter = {
	.name = "pprof",
	.what = "pprof's profile.proto, gzip",
	.is_binary = true,
	.has_details = true,
	.write = pprof_write,
};
