/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verdict.h"

#include "base/cleanup.h"
#include "base/utf8.h"
#include "capture/field.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define INDENT "            "

static const struct {
	const char *title, *key;
} verdicts[] = {
	[VERDICT_NONE] = { "NO DEVICE TIME", "none" },
	[VERDICT_KERNEL] = { "KERNEL-BOUND", "kernel" },
	[VERDICT_HOST] = { "HOST-BOUND", "host" },
	[VERDICT_LAUNCH] = { "LAUNCH-BOUND", "launch" },
	[VERDICT_COPY] = { "COPY-BOUND", "copy" },
	[VERDICT_COMMUNICATION] = { "COMMUNICATION-BOUND", "communication" },
	[VERDICT_UNKNOWN] = { "UNKNOWN", "unknown" },
};

const char *verdict_title(enum verdict verdict)
{
	return verdicts[verdict].title;
}

const char *verdict_key(enum verdict verdict)
{
	return verdicts[verdict].key;
}

const char *view_device_word(const struct analysis_summary *s)
{
	static const char *const gpus[] = { "cuda", "hip", "levelzero", "xpu", "gpu" };
	for (size_t i = 0; i < s->device_count; i++) {
		bool is_gpu = false;
		for (size_t k = 0; k < ARRAY_SIZE(gpus); k++)
			is_gpu |= !strcasecmp(s->devices[i].runtime, gpus[k]);
		if (!is_gpu)
			return "device";
	}
	return s->device_count ? "GPU" : "device";
}

int view_check_sort(const char *sort, const char *const *keys, size_t count, struct err *err)
{
	struct strbuf list = { 0 };
	if (!sort)
		return 0;
	for (size_t i = 0; i < count; i++) {
		if (!strcmp(sort, keys[i]))
			return 0;
	}
	if (!count)
		return err_set(err, -EINVAL, "cannot sort by '%s': this table has one order", sort);
	for (size_t i = 0; i < count; i++)
		strbuf_printf(&list, "%s%s", !i ? "" : i + 1 < count ? ", " : " and ", keys[i]);
	int rc = err_set(err, -EINVAL, "cannot sort by '%s'; %s are possible", sort,
			 strbuf_text(&list));
	strbuf_release(&list);
	return rc;
}

