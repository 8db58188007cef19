/* SPDX-License-Identifier: Apache-2.0 */
/* Two small captures as one: what is the same is there once, and what is not stays apart. */
#include "capture/capture_test.h"
#include "capture/merge.h"

#include <stdio.h>
#include <string.h>

#define SECOND 1000000000ull

struct side {
	const char *host, *source;
	uint64_t time_ns, realtime_ns;
	uint32_t pid;
};

static uint32_t text(struct capture_writer *w, const char *t)
{
	uint32_t id;
	assert_int_equal(capture_writer_string(w, t, &id), 0);
	return id;
}

static void put(struct capture_writer *w, struct record rec)
{
	assert_int_equal(capture_writer_put(w, &rec), 0);
}

static void put_symbol(struct capture_writer *w, uint32_t object, uint64_t offset, const char *name)
{
	struct record_symbol_line line = { .name = text(w, name) };
	put(w, (struct record){ .type = RECORD_SYMBOL,
				.symbol = { .object = object,
					    .offset = offset,
					    .start = offset,
					    .count = 1,
					    .lines = &line } });
}

static void put_head(struct capture_writer *w, const struct side *s)
{
	put(w, (struct record){ .type = RECORD_HEADER,
				.header = { .time_ns = s->time_ns,
					    .realtime_ns = s->realtime_ns,
					    .source = text(w, s->source),
					    .host = text(w, s->host),
					    .kernel = text(w, "6.1"),
					    .clock = text(w, "CLOCK_MONOTONIC") } });
	put(w, (struct record){ .type = RECORD_PROCESS,
				.process = { .id = 1, .pid = s->pid, .comm = text(w, "train") } });
	put(w, (struct record){ .type = RECORD_THREAD,
				.thread = { .id = 1, .process = 1, .tid = s->pid } });
	put(w, (struct record){ .type = RECORD_DEVICE,
				.device = { .id = 1, .runtime = text(w, "cuda") } });
}

/* A launch from a place in a library and in the OS, and its work a second later. */
static struct scratch_capture make(const struct side *s)
{
	struct scratch_capture c;
	scratch_open(&c, NULL);
	struct capture_writer *w = c.w;
	put_head(w, s);
	struct record_frame frames[2] = { { .offset = 0xffff0010 }, { .offset = 0x1000 } };
	uint32_t stack;
	assert_int_equal(
		capture_writer_object(w,
				      &(struct record_object){ .kind = OBJECT_KERNEL,
							       .name = text(w, "[kernel]") },
				      &frames[0].object),
		0);
	assert_int_equal(
		capture_writer_object(w,
				      &(struct record_object){ .kind = OBJECT_ELF,
							       .path = text(w, "/lib/a.so"),
							       .build_id = { "\1\2", 2 } },
				      &frames[1].object),
		0);
	put_symbol(w, frames[0].object, frames[0].offset, s->host);
	put_symbol(w, frames[1].object, frames[1].offset, "call");
	assert_int_equal(capture_writer_code_object(
				 w, &(struct record_code_object){ .id = 1, .kind = 1 }, "code", 4),
			 0);
	assert_int_equal(capture_writer_stack(w, frames, 2, STACK_ROOTED, &stack), 0);
	put(w, (struct record){ .type = RECORD_LAUNCH,
				.launch = { .time_ns = s->time_ns + SECOND,
					    .thread = 1,
					    .stack = stack,
					    .kind = LAUNCH_KERNEL,
					    .correlation = 1,
					    .name = text(w, "gemm") } });
	put(w, (struct record){ .type = RECORD_DISPATCH,
				.dispatch = { .correlation = 1,
					      .device = 1,
					      .start_ns = s->time_ns + 2 * SECOND,
					      .end_ns = s->time_ns + 3 * SECOND } });
	put(w, (struct record){ .type = RECORD_END, .end = { .launches = 1, .exit_status = 0 } });
	scratch_read(&c);
	return c;
}

struct seen {
	unsigned processes, threads, devices, elf, kernels, symbols, code;
	uint64_t launch[2], dispatch[2], launch_ns[2];
	uint32_t run[2];
	char host[2][16];
	unsigned launches, dispatches;
	struct record_end end;
};

static void see(struct seen *x, struct capture_reader *r, const struct record *rec)
{
	switch (rec->type) {
	case RECORD_PROCESS:
		if (x->processes < 2) {
			x->run[x->processes] = rec->process.run;
			snprintf(x->host[x->processes], sizeof(x->host[0]), "%s",
				 capture_reader_text(r, rec->process.host));
		}
		x->processes++;
		break;
	case RECORD_THREAD:
		x->threads++;
		break;
	case RECORD_DEVICE:
		x->devices++;
		break;
	case RECORD_OBJECT:
		x->elf += rec->object.kind == OBJECT_ELF;
		x->kernels += rec->object.kind == OBJECT_KERNEL;
		break;
	case RECORD_SYMBOL:
		x->symbols++;
		break;
	case RECORD_CODE_OBJECT:
		x->code++;
		break;
	case RECORD_LAUNCH:
		assert_true(x->launches < 2);
		x->launch_ns[x->launches] = rec->launch.time_ns;
		x->launch[x->launches++] = rec->launch.correlation;
		break;
	case RECORD_DISPATCH:
		assert_true(x->dispatches < 2);
		x->dispatch[x->dispatches++] = rec->dispatch.correlation;
		break;
	case RECORD_END:
		x->end = rec->end;
		break;
	default:
		break;
	}
}

