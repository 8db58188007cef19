/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A capture as a recorder of a busy program makes it, of any size: two processes with four threads
 * each, sampled at 999 Hz, stacks 20 to 40 frames deep out of a call tree, 24 kernels on two devices.
 * As in real programs a few stacks, places of launch and instructions have most of the samples. For N: N launches, N dispatches, 3 N / 4 CPU samples and N / 4
 * device samples without a correlation id.
 *
 *	generate N FILE
 */
#include "base/cleanup.h"
#include "base/parse.h"
#include "capture/writer.h"

#include <stdio.h>
#include <stdlib.h>

#define PROCESSES 2
#define THREADS   8
#define KERNELS   24
#define FUNCTIONS 4000 /* with a symbol each */
#define STACKS    20000
#define LAUNCHERS 200 /* stacks that launch, each one kernel */
#define DEVICES   2
#define FRAMES    40

struct state {
	struct capture_writer *w;
	uint32_t seed;
	uint32_t object;
	uint64_t now_ns, correlation;
	uint64_t busy_until_ns[DEVICES];
};

static void check(int rc)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "generate: error %d\n", rc);
	exit(1);
}

static uint32_t next_random(struct state *s, uint32_t below)
{
	s->seed = s->seed * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)(s->seed >> 4) * below >> 28);
}

/* Small numbers are much more frequent than large ones. */
static uint32_t next_skewed(struct state *s, uint32_t below)
{
	return (uint32_t)((uint64_t)next_random(s, below) * next_random(s, below) / below *
			  next_random(s, below) / below);
}

static uint32_t text(struct state *s, const char *before, uint32_t number, const char *after)
{
	char name[128];
	uint32_t id;
	snprintf(name, sizeof(name), "%s%u%s", before, number, after);
	check(capture_writer_string(s->w, name, &id));
	return id;
}

static void put(struct state *s, const struct record *rec)
{
	check(capture_writer_put(s->w, rec));
}

/* Stack number @i is always the same one: its frames come from its number. */
static uint32_t stack(struct state *s, uint32_t i)
{
	struct record_frame frames[FRAMES];
	uint32_t depth = 20 + i % 21, x = i * 2654435761u, id;
	for (uint32_t k = 0; k < depth; k++) {
		/* The root-most frames are shared by many stacks, the leaf-most by few. */
		uint32_t level = depth - 1 - k;
		uint32_t choice = level < 8 ? level : x % (level * 16) + level * 97;
		frames[k] = (struct record_frame){ s->object, 0x1000 + choice % FUNCTIONS * 64ull };
		x = x * 1664525u + 1013904223u;
	}
	check(capture_writer_stack(s->w, frames, depth, STACK_ROOTED, &id));
	return id;
}

static void begin(struct state *s)
{
	put(s, &(struct record){ .type = RECORD_HEADER,
				 .header = { .time_ns = s->now_ns, .frequency = 999 } });
	for (uint32_t i = 1; i <= PROCESSES; i++)
		put(s, &(struct record){ .type = RECORD_PROCESS,
					 .process = { .id = i,
						      .pid = 1000 + i,
						      .comm = text(s, "train", i, "") } });
	for (uint32_t i = 1; i <= THREADS; i++)
		put(s, &(struct record){ .type = RECORD_THREAD,
					 .thread = { .id = i,
						     .process = 1 + i % PROCESSES,
						     .tid = 2000 + i,
						     .name = text(s, "worker", i, "") } });
	for (uint32_t i = 1; i <= DEVICES; i++)
		put(s, &(struct record){ .type = RECORD_DEVICE,
					 .device = { .id = i,
						     .index = i - 1,
						     .name = text(s, "device", i, "") } });
	/* Each process has its own kernels. */
	for (uint32_t i = 1; i <= KERNELS * PROCESSES; i++)
		put(s,
		    &(struct record){ .type = RECORD_KERNEL,
				      .kernel = { .id = i,
						  .process = 1 + i % PROCESSES,
						  .name = text(s, "kernel", i / PROCESSES, "") } });
	struct record_object object = { .kind = OBJECT_ELF,
					.name = text(s, "/opt/app/lib", 0, ""),
					.path = text(s, "/opt/app/lib", 0, "") };
	check(capture_writer_object(s->w, &object, &s->object));
}

