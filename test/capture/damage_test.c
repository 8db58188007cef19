/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever happens to a file: nothing that was not written comes out of it, and what is missing is
 * told with an offset.
 */
#include "capture/capture_test.h"

#include "base/strbuf.h"
#include "base/vec.h"
#include "capture/chunk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A capture of several chunks and epochs: tiny ones, so that all cases can be tried. */
static void write_small(struct capture_writer *w)
{
	for (uint32_t i = 0; i < 24; i++) {
		char name[32];
		uint32_t string, object, stack;
		snprintf(name, sizeof(name), "function %u", i % 5);
		assert_int_equal(capture_writer_string(w, name, &string), 0);
		struct record_object o = { .kind = OBJECT_NATIVE, .name = string };
		assert_int_equal(capture_writer_object(w, &o, &object), 0);
		struct record_frame frames[3] = { { object, i % 5 }, { object, 1 }, { 1, 2 } };
		assert_int_equal(capture_writer_stack(w, frames, 3, STACK_ROOTED, &stack), 0);
		struct record rec = { .type = RECORD_CPU_SAMPLE };
		rec.cpu_sample = (struct record_cpu_sample){
			.time_ns = 1000 + i, .thread = 1, .stack = stack, .cpu = i, .weight = 1
		};
		assert_int_equal(capture_writer_put(w, &rec), 0);
		struct record mark = { .type = RECORD_MARK };
		mark.mark = (struct record_mark){ .time_ns = 2000 + i,
						  .kind = MARK_INSTANT,
						  .name = string };
		assert_int_equal(capture_writer_put(w, &mark), 0);
		if (i % 2 == 1)
			assert_int_equal(capture_writer_flush(w), 0);
	}
	struct record end = { .type = RECORD_END, .end = { .time_ns = 9000, .exit_status = -1 } };
	assert_int_equal(capture_writer_put(w, &end), 0);
}

/* What a record says, by names and not by numbers: "12 cpu:function 2+2 function 1+1 " */
struct reading {
	struct capture_reader *r;
	VEC(uint32_t) names; /* string, by object */
	VEC(char *) stacks;  /* text, by stack */
	VEC(char *) records; /* what is not a definition, as text */
	bool is_opened;
	unsigned definitions;
	struct capture_damage damage;
	struct err err;
};

static void reading_release(struct reading *g)
{
	vec_for_each(&g->stacks, it)
		free(*it);
	vec_for_each(&g->records, it)
		free(*it);
	vec_release(&g->names);
	vec_release(&g->stacks);
	vec_release(&g->records);
	capture_reader_free(g->r);
}

static const char *object_name(const struct reading *g, uint32_t id)
{
	if (id == RECORD_DAMAGED)
		return "[damaged]";
	assert_true(id < g->names.len && g->names.data[id]);
	return capture_reader_text(g->r, g->names.data[id]);
}

static void take_definition(struct reading *g, const struct record *rec)
{
	g->definitions++;
	if (rec->type == RECORD_OBJECT && rec->object.id != RECORD_DAMAGED) {
		while (g->names.len <= rec->object.id)
			assert_int_equal(vec_push(&g->names, 0), 0);
		assert_int_equal(g->names.data[rec->object.id], 0); /* given out once */
		g->names.data[rec->object.id] = rec->object.name;
	}
	if (rec->type == RECORD_STACK && rec->stack.id != RECORD_DAMAGED) {
		struct strbuf text = { 0 };
		for (uint32_t i = 0; i < rec->stack.count; i++)
			strbuf_printf(&text, "%s+%u ", object_name(g, rec->stack.frames[i].object),
				      (unsigned)rec->stack.frames[i].offset);
		while (g->stacks.len <= rec->stack.id)
			assert_int_equal(vec_push(&g->stacks, NULL), 0);
		assert_null(g->stacks.data[rec->stack.id]);
		g->stacks.data[rec->stack.id] = text.data;
	}
}

static void take_record(struct reading *g, const struct record *rec)
{
	struct strbuf text = { 0 };

	if (rec->type == RECORD_CPU_SAMPLE) {
		uint32_t stack = rec->cpu_sample.stack;
		if (stack != RECORD_DAMAGED)
			assert_true(stack < g->stacks.len && g->stacks.data[stack]);
		strbuf_printf(&text, "%u cpu %u: %s", (unsigned)rec->cpu_sample.time_ns,
			      rec->cpu_sample.cpu,
			      stack == RECORD_DAMAGED ? "[damaged]" : g->stacks.data[stack]);
	} else if (rec->type == RECORD_MARK) {
		strbuf_printf(&text, "%u mark: %s", (unsigned)rec->mark.time_ns,
			      capture_reader_text(g->r, rec->mark.name));
	} else {
		assert_int_equal(rec->type, RECORD_END);
		assert_int_equal(rec->end.exit_status, -1);
		strbuf_printf(&text, "%u end", (unsigned)rec->end.time_ns);
	}
	assert_int_equal(vec_push(&g->records, text.data), 0);
}

