/* SPDX-License-Identifier: Apache-2.0 */
/* The instructions of a kernel, with samples, stalls, and the source lines that they come from. */
#include "cmd/annotate.h"

#include "base/utf8.h"
#include "device/occupancy.h"
#include "device/stall.h"
#include "symbolize/demangle.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* A line that has this share of a kernel's samples is marked. */
#define HOT_SHARE 0.05
/* Instructions shown around one that was hit; the rest of a long kernel is left out. */
#define CONTEXT 6

static void add_facts(struct strbuf *out, const struct annotated *k,
		      const struct device_function *f)
{
	struct device_occupancy occupancy;
	const struct {
		const char *text;
		uint32_t value;
	} facts[] = {
		{ "registers", f->facts.registers },
		{ "scalar registers", f->facts.scalar_registers },
		{ "bytes shared memory", f->facts.shared_bytes },
		{ "bytes private memory", f->facts.private_bytes },
		{ "bytes spilled", f->facts.spill_bytes },
		{ "work items an instruction", f->facts.simd },
	};
	const char *comma = "";
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++) {
		if (!facts[i].value)
			continue;
		strbuf_printf(out, "%s%" PRIu32 " %s", *comma ? comma : "; ", facts[i].value,
			      facts[i].text);
		comma = ", ";
	}
	if (device_occupancy(k->object, &f->facts, &occupancy) == 0)
		strbuf_printf(out, "; its registers let %" PRIu32 " of %" PRIu32 " %s run",
			      occupancy.possible, occupancy.most, occupancy.unit);
}

static void add_chain(struct strbuf *out, const struct device_place *p)
{
	strbuf_printf(out, "%*s; ", 4, "");
	for (size_t i = 0; i < p->line_count; i++) {
		strbuf_puts(out, i ? " > " : "");
		annotate_name(out, p->lines[i].name, 0);
		strbuf_putc(out, ' ');
		annotate_place(out, &p->lines[i]);
	}
	strbuf_putc(out, '\n');
}

/* Apart from columns. */
static bool is_same_line(const struct device_place *a, const struct device_place *b)
{
	if (a->line_count != b->line_count)
		return false;
	for (size_t i = 0; i < a->line_count; i++) {
		if (a->lines[i].line != b->lines[i].line || a->lines[i].file != b->lines[i].file ||
		    a->lines[i].name != b->lines[i].name)
			return false;
	}
	return true;
}

/* "; waits for 110 load.ugm.d32x8t.a64, nested.cl:12" */
static void add_awaited(struct strbuf *out, const struct annotated *k, size_t function,
			size_t index)
{
	int64_t source = device_stall_source(k->object, function, index);
	struct device_place p;

	if (source < 0)
		return;
	device_place_get(k->object, function, (size_t)source, &p);
	strbuf_printf(out, "; waits for %" PRIx64, p.offset - p.function->offset);
	/* The operation, behind "(W&f0.0)". */
	const char *text = p.text ? p.text : "";
	text += *text == '(' ? strcspn(text, ")") + strspn(text + strcspn(text, ")"), ") ") : 0;
	size_t size = strcspn(text, " ");
	if (size)
		strbuf_putc(out, ' ');
	utf8_append_safe(out, text, size);
	if (p.line_count) {
		strbuf_puts(out, ", ");
		annotate_place(out, &p.lines[p.line_count - 1]);
	}
}

/* "[sbid 71%, send 20%; waits for ...]" */
static void add_reasons(struct strbuf *out, const struct annotated *k, size_t function,
			size_t index, const struct device_place *p, uint64_t end)
{
	struct strbuf text = { 0 };

	hits_reasons(&text, k->hits, p->offset, end);
	if (strcasestr(strbuf_text(&text), "sbid"))
		add_awaited(&text, k, function, index);
	if (text.len)
		strbuf_printf(out, "  [%s]", strbuf_text(&text));
	strbuf_release(&text);
}

/* Where what is behind the instructions begins: most texts are shorter. */
#define TEXT_COLUMNS 44

static void add_instruction(struct strbuf *out, const struct annotated *k, size_t function,
			    size_t index, size_t count, const struct device_place *p)
{
	uint64_t end = annotate_end(k, function, index, count, p);
	uint64_t samples = hits_between(k->hits, p->offset, end);
	bool is_hot = k->hits && (double)samples >= HOT_SHARE * (double)k->hits->samples && samples;

	annotate_share(out, k, samples);
	strbuf_printf(out, "%s%6" PRIx64 ":  ", is_hot ? "> " : "  ",
		      p->offset - p->function->offset);
	size_t begin = out->len;
	if (p->text)
		utf8_append_safe(out, p->text, strlen(p->text));
	else if (p->bytes.size)
		for (size_t i = 0; i < p->bytes.size; i++)
			strbuf_printf(out, "%02x ", p->bytes.data[i]);
	else
		strbuf_printf(out, "(%" PRIu64 " bytes)", end - p->offset);
	bool has_reasons = samples && k->show_stalls;
	if (has_reasons || p->assembly)
		for (size_t n = out->len - begin; n < TEXT_COLUMNS; n++)
			strbuf_putc(out, ' ');
	if (has_reasons)
		add_reasons(out, k, function, index, p, end);
	if (p->assembly) {
		strbuf_puts(out, "  // ");
		utf8_append_safe(out, p->assembly, strlen(p->assembly));
	}
	while (out->len && !out->failed && out->data[out->len - 1] == ' ')
		out->data[--out->len] = '\0';
	strbuf_putc(out, '\n');
}

