/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/losses.h"

static const struct {
	const char *what, *why;
} causes[LOSS_ALL_COUNT] = {
	[LOSS_SAMPLE_RING_FULL] = { "cpu-sample", "ring full" },
	[LOSS_SAMPLE_NO_SLOT] = { "cpu-sample", "no scratch slot free" },
	[LOSS_PROBE_RING_FULL] = { "launch", "ring full" },
	[LOSS_PROBE_NO_SLOT] = { "launch", "no scratch slot free" },
	[LOSS_PROCESS_RING_FULL] = { "process", "ring full" },
	[LOSS_TARGETS_FULL] = { "process", "more processes than the map of targets holds" },
	[LOSS_BLOCKED_RING_FULL] = { "blocked", "ring full" },
	[LOSS_BLOCKED_NO_SLOT] = { "blocked", "no scratch slot free" },
	[LOSS_BLOCKED_FULL] = { "blocked", "more threads than the map of waits holds" },
	[LOSS_MAPPING_RING_FULL] = { "mapping", "perf ring full" },
	[LOSS_MAPPING_LIMIT] = { "mapping", "more mappings than are kept for a process" },
	[LOSS_OBJECT_UNOPENED] = { "object", "file could not be opened" },
	[LOSS_MALFORMED] = { "event", "malformed" },
};

int losses_report(struct losses *l, struct capture_writer *w, uint64_t time_ns)
{
	for (int i = 0; i < LOSS_ALL_COUNT; i++) {
		struct record rec = { .type = RECORD_LOST };
		int rc;

		if (l->now[i] <= l->reported[i])
			continue;
		rec.lost.time_ns = time_ns;
		rec.lost.count = l->now[i] - l->reported[i];
		if ((rc = capture_writer_string(w, causes[i].what, &rec.lost.what)) < 0 ||
		    (rc = capture_writer_string(w, causes[i].why, &rec.lost.why)) < 0 ||
		    (rc = capture_writer_put(w, &rec)) < 0)
			return rc;
		l->reported[i] = l->now[i];
	}
	return 0;
}

uint64_t losses_total(const struct losses *l)
{
	uint64_t total = 0;

	for (int i = 0; i < LOSS_ALL_COUNT; i++)
		total += l->now[i];
	return total;
}

const char *loss_what(size_t cause)
{
	return causes[cause].what;
}

const char *loss_why(size_t cause)
{
	return causes[cause].why;
}
