/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many bytes a record costs, and how fast captures are written and read, beside what plain
 * structs cost in the same run: as they are, and through zlib at level 1.
 *
 *	capture [MILLIONS]
 *
 * The models: a training loop of 1,500 launches a step from as many places, whose durations vary by
 * a few percent, with dispatches told in batches as a ring gives them; and CPU samples with stacks
 * of 50 frames, 2,000 call paths of very different weight with 64 leaf addresses each.
 */
#include "base/cleanup.h"
#include "base/parse.h"
#include "capture/reader.h"
#include "capture/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <zlib.h>

#define SITES  1500u
#define BATCH  64u
#define DEPTH  50u
#define PATHS  2000u
#define LEAVES 64u

static double cpu_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint32_t random32(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33);
}

static void check(int rc)
{
	if (rc < 0) {
		fprintf(stderr, "%s\n", strerror(-rc));
		exit(1);
	}
}

/* ---- the models ---- */

struct launches {
	uint64_t seed, time_ns, device_ns, correlation;
	uint32_t stacks[SITES], epoch_stacks;
};

static void model_launch(struct launches *m, struct record_launch *launch,
			 struct record_dispatch *dispatch)
{
	uint32_t site = (uint32_t)(m->correlation % SITES), noise = random32(&m->seed);
	uint64_t kernel_ns = 2000 + site * 7919 % 60000;

	m->time_ns += 4000 + noise % 4000;
	uint64_t ready = m->time_ns + 5000 + (noise >> 12) % 1000;
	if (m->device_ns < ready)
		m->device_ns = ready;
	*launch = (struct record_launch){
		.time_ns = m->time_ns,
		.duration_ns = 3000 + (noise >> 8) % 600,
		.thread = 3,
		.kind = LAUNCH_KERNEL,
		.kernel = 1 + site % 120,
		.queue = 2,
		.correlation = ++m->correlation,
		.grid = { 1 + site * 31 % 2048, 1 + site % 3, 1 },
		.block = { 128u << site % 3, 1, 1 },
	};
	*dispatch = (struct record_dispatch){
		.correlation = m->correlation,
		.device = 1,
		.queue = 2,
		.kernel = launch->kernel,
		.kind = LAUNCH_KERNEL,
		.start_ns = m->device_ns + 900,
		.end_ns = m->device_ns + 900 + kernel_ns + (noise >> 4) % (kernel_ns / 16),
	};
	/* The device keeps up on average. */
	m->device_ns = dispatch->start_ns + (kernel_ns < 6000 ? kernel_ns : 6000);
}

struct samples {
	uint64_t seed, time_ns;
};

/* Paths share their root-most parts as a tree of calls does: the path's number decides, level by
 * level, which of few callees is next. */
static void model_sample(struct samples *m, struct record_frame frames[DEPTH],
			 struct record_cpu_sample *sample)
{
	/* The product of two uniform numbers: few paths get most samples. */
	uint32_t path = (uint32_t)((uint64_t)(random32(&m->seed) % PATHS) *
				   (random32(&m->seed) % PATHS) / PATHS);
	uint32_t noise = random32(&m->seed);

	for (uint32_t level = 0; level < DEPTH; level++) {
		uint32_t branch = level < 20 ? 0 : path >> (11 - (level - 20) * 11 / 30);
		uint32_t function = (level * 2654435761u) ^ (branch * 40503u);
		frames[DEPTH - 1 - level] =
			(struct record_frame){ .object = 1 + function % 12,
					       .offset = 0x1000 + function % 0x400000 };
	}
	frames[0].offset += noise % LEAVES * 4;
	m->time_ns += 9000000 + noise % 2000000;
	*sample = (struct record_cpu_sample){ .time_ns = m->time_ns,
					      .thread = 1 + noise % 8,
					      .cpu = (noise >> 8) % 16,
					      .weight = 1 };
}

/* ---- measuring ---- */

struct result {
	double seconds;
	uint64_t bytes;
};

static void print(const char *what, const char *how, uint64_t count, struct result r)
{
	printf("%-22s %-24s %8.2f bytes each %9.2f M/s %9.1f MB/s out\n", what, how,
	       (double)r.bytes / (double)count, (double)count / r.seconds / 1e6,
	       (double)r.bytes / r.seconds / 1e6);
}

static struct capture_writer *open_writer(int *ret_fd)
{
	*ret_fd = memfd_create("bench", MFD_CLOEXEC);
	const struct capture_writer_options opt = { .fd = *ret_fd };
	struct capture_writer *w = NULL;
	check(capture_writer_open(&w, &opt, NULL));
	return w;
}

static void make_objects(struct capture_writer *w)
{
	for (uint32_t i = 1; i <= 12; i++) {
		char name[32];
		struct record_object o = { .kind = OBJECT_ELF };
		uint32_t id;
		snprintf(name, sizeof(name), "lib%u.so", i);
		check(capture_writer_string(w, name, &o.name));
		check(capture_writer_object(w, &o, &id));
	}
}

static struct result finish(struct capture_writer *w, double start)
{
	check(capture_writer_flush(w));
	return (struct result){ .seconds = cpu_seconds() - start,
				.bytes = capture_writer_stats(w).bytes };
}

