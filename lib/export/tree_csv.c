/* SPDX-License-Identifier: Apache-2.0 */
/* The same tree as a table, one node a line, which names its parent. */
#include "base/strbuf.h"
#include "base/utf8.h"
#include "export/csv.h"
#include "export/formats.h"
#include "export/words.h"

#include <errno.h>
#include <string.h>

#define FLUSH_BYTES (256u << 10)

struct csv {
	struct strbuf line; /* not written yet */
	struct words words; /* the columns of frames */
};

/* In quotes whatever it is. */
static void csv_text(struct strbuf *out, const char *text)
{
	struct strbuf safe = { 0 };
	utf8_append_safe(&safe, text ? text : "", text ? strlen(text) : 0);
	out->failed |= safe.failed;
	csv_quote(out, strbuf_text(&safe));
	strbuf_release(&safe);
}

static int csv_flush(struct csv *c, FILE *out)
{
	int rc = strbuf_finish(&c->line);
	if (!rc && fwrite(strbuf_text(&c->line), 1, c->line.len, out) != c->line.len)
		rc = errno ? -errno : -EIO;
	strbuf_reset(&c->line);
	return rc;
}

static int csv_head(struct csv *c, const struct profile *p, const int *metrics, int count)
{
	strbuf_puts(&c->line, "id,parent,name,kind,file,line,module,full");
	for (int i = 0; i < count; i++) {
		const char *name = profile_metric_get(p, metrics[i]).name;
		strbuf_putc(&c->line, ',');
		csv_text(&c->line, name);
		c->line.len -= !c->line.failed; /* the quote */
		strbuf_puts(&c->line, " self\",");
		csv_text(&c->line, name);
		c->line.len -= !c->line.failed;
		strbuf_puts(&c->line, " total\"");
	}
	strbuf_puts(&c->line, "\r\n");
	return strbuf_finish(&c->line);
}

/* name,kind,file,line,module,full */
static void csv_columns(struct strbuf *out, const struct frame *f)
{
	csv_text(out, f->name);
	strbuf_putc(out, ',');
	strbuf_puts(out, export_kind(f->kind));
	strbuf_putc(out, ',');
	csv_text(out, f->file);
	strbuf_putc(out, ',');
	if (f->line)
		export_number(out, f->line, 1);
	strbuf_putc(out, ',');
	csv_text(out, f->module);
	strbuf_putc(out, ',');
	csv_text(out, f->full);
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
	words_put(&c->words, p, n.frame, &c->line);
	for (int i = 0; i < count; i++) {
		strbuf_putc(&c->line, ',');
		export_number(&c->line, profile_self(p, node, metrics[i]), 1);
		strbuf_putc(&c->line, ',');
		export_number(&c->line, profile_total(p, node, metrics[i]), 1);
	}
	strbuf_puts(&c->line, "\r\n");
	return c->line.len < FLUSH_BYTES && !c->line.failed ? 0 : csv_flush(c, out);
}

static int csv_write(FILE *out, const struct profile *p, const struct export_options *opt,
		     struct err *err)
{
	struct csv c = { .words.make = csv_columns };
	int metrics[PROFILE_METRICS_MAX];
	int first = export_metric(p, opt, err);
	if (first < 0)
		return first;
	int count = export_metrics(p, metrics);
	int rc = csv_head(&c, p, metrics, count);
	for (uint32_t n = PROFILE_ROOT; n != PROFILE_NONE && !rc; n = export_next(p, n))
		rc = csv_node(&c, out, p, n, metrics, count);
	rc = rc ? rc : csv_flush(&c, out);
	strbuf_release(&c.line);
	words_release(&c.words);
	return rc < 0 ? err_set(err, rc, "cannot write the tree") : 0;
}

const struct exporter csv_exporter = {
	.name = "csv",
	.what = "The same as a table, one node a line",
	.write = csv_write,
};
