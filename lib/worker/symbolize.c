/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder's side of symbolizing: makes the call and believes nothing of the answer. */
#include "worker/answer.h"
#include "worker/call.h"
#include "worker/debug_files.h"

#include <errno.h>
#include <string.h>

/* What names alone may take: 8 million symbols, the most there can be, take 4 s here. */
#define NAMES_TIMEOUT_NS (20ull * 1000000000)

static int open_debug_file(void *data, const struct elf_symbols_wanted *wanted, uint32_t attempt)
{
	return debug_files_open(data, wanted, attempt);
}

static int call_worker(struct worker *w, const struct worker_object *object,
		       const struct worker_ask *ask, bool want_lines, struct worker_reply *ret,
		       struct err *err)
{
	struct debug_files files = { .path = object->path, .root_fd = object->root_fd };
	struct symbolize_args args = {
		.kind = object->kind,
		.want_lines = want_lines,
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
		.data = &files,
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