static struct result write_launches(struct capture_writer *w, uint64_t count)
{
	struct launches m = { .time_ns = 1000000000000 };
	struct samples places = { 0 };
	static struct record_frame frames[SITES][DEPTH];
	struct record launch = { .type = RECORD_LAUNCH };
	struct record dispatches[BATCH];
	struct record_cpu_sample unused;

	make_objects(w);
	for (uint32_t i = 0; i < SITES; i++)
		model_sample(&places, frames[i], &unused);
	double start = cpu_seconds();
	for (uint64_t i = 0; i < count; i++) {
		uint32_t site = (uint32_t)(m.correlation % SITES);
		struct record *dispatch = &dispatches[i % BATCH];
		dispatch->type = RECORD_DISPATCH;
		model_launch(&m, &launch.launch, &dispatch->dispatch);
		check(capture_writer_stack(w, frames[site], DEPTH, 0, &launch.launch.stack));
		check(capture_writer_put(w, &launch));
		for (uint32_t k = 0; i % BATCH == BATCH - 1 && k < BATCH; k++)
			check(capture_writer_put(w, &dispatches[k]));
	}
	return finish(w, start);
}

static struct result write_samples(struct capture_writer *w, uint64_t count)
{
	struct samples m = { .time_ns = 1000000000000 };
	struct record_frame frames[DEPTH];
	struct record rec = { .type = RECORD_CPU_SAMPLE };

	make_objects(w);
	double start = cpu_seconds();
	for (uint64_t i = 0; i < count; i++) {
		model_sample(&m, frames, &rec.cpu_sample);
		check(capture_writer_stack(w, frames, DEPTH, 0, &rec.cpu_sample.stack));
		check(capture_writer_put(w, &rec));
	}
	return finish(w, start);
}

static struct result read_all(int fd, uint64_t *ret_count)
{
	struct capture_reader *r = NULL;
	struct record rec;
	uint64_t count = 0;

	lseek(fd, 0, SEEK_SET);
	double start = cpu_seconds();
	check(capture_reader_open_fd(&r, fd, "bench", NULL));
	while (capture_reader_next(r, &rec, NULL) > 0)
		count += rec.type != RECORD_STRING && rec.type != RECORD_OBJECT &&
			 rec.type != RECORD_STACK;
	struct result result = { .seconds = cpu_seconds() - start,
				 .bytes = (uint64_t)lseek(fd, 0, SEEK_CUR) };
	capture_reader_free(r);
	*ret_count = count;
	return result;
}

/* ---- the baseline: structs in memory order ---- */

struct plain {
	FILE *file;
	gzFile zipped;
};

static void plain_add(struct plain *p, const void *data, unsigned size)
{
	if (p->file)
		fwrite(data, 1, size, p->file);
	else
		gzwrite(p->zipped, data, size);
}

static struct result plain_write(bool is_zipped, bool is_launches, uint64_t count)
{
	int fd = memfd_create("plain", MFD_CLOEXEC), copy = dup(fd);
	struct plain p = { .file = is_zipped ? NULL : fdopen(copy, "w"),
			   .zipped = is_zipped ? gzdopen(copy, "wb1") : NULL };
	struct launches l = { .time_ns = 1000000000000 };
	struct samples s = { .time_ns = 1000000000000 };
	double start = cpu_seconds();

	for (uint64_t i = 0; i < count; i++) {
		struct record_launch launch;
		struct record_dispatch dispatch;
		struct record_frame frames[DEPTH];
		struct record_cpu_sample sample;
		if (is_launches) {
			model_launch(&l, &launch, &dispatch);
			plain_add(&p, &launch, sizeof(launch));
			plain_add(&p, &dispatch, sizeof(dispatch));
			continue;
		}
		/* As perf does: an address a frame. */
		uint64_t addresses[DEPTH];
		model_sample(&s, frames, &sample);
		for (uint32_t k = 0; k < DEPTH; k++)
			addresses[k] = (uint64_t)frames[k].object << 32 | frames[k].offset;
		plain_add(&p, &sample, sizeof(sample));
		plain_add(&p, addresses, sizeof(addresses));
	}
	if (p.file)
		fclose(p.file);
	else
		gzclose(p.zipped);
	struct result r = { .seconds = cpu_seconds() - start,
			    .bytes = (uint64_t)lseek(fd, 0, SEEK_END) };
	close(fd);
	return r;
}

static void run(const char *what, bool is_launches, uint64_t count)
{
	int fd;
	uint64_t read_count;
	struct capture_writer *w = open_writer(&fd);
	struct result r = is_launches ? write_launches(w, count) : write_samples(w, count);
	print(what, "capture, written", count, r);
	capture_writer_free(w);
	struct result reading = read_all(fd, &read_count);
	print(what, "capture, records read", read_count, reading);
	close(fd);
	print(what, "structs", count, plain_write(false, is_launches, count));
	struct result zipped = plain_write(true, is_launches, count);
	print(what, "structs, zlib -1", count, zipped);
	printf("%-22s %.1f times smaller than structs through zlib, written %.2f times as fast\n",
	       what, (double)zipped.bytes / (double)r.bytes, zipped.seconds / r.seconds);
}

int main(int argc, char **argv)
{
	uint64_t millions = 1;
	if (argc > 2 || (argc == 2 && parse_u64(argv[1], 10, &millions) < 0))
		return 1;
	run("launch + dispatch", true, millions * 1000000);
	run("CPU sample, 50 frames", false, millions * 1000000);
	return 0;
}
