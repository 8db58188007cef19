/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of places in a kernel. */
#include "cmd/annotate.h"

#include "base/bisect.h"
#include "base/utf8.h"
#include "symbolize/demangle.h"

#include <inttypes.h>
#include <string.h>

/* The first hit at or behind @offset. */
static size_t hits_from(const struct analysis_kernel_hits *h, uint64_t offset)
{
	return bisect(h ? h->hit_count : 0, i, h->hits[i].offset < offset);
}

uint64_t hits_between(const struct analysis_kernel_hits *h, uint64_t from, uint64_t to)
{
	uint64_t sum = 0;
	for (size_t i = hits_from(h, from); h && i < h->hit_count && h->hits[i].offset < to; i++)
		sum += h->hits[i].samples;
	return sum;
}

/* A line has room for the chief ones. */
#define REASONS_SHOWN 3
#define REASONS_MAX   64

void hits_reasons(struct strbuf *out, const struct analysis_kernel_hits *h, uint64_t from,
		  uint64_t to)
{
	struct {
		const char *text;
		uint64_t samples;
	} reasons[REASONS_MAX];
	size_t count = 0;
	uint64_t all = 0;

	for (size_t i = hits_from(h, from); h && i < h->hit_count && h->hits[i].offset < to; i++) {
		const struct analysis_hit *hit = &h->hits[i];
		size_t k = 0;
		all += hit->samples;
		while (k < count && strcmp(reasons[k].text, hit->reason) != 0)
			k++;
		if (!*hit->reason || k == REASONS_MAX)
			continue;
		if (k == count) {
			reasons[count].text = hit->reason;
			reasons[count++].samples = 0;
		}
		reasons[k].samples += hit->samples;
	}
	for (size_t n = 0; n < REASONS_SHOWN && all; n++) {
		size_t best = 0;
		for (size_t k = 1; k < count; k++)
			best = reasons[k].samples > reasons[best].samples ? k : best;
		if (!count || !reasons[best].samples)
			break;
		strbuf_puts(out, n ? ", " : "");
		utf8_append_safe(out, reasons[best].text, strlen(reasons[best].text));
		strbuf_printf(out, " %.0f%%", 100.0 * (double)reasons[best].samples / (double)all);
		reasons[best].samples = 0;
	}
}

bool annotated_has(const struct annotated *k, const struct device_function *f)
{
	return f->kernel ? !strcmp(f->kernel, k->kernel) : !strcmp(f->name, k->kernel);
}

void annotate_share(struct strbuf *out, const struct annotated *k, uint64_t samples)
{
	if (!k->hits)
		return;
	uint64_t all = k->hits->samples;
	if (samples)
		strbuf_printf(out, "%6.2f %9" PRIu64 "  ", 100.0 * (double)samples / (double)all,
			      samples);
	else
		strbuf_printf(out, "%16s  ", "");
}

void annotate_name(struct strbuf *out, const char *name, unsigned flags)
{
	struct strbuf text = { 0 };
	demangle(&text, name, flags);
	const char *shown = strbuf_text(&text);
	/* nvcc's mark of static functions, other in each build. */
	const char *end = strncmp(shown, "_INTERNAL_", 10) ? NULL : strstr(shown, "::");
	shown = end ? end + 2 : shown;
	utf8_append_safe(out, shown, strlen(shown));
	strbuf_release(&text);
}

void annotate_place(struct strbuf *out, const struct device_line *line)
{
	const char *file = analysis_source_name(line->file), *slash = strrchr(file, '/');
	const char *base = slash ? slash + 1 : file;
	utf8_append_safe(out, base, strlen(base));
	if (line->line)
		strbuf_printf(out, ":%" PRIu32, line->line);
}

uint64_t annotate_end(const struct annotated *k, size_t function, size_t index, size_t count,
		      const struct device_place *place)
{
	struct device_place next;
	if (place->length)
		return place->offset + place->length;
	if (index + 1 < count) {
		device_place_get(k->object, function, index + 1, &next);
		return next.offset;
	}
	return place->function->offset + place->function->size;
}
