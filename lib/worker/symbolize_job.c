/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the worker: names and lines for the offsets of one object. */
#include "base/cleanup.h"
#include "base/strtab.h"
#include "symbolize/jit.h"
#include "worker/answer.h"
#include "worker/job.h"
#include "worker/worker.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

/* More than one file of a name: the build-id's, the link's three, the host's. */
#define ATTEMPTS_MAX 8

struct draft {
	VEC(struct answer_symbol) symbols;
	VEC(struct answer_line) lines;
	struct strtab strings; /* names in the lines are its numbers until draft_write() */
};

static void draft_release(struct draft *a)
{
	vec_release(&a->symbols);
	vec_release(&a->lines);
	strtab_release(&a->strings);
}
DEFINE_CLEANUP_EMBEDDED(draft_release, struct draft)

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int intern(struct draft *a, const char *text, uint32_t *ret)
{
	size_t n = strnlen(text, SYMBOL_NAME_BYTES_MAX);
	return strtab_intern(&a->strings, text, n, ret, NULL);
}

static int draft_add(struct draft *a, size_t index, const struct symbol *s)
{
	struct answer_symbol symbol = {
		.start = s->start,
		.size = s->size,
		.offset_index = (uint32_t)index,
		.line_count = (uint32_t)s->count,
	};
	for (size_t i = 0; i < s->count; i++) {
		struct answer_line line = {
			.file = UINT32_MAX,
			.line = s->lines[i].line,
			.column = s->lines[i].column,
		};
		if (intern(a, s->lines[i].name, &line.name) < 0 ||
		    (s->lines[i].file && intern(a, s->lines[i].file, &line.file) < 0) ||
		    vec_push(&a->lines, line) < 0)
			return -ENOMEM;
	}
	return vec_push(&a->symbols, symbol);
}

/* Turn the strings' numbers into where each begins, and write everything. */
static int draft_write(struct draft *a, struct worker_job *job, struct err *err)
{
	uint32_t count = strtab_count(&a->strings);
	CLEANUP_FREE uint32_t *begin = calloc(count, sizeof(*begin));
	CLEANUP_FREE char *heap = NULL;
	uint64_t size = 0;

	if (!begin)
		return err_set(err, -ENOMEM, "'%s'", job->name);
	for (uint32_t id = 0; id < count; id++) {
		begin[id] = (uint32_t)size;
		size += strtab_get(&a->strings, id).size + 1;
		if (size >= UINT32_MAX)
			return err_set(err, -E2BIG, "'%s': names", job->name);
	}
	heap = malloc(size);
	if (!heap)
		return err_set(err, -ENOMEM, "'%s'", job->name);
	for (uint32_t id = 0; id < count; id++) {
		struct span s = strtab_get(&a->strings, id);
		memcpy(heap + begin[id], s.data, s.size + 1);
	}
	vec_for_each(&a->lines, line) {
		line->name = begin[line->name];
		if (line->file != UINT32_MAX)
			line->file = begin[line->file];
	}
	struct answer_head head = {
		.symbol_count = a->symbols.len,
		.line_count = a->lines.len,
		.string_bytes = size,
	};
	int rc = worker_job_write(job, &head, sizeof(head), err);
	if (rc == 0)
		rc = worker_job_write(job, a->symbols.data,
				      a->symbols.len * sizeof(*a->symbols.data), err);
	if (rc == 0)
		rc = worker_job_write(job, a->lines.data, a->lines.len * sizeof(*a->lines.data),
				      err);
	if (rc == 0)
		rc = worker_job_write(job, heap, size, err);
	return rc;
}

typedef int (*add_file_fn)(struct elf_symbols *e, int fd, struct err *err);

/* The first of the recorder's candidates that is the right file: its descriptor, which must stay open
 * as long as @e, or -1. */
static int add_file(struct worker_job *job, struct elf_symbols *e,
		    const struct elf_symbols_wanted *wanted, add_file_fn fn)
{
	for (uint32_t attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
		int fd = worker_job_open(job, wanted, attempt);
		if (fd < 0)
			break;
		if (fn(e, fd, NULL) == 0)
			return fd;
		close(fd);
	}
	return -1;
}

