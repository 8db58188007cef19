/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/trust.h"

#include "base/cleanup.h"
#include "capture/field.h"
#include "cmd/phrase.h"

#include <string.h>

struct trust {
	struct strbuf *out;
	unsigned width, line, column;
	bool is_full;
};

/* Put one more statement on the two lines; what has no room is left to the quality view. */
static void trust_add(struct trust *t, const struct strbuf *text)
{
	size_t size = text->len + 2;
	if (t->is_full || !text->len)
		return;
	if (t->column + size > t->width && t->column > strlen(PHRASE_INDENT)) {
		if (t->line == 2 || strlen(PHRASE_INDENT) + size > t->width) {
			t->is_full = true;
			return;
		}
		strbuf_puts(t->out, ",\n" PHRASE_INDENT);
		t->line++;
		t->column = (unsigned)strlen(PHRASE_INDENT);
	} else if (t->column > strlen(PHRASE_INDENT)) {
		strbuf_puts(t->out, ", ");
		t->column += 2;
	}
	strbuf_add(t->out, text->data, text->len);
	t->column += (unsigned)text->len;
}

static uint64_t sum_lost(const struct analysis_summary *s, const char *what)
{
	uint64_t count = 0;
	for (size_t i = 0; i < s->lost_count; i++) {
		if (!strcmp(s->lost[i].what, what))
			count += s->lost[i].count;
	}
	return count;
}

/* "none lost", "12 lost", "12 and 2 GPU buffers lost": nobody knows how many samples were in these. */
static void put_lost(struct strbuf *text, uint64_t lost, uint64_t buffers)
{
	if (lost)
		text_count(text, lost);
	else if (!buffers)
		strbuf_puts(text, "none");
	if (lost && buffers)
		strbuf_puts(text, " and ");
	if (buffers)
		phrase_count(text, buffers, "GPU buffer");
	strbuf_puts(text, " lost");
}

/* What trust_samples() says of samples. */
static bool is_sample(const char *what)
{
	return !strcmp(what, "cpu-sample") || !strcmp(what, "pc-sample") ||
	       !strcmp(what, "gpu-buffer");
}

static void trust_samples(struct trust *t, const struct analysis_summary *s, struct strbuf *text)
{
	uint64_t lost = sum_lost(s, "cpu-sample") + sum_lost(s, "pc-sample");
	uint64_t buffers = sum_lost(s, "gpu-buffer");
	strbuf_reset(text);
	if (s->cpu_samples || s->samples || lost || buffers) {
		phrase_count(text, s->cpu_samples + s->samples, "sample");
		strbuf_puts(text, ", ");
		put_lost(text, lost, buffers);
	}
	trust_add(t, text);

	strbuf_reset(text);
	if (s->span_ns && !s->ops)
		strbuf_puts(text, "times of a trace, not samples");
	trust_add(t, text);

	strbuf_reset(text);
	for (size_t i = 0; i < s->lost_count; i++) {
		if (is_sample(s->lost[i].what) || !s->lost[i].count)
			continue;
		strbuf_puts(text, text->len ? ", lost " : "lost ");
		phrase_name(text, s->lost[i].what);
		strbuf_puts(text, ": ");
		text_count(text, s->lost[i].count);
	}
	trust_add(t, text);
}

/* More than these are not told. */
#define CAUSES_MAX 2

/* Why the others are not, the most frequent cause first: " (0.2 % jit, 0.1 % unreadable)". */
static void put_causes(const struct analysis_summary *s, uint64_t all, struct strbuf *text)
{
	uint64_t below = UINT64_MAX;
	uint32_t told = 0;

	while (told < CAUSES_MAX) {
		uint32_t most = 0;
		for (uint32_t i = 1; i < STACK_CAUSE_COUNT; i++) {
			if (s->cpu_by_cause[i] < below &&
			    (!most || s->cpu_by_cause[i] > s->cpu_by_cause[most]))
				most = i;
		}
		const char *name = most && s->cpu_by_cause[most] ? stack_cause_name(most) : NULL;
		if (!name)
			break;
		below = s->cpu_by_cause[most];
		strbuf_printf(text, "%s%.1f %% %s", told++ ? ", " : " (",
			      phrase_percent(below, all), name);
	}
	if (told)
		strbuf_puts(text, ")");
}

