/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/perf.h"

#include "base/io.h"
#include "base/parse.h"
#include "proc/status.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Possible CPUs, numbered from 0; those that are offline give -ENODEV when opened. */
static uint32_t perf_cpu_count(void)
{
	long count = libbpf_num_possible_cpus();

	/* Without /sys, by /proc/stat: those that are online. */
	if (count <= 0)
		count = sysconf(_SC_NPROCESSORS_CONF);
	return count > 0 ? (uint32_t)count : 1;
}

int perf_paranoid(void)
{
	CLEANUP_FREE char *text = NULL;
	size_t size;
	uint64_t value;

	if (io_read_file("/proc/sys/kernel/perf_event_paranoid", 64, &text, &size) < 0)
		return -2;
	text[strcspn(text, "\n")] = '\0';
	bool is_negative = text[0] == '-';
	if (parse_u64(text + is_negative, 10, &value) < 0 || value > 4)
		return -2;
	return is_negative ? -(int)value : (int)value;
}

/* Set a text for what opening an event returned; returns @code. */
static int perf_explain(int code, const char *what, struct err *err)
{
	if (code == -EACCES || code == -EPERM)
		return err_set(
			err, code,
			"not allowed to record %s: run as root, give the binary CAP_PERFMON, "
			"or set /proc/sys/kernel/perf_event_paranoid to -1 (2 is enough for "
			"programs of your own)",
			what);
	if (code == -EMFILE || code == -ENFILE)
		return err_set(err, code, "no descriptor left for %s: raise the limit (ulimit -n)",
			       what);
	if (code == -ENOSYS)
		return err_set(err, code,
			       "cannot record %s: this kernel has no perf events "
			       "(CONFIG_PERF_EVENTS=y is needed)",
			       what);
	return err_set(err, code, "cannot record %s", what);
}

static int open_one(const struct perf_event_attr *attr, int pid, uint32_t cpu, bool is_cgroup)
{
	struct perf_event_attr copy = *attr;
	unsigned long flags = PERF_FLAG_FD_CLOEXEC | (is_cgroup ? PERF_FLAG_PID_CGROUP : 0);
	long fd = syscall(SYS_perf_event_open, &copy, pid, (int)cpu, -1, flags);

	return fd < 0 ? -errno : (int)fd;
}

static int ring_map(int fd, size_t bytes, struct perf_ring *ret)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *pages = mmap(NULL, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (pages == MAP_FAILED)
		return -errno;
	*ret = (struct perf_ring){ .fd = fd, .pages = pages, .size = bytes };
	return 0;
}

/* The event's records go to this CPU's ring, which is made if it is the first. -ENOBUFS: such a large
 * one is not allowed. */
static int ring_use(struct perf_events *e, int fd, size_t bytes, struct perf_ring *ring,
		    struct err *err)
{
	if (ring->pages) {
		if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) < 0)
			return err_set(err, -errno, "cannot share a perf ring");
		return 0;
	}
	int rc = ring_map(fd, bytes, ring);
	if (rc < 0)
		return err_set(err, rc == -EPERM ? -ENOBUFS : rc,
			       "cannot map a perf ring of %zu KiB for each CPU: raise "
			       "/proc/sys/kernel/perf_event_mlock_kb or the limit on locked memory "
			       "(ulimit -l), or run as root",
			       bytes >> 10);
	if (vec_push(&e->rings, *ring) < 0) {
		munmap(ring->pages, (size_t)sysconf(_SC_PAGESIZE) + ring->size);
		return err_set(err, -ENOMEM, "no memory for perf rings");
	}
	return 0;
}

struct opening {
	const struct perf_event_attr *attr;
	const struct perf_scope *scope;
	const char *what;
	size_t ring_bytes; /* 0: no rings */
};

/* Another user's thread is ours to record by no setting of perf_event_paranoid. */
static int explain_thread(int code, uint32_t tid, const char *what, struct err *err)
{
	struct proc_status status;

	if ((code == -EACCES || code == -EPERM) && proc_status_read(tid, &status) == 0 &&
	    status.uid != geteuid())
		return err_set(err, code,
			       "not allowed to record %s of thread %u, which is user %u's: run as "
			       "root, or give the binary CAP_PERFMON and CAP_SYS_PTRACE",
			       what, tid, status.uid);
	return perf_explain(code, what, err);
}

