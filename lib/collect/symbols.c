/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/symbols.h"

#include "base/io.h"
#include "base/log.h"
#include "collect/kernel_name.h"
#include "collect/session_internal.h"
#include "symbolize/kernel.h"
#include "worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* kallsyms of a large kernel with its modules is 20 MB. */
#define KALLSYMS_MAX_BYTES (256u << 20)
/* A perf map has about 60 bytes for a function: a million of them. */
#define PERF_MAP_MAX_BYTES (64u << 20)

/* Lines that cost tens of milliseconds are for where one stack of so many ends, at least: not for the
 * frames of the C library below everybody's main(). */
#define COSTLY_LINES_SHARE 20

struct target {
	struct session *session;
	const struct object *object;
};

static int put_lines(struct session *s, const struct symbol *symbol,
		     struct record_symbol_line *lines)
{
	for (size_t i = 0; i < symbol->count; i++) {
		const struct symbol_line *from = &symbol->lines[i];
		struct record_symbol_line *line = &lines[i];
		int rc = capture_writer_string(s->writer, from->name, &line->name);
		if (rc >= 0 && from->file)
			rc = capture_writer_string(s->writer, from->file, &line->file);
		if (rc < 0)
			return rc;
		line->line = from->line;
	}
	return 0;
}

/* The worker's answers, which are checked by its parent's side already, and the kernel's. */
static int on_symbol(void *data, uint64_t offset, const struct symbol *symbol)
{
	const struct target *t = data;
	struct record_symbol_line lines[SYMBOL_LINES_MAX] = { 0 };
	struct record rec = { .type = RECORD_SYMBOL };

	if (!symbol->count || symbol->count > SYMBOL_LINES_MAX)
		return 0;
	int rc = put_lines(t->session, symbol, lines);
	if (rc < 0)
		return rc;
	rec.symbol = (struct record_symbol){
		.object = t->object->id,
		.offset = offset,
		.start = symbol->start,
		.size = symbol->size,
		.count = (uint32_t)symbol->count,
		.lines = lines,
	};
	return capture_writer_put(t->session->writer, &rec);
}

