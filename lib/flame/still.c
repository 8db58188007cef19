/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/still.h"

#include "flame/colour.h"
#include "flame/flame.h"
#include "flame/text.h"
#include "profile/profile.h"

#include <errno.h>
#include <string.h>

#define UNITS_PER_PX   10 /* of the layout: what is thinner than a tenth of a pixel is not seen */
#define PAD_PX         10
#define HEAD_PX        72 /* title, note, legend */
#define FOOT_PX        14
#define ROW_PX         16
#define LABEL_MIN_PX   28   /* three columns and their padding */
#define ELEMENT_MIN_PX 3    /* narrower, a frame is part of a path */
#define TITLE_MAX      1000 /* bytes of a name in a tooltip */

/* Twelve-pixel monospace fonts are 7.2 to 7.23 pixels wide (DejaVu, Liberation, Menlo, Courier). */
#define COLUMNS(width_px) ((size_t)((width_px)-6) * 100 / 723)

void still_release(struct still *s)
{
	flame_layout_release(&s->layout);
}

int still_layout(struct still *s)
{
	uint32_t width = (s->width_px - 2 * PAD_PX) * UNITS_PER_PX;
	int rc = flame_layout_make(s->profile, s->metric, width, &s->layout);
	if (rc < 0)
		return rc;
	s->height_px = HEAD_PX + s->layout.rows * ROW_PX + FOOT_PX;
	return 0;
}

static void put_rule(struct strbuf *out, enum frame_kind kind, unsigned shade, struct colour c)
{
	strbuf_printf(out, ".%c%u{color:#%02x%02x%02x}", 'a' + (int)kind, shade, c.r, c.g, c.b);
}

void still_put_colours(struct strbuf *out)
{
	for (enum flame_theme theme = 0; theme < FLAME_THEME_COUNT; theme++) {
		if (theme == FLAME_DARK)
			strbuf_puts(out, "@media (prefers-color-scheme:dark){\n");
		for (enum frame_kind kind = 0; kind < FRAME_KIND_COUNT; kind++) {
			for (unsigned shade = 0; shade < FLAME_SHADES; shade++)
				put_rule(out, kind, shade, flame_colour(theme, kind, shade));
			struct colour hatch = flame_colour_hatch(theme, kind);
			if (kind == FRAME_IDLE || kind == FRAME_MISSING)
				strbuf_printf(out, ".hatch-%c{stroke:#%02x%02x%02x}",
					      'a' + (int)kind, hatch.r, hatch.g, hatch.b);
			strbuf_putc(out, '\n');
		}
		struct colour text = flame_colour_text(theme), back = flame_colour_back(theme);
		struct colour match = flame_colour_match(), on = flame_colour_match_text();
		strbuf_printf(out, ".back{fill:#%02x%02x%02x;background:#%02x%02x%02x}", back.r,
			      back.g, back.b, back.r, back.g, back.b);
		strbuf_printf(out,
			      "text{fill:#%02x%02x%02x}.match{color:#%02x%02x%02x}"
			      ".match text{fill:#%02x%02x%02x}\n",
			      text.r, text.g, text.b, match.r, match.g, match.b, on.r, on.g, on.b);
		if (theme == FLAME_DARK)
			strbuf_puts(out, "}\n");
	}
}

static struct frame frame_of(const struct still *s, const struct flame_rect *r)
{
	return profile_frame_get(s->profile, profile_node(s->profile, r->node).frame);
}

static uint32_t row_y(const struct still *s, uint32_t row)
{
	return HEAD_PX + (s->inverted ? row : s->layout.rows - 1 - row) * ROW_PX;
}

