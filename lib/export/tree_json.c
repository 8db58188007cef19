/* SPDX-License-Identifier: Apache-2.0 */
/* The tree as it is, for programs: every node with its frame, values of its own and totals. As JSON
 * nodes name their parent, so that depth costs nothing; as CSV each has its path. */
#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "export/formats.h"
#include "export/json.h"

#include <errno.h>
#include <string.h>

DEFINE_CLEANUP(json_free, struct json *)

static void put_text(struct json *j, const char *key, const char *text)
{
	if (!text || !*text)
		return;
	json_key(j, key);
	json_text(j, text);
}

static void put_values(struct json *j, const char *key, const struct profile *p, uint32_t node,
		       const int *metrics, int count,
		       uint64_t (*value)(const struct profile *, uint32_t, int))
{
	bool is_open = false;
	for (int i = 0; i < count; i++) {
		uint64_t v = value(p, node, metrics[i]);
		if (!v)
			continue;
		if (!is_open) {
			json_key(j, key);
			json_object(j);
			is_open = true;
		}
		json_key(j, profile_metric_get(p, metrics[i]).name);
		json_number(j, v);
	}
	if (is_open)
		json_object_end(j);
}

static void put_node(struct json *j, const struct profile *p, uint32_t node, const int *metrics,
		     int count)
{
	struct profile_node n = profile_node(p, node);
	struct frame f = profile_frame_get(p, n.frame);

	json_object(j);
	json_key(j, "id");
	json_number(j, node);
	if (n.parent != PROFILE_NONE) {
		json_key(j, "parent");
		json_number(j, n.parent);
	}
	json_key(j, "name");
	json_text(j, f.name);
	json_key(j, "kind");
	json_text(j, export_kind(f.kind));
	put_text(j, "full", f.full);
	put_text(j, "file", f.file);
	put_text(j, "module", f.module);
	if (f.line) {
		json_key(j, "line");
		json_number(j, f.line);
	}
	put_values(j, "self", p, node, metrics, count, profile_self);
	put_values(j, "total", p, node, metrics, count, profile_total);
	json_object_end(j);
}

static int tree_json_write(FILE *out, const struct profile *p, const struct export_options *opt,
			   struct err *err)
{
	CLEANUP(json_free) struct json *j = NULL;
	int metrics[PROFILE_METRICS_MAX];
	int first = export_metric(p, opt, err);
	if (first < 0)
		return first;
	if (json_new_compact(&j, out) < 0)
		return err_set(err, -ENOMEM, "cannot write the tree");
	int count = export_metrics(p, metrics);
	json_object(j);
	json_key(j, "version");
	json_number(j, 1);
	put_text(j, "exporter", opt->version);
	put_text(j, "title", opt->title);
	json_key(j, "metrics");
	json_array(j);
	for (int i = 0; i < count; i++) {
		struct profile_metric m = profile_metric_get(p, metrics[i]);
		json_object(j);
		json_key(j, "name");
		json_text(j, m.name);
		json_key(j, "unit");
		json_text(j, m.unit);
		json_object_end(j);
	}
	json_array_end(j);
	json_key(j, "nodes");
	json_array(j);
	for (uint32_t n = PROFILE_ROOT; n != PROFILE_NONE; n = export_next(p, n))
		put_node(j, p, n, metrics, count);
	json_array_end(j);
	json_object_end(j);
	return json_finish(j, err);
}

/* ---- CSV ---- */

struct csv {
	struct strbuf line, safe;
	struct strbuf frames; /* the columns of frames, made once: there are far fewer than nodes */
	VEC(struct csv_columns) columns; /* by frame */
};

struct csv_columns {
	size_t begin, size; /* size 0: not made yet */
};

/* RFC 4180: quotes around, inner ones doubled. */
static void csv_text(struct csv *c, const char *text)
{
	strbuf_reset(&c->safe);
	utf8_append_safe(&c->safe, text ? text : "", text ? strlen(text) : 0);
	c->line.failed |= c->safe.failed;
	strbuf_putc(&c->line, '"');
	for (const char *p = strbuf_text(&c->safe); *p; p++) {
		if (*p == '"')
			strbuf_putc(&c->line, '"');
		strbuf_putc(&c->line, *p);
	}
	strbuf_putc(&c->line, '"');
}

