/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/still.h"

#include "flame/colour.h"
#include "flame/flame.h"
#include "flame/look.h"
#include "flame/text.h"
#include "profile/diff.h"
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

static void put_theme(struct strbuf *out, enum flame_theme theme)
{
	for (unsigned group = 0; group < LOOK_GROUP_COUNT; group++) {
		for (unsigned shade = 0; shade < LOOK_SHADES; shade++) {
			struct colour c = flame_colour(theme, group, shade);
			strbuf_printf(out, ".%c%u{color:#%02x%02x%02x}", 'a' + (int)group, shade,
				      c.r, c.g, c.b);
		}
		struct colour hatch = flame_colour_hatch(theme, group);
		if (group == FRAME_IDLE || group == FRAME_MISSING)
			strbuf_printf(out, ".hatch-%c{stroke:#%02x%02x%02x}", 'a' + (int)group,
				      hatch.r, hatch.g, hatch.b);
		strbuf_putc(out, '\n');
	}
	struct colour text = flame_colour_text(theme), back = flame_colour_back(theme);
	struct colour match = flame_colour_match(), on = flame_colour_match_text();
	strbuf_printf(out, ".back{fill:#%02x%02x%02x}text{fill:#%02x%02x%02x}", back.r, back.g,
		      back.b, text.r, text.g, text.b);
	strbuf_printf(out,
		      ".new rect,.gone rect{stroke:#%02x%02x%02x}"
		      ".match{color:#%02x%02x%02x}.match text{fill:#%02x%02x%02x}\n",
		      text.r, text.g, text.b, match.r, match.g, match.b, on.r, on.g, on.b);
}

void still_put_colours(struct strbuf *out)
{
	put_theme(out, FLAME_LIGHT);
	strbuf_puts(out, "@media (prefers-color-scheme:dark){\n");
	put_theme(out, FLAME_DARK);
	strbuf_puts(out, "}\n");
}

static struct frame frame_of(const struct still *s, const struct flame_rect *r)
{
	return profile_frame_get(s->profile, profile_node(s->profile, r->node).frame);
}

static uint32_t row_y(const struct still *s, uint32_t row)
{
	return HEAD_PX + (s->inverted ? row : s->layout.rows - 1 - row) * ROW_PX;
}

static uint64_t value_of(const struct still *s, const struct flame_rect *r, int metric)
{
	return profile_total(s->profile, r->node, metric);
}

static uint64_t all_of(const struct still *s)
{
	return profile_total(s->profile, PROFILE_ROOT, s->is_diff ? DIFF_NOW : s->metric);
}

static struct look look_of(const struct still *s, const struct flame_rect *r,
			   const struct frame *frame)
{
	if (s->is_diff)
		return look_of_change(value_of(s, r, DIFF_NOW), value_of(s, r, DIFF_BASE),
				      all_of(s));
	return look_of_frame(frame);
}

/* "12 ms, 3.4 %", or "12 ms, 3.4 %; was 9 ms, +33 %". */
static void put_numbers(struct strbuf *out, const struct still *s, const struct flame_rect *r)
{
	const char *unit = profile_metric_get(s->profile, s->metric).unit;
	uint64_t now = value_of(s, r, s->is_diff ? DIFF_NOW : s->metric);

	text_value(out, now, unit);
	strbuf_puts(out, ", ");
	text_share(out, now, all_of(s));
	if (!s->is_diff)
		return;
	strbuf_puts(out, "; was ");
	text_value(out, value_of(s, r, DIFF_BASE), unit);
	strbuf_puts(out, ", ");
	size_t before = out->len;
	look_put_change(out, now, value_of(s, r, DIFF_BASE), all_of(s));
	if (out->len == before)
		strbuf_puts(out, "the same");
}

static void put_tooltip(struct strbuf *out, const struct still *s, const struct flame_rect *r,
			const struct frame *frame)
{
	struct strbuf numbers = { 0 };

	put_numbers(&numbers, s, r);
	text_xml(out, frame->name, TITLE_MAX);
	strbuf_puts(out, " (");
	text_xml(out, strbuf_text(&numbers), SIZE_MAX);
	strbuf_putc(out, ')');
	out->failed |= numbers.failed;
	strbuf_release(&numbers);
}

