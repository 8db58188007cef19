/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/call.h"

#include "base/io.h"
#include "worker/sandbox.h"
#include "worker/worker_internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

void worker_reply_release(struct worker_reply *r)
{
	if (r->data.size)
		munmap((void *)(uintptr_t)r->data.data, r->data.size);
	r->data = span_of(NULL, 0);
}

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static bool is_text(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

/* A worker that has been taken over can ask for any file: these are texts of the right shape, and what
 * may be opened is decided by the call's open(). */
static bool is_well_formed(const struct elf_symbols_wanted *w)
{
	return w->build_id.size <= ELF_BUILD_ID_MAX && is_text(w->name, sizeof(w->name)) &&
	       is_text(w->path, sizeof(w->path)) && !strchr(w->name, '/') &&
	       strcmp(w->name, ".") != 0 && strcmp(w->name, "..") != 0;
}

static int answer_want(struct worker *w, const struct worker_call *call,
		       const struct worker_message *m)
{
	struct worker_message answer = { .type = WORKER_FILE };
	CLEANUP_CLOSE int fd = -1;

	if (!is_well_formed(&m->wanted))
		return -EPROTO;
	fd = call->open ? call->open(call->data, &m->wanted, m->attempt) : -ENOENT;
	answer.status = fd < 0 ? fd : 0;
	return worker_send(w->socket, &answer, sizeof(answer), &fd, fd >= 0 ? 1 : 0);
}

/* The reply, after files that the worker wants were handed over; and how long it took without those. */
static int converse(struct worker *w, const struct worker_call *call, const int *fds,
		    struct worker_message *m, uint64_t *ret_taken_ns)
{
	uint64_t deadline = now_ns() + call->timeout_ns;
	size_t no_fds = 0;

	memset(m, 0, sizeof(*m));
	m->type = WORKER_CALL;
	m->op = call->op;
	snprintf(m->text, sizeof(m->text), "%s", call->name);
	if (call->args_size)
		memcpy(m->args, call->args, call->args_size);
	int rc = worker_send(w->socket, m, sizeof(*m), fds, WORKER_FD_COUNT);
	while (rc == 0) {
		uint64_t now = now_ns();
		if (now >= deadline)
			rc = -ETIMEDOUT;
		else
			rc = worker_recv(w->socket, m, sizeof(*m), NULL, &no_fds, deadline - now);
		*ret_taken_ns = now_ns() + call->timeout_ns - deadline;
		if (rc < 0)
			break;
		if (m->type == WORKER_REPLY)
			return 0;
		if (m->type != WORKER_WANT_FILE)
			return -EPROTO;
		now = now_ns();
		rc = answer_want(w, call, m);
		deadline += now_ns() - now; /* a server's time is not the worker's */
	}
	return rc;
}

/* The answer's bytes. Sealed first: the worker still has the descriptor, and must not be able to change what
 * has been checked or to cut it off, which would kill us with SIGBUS. */
static int map_output(int fd, uint64_t size, struct span *ret)
{
	struct stat st;

	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
		return -EPROTO; /* it keeps a writable mapping */
	if (fstat(fd, &st) < 0 || (uint64_t)st.st_size != size || size > WORKER_REPLY_BYTES_MAX)
		return -EPROTO;
	*ret = span_of(NULL, 0);
	if (!size)
		return 0;
	void *map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	*ret = span_of(map, size);
	return 0;
}

static struct worker_owner *owner_of(struct worker *w, int fd)
{
	struct stat st = { 0 };

	(void)fstat(fd, &st);
	for (size_t i = 0; i < w->owner_count; i++) {
		struct worker_owner *owner = &w->owners[i];
		if (owner->device == st.st_dev && owner->uid == st.st_uid)
			return owner;
	}
	if (w->owner_count == WORKER_OWNERS_MAX)
		return &w->owners[WORKER_OWNERS_MAX - 1];
	struct worker_owner *owner = &w->owners[w->owner_count++];
	*owner = (struct worker_owner){ .device = st.st_dev, .uid = st.st_uid };
	return owner;
}

/* The worker is not to be used any more: say why, once, with the object's name. */
static int give_up(struct worker *w, const struct worker_call *call, int rc, struct err *err)
{
	char fate[64];

	w->owner->deaths++;
	worker_stop(w, fate, sizeof(fate));
	if (rc == -ETIMEDOUT)
		snprintf(fate, sizeof(fate), "did not finish in %llu ms",
			 (unsigned long long)(call->timeout_ns / 1000000));
	else if (rc == -EPROTO)
		snprintf(fate, sizeof(fate), "answered nonsense");
	err_set(err, -EINVAL, "reading '%s', the worker %s", call->name, fate);
	return -EPROTO;
}

int worker_call(struct worker *w, const struct worker_call *call, struct worker_reply *ret,
		struct err *err)
{
	assert(call->args_size <= WORKER_ARGS_BYTES);
	w->owner = owner_of(w, call->fd);
	if (w->owner->deaths >= WORKER_DEATHS_MAX || w->owner->slow_ns >= WORKER_SLOW_MAX_NS) {
		err_set(err, -EINVAL, "'%s' is left: its owner's files have %s", call->name,
			w->owner->deaths >= WORKER_DEATHS_MAX ? "broken the worker too often"
							      : "held up the worker for too long");
		return -EPROTO;
	}
	CLEANUP_CLOSE int input = memfd_create("accel-prof-input", MFD_CLOEXEC);
	CLEANUP_CLOSE int output =
		memfd_create("accel-prof-output", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (input < 0 || output < 0)
		return err_set(err, -errno, "cannot make a memory file");
	int rc = io_write_all(input, call->input.data, call->input.size);
	if (rc < 0)
		return err_set(err, rc, "cannot write to a memory file");
	rc = worker_ensure(w, err);
	if (rc < 0)
		return rc;

	struct worker_message m;
	const int fds[WORKER_FD_COUNT] = { call->fd, input, output };
	uint64_t taken_ns = 0;
	rc = converse(w, call, fds, &m, &taken_ns);
	if (taken_ns >= WORKER_SLOW_CALL_NS)
		w->owner->slow_ns += taken_ns;
	if (rc < 0)
		return give_up(w, call, rc, err);
	if (m.status < 0) {
		m.text[sizeof(m.text) - 1] = '\0';
		/* The text has the errno's words already. */
		err_set(err, -EINVAL, "%s", m.text);
		return m.status;
	}
	struct worker_reply reply;
	rc = map_output(output, m.size, &reply.data);
	if (rc < 0)
		return give_up(w, call, rc, err);
	memcpy(reply.args, m.args, sizeof(reply.args));
	*ret = reply;
	return 0;
}

int worker_distrust(struct worker *w, const char *name, struct err *err)
{
	char fate[64];
	w->owner->deaths++;
	worker_stop(w, fate, sizeof(fate));
	err_set(err, -EINVAL, "reading '%s', the worker answered nonsense", name);
	return -EPROTO;
}
