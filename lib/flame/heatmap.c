/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/heatmap.h"

#include "flame/embedded.h"
#include "flame/heat.h"
#include "flame/pack.h"
#include "flame/text.h"
#include "profile/profile.h"

#include <errno.h>
#include <inttypes.h>

#define LEVELS     12
#define LEFT_PX    72
#define TOP_PX     72
#define ROW_PX     8
#define ROW_LOW_PX 5 /* in a page, where a flame graph is below */
#define FOOT_PX    28
#define WIDE_PX    1110 /* of the grid, for a window of 1200 */
#define SQUARE_PX  48   /* wider, a column is no longer a column */
#define LABEL_PX   110  /* of a time */
#define TITLE_MAX  1000

struct drawing {
	const struct heat *h;
	const struct heatmap_options *opt;
	uint32_t column_px, row_px, grid_px, width_px, height_px;
	uint64_t max;
};

/* Sequential scales, told apart by lightness alone; the first and the last of each theme. */
static const uint8_t scale_light[2][3] = { { 255, 228, 196 }, { 128, 8, 28 } };
static const uint8_t scale_dark[2][3] = { { 74, 34, 24 }, { 255, 214, 102 } };

static void put_scale(struct strbuf *out, const uint8_t ends[2][3])
{
	for (int level = 0; level < LEVELS; level++) {
		int c[3];
		for (int i = 0; i < 3; i++)
			c[i] = ends[0][i] + (ends[1][i] - ends[0][i]) * level / (LEVELS - 1);
		strbuf_printf(out, ".heat .v%d{fill:#%02x%02x%02x}", level, c[0], c[1], c[2]);
	}
	strbuf_putc(out, '\n');
}

static void put_style(struct strbuf *out)
{
	strbuf_puts(out, "<style>\n"
			 ".heat{font:12px ui-monospace,\"DejaVu Sans Mono\",\"Liberation "
			 "Mono\",Menlo,Consolas,monospace;display:block}\n"
			 ".heat .title{font-size:16px;font-weight:bold}"
			 ".heat text{white-space:pre;fill:#101010}.heat .back{fill:#fff}"
			 ".heat .grid{fill:#f1f2f4}"
			 ".heat .range{fill:#0b57d0;fill-opacity:.3;pointer-events:none}\n");
	put_scale(out, scale_light);
	strbuf_puts(out,
		    "@media (prefers-color-scheme:dark){\n"
		    ".heat text{fill:#f0f0f0}.heat .back{fill:#181a1e}.heat .grid{fill:#23262c}"
		    ".heat .range{fill:#8ab4f8}\n");
	put_scale(out, scale_dark);
	strbuf_puts(out, "}\n</style>\n");
}

/* A time of the axes: as short as the step allows. */
static void put_time(struct strbuf *out, uint64_t ns)
{
	uint64_t whole = ns / 1000000000, rest = ns % 1000000000;
	int digits = 9;

	for (; digits && rest % 10 == 0; digits--)
		rest /= 10;
	strbuf_printf(out, "%" PRIu64, whole);
	if (digits)
		strbuf_printf(out, ".%0*" PRIu64, digits, rest);
	strbuf_puts(out, " s");
}

/* ", 12.3 %" of a piece, where the metric is a time. */
static void put_part(struct strbuf *out, const struct drawing *d, uint64_t value)
{
	struct strbuf share = { 0 };
	if (!d->h->metric->is_duration)
		return;
	strbuf_puts(out, ", ");
	text_share(&share, value, heat_piece_ns(d->h));
	text_xml(out, strbuf_text(&share), SIZE_MAX); /* "< 0.1 %" */
	out->failed |= share.failed;
	strbuf_release(&share);
}

static unsigned level_of(const struct drawing *d, uint64_t value)
{
	unsigned level = (unsigned)((double)value / (double)d->max * LEVELS);
	return level < LEVELS ? level : LEVELS - 1;
}

/* When a piece begins, from the origin. */
static uint64_t piece_time(const struct drawing *d, uint64_t piece)
{
	return d->h->begin_ns - d->h->origin_ns + piece * heat_piece_ns(d->h);
}

