/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verdict.h"

#include "base/cleanup.h"
#include "capture/field.h"
#include "cmd/phrase.h"

#include <inttypes.h>
#include <string.h>

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

static const char *verdict_title(enum verdict verdict)
{
	return verdicts[verdict].title;
}

static const char *verdict_key(enum verdict verdict)
{
	return verdicts[verdict].key;
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
		phrase_name(out, s->devices[0].name);
		strbuf_putc(out, ')');
	}
}

static void add_first_line(struct strbuf *out, const struct analysis_summary *s)
{
	uint64_t window = phrase_window(s), busy = s->all.ns[ACCOUNT_BUSY];

	strbuf_printf(out, "%s  ", verdict_title(s->verdict));
	add_devices(out, s);
	strbuf_printf(out, " busy %.1f %%", phrase_percent(busy, window));
	if (s->is_window_of_steps && s->steps == 1 && *s->step_name) {
		strbuf_puts(out, " of ");
		phrase_name(out, s->step_name);
	} else if (s->is_window_of_steps) {
		strbuf_puts(out, " of ");
		phrase_count(out, s->steps, s->warmup_steps ? "steady step" : "step");
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
	uint64_t window = phrase_window(s);
	uint64_t kernels = device_kernel_ns(d);

	switch (s->verdict) {
	case VERDICT_HOST:
	case VERDICT_LAUNCH:
		strbuf_printf(out, "Faster kernels can gain at most %.1f %%.",
			      phrase_percent(kernels, window));
		break;
	case VERDICT_KERNEL:
		strbuf_printf(out, "A faster host can gain at most %.1f %%.",
			      phrase_percent(window - d->ns[ACCOUNT_BUSY], window));
		break;
	case VERDICT_COPY:
		strbuf_printf(out, "Copies take %.1f %%, kernels %.1f %%.",
			      phrase_percent(d->copy_ns + d->ns[ACCOUNT_COPY], window),
			      phrase_percent(kernels, window));
		break;
	case VERDICT_COMMUNICATION:
		strbuf_printf(out, "Communication takes %.1f %%, ",
			      phrase_percent(d->collective_ns, window));
		if (s->ranks)
			strbuf_printf(out, "waiting for other ranks %.1f %% of it",
				      phrase_percent(s->rank_wait_ns, d->collective_ns));
		else
			strbuf_puts(out, "waiting included");
		strbuf_printf(out, "; kernels %.1f %%.", phrase_percent(kernels, window));
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
			      phrase_percent(d->ns[ACCOUNT_UNKNOWN], window));
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
		if (!width || strlen(PHRASE_INDENT) + line.len <= width)
			break;
	}
	if (width && strlen(PHRASE_INDENT) + line.len > width) {
		strbuf_reset(&line);
		add_meaning(&line, s);
	}
	strbuf_printf(out, PHRASE_INDENT "%s\n", strbuf_text(&line));
	strbuf_release(&line);
}

/* "HOST ONLY   3.18 s of CPU time in 4.29 s; no accelerator work was seen" */
static void add_host_only(struct strbuf *out, const struct view *v, uint64_t host_ns)
{
	const struct analysis_summary *s = v->s;
	strbuf_puts(out, "HOST ONLY   ");
	if (host_ns) {
		text_duration(out, host_ns);
		strbuf_puts(out, s->cpu_samples ? " of CPU time" : " of host time");
	} else {
		phrase_count(out, s->cpu_samples, "sample");
	}
	if (host_ns && s->end_ns > s->begin_ns) {
		strbuf_puts(out, " in ");
		text_duration(out, s->end_ns - s->begin_ns);
	}
	strbuf_puts(out, "; no accelerator work was seen\n");
}

void verdict_lines(struct strbuf *out, const struct view *v, unsigned width)
{
	int time = profile_metric_find(v->p, "device-time");
	int host = profile_metric_find(v->p, "cpu-time");
	uint64_t host_ns = host < 0 ? 0 : profile_total(v->p, PROFILE_ROOT, host);
	if (v->s->device_count && phrase_window(v->s)) { /* a filter may leave nothing of it */
		add_first_line(out, v->s);
		add_second_line(out, v->s, width);
	} else if (time >= 0 && profile_total(v->p, PROFILE_ROOT, time)) {
		strbuf_puts(out, "TOTALS      ");
		text_duration(out, profile_total(v->p, PROFILE_ROOT, time));
		strbuf_puts(out,
			    " of device time; without a timeline nothing is known of idle time\n");
	} else if (v->s->launches) {
		strbuf_printf(out, "%s  ", verdict_title(v->s->verdict));
		text_count(out, v->s->launches);
		strbuf_puts(out, v->s->launches == 1 ? " launch" : " launches");
		strbuf_puts(out, "; how long the work took was not recorded\n");
	} else if (host_ns || v->s->cpu_samples) {
		add_host_only(out, v, host_ns);
	}
}

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
