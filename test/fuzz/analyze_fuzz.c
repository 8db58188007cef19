/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything between a capture and its profile. An input that starts with the magic is a file. Any
 * other is a recipe: bytes that fill the fields of records, with small numbers so that they refer
 * to each other, which the real writer makes a file of.
 *
 * Invariants: the states of each device add up to its window, and the tree's `wall` to all windows,
 * and so does what overlaps; every device sample is in the tree once; whatever the filters.
 *
 * In the corpus, *.file are captures of test/golden, found-* come from libFuzzer, and joined-* are
 * many of those one after the other, so that not each of their prefixes is replayed.
 */
#include "analyze/analyze.h"
#include "analyze/groups.h"
#include "analyze/hints.h"
#include "analyze/memory.h"
#include "analyze/phases.h"
#include "analyze/queueing.h"
#include "analyze/ranks.h"
#include "analyze/summary.h"
#include "analyze/work.h"
#include "base/cleanup.h"
#include "capture/chunk.h"
#include "capture/field.h"
#include "capture/reader.h"
#include "capture/writer.h"
#include "profile/flat.h"
#include "profile/profile.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct recipe {
	const uint8_t *data;
	size_t size;
	struct capture_writer *w;
};

static uint64_t take(struct recipe *r, unsigned bytes)
{
	uint64_t value = 0;
	for (; bytes && r->size; bytes--, r->size--)
		value = value << 8 | *r->data++;
	return value;
}

/* Mostly small, now and then anything. */
static uint64_t take_number(struct recipe *r)
{
	uint64_t first = take(r, 1);
	return first < 0xf0 ? first : take(r, first < 0xf8 ? 2 : 8);
}

static uint32_t take_string(struct recipe *r)
{
	static const char *const texts[] = {
		"",
		"main",
		"gemm",
		"ProfilerStep#1",
		"_pocl_kernel_gemm_workgroup",
		"missing",
		"cuda",
		"/x/gemm/4-4-1/gemm.so",
		"cpu-sample",
		"pc-sample",
		"launch",
		"void at::native::elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)",
		"_ZN6golden3mulEv",
		"torch/nn/modules/module.py",
		"Linear_3",
		"a.cl",
		/* Only for large numbers, so that the corpus goes on to mean what it did. */
		"memory",
		"memory allocated",
		"memory reserved",
		"GPU 0 Power (mW)",
		"gloo:all_reduce",
		"collective=allreduce;group=0;group-size=2;sequence=1",
		"warm-up",
		"cudaStreamBeginCapture",
		"cudaStreamEndCapture",
		"clBuildProgram",
	};
	uint64_t first = take(r, 1);
	uint32_t id = 0;
	capture_writer_string(r->w, texts[first % (first < 0xc0 ? 16 : ARRAY_SIZE(texts))], &id);
	return id;
}

static uint32_t take_object(struct recipe *r)
{
	struct record_object o = {
		.kind = 1 + (uint32_t)(take(r, 1) % 12),
		.flags = (uint32_t)(take(r, 1) & 7),
		.name = take_string(r),
		.path = take_string(r),
		.line = take(r, 1),
	};
	uint32_t id = 0;
	capture_writer_object(r->w, &o, &id);
	return id;
}

static uint32_t take_stack(struct recipe *r)
{
	struct record_frame frames[4];
	uint32_t count = (uint32_t)(take(r, 1) % 5), id = 0;
	for (uint32_t i = 0; i < count; i++)
		frames[i] = (struct record_frame){ take_object(r), take_number(r) };
	capture_writer_stack(r->w, frames, count, (uint32_t)take(r, 2), &id);
	return id;
}

static void fill_field(struct recipe *r, const struct field *f, uint8_t *at)
{
	uint64_t value = 0;
	switch (f->kind) {
	case FIELD_BYTES:
	case FIELD_FRAMES:
	case FIELD_LINES:
		return;
	case FIELD_STRING:
		value = take_string(r);
		break;
	case FIELD_OBJECT:
		value = take_object(r);
		break;
	case FIELD_STACK:
		value = take_stack(r);
		break;
	case FIELD_TRIPLE:
		for (int i = 0; i < 3; i++) {
			uint32_t part = (uint32_t)take_number(r);
			memcpy(at + i * sizeof(part), &part, sizeof(part));
		}
		return;
	case FIELD_TIME:
		value = take_number(r) * 16; /* so that durations are of their size */
		break;
	default:
		value = take_number(r);
		break;
	}
	memcpy(at, &value, f->size); /* little endian */
}

