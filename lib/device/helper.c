/* SPDX-License-Identifier: Apache-2.0 */
#include "device/helper.h"

#include "base/io.h"
#include "base/strbuf.h"
#include "device/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* Beyond what the process has when it starts: LLVM and a library's DWARF take some hundred MB. */
#define HELPER_MEMORY_BYTES (2ull << 30)
/* For one object. 100,000 instructions with text and lines take 0.5 s. */
#define HELPER_CPU_SECONDS 20
/* For one function, while other work goes on on the machine. */
#define HELPER_REPLY_MS 20000
/* One answer: DEVICE_ROWS_MAX rows are not sent as one. */
#define HELPER_REPLY_BYTES_MAX (512ull << 20)
/* An object that has killed so many has shown that it will kill the next. */
#define HELPER_DEATHS_MAX 4

/* Objects of less code are listed whole, so that a capture of thousands of small ones, as POCL's, does not
 * keep thousands of processes. */
#define WHOLE_BYTES_MAX (256u << 10)

struct helper {
	pid_t pid; /* 0: none */
	int fd;
	unsigned deaths;
};

/* What is new since the last answer, then the rows, in this order. */
struct reply_header {
	uint32_t strings, chains, rows;
	uint32_t zero;
	uint64_t bytes; /* of what follows */
};

/* ---- in the child ---- */

static int drop_descriptors(int keep)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0)
		return -errno;
	for (int fd = 0; fd < 3; fd++) {
		if (dup2(null, fd) < 0)
			return -errno;
	}
	unsigned k = (unsigned)keep;
	if (k > 3 && syscall(SYS_close_range, 3u, k - 1, 0) < 0)
		return -errno;
	return syscall(SYS_close_range, k + 1, ~0u, 0) < 0 ? -errno : 0;
}

/* Memory, but not of code. */
static int allow_memory(scmp_filter_ctx ctx)
{
	int rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
				  SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	return rc ? rc
		  : seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
				     SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
}

/* Reading and writing what is open, allocating, ending. Others are refused rather than fatal: libdw
 * tries to open files by itself, and goes on without. */
static int close_off(void)
{
	static const int allowed[] = {
		SCMP_SYS(read),           SCMP_SYS(write),        SCMP_SYS(brk),
		SCMP_SYS(munmap),         SCMP_SYS(mremap),       SCMP_SYS(madvise),
		SCMP_SYS(futex),          SCMP_SYS(exit),         SCMP_SYS(exit_group),
		SCMP_SYS(clock_gettime),  SCMP_SYS(getrandom),    SCMP_SYS(rt_sigreturn),
		SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigaction), SCMP_SYS(sigaltstack),
		SCMP_SYS(getpid),         SCMP_SYS(gettid),       SCMP_SYS(sched_yield),
	};
	return child_close_off(allowed, ARRAY_SIZE(allowed), allow_memory);
}

static int child_start(struct device_object *o, int fd)
{
	child_begin(HELPER_CPU_SECONDS, HELPER_MEMORY_BYTES);
	/* First, as LLVM says on stderr what it does not know. */
	int rc = drop_descriptors(fd);
	if (rc < 0)
		return rc;
	if (o->ops->prepare)
		o->ops->prepare(o);
	return close_off();
}

static void add_blob(struct strbuf *out, struct span s)
{
	uint32_t size = (uint32_t)s.size;
	strbuf_add(out, &size, sizeof(size));
	strbuf_add(out, s.data, s.size);
}

/* What is new in the tables since @strings and @chains were counted, and the rows of @f. */
static int child_reply(const struct device_object *o, const struct function *f, uint32_t strings,
		       uint32_t chains, int fd)
{
	struct reply_header h = {
		.strings = strtab_count(&o->strings) - strings,
		.chains = strtab_count(&o->chain_blobs) - chains,
		.rows = (uint32_t)f->rows.len,
	};
	struct strbuf tables = { 0 };

	for (uint32_t i = 0; i < h.strings; i++)
		add_blob(&tables, strtab_get(&o->strings, strings + i));
	for (uint32_t i = 0; i < h.chains; i++)
		add_blob(&tables, strtab_get(&o->chain_blobs, chains + i));
	h.bytes = tables.len;
	int rc = strbuf_finish(&tables);
	rc = rc ? rc : io_write_all(fd, &h, sizeof(h));
	rc = rc ? rc : io_write_all(fd, strbuf_text(&tables), tables.len);
	rc = rc ? rc : io_write_all(fd, f->rows.data, f->rows.len * sizeof(struct row));
	strbuf_release(&tables);
	return rc;
}

__attribute__((noreturn)) static void child_run(struct device_object *o, int fd)
{
	uint64_t index;

	if (child_start(o, fd) < 0)
		_exit(1);
	while (io_read_full(fd, &index, sizeof(index)) == sizeof(index) &&
	       index < o->functions.len) {
		uint32_t strings = strtab_count(&o->strings);
		uint32_t chains = strtab_count(&o->chain_blobs);
		struct function *f = &o->functions.data[index];
		f->rows.len = 0;
		if (o->ops->list(o, index) < 0 || child_reply(o, f, strings, chains, fd) < 0)
			_exit(1);
	}
	_exit(0);
}

/* ---- in the parent ---- */

static void end(struct helper *h)
{
	if (!h->pid)
		return;
	close(h->fd);
	child_end(h->pid, true);
	h->pid = 0;
}

