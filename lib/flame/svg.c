/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/flame.h"

#include "flame/embedded.h"
#include "flame/payload.h"
#include "flame/still.h"
#include "flame/text.h"
#include "profile/filter.h"
#include "profile/profile.h"

#include <errno.h>

/* libxml2, which many viewers read with, refuses text of more than 10 MB in one element. */
#define CHUNK_BYTES (1u << 20)

static void put_size(struct strbuf *out, const struct flame_options *opt, const struct still *s)
{
	strbuf_printf(
		out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
		"viewBox=\"0 0 %u %u\" role=\"img\" aria-labelledby=\"name\" class=\"flame\">\n"
		"<title id=\"name\">",
		s->width_px, s->height_px, s->width_px, s->height_px);
	(void)opt;
	text_xml(out, s->title, SIZE_MAX);
	strbuf_puts(out, "</title>\n");
}

static void put_style(struct strbuf *out)
{
	strbuf_puts(out, "<style>\n");
	strbuf_add(out, flame_style, flame_style_size);
	still_put_colours(out);
	strbuf_puts(out, "</style>\n");
	/* Idle is hatched, what is not known is crossed: told apart without colour. */
	strbuf_puts(
		out,
		"<defs>\n"
		"<pattern id=\"idle\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
		"<rect class=\"n0\" width=\"6\" height=\"6\"/>"
		"<path class=\"hatch-n\" d=\"M-1 1l2-2M0 6l6-6M5 7l2-2\"/></pattern>\n"
		"<pattern id=\"missing\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
		"<rect class=\"o0\" width=\"6\" height=\"6\"/>"
		"<path class=\"hatch-o\" d=\"M0 0l6 6M0 6l6-6\"/></pattern>\n"
		"</defs>\n");
}

static void put_tree(struct strbuf *out, const struct strbuf *payload)
{
	for (size_t at = 0; at < payload->len; at += CHUNK_BYTES) {
		size_t size = payload->len - at < CHUNK_BYTES ? payload->len - at : CHUNK_BYTES;
		strbuf_puts(out, "<metadata class=\"tree\">");
		strbuf_add(out, payload->data + at, size);
		strbuf_puts(out, "</metadata>\n");
	}
}

static void put_page(struct strbuf *out, const struct flame_options *opt, const struct still *s,
		     const struct strbuf *payload)
{
	if (opt->format == FLAME_HTML) {
		strbuf_puts(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
				 "<meta charset=\"utf-8\">\n<title>");
		text_xml(out, s->title, SIZE_MAX);
		strbuf_puts(
			out,
			"</title>\n<style>html,body{margin:0;height:100%}body>svg{display:block}"
			"body{background:#fff}@media (prefers-color-scheme:dark){"
			"body{background:#181a1e}}"
			"body.two{display:flex;flex-direction:column}.two .heat{flex:none}"
			".two .flame{flex:1;min-height:200px}</style>\n</head>\n");
		strbuf_puts(out, opt->above ? "<body class=\"two\">\n" : "<body>\n");
		strbuf_puts(out, opt->above ? opt->above : "");
	} else {
		strbuf_puts(out, "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n");
	}
	put_size(out, opt, s);
	put_style(out);
	strbuf_puts(out, "<rect class=\"back\" width=\"100%\" height=\"100%\"/>\n");
	still_put(out, s);
	put_tree(out, payload);
	strbuf_puts(out, "<script><![CDATA[\n(() => {\n\"use strict\";\n");
	strbuf_add(out, flame_script, flame_script_size);
	strbuf_puts(out, "})();\n]]></script>\n</svg>\n");
	if (opt->format == FLAME_HTML && opt->below)
		strbuf_puts(out, opt->below);
	if (opt->format == FLAME_HTML)
		strbuf_puts(out, "</body>\n</html>\n");
}

static int write_picture(FILE *out, const struct profile *p, const struct profile *shown,
			 const struct flame_options *opt, struct strbuf *page, struct err *err)
{
	const char *title = opt->title ? opt->title : "Flame graph";
	const char *note = opt->note ? opt->note : "";
	struct strbuf payload = { 0 };
	CLEANUP(still_release)
	struct still still = {
		.profile = shown,
		.title = title,
		.note = note,
		.metric = opt->metric,
		.width_px = opt->width_px ? opt->width_px : FLAME_WIDTH_DEFAULT,
		.inverted = opt->inverted,
		.is_diff = opt->is_diff,
	};
	struct payload_options payload_options = {
		.title = title,
		.note = note,
		.metric = opt->metric,
		.fluid = !opt->width_px,
		.inverted = opt->inverted,
		.full = opt->full,
		.diff = opt->is_diff,
	};

	int rc = still_layout(&still);
	if (rc == -ENODATA)
		return err_set(err, rc, "nothing to draw: '%s' is 0 everywhere",
			       profile_metric_get(p, opt->metric).name);
	if (rc == 0)
		rc = payload_make(p, &payload_options, &payload);
	if (rc == 0)
		put_page(page, opt, &still, &payload);
	strbuf_release(&payload);
	if (rc < 0 || strbuf_finish(page) < 0)
		return err_set(err, -ENOMEM, "cannot draw the flame graph");
	errno = 0;
	if (fwrite(page->data, 1, page->len, out) != page->len)
		return err_set(err, errno ? -errno : -EIO, "cannot write the flame graph");
	return 0;
}

int flame_write(FILE *out, const struct profile *p, const struct flame_options *opt,
		struct err *err)
{
	CLEANUP(profile_free) struct profile *folded = NULL;
	struct strbuf page = { 0 };

	if (!opt->full && profile_can_fold(p) && profile_fold(p, &folded) < 0)
		return err_set(err, -ENOMEM, "cannot fold the framework's frames");
	int rc = write_picture(out, p, folded ? folded : p, opt, &page, err);
	strbuf_release(&page);
	return rc;
}