/* Read what @fd has to its end, and look at all that comes. */
static void reading_take(struct reading *g, int fd)
{
	struct record rec;
	int rc;

	*g = (struct reading){ 0 };
	rc = capture_reader_open_fd(&g->r, fd, "x.data", &g->err);
	g->is_opened = rc == 0;
	if (rc < 0)
		assert_int_equal(rc, -EBADMSG);
	while (g->is_opened && (rc = capture_reader_next(g->r, &rec, &g->err)) != 0) {
		assert_int_equal(rc, 1);
		if (rec.type == RECORD_STRING || rec.type == RECORD_OBJECT ||
		    rec.type == RECORD_STACK)
			take_definition(g, &rec);
		else
			take_record(g, &rec);
	}
	if (g->is_opened)
		g->damage = capture_reader_damage(g->r);
	close(fd);
}

static void reading_make(struct reading *g, const uint8_t *data, size_t size)
{
	int fd = memfd_create("damaged", MFD_CLOEXEC);

	assert_int_equal(write(fd, data, size), size);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	reading_take(g, fd);
}

/* @part's records are among those of @whole and in the same order, apart from "[damaged]". How many
 * of @whole are missing. */
static size_t assert_part_of(const struct reading *part, const struct reading *whole)
{
	size_t at = 0;
	vec_for_each(&part->records, it) {
		const char *mark = strstr(*it, "[damaged]");
		size_t same = mark ? (size_t)(mark - *it) : strlen(*it) + 1;
		while (at < whole->records.len && strncmp(whole->records.data[at], *it, same) != 0)
			at++;
		if (at == whole->records.len)
			fail_msg("was never written: %s", *it);
		at++;
	}
	return whole->records.len - part->records.len;
}

static size_t count_damaged(const struct reading *g)
{
	size_t count = 0;
	vec_for_each(&g->records, it)
		count += strstr(*it, "[damaged]") != NULL;
	return count;
}

struct file {
	uint8_t *data;
	size_t size;
	struct reading whole;
};

static void file_make(struct file *f)
{
	struct scratch_capture c;
	const struct capture_writer_options opt = { .epoch_bytes = 250 };

	scratch_open(&c, &opt);
	write_small(c.w);
	assert_int_equal(capture_writer_flush(c.w), 0);
	f->size = capture_writer_stats(c.w).bytes;
	f->data = malloc(f->size);
	assert_int_equal(pread(c.fd, f->data, f->size, 0), f->size);
	scratch_close(&c);
	reading_make(&f->whole, f->data, f->size);
	assert_string_equal(f->whole.damage.text, "");
	assert_true(f->whole.damage.has_end);
	assert_int_equal(f->whole.records.len, 49);
}

static void file_release(struct file *f)
{
	reading_release(&f->whole);
	free(f->data);
}

static unsigned count_chunks(const struct file *f, unsigned *ret_epochs)
{
	unsigned chunks = 0;
	*ret_epochs = 0;
	for (size_t at = 0; at < f->size; chunks++) {
		struct chunk_header h;
		assert_int_equal(chunk_header_unpack(f->data + at, &h), 0);
		assert_int_equal(h.sequence, chunks);
		*ret_epochs += h.flags & CHUNK_STARTS_EPOCH;
		at += CHUNK_HEADER_BYTES + h.stored_bytes;
	}
	return chunks;
}

static void test_every_prefix(void **state)
{
	(void)state;
	struct file f;
	file_make(&f);
	unsigned epochs, chunks = count_chunks(&f, &epochs);
	assert_true(chunks >= 10 && epochs >= 3);

	size_t last = 0;
	for (size_t n = 0; n < f.size; n++) {
		struct reading g;
		reading_make(&g, f.data, n);
		assert_int_equal(g.is_opened, n >= CHUNK_MAGIC_BYTES);
		if (!g.is_opened) {
			assert_non_null(strstr(g.err.text, "'x.data': not an accel-prof capture"));
			reading_release(&g);
			continue;
		}
		/* Exactly the first ones, whole. */
		assert_true(g.records.len >= last && g.records.len < f.whole.records.len);
		last = g.records.len;
		for (size_t i = 0; i < last; i++)
			assert_string_equal(g.records.data[i], f.whole.records.data[i]);
		assert_false(g.damage.has_end);
		assert_int_equal(g.damage.chunks, 0);
		assert_non_null(strstr(g.damage.text, "'x.data': cut off at offset 0x"));
		assert_non_null(
			strstr(g.damage.text, ": no END record; what could be read is shown"));
		reading_release(&g);
	}
	assert_true(last > 40);
	file_release(&f);
}