static void put_cell(struct strbuf *out, const struct drawing *d, uint32_t column, uint32_t row)
{
	const struct heat *h = d->h;
	uint64_t piece = (uint64_t)column * HEAT_ROWS + row, value = h->values[piece];

	if (!value)
		return;
	strbuf_printf(out,
		      "<rect class=\"v%u\" x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\"><title>",
		      level_of(d, value), column * d->column_px, d->grid_px - (row + 1) * d->row_px,
		      d->column_px > 3 ? d->column_px - 1 : d->column_px, d->row_px - 1);
	put_time(out, piece_time(d, piece));
	strbuf_puts(out, " to ");
	put_time(out, piece_time(d, piece + 1));
	strbuf_puts(out, ": ");
	text_value(out, value, h->metric->unit);
	put_part(out, d, value);
	strbuf_puts(out, "</title></rect>\n");
}

static void put_axes(struct strbuf *out, const struct drawing *d)
{
	const struct heat *h = d->h;
	uint32_t every = LABEL_PX / d->column_px + 1;

	for (uint32_t i = 0; i <= 4; i++) {
		strbuf_printf(out, "<text x=\"%d\" y=\"%u\" text-anchor=\"end\">+", LEFT_PX - 6,
			      TOP_PX + d->grid_px - i * d->grid_px / 4 + 4);
		text_value(out, h->column_ns * i / 4, "ns");
		strbuf_puts(out, "</text>\n");
	}
	for (uint32_t i = 0; i < h->columns; i += every) {
		if (i && LEFT_PX + i * d->column_px + LABEL_PX > d->width_px)
			break;
		strbuf_printf(out, "<text x=\"%u\" y=\"%u\">", LEFT_PX + i * d->column_px,
			      TOP_PX + d->grid_px + 16);
		put_time(out, piece_time(d, (uint64_t)i * HEAT_ROWS));
		strbuf_puts(out, "</text>\n");
	}
}

static void put_legend(struct strbuf *out, const struct drawing *d)
{
	uint32_t x = LEFT_PX;

	strbuf_printf(out, "<text x=\"%u\" y=\"60\" text-anchor=\"end\">0</text>\n", x - 6);
	for (int level = 0; level < LEVELS; level++, x += 16)
		strbuf_printf(out,
			      "<rect class=\"v%d\" x=\"%u\" y=\"51\" width=\"16\" height=\"10\"/>",
			      level, x);
	strbuf_printf(out, "<text x=\"%u\" y=\"60\">", x + 6);
	text_value(out, d->max, d->h->metric->unit);
	put_part(out, d, d->max);
	strbuf_puts(out, " in ");
	text_value(out, heat_piece_ns(d->h), "ns");
	strbuf_puts(out, "</text>\n");
}

static void put_head(struct strbuf *out, const struct drawing *d)
{
	const struct heat *h = d->h;

	strbuf_puts(out, "<text class=\"title\" x=\"10\" y=\"24\">");
	text_xml(out, d->opt->title ? d->opt->title : "Heat map", TITLE_MAX);
	strbuf_puts(out, "</text>\n<text x=\"10\" y=\"42\">");
	text_value(out, profile_total(h->profile, PROFILE_ROOT, 0), h->metric->unit);
	strbuf_puts(out, ": ");
	text_xml(out, text_metric(h->metric->name), TITLE_MAX);
	strbuf_puts(out, "; a column is ");
	text_value(out, h->column_ns, "ns");
	strbuf_puts(out, ", from the bottom up");
	if (d->opt->note && *d->opt->note) {
		strbuf_puts(out, "; ");
		text_xml(out, d->opt->note, TITLE_MAX);
	}
	strbuf_puts(out, "</text>\n");
}

static void put_map(struct strbuf *out, const struct drawing *d)
{
	const struct heat *h = d->h;

	strbuf_printf(out,
		      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
		      "viewBox=\"0 0 %u %u\" role=\"img\" aria-labelledby=\"heat-name\" "
		      "class=\"heat\">\n<title id=\"heat-name\">",
		      d->width_px, d->height_px, d->width_px, d->height_px);
	text_xml(out, d->opt->title ? d->opt->title : "Heat map", SIZE_MAX);
	strbuf_puts(out, "</title>\n");
	put_style(out);
	strbuf_puts(out, "<rect class=\"back\" width=\"100%\" height=\"100%\"/>\n");
	put_head(out, d);
	put_legend(out, d);
	put_axes(out, d);
	strbuf_printf(out,
		      "<g id=\"pieces\" transform=\"translate(%d %d)\" data-column=\"%u\" "
		      "data-row=\"%u\" data-rows=\"%u\" data-columns=\"%u\" data-begin=\"%" PRIu64
		      "\" data-piece=\"%" PRIu64 "\">\n"
		      "<rect class=\"grid\" width=\"%u\" height=\"%u\"/>\n",
		      LEFT_PX, TOP_PX, d->column_px, d->row_px, HEAT_ROWS, h->columns,
		      piece_time(d, 0), heat_piece_ns(h), h->columns * d->column_px, d->grid_px);
	for (uint32_t column = 0; column < h->columns; column++) {
		for (uint32_t row = 0; row < HEAT_ROWS; row++)
			put_cell(out, d, column, row);
	}
	strbuf_puts(out, "</g>\n</svg>\n");
}

