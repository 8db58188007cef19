/* SPDX-License-Identifier: Apache-2.0 */
/* The tree as it is, for programs: every node with its frame, values of its own and totals. Nodes name
 * their parent, so that depth costs nothing. */
#include "base/cleanup.h"
#include "base/strbuf.h"
#include "export/formats.h"
#include "export/json.h"
#include "export/words.h"

#include <errno.h>
#include <string.h>

static void put_text(struct json *j, const char *key, const char *text)
{
	if (!text || !*text)
		return;
	json_key(j, key);
	json_text(j, text);
}

/* "name":"f","kind":"python" and what else is known */
static void make_members(struct strbuf *out, const struct frame *f)
{
	const struct {
		const char *key, *text;
	} texts[] = { { "full", f->full }, { "file", f->file }, { "module", f->module } };

	strbuf_puts(out, ",\"name\":");
	json_escape(out, f->name);
	strbuf_puts(out, ",\"kind\":");
	json_escape(out, export_kind(f->kind));
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (!texts[i].text || !*texts[i].text)
			continue;
		strbuf_puts(out, ",\"");
		strbuf_puts(out, texts[i].key);
		strbuf_puts(out, "\":");
		json_escape(out, texts[i].text);
	}
	if (f->line) {
		strbuf_puts(out, ",\"line\":");
		export_number(out, f->line, 1);
	}
}

struct nodes {
	const struct profile *p;
	struct words words;
	struct strbuf text;               /* one node */
	struct strbuf keys;               /* of the metrics, with their quotes */
	size_t ends[PROFILE_METRICS_MAX]; /* in `keys` */
	int metrics[PROFILE_METRICS_MAX], count;
};

static void make_keys(struct nodes *x)
{
	for (int i = 0; i < x->count; i++) {
		json_escape(&x->keys, profile_metric_get(x->p, x->metrics[i]).name);
		strbuf_putc(&x->keys, ':');
		x->ends[i] = x->keys.len;
	}
	x->text.failed |= x->keys.failed;
}

static void put_values(struct nodes *x, const char *key, uint32_t node,
		       uint64_t (*value)(const struct profile *, uint32_t, int))
{
	char before = '{';
	for (int i = 0; i < x->count; i++) {
		uint64_t v = value(x->p, node, x->metrics[i]);
		size_t begin = i ? x->ends[i - 1] : 0;
		if (!v)
			continue;
		if (before == '{')
			strbuf_puts(&x->text, key);
		strbuf_putc(&x->text, before);
		before = ',';
		strbuf_add(&x->text, x->keys.data + begin, x->ends[i] - begin);
		export_number(&x->text, v, 1);
	}
	if (before == ',')
		strbuf_putc(&x->text, '}');
}

static void put_node(struct nodes *x, struct json *j, uint32_t node)
{
	struct profile_node n = profile_node(x->p, node);

	strbuf_puts(&x->text, "{\"id\":");
	export_number(&x->text, node, 1);
	if (n.parent != PROFILE_NONE) {
		strbuf_puts(&x->text, ",\"parent\":");
		export_number(&x->text, n.parent, 1);
	}
	words_put(&x->words, x->p, n.frame, &x->text);
	put_values(x, ",\"self\":", node, profile_self);
	put_values(x, ",\"total\":", node, profile_total);
	strbuf_putc(&x->text, '}');
	json_raw(j, strbuf_text(&x->text));
	if (!x->text.failed)
		strbuf_reset(&x->text);
}

static int put_nodes(struct json *j, const struct profile *p)
{
	struct nodes x = { .p = p, .words.make = make_members };
	x.count = export_metrics(p, x.metrics);
	make_keys(&x);
	json_array(j);
	for (uint32_t n = PROFILE_ROOT; n != PROFILE_NONE && !x.text.failed; n = export_next(p, n))
		put_node(&x, j, n);
	json_array_end(j);
	int rc = strbuf_finish(&x.text);
	words_release(&x.words);
	strbuf_release(&x.text);
	strbuf_release(&x.keys);
	return rc;
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
	int rc = put_nodes(j, p);
	json_object_end(j);
	return rc < 0 ? err_set(err, rc, "cannot write the tree") : json_finish(j, err);
}

const struct exporter json_exporter = {
	.name = "json",
	.what = "The tree with all its metrics, for programs",
	.write = tree_json_write,
};