static struct seen merge_two(const struct side *a, const struct side *b, bool drops_host)
{
	CLEANUP(merge_free) struct merge *m = NULL;
	const struct side *sides[] = { a, b };
	struct scratch_capture merged;
	struct seen seen = { 0 };
	struct record rec;

	scratch_open(&merged, NULL);
	assert_int_equal(
		merge_new(&m, merged.w, &(struct merge_options){ .drops_host = drops_host }, NULL),
		0);
	for (int i = 0; i < 2; i++) {
		struct scratch_capture c = make(sides[i]);
		assert_int_equal(merge_add(m, c.r, &(struct merge_source){ .name = "side" }, NULL),
				 0);
		scratch_close(&c);
	}
	assert_int_equal(merge_end(m, NULL), 0);
	scratch_read(&merged);
	while (capture_reader_next(merged.r, &rec, NULL) > 0)
		see(&seen, merged.r, &rec);
	assert_string_equal(capture_reader_damage(merged.r).text, "");
	scratch_close(&merged);
	assert_int_equal(seen.launches, 2);
	assert_int_equal(seen.end.launches, 2);
	assert_int_not_equal(seen.launch[0], seen.launch[1]);
	assert_int_equal(seen.launch[0], seen.dispatch[0]);
	assert_int_equal(seen.launch[1], seen.dispatch[1]);
	return seen;
}

/* Equal numbers on two machines, at the same time; 7 s lie between their clocks. */
static void test_hosts(void **state)
{
	const struct side a = { "one", "record", 100 * SECOND, 5000 * SECOND, 7 };
	const struct side b = { "two", "record", 93 * SECOND, 5000 * SECOND, 7 };
	(void)state;
	struct seen x = merge_two(&a, &b, true);
	assert_int_equal(x.processes, 2);
	assert_string_equal(x.host[0], "one");
	assert_string_equal(x.host[1], "two");
	assert_int_equal(x.devices, 2);
	assert_int_equal(x.elf, 1);     /* a build-id says that it is the same */
	assert_int_equal(x.kernels, 2); /* addresses in the OS are each machine's own */
	assert_int_equal(x.symbols, 3);
	assert_int_equal(x.code, 1);
	assert_int_equal(x.launch_ns[0], 101 * SECOND);
	assert_int_equal(x.launch_ns[1], 101 * SECOND);
}

/* What two tools saw of one process at once. */
static void test_sessions(void **state)
{
	const struct side a = { "one", "record", 100 * SECOND, 5000 * SECOND, 7 };
	const struct side b = { "one", "kineto", 101 * SECOND, 5001 * SECOND, 7 };
	(void)state;
	struct seen x = merge_two(&a, &b, false);
	assert_int_equal(x.processes, 1);
	assert_int_equal(x.threads, 1);
	assert_int_equal(x.devices, 1);
	assert_int_equal(x.kernels, 1);
	assert_int_equal(x.symbols, 2);
	assert_int_equal(x.launch_ns[1], 102 * SECOND);
}

/* Of two traces of one format, equal numbers are those of two processes, as in containers. */
static void test_equal_numbers(void **state)
{
	const struct side a = { "", "kineto", 100 * SECOND, 5000 * SECOND, 1 };
	const struct side b = { "", "kineto", 100 * SECOND, 5000 * SECOND, 1 };
	(void)state;
	struct seen x = merge_two(&a, &b, false);
	assert_int_equal(x.processes, 2);
	assert_int_equal(x.devices, 2);
	assert_int_equal(x.run[1], 0);
}

/* An hour later: another run, which is laid over the first. */
static void test_runs(void **state)
{
	const struct side a = { "one", "record", 100 * SECOND, 5000 * SECOND, 7 };
	const struct side b = { "one", "record", 3700 * SECOND, 8600 * SECOND, 7 };
	(void)state;
	struct seen x = merge_two(&a, &b, false);
	assert_int_equal(x.processes, 2);
	assert_int_equal(x.run[0], 0);
	assert_int_equal(x.run[1], 2);
	assert_int_equal(x.devices, 2);
	assert_int_equal(x.kernels, 1); /* it had not been started again */
	assert_int_equal(x.launch_ns[1], 101 * SECOND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_sessions),
		cmocka_unit_test(test_equal_numbers),
		cmocka_unit_test(test_runs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