static void put_record(struct recipe *r)
{
	struct record rec = { .type = (enum record_type)(1 +
							 take(r, 1) % (RECORD_TYPE_COUNT - 1)) };
	struct record_symbol_line line = { .name = take_string(r), .file = take_string(r) };
	if (rec.type == RECORD_STRING || rec.type == RECORD_OBJECT || rec.type == RECORD_STACK)
		return;
	const struct record_layout *layout = record_layout(rec.type);
	for (size_t i = 0; i < layout->count; i++)
		fill_field(r, &layout->fields[i],
			   (uint8_t *)record_body(&rec) + layout->fields[i].offset);
	if (rec.type == RECORD_SYMBOL) {
		rec.symbol.count = 1;
		rec.symbol.lines = &line;
	}
	if (rec.type == RECORD_CODE_OBJECT)
		rec.code_object.part = (struct record_bytes){ "code", 4 };
	capture_writer_put(r->w, &rec);
}

static void make_file(int fd, const uint8_t *data, size_t size)
{
	CLEANUP(capture_writer_free) struct capture_writer *w = NULL;
	if (size >= CHUNK_MAGIC_BYTES && !memcmp(data, chunk_magic, CHUNK_MAGIC_BYTES)) {
		if (write(fd, data, size) != (ssize_t)size)
			abort();
		return;
	}
	if (capture_writer_open(&w, &(struct capture_writer_options){ .fd = fd }, NULL) < 0)
		abort();
	struct recipe r = { data, size, w };
	while (r.size)
		put_record(&r);
	if (capture_writer_flush(w) < 0)
		abort();
}

static uint64_t total(const struct profile *p, const char *metric)
{
	int m = profile_metric_find(p, metric);
	return m < 0 ? 0 : profile_total(p, PROFILE_ROOT, m);
}

static uint64_t add_up(uint64_t a, uint64_t b)
{
	return b > UINT64_MAX - a ? UINT64_MAX : a + b;
}

/* What goes by the windows alone, whoever launched. */
static void check_devices(struct analysis *a, const struct analysis_filter *filter)
{
	CLEANUP_FREE struct overlap *overlaps = NULL;
	CLEANUP_FREE struct queue_slice *slices = NULL;
	CLEANUP(work_release) struct work w = { .p = NULL };
	size_t count, slice_count;

	if (analysis_overlap(a, filter, &overlaps, &count, NULL) < 0 ||
	    analysis_queueing(a, filter, 3, &slices, &slice_count, NULL) < 0 ||
	    analysis_work(a, filter, &w, NULL) < 0)
		abort();
	assert(slice_count == count * 4);
	for (size_t i = 0; i < count; i++) {
		const struct queue_slice *whole = &slices[i * 4 + 3];
		uint64_t sum = 0;
		for (int part = 0; part < OVERLAP_PARTS; part++)
			sum = add_up(sum, overlaps[i].ns[part]);
		assert(whole->is_whole && sum == whole->end_ns - whole->begin_ns);
	}
}

/* What a program is at, its memory and its ranks. */
static void check_program(struct analysis *a, const struct analysis_filter *filter)
{
	CLEANUP(analysis_ranks_release) struct ranks_summary ranks = { .rank_count = 0 };
	CLEANUP_FREE struct memory_summary *memory = NULL;
	struct phases_summary phases;
	uint64_t sum = 0, cost = 0, begin, end;
	size_t count;

	if (analysis_phases(a, filter, &phases, NULL) < 0 ||
	    analysis_memory(a, filter, &memory, &count, NULL) < 0 ||
	    analysis_ranks(a, filter, &ranks, NULL) < 0)
		abort();
	analysis_span(a, &begin, &end);
	for (size_t i = 0; i < phases.count; i++)
		sum += phases.list[i].ns;
	assert(sum == phases.ns && sum <= end - begin);
	/* Sums of times that are nonsense wrap, all in the same way. */
	for (size_t i = 0; i < ranks.rank_count; i++) {
		assert(ranks.ranks[i].matched <= ranks.ranks[i].collectives);
		cost += ranks.ranks[i].cost_ns;
	}
	assert(ranks.rank_count < 2 || cost <= ranks.wait_ns || ranks.wait_ns > UINT64_MAX / 2 ||
	       cost > UINT64_MAX / 2);
	for (size_t i = 0; i < ranks.count; i++)
		assert(ranks.list[i].slowest < ranks.rank_count);
}

