/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder's side of symbolizing: makes the call and believes nothing of the answer. */
#include "worker/answer.h"
#include "worker/call.h"
#include "worker/debug_files.h"
#include "worker/worker_internal.h"

#include <errno.h>
#include <string.h>

/* What names alone may take: 8 million symbols, the most there can be, take 4 s here. */
#define NAMES_TIMEOUT_NS (20ull * 1000000000)

/* What one call may ask of servers: the debug file, and what dwz moved out of it. A worker that has been
 * taken over has this many words to say to them. */
#define FETCHES_MAX 2

struct debug_source {
	struct debug_files files;
	struct debug_fetch *fetch;
	unsigned fetches;
	struct elf_build_id asked; /* last */
};

static bool is_same_id(const struct elf_build_id *a, const struct elf_build_id *b)
{
	return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

/* What is here first, then what a server has; the worker refuses what is of another build. */
static int open_debug_file(void *data, const struct elf_symbols_wanted *wanted, uint32_t attempt)
{
	struct debug_source *s = data;

	int fd = debug_files_open(&s->files, wanted, attempt);
	if (fd >= 0 || !wanted->build_id.size || s->fetches >= FETCHES_MAX ||
	    is_same_id(&s->asked, &wanted->build_id))
		return fd;
	s->fetches++;
	s->asked = wanted->build_id;
	CLEANUP_CLOSE int fetched = debug_fetch_file(
		s->fetch, s->files.path ? s->files.path : "object", &wanted->build_id);
	if (fetched < 0 || !debug_files_is_elf(fetched))
		return -ENOENT;
	return TAKE_FD(fetched);
}

static int call_worker(struct worker *w, const struct worker_object *object,
		       const struct worker_ask *ask, bool want_lines, struct worker_reply *ret,
		       struct err *err)
{
	struct debug_source source = {
		.files = { .path = object->path, .root_fd = object->root_fd },
		.fetch = &w->fetch,
	};
	struct symbolize_args args = {
		.kind = object->kind,
		.want_lines = want_lines,
		.only_cheap_lines = ask->only_cheap_lines,
		.budget_ns = ask->budget_ns,
	};
	struct worker_call call = {
		.op = WORKER_OP_SYMBOLIZE,
		.name = object->path ? object->path : "object",
		.fd = object->fd,
		.args = &args,
		.args_size = sizeof(args),
		.input = span_of(ask->offsets, ask->count * sizeof(*ask->offsets)),
		/* libdw cannot be interrupted in the middle of a table. */
		.timeout_ns = NAMES_TIMEOUT_NS + (want_lines ? 2 * ask->budget_ns : 0),
		.open = open_debug_file,
		.data = &source,
	};
	return worker_call(w, &call, ret, err);
}

int worker_symbolize(struct worker *w, const struct worker_object *object,
		     const struct worker_ask *ask, worker_symbol_fn fn, void *data,
		     struct worker_counts *ret, struct err *err)
{
	CLEANUP(worker_reply_release) struct worker_reply reply = { 0 };
	struct worker_counts counts = { 0 };
	struct symbolize_result result;
	struct answer answer;
	uint64_t fetched_ns = w->fetch.spent_ns;

	if (ask->count > WORKER_OFFSETS_MAX)
		return err_set(err, -E2BIG, "more than %u offsets", WORKER_OFFSETS_MAX);
	bool want_lines = ask->want_lines && ask->budget_ns;
	int rc = call_worker(w, object, ask, want_lines, &reply, err);
	/* DWARF is where a reader breaks first, and names are worth a second try. */
	if (rc == -EPROTO && want_lines) {
		counts.has_lines_failed = true;
		rc = call_worker(w, object, ask, false, &reply, err);
	}
	if (rc < 0)
		return rc;
	if (answer_check(reply.data, ask, &answer) < 0)
		return worker_distrust(w, object->path ? object->path : "object", err);
	counts.fetch_ns = w->fetch.spent_ns - fetched_ns;
	memcpy(&result, reply.args, sizeof(result));
	counts.is_budget_spent = result.is_budget_spent;
	counts.has_debug_file = result.has_debug_file;
	rc = answer_deliver(&answer, ask, fn, data, &counts);
	if (rc < 0)
		return rc;
	if (ret)
		*ret = counts;
	return 0;
}