static int open_cpu(struct perf_events *e, const struct opening *o, uint32_t cpu, struct err *err)
{
	const struct perf_scope *scope = o->scope;
	size_t count = scope->tid_count ? scope->tid_count : 1;
	struct perf_ring ring = { 0 };

	for (size_t i = 0; i < count; i++) {
		int pid = scope->tid_count ? (int)scope->tids[i] : -1;
		int fd = open_one(o->attr, scope->cgroup_fd ? scope->cgroup_fd : pid, cpu,
				  scope->cgroup_fd > 0);
		if (fd == -ENODEV && e->fds.len) /* offline */
			return 0;
		if (fd == -ESRCH && scope->tid_count)
			continue;
		if (fd < 0)
			return scope->tid_count ? explain_thread(fd, scope->tids[i], o->what, err)
						: perf_explain(fd, o->what, err);
		if (vec_push(&e->fds, fd) < 0) {
			close(fd);
			return err_set(err, -ENOMEM, "no memory for perf events");
		}
		int rc = o->ring_bytes ? ring_use(e, fd, o->ring_bytes, &ring, err) : 0;
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int open_all(struct perf_events *ret, const struct opening *o, struct err *err)
{
	CLEANUP(perf_events_close) struct perf_events e = { 0 };
	const struct perf_scope *scope = o->scope;
	size_t count = scope->cpu_count ? scope->cpu_count : perf_cpu_count();

	for (uint32_t i = 0; i < count; i++) {
		uint32_t cpu = scope->cpu_count ? scope->cpus[i] : i;
		if (cpu >= perf_cpu_count())
			return err_set(err, -EINVAL, "there is no CPU %u: they are 0 to %u", cpu,
				       perf_cpu_count() - 1);
		int rc = open_cpu(&e, o, cpu, err);
		if (rc < 0)
			return rc;
	}
	if (!e.fds.len)
		return err_set(err, -ESRCH, "what was to be recorded is gone");
	*ret = e;
	memset(&e, 0, sizeof(e));
	return 0;
}

int perf_events_open(struct perf_events *ret, const struct perf_event_attr *attr,
		     const struct perf_scope *scope, const struct perf_ring_size *size,
		     const char *what, struct err *err)
{
	struct opening o = { attr, scope, what, size ? size->bytes : 0 };
	int rc;

	/* All of one size: with many CPUs, the first ones would take what the last ones need. */
	while ((rc = open_all(ret, &o, err)) == -ENOBUFS && o.ring_bytes / 2 >= size->least)
		o.ring_bytes /= 2;
	return rc;
}

void perf_events_close(struct perf_events *e)
{
	vec_for_each(&e->rings, ring)
		munmap(ring->pages, (size_t)sysconf(_SC_PAGESIZE) + ring->size);
	vec_for_each(&e->fds, fd) {
		if (*fd >= 0)
			close(*fd);
	}
	vec_release(&e->rings);
	vec_release(&e->fds);
	vec_release(&e->record);
}

int perf_events_control(const struct perf_events *e, unsigned long request)
{
	vec_for_each(&e->fds, fd) {
		if (*fd >= 0 && ioctl(*fd, request, 0) < 0)
			return -errno;
	}
	return 0;
}

/* @size bytes at @position of the endless stream that the ring holds the last of. */
static void ring_copy(const struct perf_ring *r, uint64_t position, void *ret, size_t size)
{
	const uint8_t *data = r->pages + sysconf(_SC_PAGESIZE);
	size_t at = position & (r->size - 1);
	size_t first = size < r->size - at ? size : r->size - at;

	memcpy(ret, data + at, first);
	memcpy((uint8_t *)ret + first, data, size - first);
}

static int drain_ring(struct perf_events *e, struct perf_ring *r, perf_record_fn fn, void *data)
{
	struct perf_event_mmap_page *page = (void *)r->pages;
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = page->data_tail;
	int rc = 0;

	while (rc >= 0 && tail != head) {
		struct perf_event_header header = { 0 };

		if (head - tail <= r->size && head - tail >= sizeof(header))
			ring_copy(r, tail, &header, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - tail) {
			tail = head;
			e->malformed++;
			break;
		}
		if (vec_reserve(&e->record, header.size) < 0)
			return -ENOMEM;
		ring_copy(r, tail, e->record.data, header.size);
		tail += header.size;
		rc = fn(data, span_of(e->record.data, header.size));
		e->malformed += rc == -EBADMSG;
		rc = rc == -EBADMSG ? 0 : rc;
	}
	__atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
	return rc;
}

int perf_events_drain(struct perf_events *e, perf_record_fn fn, void *data)
{
	vec_for_each(&e->rings, ring) {
		int rc = drain_ring(e, ring, fn, data);
		if (rc < 0)
			return rc;
	}
	return 0;
}
