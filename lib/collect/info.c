/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/session_internal.h"

#include "base/io.h"
#include "base/strbuf.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t session_now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

int info_put(struct session *s, const char *key, const char *value)
{
	struct record rec = { .type = RECORD_INFO };
	int rc;

	if ((rc = capture_writer_string(s->writer, key, &rec.info.key)) < 0 ||
	    (rc = capture_writer_string(s->writer, value, &rec.info.value)) < 0)
		return rc;
	return capture_writer_put(s->writer, &rec);
}

static int put_header(struct session *s)
{
	struct record rec = { .type = RECORD_HEADER };
	struct record_header *h = &rec.header;
	struct utsname system;

	if (uname(&system) < 0)
		return -errno;
	h->time_ns = s->start_ns;
	h->realtime_ns = clock_ns(CLOCK_REALTIME);
	h->frequency = sampler_rate(&s->sampler);
	const struct {
		uint32_t *field;
		const char *text;
	} strings[] = {
		{ &h->tool, s->opt.tool },        { &h->source, "record" },
		{ &h->host, system.nodename },    { &h->kernel, system.release },
		{ &h->arch, system.machine },     { &h->command, s->opt.command_line },
		{ &h->clock, "CLOCK_MONOTONIC" }, { &h->event, s->sampler.kind.name },
	};
	for (size_t i = 0; i < ARRAY_SIZE(strings); i++) {
		int rc = capture_writer_string(s->writer, strings[i].text, strings[i].field);
		if (rc < 0)
			return rc;
	}
	return capture_writer_put(s->writer, &rec);
}

static void join(struct strbuf *b, char *const *words)
{
	for (size_t i = 0; words[i]; i++)
		strbuf_printf(b, "%s%s", i ? " " : "", words[i]);
}

static int put_asked(struct session *s)
{
	struct strbuf text = { 0 };
	int rc = 0;

	if (s->opt.command) {
		join(&text, s->opt.command);
		rc = info_put(s, "asked.command", strbuf_text(&text));
	}
	if (rc >= 0 && s->opt.pid_count) {
		strbuf_reset(&text);
		for (size_t i = 0; i < s->opt.pid_count; i++)
			strbuf_printf(&text, "%s%u", i ? "," : "", s->opt.pids[i]);
		rc = info_put(s, "asked.pid", strbuf_text(&text));
	}
	if (rc >= 0 && s->opt.no_children)
		rc = info_put(s, "asked.no-children", "1");
	if (rc >= 0 && s->opt.stacks == SESSION_STACKS_NONE)
		rc = info_put(s, "asked.call-graph", "none");
	strbuf_release(&text);
	return rc;
}

/* What perf events alone do not give. */
static int put_perf(struct session *s)
{
	static const char by_perf[] =
		"recorded by perf events, without programs in the kernel, which see launches: those "
		"have to come from an imported trace";
	char text[512];
	int rc = info_put(s, "engine", s->is_perf ? "perf" : "bpf");

	if (rc < 0 || !s->is_perf)
		return rc;
	if (*s->why_perf) {
		snprintf(text, sizeof(text), "%s", s->why_perf);
		rc = info_put(s, "engine.why", text);
	}
	if (rc >= 0 && s->sampler.is_user_only)
		rc = info_put(
			s, "missing.kernel-samples",
			"time in the kernel is not seen: perf_event_paranoid is above 1; mend it "
			"with 'sudo sysctl kernel.perf_event_paranoid=1'");
	if (rc >= 0)
		rc = info_put(s, "missing.launches", by_perf);
	if (rc >= 0)
		rc = info_put(s, "missing.python",
			      "recorded by perf events, which do not see Python's frames; "
			      "'python3 -X perf' (3.12 and later) tells them");
	if (rc >= 0)
		rc = info_put(s, "missing.blocked",
			      "recorded by perf events: what threads wait for is not seen");
	return rc;
}

/* What this machine does not give us, as far as it is known before the start. */
static int put_missing(struct session *s)
{
	CLEANUP_FREE char *text = NULL;
	size_t size;
	int rc = 0;

	if (s->sampler.has_no_pmu)
		rc = info_put(s, "missing.cycles",
			      "this machine has no CPU performance counters (usual in a virtual "
			      "machine); CPU samples are of cpu-clock");
	if (rc >= 0)
		rc = put_perf(s);
	if (rc >= 0 && !s->worker)
		rc = info_put(s, "missing.names",
			      "the process that reads symbols could not be "
			      "started; -v tells why");
	/* Our programs ask the kernel itself. */
	if (rc >= 0 && !s->programs.skeleton &&
	    io_read_file("/proc/sys/kernel/kptr_restrict", 64, &text, &size) == 0 && text[0] == '2')
		rc = info_put(s, "missing.kernel-symbols",
			      "kptr_restrict is 2: kernel functions have no names; mend it with "
			      "'sysctl kernel.kptr_restrict=1'");
	return rc;
}

