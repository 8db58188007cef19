/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the worker: unwind tables, and libunwind over a copied stack. */
#include "worker/unwind_job.h"

#include "base/cleanup.h"
#include "unwind/copy.h"
#include "worker/job.h"

#include <errno.h>
#include <string.h>

/* The largest copy of a stack, and the mappings of the largest process. */
#define INPUT_MAX_BYTES (8u << 20)
/* Objects that one stack may pass through with libunwind. */
#define OPEN_MAX 64

int worker_unwind_table_job(struct worker_job *job, struct err *err)
{
	CLEANUP(elf_close) struct elf_file *elf = NULL;
	CLEANUP(unwind_table_release) struct unwind_table table = { 0 };
	struct unwind_table_result result = { 0 };

	int rc = elf_open_fd(&elf, job->fd, job->name, ELF_OPEN_MAP, err);
	if (rc < 0)
		return rc;
	rc = unwind_table_build(elf, &table, &result.stats, err);
	if (rc < 0)
		return rc;
	result.base = table.base;
	result.pages = table.pages;
	result.rows = table.rows;
	memcpy(job->reply, &result, sizeof(result));
	return worker_job_write(job, table.cells, unwind_table_bytes(&table), err);
}

struct opened {
	struct worker_job *job;
	struct {
		uint32_t number;
		int fd;
		struct elf_file *elf; /* NULL: not to be had */
	} list[OPEN_MAX];
	size_t count;
};

static void opened_release(struct opened *o)
{
	for (size_t i = 0; i < o->count; i++) {
		elf_close(o->list[i].elf);
		if (o->list[i].fd >= 0)
			close(o->list[i].fd);
	}
}
DEFINE_CLEANUP_EMBEDDED(opened_release, struct opened)

static struct elf_file *opened_get(void *data, uint32_t number)
{
	static const struct elf_symbols_wanted nothing;
	struct opened *o = data;

	for (size_t i = 0; i < o->count; i++) {
		if (o->list[i].number == number)
			return o->list[i].elf;
	}
	if (o->count == OPEN_MAX)
		return NULL;
	size_t at = o->count++;
	o->list[at].number = number;
	o->list[at].elf = NULL;
	o->list[at].fd = worker_job_open(o->job, &nothing, number);
	if (o->list[at].fd >= 0)
		(void)elf_open_fd(&o->list[at].elf, o->list[at].fd, "object", ELF_OPEN_MAP, NULL);
	return o->list[at].elf;
}

/* One for each number that a mapping has; all alike, as only their files differ. */
static struct unwind_object *objects_new(const struct unwind_mapping *mappings, size_t count,
					 size_t *ret_count)
{
	static const struct unwind_table origin; /* the mappings' bases are those of address 0 */
	uint32_t most = 0;

	for (size_t i = 0; i < count; i++)
		most = mappings[i].table > most ? mappings[i].table : most;
	struct unwind_object *objects = calloc((size_t)most + 1, sizeof(*objects));
	for (size_t i = 0; objects && i <= most; i++)
		objects[i].table = &origin;
	*ret_count = (size_t)most + 1;
	return objects;
}

int worker_unwind_frames_job(struct worker_job *job, struct err *err)
{
	CLEANUP_FREE void *input = NULL;
	CLEANUP_FREE struct unwind_object *objects = NULL;
	CLEANUP(opened_release) struct opened opened = { .job = job };
	const struct unwind_elves elves = { opened_get, &opened };
	struct unwind_frame frames[UNWIND_ODD_FRAMES];
	struct unwind_frames_args args;
	struct unwind_space space = { 0 };
	size_t size, head;

	int rc = worker_job_input(job, INPUT_MAX_BYTES, &input, &size, err);
	if (rc < 0)
		return rc;
	memcpy(&args, job->args, sizeof(args));
	head = UNWIND_REG_COUNT * sizeof(uint64_t) + args.mappings * sizeof(struct unwind_mapping);
	if (args.max > UNWIND_ODD_FRAMES || size < head || size - head != args.stack_size)
		return err_set(err, -EBADMSG, "the call's parts do not fit");
	space.mappings = (const void *)((const char *)input + UNWIND_REG_COUNT * sizeof(uint64_t));
	space.mapping_count = args.mappings;
	space.objects = objects = objects_new(space.mappings, args.mappings, &space.object_count);
	if (!objects)
		return err_set(err, -ENOMEM, "objects of a stack");
	struct unwind_copy copy = {
		.regs = input,
		.stack_address = args.stack_address,
		.stack = span_of((const char *)input + head, (size_t)args.stack_size),
	};
	memcpy(copy.missing, args.missing, sizeof(copy.missing));
	int count =
		unwind_libunwind_walk((void *)(uintptr_t)&elves, &space, &copy, frames, args.max);
	if (count < 0)
		return err_set(err, -ENOMEM, "libunwind");
	return worker_job_write(job, frames, (size_t)count * sizeof(*frames), err);
}
