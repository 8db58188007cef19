/* SPDX-License-Identifier: Apache-2.0 */
/* Folded stacks of which the writer forgets what it had of them: its epochs are small here. */
#include "unit.h"

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "capture/limits.h"
#include "capture/reader.h"
#include "import/import.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HOSTS  7
#define LEAVES 50

static void put_stack(struct strbuf *out, unsigned host, unsigned leaf)
{
	strbuf_puts(out, "main");
	for (unsigned i = 0; i < 6 + host; i++)
		strbuf_printf(out, ";py::f%u_%u (model.py:%u)", host, i, i + 1);
	strbuf_printf(out, ";-;kernel_%u;line_%u", leaf % 3, leaf);
}

/* A capture of what is in @text. */
static int import(const struct strbuf *text, uint32_t epoch_frames, uint32_t *ret_epochs)
{
	struct capture_writer_options opt = { .fd = memfd_create("folded", MFD_CLOEXEC),
					      .epoch_frames = epoch_frames };
	const struct import_options import = { .format = "folded", .is_strict = true };
	CLEANUP(capture_writer_free) struct capture_writer *w = NULL;
	struct import_trust trust;

	assert_int_equal(capture_writer_open(&w, &opt, NULL), 0);
	assert_int_equal(import_memory(w, text->data, text->len, &import, &trust, NULL), 0);
	assert_int_equal(capture_writer_flush(w), 0);
	*ret_epochs = capture_writer_epoch(w);
	assert_int_equal(lseek(opt.fd, 0, SEEK_SET), 0);
	return opt.fd;
}

/* As it was folded: the frames of the stack of a sample, root first. */
static void stack_text(struct capture_reader *r, uint32_t stack, const uint32_t *names,
		       struct strbuf *out)
{
	static struct record_frame frames[STACK_FRAMES_MAX];
	struct record_stack s;

	strbuf_reset(out);
	assert_int_equal(capture_reader_stack(r, stack, frames, &s), 0);
	for (uint32_t i = s.count; i-- > 0;)
		strbuf_printf(out, "%s%s", i + 1 < s.count ? ";" : "",
			      capture_reader_text(r, names[frames[i].object]));
}

/* All lines come back as they were, in their order. */
static void assert_same(int fd)
{
	CLEANUP(capture_reader_free) struct capture_reader *r = NULL;
	struct strbuf expected = { 0 }, got = { 0 };
	uint32_t names[1000] = { 0 };
	struct record rec;
	unsigned samples = 0;

	assert_int_equal(capture_reader_open_fd(&r, fd, "folded", NULL), 0);
	while (capture_reader_next(r, &rec, NULL) > 0) {
		if (rec.type == RECORD_OBJECT) {
			assert_true(rec.object.id < sizeof(names) / sizeof(names[0]));
			names[rec.object.id] = rec.object.name;
		}
		if (rec.type != RECORD_CPU_SAMPLE)
			continue;
		strbuf_reset(&expected);
		put_stack(&expected, samples % HOSTS, samples / HOSTS % LEAVES);
		stack_text(r, rec.cpu_sample.stack, names, &got);
		assert_string_equal(strbuf_text(&got), strbuf_text(&expected));
		assert_int_equal(rec.cpu_sample.weight, samples + 1);
		samples++;
	}
	assert_int_equal(samples, 3 * HOSTS * LEAVES);
	assert_string_equal(capture_reader_damage(r).text, "");
	strbuf_release(&expected);
	strbuf_release(&got);
	close(fd);
}

static void test_epochs(void **state)
{
	struct strbuf text = { 0 };
	uint32_t epochs;
	(void)state;

	for (unsigned i = 0; i < 3 * HOSTS * LEAVES; i++) {
		put_stack(&text, i % HOSTS, i / HOSTS % LEAVES);
		strbuf_printf(&text, " %u\n", i + 1);
	}
	assert_same(import(&text, 0, &epochs));
	assert_int_equal(epochs, 1);
	/* A hundred frames are the seven hosts' own. */
	assert_same(import(&text, 100, &epochs));
	assert_in_range(epochs, 10, 1000);
	/* One between a stack and its sample, and one behind that. */
	assert_same(import(&text, 1, &epochs));
	assert_in_range(epochs, 6 * HOSTS * LEAVES, 6 * HOSTS * LEAVES + 2);
	strbuf_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_epochs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