/* Which of the places are shown: all without samples, else those near a hit. */
static bool *choose(const struct annotated *k, size_t function, size_t count)
{
	bool *shown = calloc(count ? count : 1, sizeof(*shown));
	for (size_t i = 0; shown && i < count; i++) {
		struct device_place p;
		device_place_get(k->object, function, i, &p);
		uint64_t end = annotate_end(k, function, i, count, &p);
		if (!k->hits) {
			shown[i] = true;
			continue;
		}
		if (!hits_between(k->hits, p.offset, end))
			continue;
		size_t from = i > CONTEXT ? i - CONTEXT : 0;
		for (size_t n = from; n < count && n <= i + CONTEXT; n++)
			shown[n] = true;
	}
	return shown;
}

static int add_function(struct strbuf *out, const struct annotated *k, size_t function)
{
	const struct device_function *f = device_function_get(k->object, function);
	int64_t listed = device_place_count(k->object, function);
	if (listed < 0)
		return -ENOMEM;
	size_t count = (size_t)listed;
	CLEANUP_FREE bool *shown = choose(k, function, count);
	if (!shown)
		return -ENOMEM;
	struct device_place last = { .line_count = 0 };
	size_t skipped = 0;

	strbuf_puts(out, "\n");
	annotate_name(out, f->name, DEMANGLE_PARAMS);
	strbuf_printf(out, " at 0x%" PRIx64 ", %" PRIu64 " bytes", f->offset, f->size);
	add_facts(out, k, f);
	strbuf_puts(out, k->hits ? "\n     %   samples     offset  instruction\n" : "\n");
	for (size_t i = 0; i < count; i++) {
		struct device_place p;
		if (!shown[i]) {
			skipped++;
			continue;
		}
		if (skipped)
			strbuf_printf(out, "    ... %zu more\n", skipped);
		device_place_get(k->object, function, i, &p);
		if (p.line_count && (skipped || !is_same_line(&p, &last)))
			add_chain(out, &p);
		skipped = 0;
		last = p;
		add_instruction(out, k, function, i, count, &p);
	}
	if (skipped)
		strbuf_printf(out, "    ... %zu more\n", skipped);
	return 0;
}

int annotate_assembly(struct strbuf *out, const struct annotated *k)
{
	if (!k->object) {
		strbuf_puts(out, "\nInstructions: the capture does not hold the kernel's code.\n");
		return 0;
	}
	for (size_t i = 0; i < device_function_count(k->object); i++) {
		const struct device_function *f = device_function_get(k->object, i);
		if (!annotated_has(k, f) ||
		    (k->hits && !hits_between(k->hits, f->offset, f->offset + f->size)))
			continue;
		if (add_function(out, k, i) < 0)
			return -ENOMEM;
	}
	return 0;
}

int annotate_stalls(struct strbuf *out, const struct annotated *k)
{
	struct {
		const char *reason;
		uint64_t samples;
	} reasons[64];
	size_t count = 0;

	for (size_t i = 0; k->hits && i < k->hits->hit_count; i++) {
		const struct analysis_hit *hit = &k->hits->hits[i];
		size_t n = 0;
		while (n < count && strcmp(reasons[n].reason, hit->reason) != 0)
			n++;
		if (!*hit->reason || n == ARRAY_SIZE(reasons))
			continue;
		if (n == count) {
			reasons[count].reason = hit->reason;
			reasons[count++].samples = 0;
		}
		reasons[n].samples += hit->samples;
	}
	strbuf_puts(out, count ? "\nWhat its instructions wait for:\n"
			       : "\nStalls: the samples carry no reasons.\n");
	for (size_t shown = 0; shown < count; shown++) {
		size_t best = 0;
		for (size_t n = 1; n < count; n++)
			best = reasons[n].samples > reasons[best].samples ? n : best;
		if (!reasons[best].samples)
			break;
		const char *meaning = device_stall_meaning(reasons[best].reason);
		annotate_share(out, k, reasons[best].samples);
		utf8_append_safe(out, reasons[best].reason, strlen(reasons[best].reason));
		strbuf_printf(out, "%s%s\n", meaning ? ": " : "", meaning ? meaning : "");
		reasons[best].samples = 0;
	}
	return 0;
}
