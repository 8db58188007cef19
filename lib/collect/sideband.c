/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/sideband.h"

#include "collect/perf.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* Per CPU. A mapping with a long path is about 200 bytes: room for 2,500 of them between two looks,
 * and within what perf_event_mlock_kb allows without privileges. */
#define RING_BYTES (512u << 10)

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
	if (type == PERF_RECORD_MMAP2)
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

static int ring_open(uint32_t cpu, struct side_ring *ret, struct err *err)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
		.mmap = 1, /* executable mappings only; mmap_data would be the others */
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		/* Wake for each: libraries have to be probed, and files opened that may soon be
		 * deleted. The loop looks at most every few milliseconds. By bytes, as wakeup_events
		 * counts none but samples. */
		.watermark = 1,
		.wakeup_watermark = 1,
	};
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	CLEANUP_CLOSE int fd = perf_open(&attr, cpu);
	if (fd == -ENODEV) /* the CPU is offline */
		return fd;
	if (fd < 0)
		return perf_explain(fd, "the kernel's reports of mappings", err);
	void *pages = mmap(NULL, page + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (pages == MAP_FAILED)
		return err_set(err, -errno,
			       "cannot map a perf ring of %u KiB per CPU: raise "
			       "/proc/sys/kernel/perf_event_mlock_kb or run as root",
			       RING_BYTES >> 10);
	*ret = (struct side_ring){ .fd = TAKE_FD(fd), .pages = pages, .size = RING_BYTES };
	return 0;
}

static void ring_close(struct side_ring *r)
{
	munmap(r->pages, (size_t)sysconf(_SC_PAGESIZE) + r->size);
	close(r->fd);
}

int sideband_open(struct sideband *ret, struct err *err)
{
	CLEANUP(sideband_close) struct sideband s = { 0 };
	uint32_t cpus = perf_cpu_count();

	for (uint32_t cpu = 0; cpu < cpus; cpu++) {
		struct side_ring ring;
		int rc = ring_open(cpu, &ring, err);
		if (rc == -ENODEV)
			continue;
		if (rc < 0)
			return rc;
		if (vec_push(&s.rings, ring) < 0) {
			ring_close(&ring);
			return err_set(err, -ENOMEM, "no memory for perf rings");
		}
	}
	if (!s.rings.len)
		return err_set(err, -ENODEV, "no CPU to watch");
	*ret = s;
	memset(&s, 0, sizeof(s));
	return 0;
}

void sideband_close(struct sideband *s)
{
	vec_for_each(&s->rings, ring)
		ring_close(ring);
	vec_release(&s->rings);
	vec_release(&s->record);
}

/* @size bytes at @position of the endless stream that the ring holds the last of. */
static void ring_copy(const struct side_ring *r, uint64_t position, void *ret, size_t size)
{
	const uint8_t *data = r->pages + sysconf(_SC_PAGESIZE);
	size_t at = position & (r->size - 1);
	size_t first = size < r->size - at ? size : r->size - at;

	memcpy(ret, data + at, first);
	memcpy((uint8_t *)ret + first, data, size - first);
}

static int drain_ring(struct sideband *s, struct side_ring *r, side_fn fn, void *data)
{
	struct perf_event_mmap_page *page = (void *)r->pages;
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = page->data_tail;
	int rc = 0;

	while (rc >= 0 && tail != head) {
		struct perf_event_header header;
		struct side_event event;

		if (head - tail > r->size || head - tail < sizeof(header)) {
			tail = head;
			s->malformed++;
			break;
		}
		ring_copy(r, tail, &header, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - tail) {
			tail = head;
			s->malformed++;
			break;
		}
		if (vec_reserve(&s->record, header.size) < 0)
			return -ENOMEM;
		ring_copy(r, tail, s->record.data, header.size);
		tail += header.size;
		rc = side_event_parse(span_of(s->record.data, header.size), &event, NULL);
		if (rc > 0) {
			rc = fn(data, &event);
		} else if (rc < 0) {
			s->malformed++;
			rc = 0;
		}
	}
	__atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
	return rc;
}

int sideband_drain(struct sideband *s, side_fn fn, void *data)
{
	vec_for_each(&s->rings, ring) {
		int rc = drain_ring(s, ring, fn, data);
		if (rc < 0)
			return rc;
	}
	return 0;
}