static void check_groups(struct analysis *a)
{
	static const char *const keys[] = { "device", "stream", "process", "rank",
					    "thread", "step",   "scope" };
	const struct analysis_filter everything = { .pid = NULL };
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		CLEANUP(analysis_groups_free) struct analysis_groups *g = NULL;
		if (analysis_groups_new(&g, a, &everything, keys[i], NULL) < 0)
			abort();
		const struct analysis_group *first = analysis_groups_get(g, 0);
		assert(!first || *first->label || i == 6);
	}
}

static void check(struct analysis *a, const struct analysis_filter *filter)
{
	struct analysis_profile_options opt = { .filter = *filter, .full = true };
	CLEANUP(profile_free) struct profile *p = NULL, *folded = NULL;
	CLEANUP_FREE struct process_summary *processes = NULL;
	CLEANUP_FREE struct flat_row *rows = NULL;
	CLEANUP_FREE struct step_summary *steps = NULL;
	struct analysis_summary s;
	uint64_t windows = 0;
	size_t count;

	if (analysis_profile(a, &opt, &p, NULL) < 0)
		return; /* a time that is empty here */
	if (analysis_summarize(a, filter, &s, NULL) < 0)
		abort();
	check_devices(a, filter);
	check_program(a, filter);
	for (size_t i = 0; i < s.device_count; i++) {
		uint64_t sum = 0;
		for (int state = 0; state < ACCOUNT_STATE_COUNT; state++)
			sum = add_up(sum, s.devices[i].ns[state]);
		if (!filter->pid && !filter->scope)
			assert(sum == s.devices[i].end_ns - s.devices[i].begin_ns);
		windows = add_up(windows, sum);
	}
	assert(total(p, "wall") == windows);
	if (filter->time || filter->pid || filter->scope) /* else there is [lost] */
		assert(total(p, "device-samples") == s.samples);
	assert(s.samples == s.by_correlation + s.by_overlap + s.by_launches + s.by_nobody);
	struct hints hints;
	if (analysis_hints(a, p, &s, filter, &hints, NULL) < 0 ||
	    analysis_step_list(a, filter, &steps, &count, NULL) < 0)
		abort();
	assert(hints.count <= HINTS_MAX);
	for (size_t i = 0; i < hints.count; i++)
		assert(hints.list[i].gain_ns <= windows || !s.device_count);
	hints_release(&hints);
	analysis_summary_release(&s);

	opt.full = false;
	if (analysis_profile(a, &opt, &folded, NULL) < 0 ||
	    analysis_processes(a, filter, &processes, &count, NULL) < 0)
		abort();
	assert(total(folded, "wall") == windows);
	if (profile_metric_count(p) && profile_flat(p, 0, &rows, &count) < 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct analysis_filter filters[] = {
		{ .pid = NULL },
		{ .time = "10%-60%" },
		{ .pid = "1,2" },
		{ .scope = "*", .stream = "1,2,3" },
	};
	CLEANUP_CLOSE int fd = memfd_create("capture", MFD_CLOEXEC);
	CLEANUP(capture_reader_free) struct capture_reader *r = NULL;
	CLEANUP(analysis_free) struct analysis *a = NULL;

	if (fd < 0)
		abort();
	make_file(fd, data, size);
	lseek(fd, 0, SEEK_SET);
	if (capture_reader_open_fd(&r, fd, "fuzz", NULL) < 0)
		return 0;
	if (analysis_load(&a, r, &(struct analysis_options){ 0 }, NULL) < 0)
		abort();
	for (size_t i = 0; i < ARRAY_SIZE(filters); i++)
		check(a, &filters[i]);
	check_groups(a);
	analysis_free(TAKE(a));
	return 0;
}