static void test_every_byte_flipped(void **state)
{
	(void)state;
	struct file f;
	file_make(&f);
	size_t most_missing = 0, damaged = 0;

	for (size_t i = 0; i < f.size; i++) {
		for (unsigned bit = 0; bit < 8; bit += 7) {
			struct reading g;
			f.data[i] ^= (uint8_t)(1u << bit);
			reading_make(&g, f.data, f.size);
			f.data[i] ^= (uint8_t)(1u << bit);
			assert_int_equal(g.is_opened, i >= CHUNK_MAGIC_BYTES);
			if (g.is_opened) {
				size_t missing = assert_part_of(&g, &f.whole);
				most_missing = missing > most_missing ? missing : most_missing;
				damaged += count_damaged(&g);
				assert_true(g.damage.first_offset <= i);
				/* Of the last chunk nothing follows that says what it was. */
				assert_true(g.damage.chunks == 1 || !g.damage.has_end);
				if (g.damage.chunks)
					assert_non_null(
						strstr(g.damage.text, "damaged at offset 0x"));
				else
					assert_non_null(strstr(g.damage.text, "cut off at offset"));
			}
			reading_release(&g);
		}
	}
	/* One chunk, which here has at most 2 samples, 2 marks and END. */
	assert_in_range(most_missing, 4, 5);
	/* Some of what is left refers to what is lost. */
	assert_true(damaged > 0);
	file_release(&f);
}

/* Offsets and sizes of one damaged chunk, counted by hand from the chunks' sizes. */
static void test_damage_is_told_exactly(void **state)
{
	(void)state;
	struct file f;
	struct reading g;
	struct chunk_header h;
	char expected[128];

	file_make(&f);
	size_t second = CHUNK_HEADER_BYTES;
	assert_int_equal(chunk_header_unpack(f.data, &h), 0);
	second += h.stored_bytes;
	assert_int_equal(chunk_header_unpack(f.data + second, &h), 0);

	/* A byte of the payload. */
	f.data[second + CHUNK_HEADER_BYTES + 3] ^= 0x10;
	reading_make(&g, f.data, f.size);
	f.data[second + CHUNK_HEADER_BYTES + 3] ^= 0x10;
	snprintf(expected, sizeof(expected),
		 "'x.data': damaged at offset 0x%zx (1 chunk, %u bytes skipped)", second,
		 CHUNK_HEADER_BYTES + h.stored_bytes);
	assert_string_equal(g.damage.text, expected);
	assert_int_equal(g.damage.chunks, 1);
	assert_int_equal(g.damage.first_offset, second);
	assert_true(g.damage.has_end);
	reading_release(&g);

	/* A byte of the header: the same, found by looking for the next chunk. */
	f.data[second + 9] ^= 0x10;
	reading_make(&g, f.data, f.size);
	f.data[second + 9] ^= 0x10;
	assert_string_equal(g.damage.text, expected);
	reading_release(&g);

	/* The chunk is not there at all. */
	size_t size = CHUNK_HEADER_BYTES + h.stored_bytes;
	memmove(f.data + second, f.data + second + size, f.size - second - size);
	reading_make(&g, f.data, f.size - size);
	snprintf(expected, sizeof(expected),
		 "'x.data': damaged at offset 0x%zx (1 chunk, 0 bytes skipped)", second);
	assert_string_equal(g.damage.text, expected);
	reading_release(&g);
	file_release(&f);
}

/* The first chunk of an epoch is lost: what needs its stacks says so, and the next epoch is good. */
static void test_epochs_limit_damage(void **state)
{
	(void)state;
	struct file f;
	struct reading g;
	struct chunk_header h;
	size_t at = 0;

	file_make(&f);
	f.data[CHUNK_HEADER_BYTES + 5] ^= 1;
	reading_make(&g, f.data, f.size);
	assert_true(count_damaged(&g) > 0);

	/* As many of the last records as the last epoch has. */
	unsigned epochs, in_last = 0, epoch = 0;
	count_chunks(&f, &epochs);
	for (; at < f.size; at += CHUNK_HEADER_BYTES + h.stored_bytes) {
		assert_int_equal(chunk_header_unpack(f.data + at, &h), 0);
		epoch += h.flags & CHUNK_STARTS_EPOCH;
		in_last += epoch == epochs ? 1 : 0;
	}
	assert_true(in_last >= 1);
	for (size_t i = 1; i <= in_last; i++)
		assert_string_equal(g.records.data[g.records.len - i],
				    f.whole.records.data[f.whole.records.len - i]);
	reading_release(&g);
	file_release(&f);
}