int info_begin(struct session *s)
{
	int rc = put_header(s);

	if (rc >= 0)
		rc = put_asked(s);
	if (rc >= 0)
		rc = put_missing(s);
	return rc < 0 ? rc : info_clock(s);
}

int info_clock(struct session *s)
{
	struct record rec = { .type = RECORD_CLOCK };

	rec.clock.time_ns = session_now();
	rec.clock.realtime_ns = clock_ns(CLOCK_REALTIME);
	rec.clock.boottime_ns = clock_ns(CLOCK_BOOTTIME);
	return capture_writer_put(s->writer, &rec);
}

/* What walking stacks by tables took, and which files it had to do without. */
static int put_unwinding(struct session *s)
{
	const char *why;
	char text[128];
	int rc;

	if (!s->unwinder)
		return 0;
	struct unwinder_stats stats = unwinder_stats(s->unwinder);
	snprintf(text, sizeof(text), "%u tables, %.1f MB, %.0f ms", stats.tables,
		 (double)stats.table_bytes / 1e6, (double)stats.build_ns / 1e6);
	rc = info_put(s, "unwind.tables", text);
	if (rc >= 0 && stats.copies) {
		snprintf(text, sizeof(text), "%" PRIu64 ", %.0f ms", stats.copies,
			 (double)stats.copies_ns / 1e6);
		rc = info_put(s, "unwind.copies", text);
	}
	if (rc >= 0 && stats.refused + stats.refused_spaces) {
		snprintf(text, sizeof(text),
			 "no room for %u files and %" PRIu64 " processes: stacks go on there by "
			 "copies",
			 stats.refused, stats.refused_spaces);
		rc = info_put(s, "missing.unwind-tables", text);
	}
	for (size_t i = 0; rc >= 0 && (why = unwinder_unreadable(s->unwinder, i)); i++)
		rc = info_put(s, "missing.unwind-table", why);
	return rc;
}

/* How much of Python was read, and what of it could not be. */
static int put_python(struct session *s)
{
	if (!s->python)
		return 0;
	const struct python_stats *stats = python_stats(s->python);
	char text[256];
	int rc = 0;

	if (stats->codes) {
		snprintf(text, sizeof(text), "%" PRIu64, stats->codes);
		rc = info_put(s, "python.code-objects", text);
	}
	if (rc >= 0 && stats->unreadable + stats->cut + stats->misplaced) {
		snprintf(text, sizeof(text),
			 "%" PRIu64 " code objects were gone before they were read, %" PRIu64
			 " stacks end early, %" PRIu64 " calls have no place",
			 stats->unreadable, stats->cut, stats->misplaced);
		rc = info_put(s, "missing.python", text);
	}
	if (rc >= 0 && stats->refused) {
		snprintf(text, sizeof(text),
			 "%" PRIu64 " interpreters are of a version that is not known",
			 stats->refused);
		rc = info_put(s, "missing.python-version", text);
	}
	return rc;
}

/* How much was waited, and how much of that without a stack of its own. */
static int put_waits(struct session *s)
{
	const struct blocked *b = &s->blocked;
	char text[128];

	if (!b->count)
		return 0;
	snprintf(text, sizeof(text), "%" PRIu64 " with stacks, %.3f s, %.3f s of it in others",
		 b->count, (double)b->ns / 1e9, (double)b->others_ns / 1e9);
	return info_put(s, "blocked.waits", text);
}

int info_end(struct session *s, const struct session_result *result)
{
	struct record rec = { .type = RECORD_END };

	int rc = put_unwinding(s);
	if (rc >= 0)
		rc = put_python(s);
	if (rc >= 0)
		rc = put_waits(s);
	if (rc < 0)
		return rc;
	rec.end = (struct record_end){
		.time_ns = session_now(),
		.samples = result->samples,
		.launches = result->launches,
		.lost = result->lost_total,
		.recorder_cpu_ns = result->recorder_ns,
		.probe_ns = result->probe_ns + result->sample_ns + result->blocked_ns,
		.exit_status = result->exit_status,
	};
	return capture_writer_put(s->writer, &rec);
}