static void put_tooltip(struct strbuf *out, const struct still *s, const struct flame_rect *r,
			const struct frame *frame)
{
	const struct profile *p = s->profile;
	uint64_t total = profile_total(p, r->node, s->metric);

	struct strbuf numbers = { 0 };

	text_value(&numbers, total, profile_metric_get(p, s->metric).unit);
	strbuf_puts(&numbers, ", ");
	text_share(&numbers, total, profile_total(p, PROFILE_ROOT, s->metric));
	text_xml(out, frame->name, TITLE_MAX);
	strbuf_puts(out, " (");
	text_xml(out, strbuf_text(&numbers), SIZE_MAX);
	strbuf_putc(out, ')');
	out->failed |= numbers.failed;
	strbuf_release(&numbers);
}

/* The share, where a tower of 1 % or more gets narrower by 2 %, or ends. */
static void put_part(struct strbuf *label, const struct still *s, const struct flame_rect *r,
		     size_t columns)
{
	const struct profile *p = s->profile;
	uint32_t parent = profile_node(p, r->node).parent;
	double value = (double)profile_total(p, r->node, s->metric);
	double all = (double)profile_total(p, PROFILE_ROOT, s->metric);

	if (parent == PROFILE_NONE || value < 0.01 * all ||
	    label->len + strlen("  12.3 %") > columns)
		return;
	if (value > 0.98 * (double)profile_total(p, parent, s->metric) &&
	    (double)profile_self(p, r->node, s->metric) < value / 2)
		return;
	strbuf_puts(label, "  ");
	text_share(label, profile_total(p, r->node, s->metric),
		   profile_total(p, PROFILE_ROOT, s->metric));
}

/* Hatched kinds have one shade. */
static void put_class(struct strbuf *out, const struct frame *frame)
{
	if (frame->kind == FRAME_IDLE)
		strbuf_printf(out, "%c0 idle", 'a' + FRAME_IDLE);
	else if (frame->kind == FRAME_MISSING)
		strbuf_printf(out, "%c0 missing", 'a' + FRAME_MISSING);
	else
		strbuf_printf(out, "%c%u", 'a' + (int)frame->kind, flame_shade(frame->name));
}

static void put_wide(struct strbuf *out, const struct still *s, const struct flame_rect *r)
{
	struct frame frame = frame_of(s, r);
	uint32_t y = row_y(s, r->row);
	uint32_t width_px = r->width / UNITS_PER_PX;
	/* Half a pixel of background between neighbours. */
	uint32_t width = r->width - UNITS_PER_PX / 2;

	strbuf_puts(out, "<g class=\"");
	put_class(out, &frame);
	strbuf_puts(out, "\"><title>");
	put_tooltip(out, s, r, &frame);
	strbuf_printf(out, "</title><rect x=\"%u.%u\" y=\"%u\" width=\"%u.%u\" height=\"%d\"/>",
		      r->x / UNITS_PER_PX, r->x % UNITS_PER_PX, y, width / UNITS_PER_PX,
		      width % UNITS_PER_PX, ROW_PX - 1);
	if (width_px >= LABEL_MIN_PX) {
		struct strbuf label = { 0 };
		text_label(&label, &frame, COLUMNS(width_px));
		put_part(&label, s, r, COLUMNS(width_px));
		strbuf_printf(out, "<text x=\"%u\" y=\"%u\">", r->x / UNITS_PER_PX + 3, y + 11);
		text_xml(out, strbuf_text(&label), SIZE_MAX);
		strbuf_puts(out, "</text>");
		out->failed |= label.failed;
		strbuf_release(&label);
	}
	strbuf_puts(out, "</g>\n");
}

/* The pen of one colour's path: horizontal strokes, each one frame, in tenths of a pixel and rows. */
struct pen {
	struct strbuf path;
	uint32_t x, y;
};

static void pen_draw(struct pen *pen, uint32_t x, uint32_t y, uint32_t width)
{
	strbuf_printf(&pen->path, "m%d %dh%u", (int)(x - pen->x), (int)(y - pen->y), width);
	pen->x = x + width;
	pen->y = y;
}

