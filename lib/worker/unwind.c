/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder's side of unwinding by the worker. */
#include "worker/unwind.h"

#include "base/strbuf.h"
#include "worker/call.h"
#include "worker/unwind_job.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

/* libtorch_cpu takes 30 ms; a machine under load gets time. */
#define TABLE_TIMEOUT_NS (10ull * 1000000000)
/* 256 frames with libunwind take a few milliseconds. */
#define FRAMES_TIMEOUT_NS (2ull * 1000000000)

int worker_unwind_table(struct worker *w, int fd, const char *name, struct worker_table *ret,
			struct err *err)
{
	CLEANUP(worker_reply_release) struct worker_reply reply = { 0 };
	const struct worker_call call = {
		.op = WORKER_OP_UNWIND_TABLE,
		.name = name,
		.fd = fd,
		.timeout_ns = TABLE_TIMEOUT_NS,
	};
	struct unwind_table_result result;

	int rc = worker_call(w, &call, &reply, err);
	if (rc < 0)
		return rc;
	memcpy(&result, reply.args, sizeof(result));
	struct unwind_table rows = {
		.base = result.base,
		.pages = result.pages,
		.rows = result.rows,
		.cells = (struct unwind_cell *)(uintptr_t)reply.data.data,
	};
	if (unwind_table_bytes(&rows) != reply.data.size || unwind_table_check(&rows, NULL) < 0)
		return worker_distrust(w, name, err);
	*ret = (struct worker_table){ .rows = rows, .stats = result.stats, .memory = reply.data };
	reply.data = span_of(NULL, 0);
	return 0;
}

void worker_table_release(struct worker_table *t)
{
	if (t->memory.size)
		munmap((void *)(uintptr_t)t->memory.data, t->memory.size);
	memset(t, 0, sizeof(*t));
}

/* The worker asks for an object's file by the number that it has in the mappings. */
static int open_object(void *data, const struct elf_symbols_wanted *wanted, uint32_t attempt)
{
	const struct worker_unwind_ask *ask = data;

	(void)wanted;
	return attempt < ask->space->object_count ? ask->open(ask->data, attempt) : -ENOENT;
}

DEFINE_CLEANUP_EMBEDDED(strbuf_release, struct strbuf)

/* Registers, mappings and stack, one behind the other. */
static int put_input(const struct worker_unwind_ask *ask, struct strbuf *b)
{
	const struct unwind_space *space = ask->space;

	strbuf_add(b, ask->copy->regs, UNWIND_REG_COUNT * sizeof(*ask->copy->regs));
	for (size_t i = 0; i < space->mapping_count; i++) {
		struct unwind_mapping m = space->mappings[i];
		const struct unwind_object *object = unwind_space_object(space, &m);
		/* Where address 0 of the object's file would be; the worker has no tables. */
		m.base = object ? m.base - object->table->base : 0;
		m.table = object ? m.table : 0;
		strbuf_add(b, &m, sizeof(m));
	}
	strbuf_add(b, ask->copy->stack.data, ask->copy->stack.size);
	return strbuf_finish(b);
}

int worker_unwind_frames(struct worker *w, const struct worker_unwind_ask *ask,
			 struct unwind_frame *frames, size_t max, struct err *err)
{
	CLEANUP(worker_reply_release) struct worker_reply reply = { 0 };
	CLEANUP(strbuf_release) struct strbuf input = { 0 };
	struct unwind_frames_args args = {
		.mappings = (uint32_t)ask->space->mapping_count,
		.max = (uint32_t)(max < UNWIND_ODD_FRAMES ? max : UNWIND_ODD_FRAMES),
		.stack_address = ask->copy->stack_address,
		.stack_size = ask->copy->stack.size,
	};
	memcpy(args.missing, ask->copy->missing, sizeof(args.missing));
	struct worker_call call = {
		.op = WORKER_OP_UNWIND_FRAMES,
		.name = "a stack",
		.args = &args,
		.args_size = sizeof(args),
		.timeout_ns = FRAMES_TIMEOUT_NS,
		.open = open_object,
		.data = (void *)(uintptr_t)ask,
	};

	if (put_input(ask, &input) < 0)
		return err_set(err, -ENOMEM, "a stack for the worker");
	call.input = span_of(input.data, input.len);
	/* A call has an object; this one's are asked for. */
	CLEANUP_CLOSE int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (null < 0)
		return err_set(err, -errno, "cannot open '/dev/null'");
	call.fd = null;
	int rc = worker_call(w, &call, &reply, err);
	if (rc < 0)
		return rc;
	size_t count = reply.data.size / sizeof(*frames);
	if (count > args.max || count * sizeof(*frames) != reply.data.size)
		return worker_distrust(w, call.name, err);
	if (count)
		memcpy(frames, reply.data.data, reply.data.size);
	return (int)count;
}