static void sample(struct state *s, uint32_t thread)
{
	put(s, &(struct record){ .type = RECORD_CPU_SAMPLE,
				 .cpu_sample = { .time_ns = s->now_ns,
						 .thread = thread,
						 .stack = stack(s, next_skewed(s, STACKS)),
						 .weight = 1 } });
}

static void launch(struct state *s, uint32_t thread, uint64_t i)
{
	uint32_t process = 1 + thread % PROCESSES, device = next_random(s, DEVICES);
	uint32_t launcher = next_skewed(s, LAUNCHERS);
	uint32_t kernel = 2 * (1 + launcher % (KERNELS - 1)) + (process == 2);
	uint32_t place = next_skewed(s, 400);
	uint64_t duration = 2000 + next_random(s, 30000);
	uint64_t start = s->now_ns + 5000;

	put(s, &(struct record){ .type = RECORD_LAUNCH,
				 .launch = { .time_ns = s->now_ns,
					     .duration_ns = 2000,
					     .thread = thread,
					     .stack = stack(s, launcher),
					     .kind = LAUNCH_KERNEL,
					     .kernel = kernel,
					     .correlation = ++s->correlation,
					     .grid = { 64, 1, 1 },
					     .block = { 256, 1, 1 } } });
	if (i % 2 && start < s->busy_until_ns[device])
		start = s->busy_until_ns[device];
	s->busy_until_ns[device] = start + duration;
	put(s, &(struct record){ .type = RECORD_DISPATCH,
				 .dispatch = { .correlation = s->correlation,
					       .device = device + 1,
					       .kernel = kernel,
					       .kind = LAUNCH_KERNEL,
					       .start_ns = start,
					       .end_ns = start + duration } });
	if (i % 4 == 0)
		put(s, &(struct record){
			       .type = RECORD_PC_SAMPLE,
			       .pc_sample = { .time_ns = start + duration / 2,
					      .device = device + 1,
					      .kernel = kernel,
					      .offset = 16ull * place,
					      .reason = text(s, "stall",
							     (place + next_random(s, 2)) % 8, ""),
					      .count = 1,
					      .thread = thread } });
}

static void end(struct state *s)
{
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		struct record_symbol_line line = { .name = text(s, "_ZN3app8functionILi", i,
								"EEEvi"),
						   .file = text(s, "/src/app.cc", 0, ""),
						   .line = i };
		put(s, &(struct record){ .type = RECORD_SYMBOL,
					 .symbol = { .object = s->object,
						     .offset = 0x1000 + i * 64ull,
						     .start = 0x1000 + i * 64ull,
						     .size = 64,
						     .count = 1,
						     .lines = &line } });
	}
	put(s, &(struct record){ .type = RECORD_END,
				 .end = { .time_ns = s->now_ns, .exit_status = -1 } });
}

int main(int argc, char **argv)
{
	CLEANUP(capture_writer_free) struct capture_writer *w = NULL;
	struct err err = { "usage: generate N FILE" };
	uint64_t n;

	if (argc != 3 || parse_u64(argv[1], 10, &n) < 0 ||
	    capture_writer_open(&w, &(struct capture_writer_options){ .path = argv[2] }, &err) <
		    0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	struct state s = { .w = w, .seed = 1, .now_ns = 1000000000 };
	begin(&s);
	for (uint64_t i = 0; i < n; i++) {
		uint32_t thread = 1 + next_random(&s, THREADS);
		launch(&s, thread, i);
		if (i % 4)
			sample(&s, 1 + next_random(&s, THREADS));
		s.now_ns += 60000 + next_random(&s, 68000); /* 8 threads at 999 Hz, 3 of 4 */
	}
	end(&s);
	check(capture_writer_flush(w));
	check(capture_writer_commit(w, &err));
	return 0;
}