/*
 * What the script needs: three streams of LEB128 numbers, each with its length in bytes before it
 * (u32 LE), packed as flame/pack.h says. Of each slice, in order: how much its piece is more than
 * the one before; its node, less that before where the piece is the same; its value.
 */
static int put_slices(struct strbuf *out, const struct heat *h)
{
	struct strbuf streams[3] = { 0 };
	CLEANUP(packer_release) struct packer k = { 0 };
	uint32_t piece = 0, node = 0;
	bool failed = false;

	vec_for_each(&h->slices, s) {
		pack_number(&streams[0], s->piece - piece);
		pack_number(&streams[1], s->piece == piece ? s->node - node : s->node);
		pack_number(&streams[2], s->value);
		piece = s->piece;
		node = s->node;
	}
	strbuf_printf(out, "<script type=\"text/plain\" id=\"slices\" data-count=\"%zu\">",
		      h->slices.len);
	for (size_t i = 0; i < ARRAY_SIZE(streams); i++) {
		size_t size = streams[i].len;
		uint8_t head[4] = { (uint8_t)size, (uint8_t)(size >> 8), (uint8_t)(size >> 16),
				    (uint8_t)(size >> 24) };
		packer_add(&k, head, sizeof(head));
		packer_add(&k, strbuf_text(&streams[i]), size);
		failed |= streams[i].failed;
		strbuf_release(&streams[i]);
	}
	int rc = packer_end(&k, out);
	strbuf_puts(out, "</script>\n");
	return failed ? -ENOMEM : rc;
}

static int write_page(FILE *out, const struct drawing *d, const char *above, struct err *err)
{
	struct strbuf below = { 0 };
	struct flame_options flame = {
		.format = FLAME_HTML,
		.title = d->opt->title ? d->opt->title : "Heat map",
		.note = "all of the time; drag over the map above for a part",
		.full = d->opt->full,
		.above = above,
	};
	int rc = put_slices(&below, d->h);
	strbuf_puts(&below, "<script>\n(() => {\n\"use strict\";\n");
	strbuf_add(&below, heat_script, heat_script_size);
	strbuf_puts(&below, "})();\n</script>\n");
	if (rc < 0 || strbuf_finish(&below) < 0)
		rc = err_set(err, -ENOMEM, "cannot draw the heat map");
	flame.below = strbuf_text(&below);
	if (rc >= 0)
		rc = flame_write(out, d->h->profile, &flame, err);
	strbuf_release(&below);
	return rc;
}

static int write_picture(FILE *out, const struct drawing *d, const struct strbuf *map,
			 struct err *err)
{
	static const char head[] =
		"<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n";
	if (d->opt->format == FLAME_HTML)
		return write_page(out, d, map->data, err);
	errno = 0;
	if (fputs(head, out) == EOF || fwrite(map->data, 1, map->len, out) != map->len)
		return err_set(err, errno ? -errno : -EIO, "cannot write the heat map");
	return 0;
}

int heatmap_write(FILE *out, const struct heat *h, const struct heatmap_options *opt,
		  struct err *err)
{
	struct drawing d = { .h = h, .opt = opt, .column_px = WIDE_PX / h->columns };
	struct strbuf map = { 0 };

	if (d.column_px > SQUARE_PX)
		d.column_px = SQUARE_PX;
	if (!d.column_px)
		d.column_px = 1;
	d.width_px = LEFT_PX + h->columns * d.column_px + 10;
	if (d.width_px < 900)
		d.width_px = 900;
	d.row_px = opt->format == FLAME_HTML ? ROW_LOW_PX : ROW_PX;
	d.grid_px = HEAT_ROWS * d.row_px;
	d.height_px = TOP_PX + d.grid_px + FOOT_PX;
	for (size_t i = 0; i < (size_t)h->columns * HEAT_ROWS; i++)
		d.max = h->values[i] > d.max ? h->values[i] : d.max;

	put_map(&map, &d);
	int rc = strbuf_finish(&map) < 0 ? err_set(err, -ENOMEM, "cannot draw the heat map")
					 : write_picture(out, &d, &map, err);
	strbuf_release(&map);
	return rc;
}