/* What a capture calls something: never control characters. */
static void add_name(struct strbuf *out, const char *name)
{
	utf8_append_safe(out, name, strlen(name));
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static uint64_t window_of(const struct analysis_summary *s)
{
	uint64_t all = 0;
	for (int i = 0; i < ACCOUNT_STATE_COUNT; i++)
		all += s->all.ns[i];
	return all;
}

/* "0.309 of 4.426 ms": both in the unit of the larger. */
static void add_part_of(struct strbuf *out, uint64_t part, uint64_t whole)
{
	static const struct {
		double factor;
		const char *name;
	} units[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" }, { 1, "ns" } };
	size_t i = 0;
	while (i < 3 && (double)whole < units[i].factor)
		i++;
	int decimals = i == 3 ? 0 : 3;
	strbuf_printf(out, "%.*f of %.*f %s", decimals, (double)part / units[i].factor, decimals,
		      (double)whole / units[i].factor, units[i].name);
}

static void add_plural(struct strbuf *out, uint64_t count, const char *word)
{
	text_count(out, count);
	strbuf_printf(out, " %s%s", word, count == 1 ? "" : "s");
}

static void add_devices(struct strbuf *out, const struct analysis_summary *s)
{
	const char *word = view_device_word(s);
	if (s->device_count != 1) {
		strbuf_printf(out, "%zu %ss", s->device_count, word);
		return;
	}
	strbuf_printf(out, "%s %" PRIu32, word, s->devices[0].index);
	if (*s->devices[0].name) {
		strbuf_puts(out, " (");
		add_name(out, s->devices[0].name);
		strbuf_putc(out, ')');
	}
}

static void add_first_line(struct strbuf *out, const struct analysis_summary *s)
{
	uint64_t window = window_of(s), busy = s->all.ns[ACCOUNT_BUSY];

	strbuf_printf(out, "%s  ", verdict_title(s->verdict));
	add_devices(out, s);
	strbuf_printf(out, " busy %.1f %%", percent(busy, window));
	if (s->is_window_of_steps && s->steps == 1 && *s->step_name) {
		strbuf_puts(out, " of ");
		add_name(out, s->step_name);
	} else if (s->is_window_of_steps) {
		strbuf_puts(out, " of ");
		add_plural(out, s->steps, s->warmup_steps ? "steady step" : "step");
	}
	strbuf_puts(out, ": ");
	add_part_of(out, busy, window);
	strbuf_putc(out, '\n');
}

static void add_queueing(struct strbuf *out, const struct analysis_summary *s, bool is_brief)
{
	const struct device_summary *d = &s->all;
	bool all = d->launched_idle == d->ops && d->ops > 1;

	strbuf_puts(out, all ? "All " : "");
	text_count(out, d->launched_idle);
	if (!all) {
		strbuf_puts(out, " of ");
		text_count(out, d->ops);
	}
	strbuf_printf(out, " op%s ", d->ops == 1 ? "" : "s");
	if (is_brief)
		strbuf_puts(out, "launched when idle, ");
	else
		strbuf_printf(out, "%slaunched on an idle %s, ", all ? "were " : "",
			      view_device_word(s));
	if (d->queued)
		text_count(out, d->queued);
	else
		strbuf_puts(out, "none");
	strbuf_puts(out, " queued. ");
}

/* What the verdict means for what to do next, with its number. */
static void add_meaning(struct strbuf *out, const struct analysis_summary *s)
{
	const struct device_summary *d = &s->all;
	uint64_t window = window_of(s);
	uint64_t kernels = device_kernel_ns(d);

	switch (s->verdict) {
	case VERDICT_HOST:
	case VERDICT_LAUNCH:
		strbuf_printf(out, "Faster kernels can gain at most %.1f %%.",
			      percent(kernels, window));
		break;
	case VERDICT_KERNEL:
		strbuf_printf(out, "A faster host can gain at most %.1f %%.",
			      percent(window - d->ns[ACCOUNT_BUSY], window));
		break;
	case VERDICT_COPY:
		strbuf_printf(out, "Copies take %.1f %%, kernels %.1f %%.",
			      percent(d->copy_ns + d->ns[ACCOUNT_COPY], window),
			      percent(kernels, window));
		break;
	case VERDICT_COMMUNICATION:
		strbuf_printf(out, "Communication takes %.1f %%, ",
			      percent(d->collective_ns, window));
		if (s->ranks)
			strbuf_printf(out, "waiting for other ranks %.1f %% of it",
				      percent(s->rank_wait_ns, d->collective_ns));
		else
			strbuf_puts(out, "waiting included");
		strbuf_printf(out, "; kernels %.1f %%.", percent(kernels, window));
		break;
	case VERDICT_UNKNOWN:
		if (s->graphs_unrecorded) {
			strbuf_puts(out, "Idle time is not to be trusted: of ");
			text_count(out, s->graphs_unrecorded);
			strbuf_puts(out, " of ");
			text_count(out, s->graphs);
			strbuf_puts(out, " graph launches no work was recorded.");
			break;
		}
		strbuf_printf(out, "For %.1f %% it is not known who launched the next work.",
			      percent(d->ns[ACCOUNT_UNKNOWN], window));
		break;
	case VERDICT_NONE:
		break;
	}
}

/* What there is no room for is left out, from the front. */
static void add_second_line(struct strbuf *out, const struct analysis_summary *s, unsigned width)
{
	struct strbuf line = { 0 };
	for (int brief = 0; brief < 2; brief++) {
		strbuf_reset(&line);
		add_queueing(&line, s, brief);
		add_meaning(&line, s);
		if (!width || strlen(INDENT) + line.len <= width)
			break;
	}
	if (width && strlen(INDENT) + line.len > width) {
		strbuf_reset(&line);
		add_meaning(&line, s);
	}
	strbuf_printf(out, INDENT "%s\n", strbuf_text(&line));
	strbuf_release(&line);
}

void verdict_lines(struct strbuf *out, const struct view *v, unsigned width)
{
	int time = profile_metric_find(v->p, "device-time");
	if (v->s->device_count) {
		add_first_line(out, v->s);
		add_second_line(out, v->s, width);
	} else if (time >= 0) {
		strbuf_puts(out, "TOTALS      ");
		text_duration(out, profile_total(v->p, PROFILE_ROOT, time));
		strbuf_puts(out,
			    " of device time; without a timeline nothing is known of idle time\n");
	}
}

/* ---- trust ---- */

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
	if (t->column + size > t->width && t->column > strlen(INDENT)) {
		if (t->line == 2 || strlen(INDENT) + size > t->width) {
			t->is_full = true;
			return;
		}
		strbuf_puts(t->out, ",\n" INDENT);
		t->line++;
		t->column = (unsigned)strlen(INDENT);
	} else if (t->column > strlen(INDENT)) {
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
		add_plural(text, buffers, "GPU buffer");
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
		add_plural(text, s->cpu_samples + s->samples, "sample");
		strbuf_puts(text, ", ");
		put_lost(text, lost, buffers);
	}
	trust_add(t, text);

	strbuf_reset(text);
	if (s->span_ns && !s->ops) {
		text_duration(text, s->span_ns);
		strbuf_puts(text, " of host time traced, no device work");
	}
	trust_add(t, text);

	strbuf_reset(text);
	for (size_t i = 0; i < s->lost_count; i++) {
		if (is_sample(s->lost[i].what) || !s->lost[i].count)
			continue;
		strbuf_puts(text, text->len ? ", lost " : "lost ");
		add_name(text, s->lost[i].what);
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
		strbuf_printf(text, "%s%.1f %% %s", told++ ? ", " : " (", percent(below, all),
			      name);
	}
	if (told)
		strbuf_puts(text, ")");
}

static void trust_stacks(struct trust *t, const struct analysis_summary *s, struct strbuf *text)
{
	uint64_t all = s->cpu_samples + s->launches;

	strbuf_reset(text);
	if (all) {
		strbuf_printf(text, "stacks whole %.1f %%",
			      percent(s->cpu_rooted + s->launches_rooted, all));
		put_causes(s, all, text);
	}
	trust_add(t, text);
	strbuf_reset(text);
	if (s->cpu_python_late)
		strbuf_printf(text, "Python not yet found in %.1f %%",
			      percent(s->cpu_python_late, s->cpu_samples));
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
			      rules[i].rule, percent(rules[i].samples, s->samples));
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
		add_plural(text, s->outlier_count, "outlier");
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
	uint64_t gap = s->all.longest_gap_ns, window = window_of(s);
	strbuf_reset(text);
	if (s->device_count == 1 && s->all.ops > 1 && gap > window / 2) {
		strbuf_puts(text, "one idle gap of ");
		text_duration(text, gap);
		strbuf_printf(text, " is %.1f %% of it", percent(gap, window));
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
	if (s->launches_replayed || (s->ops && !s->cpu_samples)) {
		strbuf_puts(text, "graph replay ");
		text_count(text, s->launches_replayed);
	}
	trust_add(t, text);

	strbuf_reset(text);
	if (s->launches_before || (s->ops && !s->cpu_samples)) {
		strbuf_puts(text, "before window ");
		text_count(text, s->launches_before);
	}
	trust_add(t, text);

	strbuf_reset(text);
	if (s->all.clipped) {
		add_plural(text, s->all.clipped, "span");
		strbuf_puts(text, " clipped");
	}
	trust_add(t, text);

	strbuf_reset(text);
	if (s->warmup_steps) {
		add_plural(text, s->warmup_steps, "warm-up step");
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
		strbuf_reset(text);
		strbuf_puts(text, "no ");
		add_name(text, s->missing[i].key);
		size_t brief = text->len;
		strbuf_puts(text, " (");
		add_name(text, s->missing[i].value);
		strbuf_putc(text, ')');
		/* The reason is in the quality view when the line has no room for it. */
		if (strlen(INDENT) + text->len > t->width ||
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

void trust_lines(struct strbuf *out, const struct view *v, unsigned width)
{
	struct strbuf text = { 0 };
	struct trust t = {
		.out = out,
		.width = width ? width : UINT32_MAX / 2,
		.line = 1,
		.column = (unsigned)strlen(INDENT),
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
	if (t.column == strlen(INDENT))
		strbuf_puts(out, "nothing was recorded");
	strbuf_putc(out, '\n');
	strbuf_release(&text);
}

/* ---- JSON ---- */

static void json_state(struct json *j, const struct device_summary *d)
{
	static const char *const keys[ACCOUNT_STATE_COUNT] = {
		[ACCOUNT_BUSY] = "busy_ns",
		[ACCOUNT_LATE] = "idle_host_late_ns",
		[ACCOUNT_FLIGHT] = "idle_launch_in_flight_ns",
		[ACCOUNT_SYNC] = "idle_sync_ns",
		[ACCOUNT_COPY] = "idle_copy_ns",
		[ACCOUNT_BLOCKED] = "idle_blocked_ns",
		[ACCOUNT_BEFORE] = "idle_before_first_ns",
		[ACCOUNT_AFTER] = "idle_after_last_ns",
		[ACCOUNT_UNKNOWN] = "idle_unknown_ns",
	};
	uint64_t window = 0;
	for (int i = 0; i < ACCOUNT_STATE_COUNT; i++) {
		json_key(j, keys[i]);
		json_number(j, d->ns[i]);
		window += d->ns[i];
	}
	const struct {
		const char *key;
		uint64_t value;
	} numbers[] = {
		{ "window_ns", window },
		{ "busy_copy_ns", d->copy_ns },
		{ "busy_communication_ns", d->collective_ns },
		{ "busy_outlier_ns", d->outlier_ns },
		{ "ops", d->ops },
		{ "ops_clipped", d->clipped },
		{ "ops_launched_idle", d->launched_idle },
		{ "ops_queued", d->queued },
		{ "longest_gap_ns", d->longest_gap_ns },
	};
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		json_key(j, numbers[i].key);
		json_number(j, numbers[i].value);
	}
}

void verdict_json(struct json *j, const struct analysis_summary *s)
{
	json_key(j, "verdict");
	json_text(j, verdict_key(s->verdict));
	json_key(j, "source");
	json_text(j, s->source);
	json_key(j, "steps");
	json_number(j, s->is_window_of_steps ? s->steps : 0);
	json_key(j, "warmup_steps");
	json_number(j, s->warmup_steps);
	json_key(j, "devices");
	json_array(j);
	for (size_t i = 0; i < s->device_count; i++) {
		json_object(j);
		json_key(j, "index");
		json_number(j, s->devices[i].index);
		json_key(j, "name");
		json_text(j, s->devices[i].name);
		json_key(j, "runtime");
		json_text(j, s->devices[i].runtime);
		json_state(j, &s->devices[i]);
		json_object_end(j);
	}
	json_array_end(j);
}