static int by_hits(const void *a, const void *b)
{
	const struct hash_slot *x = a, *y = b;

	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

/* The offsets that were hit, most often first: lines have a budget. */
static uint64_t *sorted_hits(const struct hash *hits)
{
	CLEANUP_FREE struct hash_slot *slots = calloc(hits->len, sizeof(*slots));
	uint64_t *offsets = calloc(hits->len, sizeof(*offsets));
	size_t count = 0;

	if (!slots || !offsets) {
		free(offsets);
		return NULL;
	}
	hash_for_each(hits, slot)
		slots[count++] = *slot;
	qsort(slots, count, sizeof(*slots), by_hits);
	for (size_t i = 0; i < count; i++)
		offsets[i] = slots[i].key;
	return offsets;
}

static int put_kernel(struct session *s, const struct object *kernel, uint64_t address,
		      uint64_t start, uint64_t size, const char *name)
{
	struct target target = { s, kernel };
	struct symbol_line line = { .name = name };
	const struct symbol symbol = { .start = start, .size = size, .lines = &line, .count = 1 };

	return on_symbol(&target, address, &symbol);
}

/* Without programs of ours, which ask the kernel for each. */
static int write_kallsyms(struct session *s, const struct object *kernel)
{
	CLEANUP(kernel_symbols_free) struct kernel_symbols *symbols = NULL;
	CLEANUP_FREE char *text = NULL;
	struct err err;
	size_t size;

	if (io_read_file("/proc/kallsyms", KALLSYMS_MAX_BYTES, &text, &size) < 0)
		return 0;
	if (kernel_symbols_new(&symbols, span_of(text, size), &err) < 0) {
		log_debug("%s", err.text);
		return 0;
	}
	hash_for_each(&kernel->hits, slot) {
		struct kernel_symbol found;
		if (kernel_symbols_at(symbols, slot->key, &found) < 0)
			continue;
		int rc = put_kernel(s, kernel, slot->key, found.start, found.size, found.name);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int write_kernel(struct session *s, const struct object *kernel)
{
	if (!s->programs.skeleton)
		return write_kallsyms(s, kernel);
	hash_for_each(&kernel->hits, slot) {
		struct kernel_name found;
		if (kernel_name_at(&s->programs, slot->key, &found) < 0)
			continue;
		int rc = put_kernel(s, kernel, slot->key, found.start, found.size, found.name);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int ask_worker(struct session *s, const struct object *object,
		      const struct worker_object *what, bool want_lines)
{
	struct target target = { s, object };
	struct worker_counts counts = { 0 };
	struct err err;
	CLEANUP_FREE uint64_t *offsets = sorted_hits(&object->hits);
	struct worker_ask ask = {
		.offsets = offsets,
		.count = object->hits.len < WORKER_OFFSETS_MAX ? object->hits.len
							       : WORKER_OFFSETS_MAX,
		.want_lines = want_lines,
		.only_cheap_lines = object->leaves * COSTLY_LINES_SHARE < s->samples.stacks,
		.budget_ns = s->line_budget_ns,
	};

	if (!offsets)
		return -ENOMEM;
	uint64_t start_ns = session_now();
	int rc = worker_symbolize(s->worker, what, &ask, on_symbol, &target, &counts, &err);
	uint64_t taken_ns = session_now() - start_ns - counts.fetch_ns;
	s->line_budget_ns -= taken_ns < s->line_budget_ns ? taken_ns : s->line_budget_ns;
	if (rc < 0 && *capture_writer_error(s->writer))
		return rc;
	if (rc < 0)
		log_debug("%s", err.text);
	if (rc < 0 && !s->has_told_names) {
		s->has_told_names = true;
		return info_put(s, "missing.names", err.text);
	}
	return 0;
}

/* The map that a JIT compiler writes for perf, if it is what it should be: a stranger's file with a
 * guessable name in a folder for everyone. */
static int open_perf_map(struct session *s, const struct object *anon)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/tmp/perf-%u.map", anon->owner.ns_pid);
	CLEANUP_CLOSE int fd = root_open(&s->objects.roots, anon->root, path, O_NOFOLLOW);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != anon->owner.uid || st.st_size > PERF_MAP_MAX_BYTES) {
		log_debug("'%s' is not the process's own, or too large", path);
		return -EACCES;
	}
	return TAKE_FD(fd);
}

static int write_anon(struct session *s, const struct object *anon)
{
	struct worker_object what = { .path = anon->path, .root_fd = -1 };

	if (anon->jitdump) {
		what.fd = anon->jitdump->fd;
		what.kind = WORKER_JITDUMP;
		what.path = anon->jitdump->path;
		return ask_worker(s, anon, &what, true);
	}
	CLEANUP_CLOSE int fd = open_perf_map(s, anon);
	if (fd < 0)
		return 0;
	what.fd = fd;
	what.kind = WORKER_PERF_MAP;
	return ask_worker(s, anon, &what, false);
}

static int write_object(struct session *s, const struct object *object)
{
	if (!object->hits.len)
		return 0;
	if (object->kind == OBJECT_KERNEL)
		return write_kernel(s, object);
	if (!s->worker)
		return 0;
	if (object->kind == OBJECT_ANON)
		return write_anon(s, object);
	if (!object->elf)
		return 0;
	struct worker_object what = {
		.fd = object->fd,
		.kind = WORKER_ELF,
		.path = object->path,
		.root_fd = root_fd(&s->objects.roots, object->root),
	};
	return ask_worker(s, object, &what, true);
}

int symbols_write(struct session *s)
{
	int rc = sample_settle(&s->samples);

	s->line_budget_ns = s->opt.line_budget_ns ? s->opt.line_budget_ns : LINE_BUDGET_NS;
	for (size_t i = 0; rc >= 0 && i < s->objects.others.len; i++)
		rc = write_object(s, s->objects.others.data[i]);
	for (size_t i = 1; rc >= 0 && i < s->objects.files.len; i++)
		rc = write_object(s, s->objects.files.data[i]);
	return rc;
}