static void trust_stacks(struct trust *t, const struct analysis_summary *s, struct strbuf *text)
{
	uint64_t all = s->cpu_samples + s->launches;
	bool is_without =
		!s->cpu_samples && s->ops && !s->ops_linked; /* a trace of devices alone */

	strbuf_reset(text);
	if (all && !is_without) {
		strbuf_printf(text, "stacks whole %.1f %%",
			      phrase_percent(s->cpu_rooted + s->launches_rooted, all));
		put_causes(s, all, text);
	}
	trust_add(t, text);
	strbuf_reset(text);
	if (s->cpu_python_late)
		strbuf_printf(text, "Python not yet found in %.1f %%",
			      phrase_percent(s->cpu_python_late, s->cpu_samples));
	trust_add(t, text);
	strbuf_reset(text);
	if (s->launches_lent < s->launches && s->launches_lent)
		strbuf_printf(text, "1 launch in %.1f has a stack of its own, lent to the others",
			      (double)s->launches / (double)(s->launches - s->launches_lent));
	trust_add(t, text);
}

static void trust_device(struct trust *t, const struct analysis_summary *s, struct strbuf *text)
{
	const struct {
		const char *rule;
		uint64_t samples;
	} rules[] = {
		{ "id", s->by_correlation },
		{ "time", s->by_overlap },
		{ "launches", s->by_launches },
		{ "nobody", s->by_nobody },
	};
	strbuf_reset(text);
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		if (!rules[i].samples)
			continue;
		strbuf_printf(text, "%s %s %.1f %%", text->len ? "," : "device samples by",
			      rules[i].rule, phrase_percent(rules[i].samples, s->samples));
	}
	trust_add(t, text);

	strbuf_reset(text);
	if (s->ops) {
		strbuf_puts(text, "linked ");
		text_count(text, s->ops_linked);
		strbuf_putc(text, '/');
		text_count(text, s->ops);
	}
	trust_add(t, text);

	strbuf_reset(text);
	if (s->ops && s->has_python) {
		strbuf_puts(text, "under Python ");
		text_count(text, s->ops_under_python);
		strbuf_putc(text, '/');
		text_count(text, s->ops);
	}
	trust_add(t, text);
}

/* "1 op of 17.4 s, 23,000x its median, not averaged in" */
static void trust_outliers(struct trust *t, const struct analysis_summary *s, struct strbuf *text)
{
	const struct outlier_summary *most = s->outliers;
	for (size_t i = 1; i < s->outlier_count; i++)
		most = s->outliers[i].ns > most->ns ? &s->outliers[i] : most;
	strbuf_reset(text);
	if (s->outlier_count) {
		phrase_count(text, s->outlier_count, "outlier");
		strbuf_puts(text, s->outlier_count > 1 ? " (up to " : " (");
		text_duration(text, most->ns);
		strbuf_puts(text, ", ");
		text_count(text, most->ns / most->median_ns);
		strbuf_puts(text, "x the median) not averaged in");
	}
	trust_add(t, text);
}

/* Where one gap is most of the time, shares tell of that gap and not of the program. */
static void trust_gap(struct trust *t, const struct analysis_summary *s, struct strbuf *text)
{
	uint64_t gap = s->all.longest_gap_ns, window = phrase_window(s);
	strbuf_reset(text);
	if (s->device_count == 1 && s->all.ops > 1 && window && gap > window / 2) {
		strbuf_puts(text, "one idle gap of ");
		text_duration(text, gap);
		strbuf_printf(text, " is %.1f %% of it", phrase_percent(gap, window));
	}
	trust_add(t, text);
}