static void test_bytes_after_end(void **state)
{
	(void)state;
	struct file f;
	struct reading g;
	char expected[128];

	file_make(&f);
	uint8_t *more = malloc(f.size + 1500);
	memcpy(more, f.data, f.size);
	memset(more + f.size, 'x', 1500);
	reading_make(&g, more, f.size + 1500);
	assert_int_equal(g.records.len, f.whole.records.len);
	snprintf(expected, sizeof(expected),
		 "'x.data': bytes after its END record, at offset 0x%zx, are not read (1,500)",
		 f.size);
	assert_string_equal(g.damage.text, expected);
	reading_release(&g);
	free(more);
	file_release(&f);
}

static void test_foreign_and_newer(void **state)
{
	(void)state;
	struct file f;
	struct reading g;
	struct err err;
	struct capture_reader *r = NULL;

	reading_make(&g, (const uint8_t *)"{\"traceEvents\": []}", 19);
	assert_false(g.is_opened);
	assert_string_equal(g.err.text, "'x.data': not an accel-prof capture");
	reading_release(&g);

	file_make(&f);
	struct chunk_header h;
	assert_int_equal(chunk_header_unpack(f.data, &h), 0);
	h.version++;
	chunk_header_pack(&h, f.data);
	int fd = memfd_create("newer", MFD_CLOEXEC);
	assert_int_equal(write(fd, f.data, f.size), f.size);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(capture_reader_open_fd(&r, fd, "x.data", &err), -EPROTONOSUPPORT);
	assert_non_null(strstr(err.text, "newer accel-prof (format 2, this one reads 1)"));
	close(fd);
	file_release(&f);

	assert_int_equal(capture_reader_open(&r, "/no/such/file", &err), -ENOENT);
	assert_int_equal(capture_reader_open(&r, "/", &err), -EISDIR);
	assert_null(r);
}

/* A file is read ahead, a pipe is not. */
static void assert_pipe_reads_the_same(const uint8_t *data, size_t size)
{
	struct reading ahead, plain;
	int fds[2];

	reading_make(&ahead, data, size);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], data, size), size);
	close(fds[1]);
	reading_take(&plain, fds[0]);
	assert_string_equal(ahead.damage.text, plain.damage.text);
	assert_int_equal(ahead.damage.chunks, plain.damage.chunks);
	assert_int_equal(ahead.damage.skipped_bytes, plain.damage.skipped_bytes);
	assert_int_equal(ahead.records.len, plain.records.len);
	for (size_t i = 0; i < plain.records.len; i++)
		assert_string_equal(ahead.records.data[i], plain.records.data[i]);
	reading_release(&ahead);
	reading_release(&plain);
}

static void test_pipes_and_files_are_the_same(void **state)
{
	(void)state;
	struct file f;
	file_make(&f);

	for (size_t n = CHUNK_MAGIC_BYTES; n <= f.size; n += 97)
		assert_pipe_reads_the_same(f.data, n);
	for (size_t i = CHUNK_MAGIC_BYTES; i < f.size; i += 31) {
		f.data[i] ^= 4;
		assert_pipe_reads_the_same(f.data, f.size);
		f.data[i] ^= 4;
	}
	/* Whole chunks behind the END record have been read when it comes; they are none of it. */
	uint8_t *twice = malloc(f.size * 2);
	assert_non_null(twice);
	memcpy(twice, f.data, f.size);
	memcpy(twice + f.size, f.data, f.size);
	assert_pipe_reads_the_same(twice, f.size * 2);
	twice[f.size + 40] ^= 1;
	assert_pipe_reads_the_same(twice, f.size * 2);
	free(twice);
	file_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pipes_and_files_are_the_same),
		cmocka_unit_test(test_every_prefix),
		cmocka_unit_test(test_every_byte_flipped),
		cmocka_unit_test(test_damage_is_told_exactly),
		cmocka_unit_test(test_epochs_limit_damage),
		cmocka_unit_test(test_bytes_after_end),
		cmocka_unit_test(test_foreign_and_newer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
