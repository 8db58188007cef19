/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hatchet's literal format as Proton writes it: one tree whose nodes have a frame, metrics of their
 * own and children, then the devices. The root names every metric, which is how Hatchet's reader
 * learns of them; it sums them up by itself.
 *
 * The nesting is as deep as the call paths, deeper than yajl goes, so punctuation is written here.
 */
#include "base/cleanup.h"
#include "base/strbuf.h"
#include "export/formats.h"
#include "export/json.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

DEFINE_CLEANUP_EMBEDDED(strbuf_release, struct strbuf)

struct hatchet {
	const struct profile *p;
	const struct export_options *opt;
	FILE *out;
	struct strbuf text;
	bool has_sibling; /* what comes next stands behind a node of its parent */
	int metrics[PROFILE_METRICS_MAX], metric_count;
	int time; /* of them "time (ns)"; negative: there is none */
};

/* As Proton's viewer and its users know them. */
static void put_key(struct hatchet *x, int metric)
{
	static const struct {
		const char *metric, *key;
	} known[] = {
		{ "device-time", "time (ns)" },
		{ "launches", "count" },
		{ "device-samples", "num_samples" },
		{ "cpu-time", "cpu_time (ns)(exc)" },
	};
	struct profile_metric m = profile_metric_get(x->p, metric);

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (!strcmp(known[i].metric, m.name)) {
			json_escape(&x->text, known[i].key);
			return;
		}
	}
	CLEANUP(strbuf_release) struct strbuf key = { 0 };
	if (!strncmp(m.name, "stall:", 6))
		strbuf_printf(&key, "stalled_%s", m.name + 6);
	else if (!strcmp(m.unit, "ns"))
		strbuf_printf(&key, "%s (ns)", m.name);
	else
		strbuf_puts(&key, m.name);
	x->text.failed |= key.failed;
	json_escape(&x->text, strbuf_text(&key));
}

/* Proton writes a Python frame as its viewer can take it apart: "/srv/train.py:42@step". */
static void put_name(struct hatchet *x, const struct frame *f)
{
	CLEANUP(strbuf_release) struct strbuf name = { 0 };
	const char *shown = *f->name ? f->name : "[unknown]";

	if (f->kind == FRAME_PYTHON && f->file && *f->file && f->line) {
		size_t size;
		const char *function = export_python_name(shown, &size);
		strbuf_printf(&name, "%s:%" PRIu32 "@%.*s", f->file, f->line, (int)size, function);
		x->text.failed |= name.failed;
		shown = strbuf_text(&name);
	} else if (f->kind == FRAME_KERNEL && f->full && *f->full) {
		shown = f->full;
	}
	json_escape(&x->text, shown);
}

/* "CUDA" for "cuda". */
static void put_type(struct hatchet *x, const struct export_device *d)
{
	CLEANUP(strbuf_release) struct strbuf type = { 0 };
	for (const char *c = *d->runtime ? d->runtime : "device"; *c; c++)
		strbuf_putc(&type, *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c);
	x->text.failed |= type.failed;
	json_escape(&x->text, strbuf_text(&type));
}

static void put_device(struct hatchet *x)
{
	const struct export_device *d = x->opt->devices;
	strbuf_printf(&x->text, "\"device_id\":\"%" PRIu32 "\",\"device_type\":", d->index);
	put_type(x, d);
	strbuf_putc(&x->text, ',');
}

/* The tree does not keep devices apart; of the only one there is no doubt. */
static bool is_on_device(const struct hatchet *x, const struct frame *f)
{
	return f->kind == FRAME_KERNEL && x->opt->device_count == 1;
}

static void put_node(struct hatchet *x, uint32_t node)
{
	struct frame f = profile_frame_get(x->p, profile_node(x->p, node).frame);

	strbuf_puts(&x->text, "{\"frame\":{\"name\":");
	if (node == PROFILE_ROOT)
		strbuf_puts(&x->text, "\"ROOT\"");
	else
		put_name(x, &f);
	strbuf_puts(&x->text, ",\"type\":\"function\"},\"metrics\":{");
	size_t before = x->text.len;
	if (is_on_device(x, &f))
		put_device(x);
	for (int i = 0; i < x->metric_count; i++) {
		uint64_t value = profile_self(x->p, node, x->metrics[i]);
		/* A kernel is what has a time, be it none. */
		bool is_time = f.kind == FRAME_KERNEL && x->metrics[i] == x->time;
		if (!value && node != PROFILE_ROOT && !is_time)
			continue;
		put_key(x, x->metrics[i]);
		strbuf_putc(&x->text, ':');
		export_number(&x->text, value, 1);
		strbuf_putc(&x->text, ',');
	}
	if (x->text.len > before)
		x->text.len--; /* the comma */
	strbuf_puts(&x->text, "},\"children\":[");
}

static int flush(struct hatchet *x)
{
	int rc = strbuf_finish(&x->text);
	if (!rc && fwrite(strbuf_text(&x->text), 1, x->text.len, x->out) != x->text.len)
		rc = errno ? -errno : -EIO;
	strbuf_reset(&x->text);
	return rc;
}

/* What is below the boundary hangs from the host code, as with Proton. */
static bool is_shown(const struct hatchet *x, uint32_t node)
{
	return node == PROFILE_ROOT ||
	       profile_frame_get(x->p, profile_node(x->p, node).frame).kind != FRAME_BOUNDARY;
}