static void trust_window(struct trust *t, const struct analysis_summary *s, struct strbuf *text)
{
	strbuf_reset(text);
	if (s->graphs_unrecorded) {
		strbuf_puts(text, "idle unreliable: graph launches without work ");
		text_count(text, s->graphs_unrecorded);
		strbuf_putc(text, '/');
		text_count(text, s->graphs);
	}
	trust_add(t, text);

	strbuf_reset(text);
	if (s->launches_replayed) {
		strbuf_puts(text, "graph replay ");
		text_count(text, s->launches_replayed);
	}
	trust_add(t, text);

	strbuf_reset(text);
	if (s->launches_before) {
		strbuf_puts(text, "launched before the recording ");
		text_count(text, s->launches_before);
	}
	trust_add(t, text);

	strbuf_reset(text);
	if (s->all.clipped) {
		phrase_count(text, s->all.clipped, "span");
		strbuf_puts(text, " clipped");
	}
	trust_add(t, text);

	strbuf_reset(text);
	if (s->warmup_steps) {
		phrase_count(text, s->warmup_steps, "warm-up step");
		strbuf_puts(text, " left out");
	}
	trust_add(t, text);

	strbuf_reset(text);
	if (s->is_window_of_steps && s->steps == 1)
		strbuf_puts(text, "1 step, no spread");
	trust_add(t, text);
}

/* What torch.profiler was told to note slows the host down. */
static void trust_tracing(struct trust *t, const struct analysis *a, struct strbuf *text)
{
	static const char *const costs[] = { "with_stack", "record_shapes", "profile_memory" };
	strbuf_reset(text);
	for (size_t i = 0; i < ARRAY_SIZE(costs); i++) {
		char key[64];
		snprintf(key, sizeof(key), "trace.%s", costs[i]);
		const char *value = analysis_info(a, key);
		if (value && !strcmp(value, "1"))
			strbuf_printf(text, "%s%s",
				      text->len ? ", " : "host time includes tracing cost (",
				      costs[i]);
	}
	if (text->len)
		strbuf_putc(text, ')');
	trust_add(t, text);
}

static void trust_missing(struct trust *t, const struct analysis_summary *s, struct strbuf *text)
{
	for (size_t i = 0; i < s->missing_count; i++) {
		/* Samples of cpu-clock are as good; the quality view tells. */
		if (!strcmp(s->missing[i].key, "cycles"))
			continue;
		strbuf_reset(text);
		strbuf_puts(text, "no ");
		phrase_name(text, s->missing[i].key);
		size_t brief = text->len;
		strbuf_puts(text, " (");
		phrase_name(text, s->missing[i].value);
		strbuf_putc(text, ')');
		/* The reason is in the quality view when the line has no room for it. */
		if (strlen(PHRASE_INDENT) + text->len > t->width ||
		    (t->line == 2 && t->column + text->len + 2 > t->width)) {
			struct strbuf key = { 0 };
			strbuf_add(&key, strbuf_text(text), brief);
			trust_add(t, &key);
			strbuf_release(&key);
			continue;
		}
		trust_add(t, text);
	}
}

static bool is_filtered(const struct analysis_filter *f)
{
	return f->pid || f->tid || f->comm || f->rank || f->host || f->run || f->device ||
	       f->stream || f->scope || f->kernel || f->time || f->step;
}

static void put_nothing(struct strbuf *out, const struct view *v)
{
	const struct analysis_summary *s = v->s;
	if (is_filtered(v->filter)) {
		strbuf_puts(out, "nothing is left by the filters");
		return;
	}
	strbuf_puts(out, "nothing was recorded");
	if (s->end_ns > s->begin_ns) {
		strbuf_puts(out, ": nothing ran in ");
		text_duration(out, s->end_ns - s->begin_ns);
	}
}

void trust_lines(struct strbuf *out, const struct view *v, unsigned width)
{
	struct strbuf text = { 0 };
	struct trust t = {
		.out = out,
		.width = width ? width : UINT32_MAX / 2,
		.line = 1,
		.column = (unsigned)strlen(PHRASE_INDENT),
	};

	strbuf_puts(out, "trust       ");
	trust_samples(&t, v->s, &text);
	trust_outliers(&t, v->s, &text);
	trust_gap(&t, v->s, &text);
	trust_stacks(&t, v->s, &text);
	trust_device(&t, v->s, &text);
	trust_window(&t, v->s, &text);
	trust_tracing(&t, v->a, &text);
	trust_missing(&t, v->s, &text);
	if (t.column == strlen(PHRASE_INDENT))
		put_nothing(out, v);
	strbuf_putc(out, '\n');
	strbuf_release(&text);
}