/* One path for each colour: a tenth of the bytes and of a viewer's work that elements take. */
static void put_thin(struct strbuf *out, const struct still *s)
{
	struct pen pens[FRAME_KIND_COUNT][FLAME_SHADES] = { 0 };

	for (size_t i = 0; i < s->layout.rects.len; i++) {
		const struct flame_rect *r = &s->layout.rects.data[i];
		if (r->width >= ELEMENT_MIN_PX * UNITS_PER_PX)
			continue;
		struct frame frame = frame_of(s, r);
		uint32_t y = s->inverted ? r->row : s->layout.rows - 1 - r->row;
		pen_draw(&pens[frame.kind][flame_shade(frame.name)], r->x, y, r->width);
	}

	strbuf_printf(out, "<g class=\"thin\" transform=\"translate(0 %d) scale(.1 %d)\">\n",
		      HEAD_PX + ROW_PX / 2, ROW_PX);
	for (int kind = 0; kind < FRAME_KIND_COUNT; kind++) {
		for (int shade = 0; shade < FLAME_SHADES; shade++) {
			struct strbuf *path = &pens[kind][shade].path;
			if (path->len)
				strbuf_printf(out, "<path class=\"%c%d\" d=\"", 'a' + kind, shade);
			strbuf_puts(out, strbuf_text(path));
			if (path->len)
				strbuf_puts(out, "\"/>\n");
			out->failed |= path->failed;
			strbuf_release(path);
		}
	}
	strbuf_puts(out, "</g>\n");
}

static void put_legend(struct strbuf *out, const struct still *s)
{
	bool present[FRAME_KIND_COUNT] = { false };
	for (size_t i = 0; i < s->layout.rects.len; i++)
		present[frame_of(s, &s->layout.rects.data[i]).kind] = true;

	uint32_t x = PAD_PX;
	for (enum frame_kind kind = FRAME_PROCESS; kind < FRAME_KIND_COUNT; kind++) {
		const char *name = text_kind(kind);
		uint32_t width = 24 + (uint32_t)strlen(name) * 8;
		if (!present[kind] || kind == FRAME_BOUNDARY || x + width > s->width_px)
			continue;
		strbuf_puts(out, "<g class=\"");
		put_class(out, &(struct frame){ .kind = kind, .name = "" });
		strbuf_printf(out,
			      "\"><rect x=\"%u\" y=\"52\" width=\"10\" height=\"10\"/>"
			      "<text x=\"%u\" y=\"61\">%s</text></g>\n",
			      x, x + 14, name);
		x += width;
	}
}

void still_put(struct strbuf *out, const struct still *s)
{
	const struct profile *p = s->profile;
	struct profile_metric metric = profile_metric_get(p, s->metric);

	strbuf_puts(out, "<g id=\"still\">\n<text class=\"title\" x=\"10\" y=\"24\">");
	text_xml(out, s->title, TITLE_MAX);
	strbuf_puts(out, "</text>\n<text x=\"10\" y=\"42\">");
	struct strbuf total = { 0 };
	text_value(&total, profile_total(p, PROFILE_ROOT, s->metric), metric.unit);
	text_xml(out, strbuf_text(&total), SIZE_MAX); /* a unit may come from a stranger's trace */
	out->failed |= total.failed;
	strbuf_release(&total);
	strbuf_puts(out, ": ");
	text_xml(out, text_metric(metric.name), TITLE_MAX);
	if (*s->note) {
		strbuf_puts(out, "; ");
		text_xml(out, s->note, TITLE_MAX);
	}
	strbuf_puts(out, "</text>\n");
	put_legend(out, s);
	strbuf_printf(out, "<g id=\"frames\" transform=\"translate(%d 0)\">\n", PAD_PX);
	for (size_t i = 0; i < s->layout.rects.len; i++) {
		const struct flame_rect *r = &s->layout.rects.data[i];
		if (r->width >= ELEMENT_MIN_PX * UNITS_PER_PX)
			put_wide(out, s, r);
	}
	put_thin(out, s);
	strbuf_puts(out, "</g>\n</g>\n");
}
