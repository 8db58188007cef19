/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/event_kind.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/parse.h"
#include "base/strbuf.h"
#include "base/vec.h"

#include <ctype.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

/* Names and other names are those of perf-list(1). */
static const struct {
	const char *name, *other;
	uint32_t type;
	uint64_t config;
	bool is_time, is_ns;
} known[] = {
	{ "cycles", "cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, true, false },
	{ "ref-cycles", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES, true, false },
	{ "instructions", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, false, false },
	{ "cache-references", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, false,
	  false },
	{ "cache-misses", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, false, false },
	{ "branches", "branch-instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
	  false, false },
	{ "branch-misses", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, false, false },
	{ "bus-cycles", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES, false, false },
	{ "stalled-cycles-frontend", "idle-cycles-frontend", PERF_TYPE_HARDWARE,
	  PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, false, false },
	{ "stalled-cycles-backend", "idle-cycles-backend", PERF_TYPE_HARDWARE,
	  PERF_COUNT_HW_STALLED_CYCLES_BACKEND, false, false },
	{ "cpu-clock", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, true, true },
	{ "task-clock", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, true, true },
	{ "page-faults", "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, false, false },
	{ "minor-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, false, false },
	{ "major-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, false, false },
	{ "context-switches", "cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, false,
	  false },
	{ "cpu-migrations", "migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, false,
	  false },
	{ "alignment-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS, false,
	  false },
};

static int unknown(const char *text, struct err *err)
{
	struct strbuf names = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		strbuf_printf(&names, "%s%s", i ? ", " : "", known[i].name);
	int rc = err_set(err, -EINVAL,
			 "no event '%s': there are %s, tracepoints (sched:sched_switch) and raw "
			 "ones (rHEX), each with :u or :k",
			 text, strbuf_text(&names));
	strbuf_release(&names);
	return rc;
}

/* Cut ":u" and the like off the name. Precision (":pp") is the processor's best anyway. */
static int take_modifiers(struct event_kind *kind)
{
	char *colon = strrchr(kind->name, ':');

	if (!colon || !colon[1] || strspn(colon + 1, "ukp") != strlen(colon + 1))
		return 0;
	kind->user_only = strchr(colon + 1, 'u') && !strchr(colon + 1, 'k');
	kind->kernel_only = strchr(colon + 1, 'k') && !strchr(colon + 1, 'u');
	*colon = '\0';
	return 1;
}

static int find_tracepoint(struct event_kind *kind, const char *text, struct err *err)
{
	static const char *const roots[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	const char *colon = strchr(kind->name, ':');

	for (const char *p = kind->name; *p; p++) {
		if (!isalnum((unsigned char)*p) && *p != '_' && *p != '-' && p != colon)
			return unknown(text, err);
	}
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		CLEANUP_FREE char *id = NULL;
		char path[256];
		size_t size;
		snprintf(path, sizeof(path), "%s/events/%.*s/%s/id", roots[i],
			 (int)(colon - kind->name), kind->name, colon + 1);
		if (io_read_file(path, 64, &id, &size) < 0)
			continue;
		id[strcspn(id, "\n")] = '\0';
		if (parse_u64(id, 10, &kind->config) < 0)
			continue;
		kind->type = PERF_TYPE_TRACEPOINT;
		kind->is_tracepoint = true;
		return 0;
	}
	return err_set(err, -EINVAL,
		       "no tracepoint '%s' that can be read: they are folders of "
		       "/sys/kernel/tracing/events, for root, where tracefs is mounted",
		       text);
}

int event_kind_parse(const char *text, struct event_kind *ret, struct err *err)
{
	struct event_kind kind = { 0 };

	if (!*text || strlen(text) >= sizeof(kind.name))
		return unknown(text, err);
	snprintf(kind.name, sizeof(kind.name), "%s", text);
	do {
		for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
			if (strcmp(kind.name, known[i].name) != 0 &&
			    (!known[i].other || strcmp(kind.name, known[i].other) != 0))
				continue;
			kind.type = known[i].type;
			kind.config = known[i].config;
			kind.is_time = known[i].is_time;
			kind.is_ns = known[i].is_ns;
			snprintf(kind.name, sizeof(kind.name), "%s", text);
			*ret = kind;
			return 0;
		}
	} while (!kind.user_only && !kind.kernel_only && take_modifiers(&kind));
	int rc = 0;
	if (kind.name[0] == 'r' && parse_u64(kind.name + 1, 16, &kind.config) == 0)
		kind.type = PERF_TYPE_RAW;
	else if (strchr(kind.name, ':'))
		rc = find_tracepoint(&kind, text, err);
	else
		rc = unknown(text, err);
	if (rc < 0)
		return rc;
	snprintf(kind.name, sizeof(kind.name), "%s", text);
	*ret = kind;
	return 0;
}