static int name_offsets(struct elf_symbols *e, const uint64_t *offsets, size_t count,
			uint64_t deadline_ns, struct draft *a, struct symbolize_result *result)
{
	bool want_lines = deadline_ns && elf_symbols_have_lines(e);

	for (size_t i = 0; i < count; i++) {
		struct symbol symbol;
		if (want_lines && now_ns() >= deadline_ns) {
			want_lines = false;
			result->is_budget_spent = 1;
		}
		int rc = elf_symbols_at(e, offsets[i], want_lines, deadline_ns, &symbol);
		if (rc == -ETIME) {
			want_lines = false;
			result->is_budget_spent = 1;
			rc = elf_symbols_at(e, offsets[i], false, 0, &symbol);
		}
		if (rc == -ENOMEM || (rc == 0 && draft_add(a, i, &symbol) < 0))
			return -ENOMEM;
	}
	return 0;
}

static int symbolize_elf(struct worker_job *job, const struct symbolize_args *args,
			 const uint64_t *offsets, size_t count, struct draft *a,
			 struct symbolize_result *result, struct err *err)
{
	unsigned flags = ELF_SYMBOLS_MAP | (args->want_lines ? ELF_SYMBOLS_LINES : 0) |
			 (args->only_cheap_lines ? ELF_SYMBOLS_CHEAP : 0);
	CLEANUP_CLOSE int debug = -1;
	CLEANUP_CLOSE int alt = -1;
	CLEANUP(elf_symbols_close) struct elf_symbols *e = NULL;
	struct elf_symbols_wanted wanted;

	int rc = elf_symbols_open(&e, job->fd, job->name, flags, err);
	if (rc < 0)
		return rc;
	if (elf_symbols_want_debug(e, &wanted))
		debug = add_file(job, e, &wanted, elf_symbols_add_debug);
	result->has_debug_file = debug >= 0;
	if (elf_symbols_want_alt(e, &wanted))
		alt = add_file(job, e, &wanted, elf_symbols_add_alt);
	/* From here on, as finding the file may have been a matter of the network. */
	uint64_t deadline = args->want_lines ? now_ns() + args->budget_ns : 0;
	rc = elf_symbols_load(e, err);
	if (rc < 0)
		return rc;
	rc = name_offsets(e, offsets, count, deadline, a, result);
	return rc < 0 ? err_set(err, rc, "'%s'", job->name) : 0;
}

static int symbolize_jit(struct worker_job *job, bool is_dump, const uint64_t *offsets,
			 size_t count, struct draft *a, struct err *err)
{
	CLEANUP(jit_symbols_free) struct jit_symbols *j = NULL;
	struct stat st;
	struct symbol symbol;

	if (fstat(job->fd, &st) < 0 || !S_ISREG(st.st_mode))
		return err_set(err, -EBADMSG, "'%s' is not a regular file", job->name);
	void *map = NULL;
	if (st.st_size) {
		map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, job->fd, 0);
		if (map == MAP_FAILED)
			return err_set(err, -errno, "cannot map '%s'", job->name);
	}
	struct span bytes = span_of(map, (size_t)st.st_size);
	int rc = is_dump ? jit_symbols_new_dump(&j, bytes, err)
			 : jit_symbols_new_map(&j, bytes, err);
	if (map)
		munmap(map, bytes.size);
	if (rc < 0)
		return err_prefix(err, rc, "'%s'", job->name);
	for (size_t i = 0; i < count; i++) {
		if (jit_symbols_at(j, offsets[i], &symbol) == 0 && draft_add(a, i, &symbol) < 0)
			return err_set(err, -ENOMEM, "'%s'", job->name);
	}
	return 0;
}

int worker_symbolize_job(struct worker_job *job, struct err *err)
{
	struct symbolize_args args;
	struct symbolize_result result = { 0 };
	CLEANUP_FREE void *input = NULL;
	CLEANUP(draft_release) struct draft a = { 0 };
	size_t size;

	memcpy(&args, job->args, sizeof(args));
	int rc = worker_job_input(job, WORKER_OFFSETS_MAX * sizeof(uint64_t), &input, &size, err);
	if (rc < 0)
		return rc;
	size_t count = size / sizeof(uint64_t);
	switch (args.kind) {
	case WORKER_ELF:
		rc = symbolize_elf(job, &args, input, count, &a, &result, err);
		break;
	case WORKER_PERF_MAP:
	case WORKER_JITDUMP:
		rc = symbolize_jit(job, args.kind == WORKER_JITDUMP, input, count, &a, err);
		break;
	default:
		rc = err_set(err, -ENOSYS, "'%s': kind %u", job->name, args.kind);
	}
	if (rc < 0)
		return rc;
	memcpy(job->reply, &result, sizeof(result));
	return draft_write(&a, job, err);
}

_Static_assert(sizeof(struct symbolize_args) <= WORKER_ARGS_BYTES, "arguments fit into a call");
_Static_assert(sizeof(struct symbolize_result) <= WORKER_ARGS_BYTES, "a result fits into a reply");
