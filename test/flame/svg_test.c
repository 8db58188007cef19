/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/flame.h"

#include "base/io.h"
#include "base/strbuf.h"
#include "flame/payload.h"
#include "flame/unbase64.h"

#include "lines.h"

#include "unit.h"

#include <errno.h>
#include <zlib.h>

#define GOLDEN TEST_SOURCE_DIR "/flame/golden/"

static struct profile *golden(const char *name)
{
	CLEANUP_FCLOSE FILE *in = fopen(name, "r");
	assert_non_null(in);
	return lines_read(in);
}

static char *picture(const struct profile *p, const struct flame_options *opt)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	assert_int_equal(flame_write(out, p, opt, NULL), 0);
	fclose(out);
	assert_int_equal(strlen(text), size);
	return text;
}

static char *cut(const char *text, const char *from, const char *to)
{
	const char *start = strstr(text, from);
	assert_non_null(start);
	const char *end = strstr(start, to);
	assert_non_null(end);
	return strndup(start, (size_t)(end - start));
}

/* The still picture byte by byte; the style and the script are read as they are. */
static void assert_still(const struct flame_options *opt, const char *file)
{
	CLEANUP(profile_free) struct profile *p = golden(GOLDEN "small.lines");
	CLEANUP_FREE char *text = picture(p, opt);
	CLEANUP_FREE char *still = cut(text, "<g id=\"still\">", "<metadata");
	CLEANUP_FREE char *want = NULL;
	size_t size;

	assert_int_equal(io_read_file(file, 1 << 20, &want, &size), 0);
	assert_string_equal(still, want);
}

static void still_picture(void **state)
{
	(void)state;
	assert_still(&(struct flame_options){ .title = "small <&>", .note = "made by hand" },
		     GOLDEN "small.still.svg");
	assert_still(&(struct flame_options){ .full = true, .inverted = true, .width_px = 300 },
		     GOLDEN "small.full.still.svg");
}

static void same_bytes_each_time(void **state)
{
	(void)state;
	const struct flame_options opt = { .title = "same" };
	CLEANUP(profile_free) struct profile *p = golden(GOLDEN "small.lines");
	CLEANUP_FREE char *first = picture(p, &opt);
	CLEANUP(profile_free) struct profile *q = golden(GOLDEN "small.lines");
	CLEANUP_FREE char *second = picture(q, &opt);
	assert_string_equal(first, second);
}

static void html_page(void **state)
{
	(void)state;
	CLEANUP(profile_free) struct profile *p = golden(GOLDEN "small.lines");
	CLEANUP_FREE char *text =
		picture(p, &(struct flame_options){ .format = FLAME_HTML, .title = "a & b" });
	assert_int_equal(strncmp(text, "<!DOCTYPE html>\n", 16), 0);
	assert_non_null(strstr(text, "<title>a &amp; b</title>"));
	assert_null(strstr(text, "<?xml"));
	assert_non_null(strstr(text, "</svg>\n</body>\n</html>\n"));
}

static void nothing_to_draw(void **state)
{
	(void)state;
	CLEANUP(profile_free) struct profile *p = golden(GOLDEN "small.lines");
	int metric = profile_metric(p, "device-samples", "samples");
	struct err err;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	assert_int_equal(profile_finish(p), 0);
	assert_int_equal(flame_write(out, p, &(struct flame_options){ .metric = metric }, &err),
			 -ENODATA);
	fclose(out);
	assert_int_equal(size, 0);
	free(text);
	assert_non_null(strstr(err.text, "'device-samples'"));
}

static void full_disk(void **state)
{
	(void)state;
	CLEANUP(profile_free) struct profile *p = golden(GOLDEN "small.lines");
	CLEANUP_FCLOSE FILE *out = fopen("/dev/full", "w");
	struct err err;
	setvbuf(out, NULL, _IONBF, 0);
	assert_int_equal(flame_write(out, p, &(struct flame_options){ 0 }, &err), -ENOSPC);
}

/* The streams of a tree that fits into one's head, number by number. */
static void packed_tree(void **state)
{
	(void)state;
	static const char lines[] = "time ns 300 n a;n c\n"
				    "time ns 5 n a\n"
				    "time ns 7 n b\n"
				    "time ns 0 n z\n"
				    "never calls 0 n z\n"
				    "calls calls 1 s x 2\n";
	CLEANUP_FCLOSE FILE *in = fmemopen((void *)lines, sizeof(lines) - 1, "r");
	CLEANUP(profile_free) struct profile *p = lines_read(in);
	struct payload_options opt = { .title = "t\"", .note = "", .fluid = true };
	struct strbuf text = { 0 };
	assert_int_equal(payload_make(p, &opt, &text), 0);

	uint8_t packed[4096], plain[8192];
	assert_true(text.len < sizeof(packed));
	z_stream z = { .next_in = packed,
		       .avail_in = (uInt)unbase64(text.data, packed),
		       .next_out = plain,
		       .avail_out = sizeof(plain) };
	strbuf_release(&text);
	assert_int_equal(inflateInit2(&z, -15), Z_OK);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	size_t size = z.total_out;
	inflateEnd(&z);

	uint32_t header = plain[0] | (uint32_t)plain[1] << 8;
	CLEANUP_FREE char *json = strndup((char *)plain + 4, header);
	assert_non_null(strstr(json, "\"title\":\"t\\\"\""));
	/* all, a, c, b, x 2; z has no value. */
	assert_non_null(strstr(json, "\"nodes\":5,\"metric\":0,\"fluid\":1,\"inverted\":0,"));
	/* In order of name: "x *" stands for the merged layers. */
	assert_non_null(
		strstr(json, "\"names\":[\"a\",\"all\",\"b\",\"c\",\"x *\",\"x 2\",\"z\"]"));
	assert_non_null(strstr(json, "\"columns\":[7,7,7,7,7,7,7,7,4,5,6,5]}"));

	const uint8_t *streams = plain + 4 + header;
	assert_int_equal(size - 4 - header, 8 * 7 + 4 + 5 + 6 + 5);
	const uint8_t kinds[] = { FRAME_NATIVE, FRAME_ROOT,  FRAME_NATIVE, FRAME_NATIVE,
				  FRAME_SCOPE,  FRAME_SCOPE, FRAME_NATIVE };
	assert_memory_equal(streams, kinds, 7);
	const uint8_t merged[] = { 0, 0, 0, 0, 0, 5, 0 };
	assert_memory_equal(streams + 7 * 7, merged, 7);
	/* a is the root's first child, c is a's; then up to the root for b, and for x. */
	const uint8_t shape[] = { 0, 0, 2, 1 };
	assert_memory_equal(streams + 8 * 7, shape, 4);
	/* The root 1, a 0, c 3, b two more than a, x three more than b. */
	const uint8_t frames[] = { 1, 0, 3, 2, 3 };
	assert_memory_equal(streams + 8 * 7 + 4, frames, 5);
	/* 300 is 0xac 0x02 in LEB128. */
	const uint8_t time[] = { 0, 5, 0xac, 0x02, 7, 0 };
	assert_memory_equal(streams + 8 * 7 + 9, time, 6);
	const uint8_t calls[] = { 0, 0, 0, 0, 1 };
	assert_memory_equal(streams + 8 * 7 + 15, calls, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(still_picture), cmocka_unit_test(same_bytes_each_time),
		cmocka_unit_test(html_page),     cmocka_unit_test(nothing_to_draw),
		cmocka_unit_test(full_disk),     cmocka_unit_test(packed_tree),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
