/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/sideband.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define RING_LEAST (32u << 10)

/* What sample_id_all puts behind each record for PERF_SAMPLE_TID, TIME and CPU: pid and tid, time,
 * cpu and a reserved word. */
#define SAMPLE_ID_BYTES 24

static int parse_sample_id(struct cursor *c, struct side_event *e, struct err *err)
{
	int rc = cursor_seek(c, c->span.size - SAMPLE_ID_BYTES + 8, err);
	return rc < 0 ? rc : cursor_u64(c, &e->time_ns, err);
}

static int parse_name(struct cursor *c, struct side_event *e, struct err *err)
{
	int rc = cursor_cstr(c, &e->text, err);
	if (rc == 0 && c->pos > c->span.size - SAMPLE_ID_BYTES)
		return cursor_fail(c, err, "name without an end");
	return rc;
}

static int parse_mmap(struct cursor *c, struct side_event *e, struct err *err)
{
	int rc;

	e->type = SIDE_MMAP;
	if ((rc = cursor_u32(c, &e->pid, err)) < 0 || (rc = cursor_u32(c, &e->tid, err)) < 0 ||
	    (rc = cursor_u64(c, &e->start, err)) < 0 || (rc = cursor_u64(c, &e->size, err)) < 0 ||
	    (rc = cursor_u64(c, &e->offset, err)) < 0 || (rc = cursor_u32(c, &e->major, err)) < 0 ||
	    (rc = cursor_u32(c, &e->minor, err)) < 0 || (rc = cursor_u64(c, &e->inode, err)) < 0 ||
	    /* inode generation, protection and flags */
	    (rc = cursor_skip(c, 16, err)) < 0)
		return rc;
	if (!e->size || e->start > UINT64_MAX - e->size)
		return cursor_fail(c, err, "mapping without a size");
	return parse_name(c, e, err);
}

static int parse_comm(struct cursor *c, uint16_t misc, struct side_event *e, struct err *err)
{
	int rc;

	e->type = misc & PERF_RECORD_MISC_COMM_EXEC ? SIDE_EXEC : SIDE_COMM;
	if ((rc = cursor_u32(c, &e->pid, err)) < 0 || (rc = cursor_u32(c, &e->tid, err)) < 0)
		return rc;
	return parse_name(c, e, err);
}

static int parse_task(struct cursor *c, uint32_t type, struct side_event *e, struct err *err)
{
	int rc;

	e->type = type == PERF_RECORD_FORK ? SIDE_FORK : SIDE_EXIT;
	if ((rc = cursor_u32(c, &e->pid, err)) < 0 ||
	    (rc = cursor_u32(c, &e->parent_pid, err)) < 0 || (rc = cursor_u32(c, &e->tid, err)) < 0)
		return rc;
	return cursor_u32(c, &e->parent_tid, err);
}

static int parse_lost(struct cursor *c, struct side_event *e, struct err *err)
{
	e->type = SIDE_LOST;
	int rc = cursor_skip(c, 8, err); /* event id */
	return rc < 0 ? rc : cursor_u64(c, &e->lost, err);
}

int side_event_parse(struct span record, struct side_event *ret, struct err *err)
{
	struct cursor c = cursor_of(record, "side-band record");
	struct side_event e = { 0 };
	uint32_t type;
	uint16_t misc, size;
	int rc;

	if ((rc = cursor_u32(&c, &type, err)) < 0 || (rc = cursor_u16(&c, &misc, err)) < 0 ||
	    (rc = cursor_u16(&c, &size, err)) < 0)
		return rc;
	if (size != record.size || record.size < c.pos + SAMPLE_ID_BYTES)
		return cursor_fail(&c, err, "not the size it says");
	if (type == PERF_RECORD_FORK || type == PERF_RECORD_EXIT)
		rc = parse_task(&c, type, &e, err);
	else if (type == PERF_RECORD_MMAP2)
		rc = parse_mmap(&c, &e, err);
	else if (type == PERF_RECORD_COMM)
		rc = parse_comm(&c, misc, &e, err);
	else if (type == PERF_RECORD_LOST)
		rc = parse_lost(&c, &e, err);
	else
		return 0;
	if (rc < 0)
		return rc;
	rc = parse_sample_id(&c, &e, err);
	if (rc < 0)
		return rc;
	*ret = e;
	return 1;
}

#define WHAT "the kernel's reports of mappings"

/* An event of its own, as how soon a ring wakes its reader cannot be changed. What is in its rings is in
 * the others too. */
static int hang_bell(struct sideband *s, const struct perf_scope *scope, struct err *err)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const struct perf_ring_size size = { page, page };
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
		.mmap = 1,
		/* By bytes, as wakeup_events counts none but samples. */
		.watermark = 1,
		.wakeup_watermark = 1,
	};

	return perf_events_open(&s->bell, &attr, scope, &size, WHAT, err);
}

int sideband_open(struct sideband *ret, const struct perf_scope *scope, size_t ring_bytes,
		  struct err *err)
{
	CLEANUP(sideband_close) struct sideband s = { 0 };
	const bool is_all = !scope->tid_count && !scope->cgroup_fd;
	const struct perf_ring_size size = { ring_bytes, RING_LEAST };
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
		.inherit = scope->tid_count != 0,
		.exclude_kernel =
			1, /* of what does not count anyway; who is not root must ask so */
		.mmap = 1, /* executable mappings only; mmap_data would be the others */
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1, /* as the kernel does with the others anyway */
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		/* Without a bell, wake for each: libraries have to be probed, and files opened that
		 * may soon be deleted. */
		.watermark = 1,
		.wakeup_watermark = is_all ? RING_LEAST : 1,
	};

	int rc = perf_events_open(&s.events, &attr, scope, &size, WHAT, err);
	if (rc >= 0 && is_all)
		rc = hang_bell(&s, scope, err);
	if (rc < 0)
		return rc;
	*ret = s;
	memset(&s, 0, sizeof(s));
	return 0;
}

void sideband_close(struct sideband *s)
{
	perf_events_close(&s->events);
	perf_events_close(&s->bell);
}

int sideband_hush(struct sideband *s, bool is_hushed)
{
	if (s->is_hushed == is_hushed || !s->bell.fds.len)
		return 0;
	s->is_hushed = is_hushed;
	return perf_events_control(&s->bell,
				   is_hushed ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE);
}

struct drain {
	side_fn fn;
	void *data;
};

static int on_record(void *data, struct span record)
{
	const struct drain *d = data;
	struct side_event event;

	int rc = side_event_parse(record, &event, NULL);
	return rc > 0 ? d->fn(d->data, &event) : rc;
}

static int ignore(void *data, struct span record)
{
	(void)data;
	(void)record;
	return 0;
}

int sideband_drain(struct sideband *s, side_fn fn, void *data)
{
	struct drain d = { fn, data };

	int rc = perf_events_drain(&s->events, on_record, &d);
	return rc < 0 ? rc : perf_events_drain(&s->bell, ignore, NULL);
}