static int csv_flush(struct csv *c, FILE *out)
{
	strbuf_puts(&c->line, "\r\n");
	int rc = strbuf_finish(&c->line);
	if (!rc && fwrite(strbuf_text(&c->line), 1, c->line.len, out) != c->line.len)
		rc = errno ? -errno : -EIO;
	strbuf_reset(&c->line);
	return rc;
}

static int csv_head(struct csv *c, FILE *out, const struct profile *p, const int *metrics,
		    int count)
{
	strbuf_puts(&c->line, "id,parent,name,kind,file,line,module,full");
	for (int i = 0; i < count; i++) {
		const char *name = profile_metric_get(p, metrics[i]).name;
		strbuf_putc(&c->line, ',');
		csv_text(c, name);
		c->line.len -= !c->line.failed; /* the quote */
		strbuf_puts(&c->line, " self\",");
		csv_text(c, name);
		c->line.len -= !c->line.failed;
		strbuf_puts(&c->line, " total\"");
	}
	return csv_flush(c, out);
}

/* name,kind,file,line,module,full */
static void csv_columns(struct csv *c, const struct frame *f)
{
	csv_text(c, f->name);
	strbuf_putc(&c->line, ',');
	strbuf_puts(&c->line, export_kind(f->kind));
	strbuf_putc(&c->line, ',');
	csv_text(c, f->file);
	strbuf_putc(&c->line, ',');
	if (f->line)
		export_number(&c->line, f->line, 1);
	strbuf_putc(&c->line, ',');
	csv_text(c, f->module);
	strbuf_putc(&c->line, ',');
	csv_text(c, f->full);
}

static int csv_frame(struct csv *c, const struct profile *p, uint32_t number)
{
	while (c->columns.len <= number) {
		if (vec_push(&c->columns, (struct csv_columns){ 0 }) < 0)
			return -ENOMEM;
	}
	struct csv_columns *known = &c->columns.data[number];
	if (known->size) {
		strbuf_add(&c->line, c->frames.data + known->begin, known->size);
		return 0;
	}
	struct frame f = profile_frame_get(p, number);
	size_t start = c->line.len;
	csv_columns(c, &f);
	if (strbuf_finish(&c->line) < 0)
		return -ENOMEM;
	known->begin = c->frames.len;
	strbuf_add(&c->frames, c->line.data + start, c->line.len - start);
	known->size = c->line.len - start;
	return strbuf_finish(&c->frames);
}

static int csv_node(struct csv *c, FILE *out, const struct profile *p, uint32_t node,
		    const int *metrics, int count)
{
	struct profile_node n = profile_node(p, node);

	export_number(&c->line, node, 1);
	strbuf_putc(&c->line, ',');
	if (n.parent != PROFILE_NONE)
		export_number(&c->line, n.parent, 1);
	strbuf_putc(&c->line, ',');
	if (csv_frame(c, p, n.frame) < 0)
		return -ENOMEM;
	for (int i = 0; i < count; i++) {
		strbuf_putc(&c->line, ',');
		export_number(&c->line, profile_self(p, node, metrics[i]), 1);
		strbuf_putc(&c->line, ',');
		export_number(&c->line, profile_total(p, node, metrics[i]), 1);
	}
	return csv_flush(c, out);
}

static int csv_write(FILE *out, const struct profile *p, const struct export_options *opt,
		     struct err *err)
{
	struct csv c = { .line = { 0 } };
	int metrics[PROFILE_METRICS_MAX];
	int first = export_metric(p, opt, err);
	if (first < 0)
		return first;
	int count = export_metrics(p, metrics);
	int rc = csv_head(&c, out, p, metrics, count);
	for (uint32_t n = PROFILE_ROOT; n != PROFILE_NONE && !rc; n = export_next(p, n))
		rc = csv_node(&c, out, p, n, metrics, count);
	strbuf_release(&c.line);
	strbuf_release(&c.safe);
	strbuf_release(&c.frames);
	vec_release(&c.columns);
	return rc < 0 ? err_set(err, rc, "cannot write the tree") : 0;
}

const struct exporter json_exporter = {
	.name = "json",
	.what = "The tree with all its metrics, for programs",
	.write = tree_json_write,
};

const struct exporter csv_exporter = {
	.name = "csv",
	.what = "The same as a table, one node a line",
	.write = csv_write,
};