static void put_end(struct hatchet *x, uint32_t node)
{
	if (!is_shown(x, node))
		return;
	strbuf_puts(&x->text, "]}");
	x->has_sibling = true;
}

static int put_tree(struct hatchet *x)
{
	uint32_t node = PROFILE_ROOT;
	int rc = 0;

	while (node != PROFILE_NONE && !rc) {
		if (is_shown(x, node)) {
			strbuf_puts(&x->text, x->has_sibling ? ",\n" : "");
			put_node(x, node);
			x->has_sibling = false;
		}
		uint32_t next = profile_node(x->p, node).first_child;
		while (next == PROFILE_NONE && node != PROFILE_NONE) {
			put_end(x, node);
			next = profile_node(x->p, node).next;
			if (next == PROFILE_NONE)
				node = profile_node(x->p, node).parent;
		}
		node = next;
		rc = flush(x);
	}
	return rc;
}

/* The devices of one type, by number. */
static void put_devices_like(struct hatchet *x, size_t first)
{
	const char *runtime = x->opt->devices[first].runtime;

	put_type(x, &x->opt->devices[first]);
	strbuf_puts(&x->text, ":{");
	for (size_t i = first; i < x->opt->device_count; i++) {
		const struct export_device *d = &x->opt->devices[i];
		if (strcmp(d->runtime, runtime) != 0)
			continue;
		strbuf_printf(&x->text, "%s\"%" PRIu32 "\":{\"arch\":", i == first ? "" : ",",
			      d->index);
		json_escape(&x->text, d->name);
		strbuf_printf(&x->text, ",\"num_sms\":%" PRIu64 "}", d->units);
	}
	strbuf_putc(&x->text, '}');
}

/* By type, then by number, as Proton's viewer looks them up. */
static void put_devices(struct hatchet *x)
{
	strbuf_puts(&x->text, ",\n{");
	for (size_t i = 0; i < x->opt->device_count; i++) {
		bool is_known = false;
		for (size_t k = 0; k < i; k++)
			is_known |= !strcmp(x->opt->devices[k].runtime, x->opt->devices[i].runtime);
		if (is_known)
			continue;
		strbuf_puts(&x->text, i ? "," : "");
		put_devices_like(x, i);
	}
	strbuf_putc(&x->text, '}');
}

static int hatchet_write(FILE *out, const struct profile *p, const struct export_options *opt,
			 struct err *err)
{
	struct hatchet x = { .p = p, .opt = opt, .out = out };
	int rc = export_metric(p, opt, err);
	if (rc < 0)
		return rc;
	x.metric_count = export_metrics(p, x.metrics);
	x.time = profile_metric_find(p, "device-time");
	strbuf_puts(&x.text, "[\n");
	rc = put_tree(&x);
	if (!rc) {
		put_devices(&x);
		strbuf_puts(&x.text, "]\n");
		rc = flush(&x);
	}
	strbuf_release(&x.text);
	return rc < 0 ? err_set(err, rc, "cannot write a Hatchet tree") : 0;
}

/* ---- what the tree holds and what it could not ---- */

static void describe_metrics(struct hatchet *x, struct json *j)
{
	json_key(j, "metrics");
	json_array(j);
	for (int i = 0; i < x->metric_count; i++) {
		struct profile_metric m = profile_metric_get(x->p, x->metrics[i]);
		strbuf_reset(&x->text);
		put_key(x, x->metrics[i]);
		json_object(j);
		json_key(j, "key");
		json_raw(j, strbuf_text(&x->text));
		json_key(j, "metric");
		json_text(j, m.name);
		json_key(j, "unit");
		json_text(j, m.unit);
		/* All of them are sums; a reader adds what is below to have them inclusive. */
		json_key(j, "type");
		json_text(j, strstr(strbuf_text(&x->text), "(exc)") ? "exclusive" : "inclusive");
		json_key(j, "total");
		json_number(j, profile_total(x->p, PROFILE_ROOT, x->metrics[i]));
		json_object_end(j);
	}
	json_array_end(j);
}

static int hatchet_describe(FILE *out, const struct profile *p, const struct export_options *opt,
			    struct err *err)
{
	CLEANUP(json_free) struct json *j = NULL;
	struct hatchet x = { .p = p, .opt = opt, .out = out };
	if (json_new(&j, out) < 0)
		return err_set(err, -ENOMEM, "cannot describe a Hatchet tree");
	x.metric_count = export_metrics(p, x.metrics);
	json_object(j);
	json_key(j, "schemaVersion");
	json_number(j, 1);
	json_key(j, "exporter");
	json_text(j, opt->version ? opt->version : "accel-prof");
	json_key(j, "command");
	json_text(j, opt->title ? opt->title : "");
	describe_metrics(&x, j);
	json_key(j, "missing");
	json_array(j);
	for (size_t i = 0; i < opt->missing_count; i++) {
		json_object(j);
		json_key(j, "what");
		json_text(j, opt->missing[i].what);
		json_key(j, "why");
		json_text(j, opt->missing[i].why);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
	strbuf_release(&x.text);
	return json_finish(j, err);
}

const struct exporter hatchet_exporter = {
	.name = "hatchet",
	.what = "Hatchet's and Proton's tree",
	.write = hatchet_write,
	.describe = hatchet_describe,
};