/* The share or change, where a tower of 1 % or more gets narrower by 2 %, or ends. */
static void put_part(struct strbuf *label, const struct still *s, const struct flame_rect *r,
		     size_t columns)
{
	const struct profile *p = s->profile;
	uint32_t parent = profile_node(p, r->node).parent;
	double value = (double)value_of(s, r, s->metric);
	double all = (double)profile_total(p, PROFILE_ROOT, s->metric);

	if (parent == PROFILE_NONE || value < 0.01 * all ||
	    label->len + strlen("  12.3 %") > columns)
		return;
	if (value > 0.98 * (double)profile_total(p, parent, s->metric) &&
	    (double)profile_self(p, r->node, s->metric) < value / 2)
		return;
	strbuf_puts(label, "  ");
	if (s->is_diff)
		look_put_change(label, value_of(s, r, DIFF_NOW), value_of(s, r, DIFF_BASE),
				all_of(s));
	else
		text_share(label, value_of(s, r, s->metric), all_of(s));
}

static void put_wide(struct strbuf *out, const struct still *s, const struct flame_rect *r)
{
	struct frame frame = frame_of(s, r);
	uint32_t y = row_y(s, r->row);
	uint32_t width_px = r->width / UNITS_PER_PX;
	/* Half a pixel of background between neighbours. */
	uint32_t width = r->width - UNITS_PER_PX / 2;

	strbuf_puts(out, "<g class=\"");
	look_put(out, look_of(s, r, &frame));
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
	struct pen pens[LOOK_GROUP_COUNT][LOOK_SHADES] = { 0 };

	for (size_t i = 0; i < s->layout.rects.len; i++) {
		const struct flame_rect *r = &s->layout.rects.data[i];
		if (r->width >= ELEMENT_MIN_PX * UNITS_PER_PX)
			continue;
		struct frame frame = frame_of(s, r);
		uint32_t y = s->inverted ? r->row : s->layout.rows - 1 - r->row;
		struct look look = look_of(s, r, &frame);
		pen_draw(&pens[look.group][look.shade], r->x, y, r->width);
	}

	strbuf_printf(out, "<g class=\"thin\" transform=\"translate(0 %d) scale(.1 %d)\">\n",
		      HEAD_PX + ROW_PX / 2, ROW_PX);
	for (int group = 0; group < LOOK_GROUP_COUNT; group++) {
		for (int shade = 0; shade < LOOK_SHADES; shade++) {
			struct strbuf *path = &pens[group][shade].path;
			if (path->len)
				strbuf_printf(out, "<path class=\"%c%d\" d=\"", 'a' + group, shade);
			strbuf_puts(out, strbuf_text(path));
			if (path->len)
				strbuf_puts(out, "\"/>\n");
			out->failed |= path->failed;
			strbuf_release(path);
		}
	}
	strbuf_puts(out, "</g>\n");
}

static void put_legend_item(struct strbuf *out, const struct still *s, struct look look,
			    const char *name, uint32_t *x)
{
	uint32_t width = 24 + (uint32_t)strlen(name) * 8;
	if (*x + width > s->width_px)
		return;
	strbuf_puts(out, "<g class=\"");
	look_put(out, look);
	strbuf_printf(out,
		      "\"><rect x=\"%u\" y=\"52\" width=\"10\" height=\"10\"/>"
		      "<text x=\"%u\" y=\"61\">%s</text></g>\n",
		      *x, *x + 14, name);
	*x += width;
}

static void put_legend(struct strbuf *out, const struct still *s)
{
	bool present[FRAME_KIND_COUNT] = { false }, has_own = false;
	uint32_t x = PAD_PX;

	if (s->is_diff) {
		put_legend_item(out, s, look_of_change(2, 1, 1), "more", &x);
		put_legend_item(out, s, look_of_change(1, 0, 1), "new", &x);
		put_legend_item(out, s, look_of_change(1, 1, 1), "same", &x);
		put_legend_item(out, s, look_of_change(1, 2, 1), "less", &x);
		put_legend_item(out, s, look_of_change(0, 1, 1), "gone", &x);
		return;
	}
	for (size_t i = 0; i < s->layout.rects.len; i++) {
		struct frame frame = frame_of(s, &s->layout.rects.data[i]);
		present[frame.kind] = true;
		has_own |= *look_of_frame(&frame).word && frame.kind == FRAME_PYTHON;
	}
	for (enum frame_kind kind = FRAME_PROCESS; kind < FRAME_KIND_COUNT; kind++) {
		struct look look = look_of_frame(&(struct frame){ .kind = kind, .name = "" });
		if (present[kind] && kind != FRAME_BOUNDARY)
			put_legend_item(out, s, look, text_kind(kind), &x);
		look.word = " own";
		if (kind == FRAME_PYTHON && has_own)
			put_legend_item(out, s, look, "own code", &x);
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
	text_value(&total, all_of(s), metric.unit);
	text_xml(out, strbuf_text(&total), SIZE_MAX); /* a unit may come from a stranger's trace */
	out->failed |= total.failed;
	strbuf_release(&total);
	strbuf_puts(out, ": ");
	text_xml(out, s->is_diff ? "what changed" : text_metric(metric.name), TITLE_MAX);
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