void helper_stop(struct helper *h)
{
	if (h)
		end(h);
	free(h);
}

static int start(struct device_object *o, struct helper *h)
{
	int fds[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return -EPIPE;
	pid_t pid = fork();
	if (pid == 0) {
		o->helper = NULL; /* the parent's */
		child_run(o, fds[1]);
	}
	close(fds[1]);
	if (pid < 0) {
		close(fds[0]);
		return -EPIPE;
	}
	h->pid = pid;
	h->fd = fds[0];
	return 0;
}

/* All of @size bytes before @deadline. */
static int receive(const struct helper *h, void *data, size_t size, uint64_t deadline)
{
	uint8_t *p = data;
	while (size) {
		int64_t n = child_read(h->fd, p, size, deadline);
		if (n <= 0)
			return -EPIPE;
		p += n;
		size -= (size_t)n;
	}
	return 0;
}

/* A chain's numbers are those of strings that are there. */
static int take_chain(struct device_object *o, struct span s)
{
	struct chain_line lines[CHAIN_LINES_MAX];
	uint32_t count = strtab_count(&o->strings), id;

	if (!s.size || s.size > sizeof(lines) || s.size % sizeof(*lines))
		return -EPIPE;
	memcpy(lines, s.data, s.size);
	for (size_t i = 0; i < s.size / sizeof(*lines); i++) {
		if (lines[i].name >= count || lines[i].file >= count)
			return -EPIPE;
	}
	return object_chain(o, lines, s.size / sizeof(*lines), &id);
}

static int take_row(struct device_object *o, size_t function, const struct row *row)
{
	const struct function *f = &o->functions.data[function];
	uint64_t at = row->offset - f->pub.offset;

	if (row->text >= strtab_count(&o->strings) || row->assembly >= strtab_count(&o->strings) ||
	    row->chain >= o->chains.len || at >= f->pub.size || row->length > f->pub.size - at ||
	    (f->rows.len && vec_last(&f->rows)->offset >= row->offset))
		return -EPIPE;
	return object_add_row(o, function, row);
}

static int take_reply(struct device_object *o, size_t function, const struct reply_header *h,
		      struct span tables, const struct row *rows)
{
	struct cursor c = cursor_of(tables, NULL);
	int rc = 0;

	for (uint64_t i = 0; i < (uint64_t)h->strings + h->chains && !rc; i++) {
		uint32_t size, id;
		struct span s;
		if (cursor_u32(&c, &size, NULL) < 0 || cursor_bytes(&c, size, &s, NULL) < 0)
			return -EPIPE;
		rc = i < h->strings ? strtab_intern(&o->strings, s.data, s.size, &id, NULL)
				    : take_chain(o, s);
	}
	for (uint32_t i = 0; i < h->rows && !rc; i++)
		rc = take_row(o, function, &rows[i]);
	return rc < 0 ? rc : 0; /* 1: no room for the rest */
}

static int ask(struct device_object *o, const struct helper *h, size_t function)
{
	struct reply_header header;
	uint64_t index = function, deadline = child_deadline(HELPER_REPLY_MS);

	if (send(h->fd, &index, sizeof(index), MSG_NOSIGNAL) != sizeof(index) ||
	    receive(h, &header, sizeof(header), deadline) < 0 ||
	    header.bytes > HELPER_REPLY_BYTES_MAX || header.rows > DEVICE_ROWS_MAX)
		return -EPIPE;
	CLEANUP_FREE uint8_t *tables = malloc(header.bytes ? header.bytes : 1);
	CLEANUP_FREE struct row *rows = calloc(header.rows ? header.rows : 1, sizeof(*rows));
	if (!tables || !rows)
		return -ENOMEM;
	if (receive(h, tables, header.bytes, deadline) < 0 ||
	    receive(h, rows, header.rows * sizeof(*rows), deadline) < 0)
		return -EPIPE;
	return take_reply(o, function, &header, span_of(tables, header.bytes), rows);
}

static int list_one(struct device_object *o, struct helper *h, size_t function)
{
	int rc = -EPIPE;

	for (int tries = 0; tries < 2 && rc == -EPIPE && h->deaths < HELPER_DEATHS_MAX; tries++) {
		if (!h->pid && start(o, h) < 0)
			return -EPIPE;
		rc = ask(o, h, function);
		if (rc == -EPIPE) {
			end(h);
			h->deaths++;
			o->flags |= DEVICE_NO_TEXT;
			o->row_count -= o->functions.data[function].rows.len;
			o->functions.data[function].rows.len = 0;
		}
	}
	return rc;
}

static bool is_small(const struct device_object *o)
{
	uint64_t size = 0;
	for (size_t i = 0; i < o->functions.len && size <= WHOLE_BYTES_MAX; i++)
		size += o->functions.data[i].pub.size;
	return size <= WHOLE_BYTES_MAX;
}

int helper_list(struct device_object *o, size_t function)
{
	if (!o->helper)
		o->helper = calloc(1, sizeof(*o->helper));
	struct helper *h = o->helper;
	if (!h)
		return -ENOMEM;
	int rc = list_one(o, h, function);
	if (!is_small(o))
		return rc;
	for (size_t i = 0; i < o->functions.len && rc != -ENOMEM; i++) {
		if (o->functions.data[i].is_listed)
			continue;
		o->functions.data[i].is_listed = true;
		rc = list_one(o, h, i);
	}
	end(h);
	return rc;
}
