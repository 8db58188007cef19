/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "export/json.h"
#include "export/sheet.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

enum {
	NAME,
	TIME,
	SHARE,
	COUNT,
	MEAN
};

static const struct sheet_column columns[] = {
	[NAME] = { "kernel", "KERNEL", SHEET_TEXT, 8 },
	[TIME] = { "time_ns", "time", SHEET_NS, 0 },
	[SHARE] = { "share", "%", SHEET_SHARE, 0 },
	[COUNT] = { "count", "n", SHEET_COUNT, 0 },
	[MEAN] = { "mean_ns", "mean", SHEET_DURATION, 0 },
};

static void fill(struct sheet *t)
{
	sheet_init(t, "kernels", columns, ARRAY_SIZE(columns));
	sheet_row(t);
	sheet_text(t, NAME, "gemm_a_very_long_name_indeed");
	sheet_number(t, TIME, 1520400);
	sheet_share(t, SHARE, 512, 1000);
	sheet_number(t, COUNT, 1234567);
	sheet_number(t, MEAN, 640);
	sheet_note_share(t, 3, 4, "main > run");
	sheet_note(t, "and one more");
	sheet_row(t);
	sheet_text(t, NAME, "a\"b,\x1b[31m\n\xff");
	sheet_number(t, TIME, 98700);
	sheet_share(t, SHARE, 1, 0);
	sheet_number(t, MEAN, 75120);
}

static char *output(int (*write)(FILE *, const struct sheet *, unsigned), unsigned width)
{
	struct sheet t;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	assert_non_null(out);
	fill(&t);
	assert_int_equal(write(out, &t, width), 0);
	fclose(out);
	sheet_release(&t);
	return text;
}

static int write_print(FILE *out, const struct sheet *t, unsigned width)
{
	return sheet_print(out, t, width, NULL);
}

static int write_csv(FILE *out, const struct sheet *t, unsigned width)
{
	(void)width;
	return sheet_csv(out, t, NULL);
}

static int write_json(FILE *out, const struct sheet *t, unsigned width)
{
	struct json *j = NULL;
	(void)width;
	assert_int_equal(json_new(&j, out), 0);
	sheet_json(j, t);
	int rc = json_finish(j, NULL);
	json_free(j);
	return rc;
}

static void test_print(void **state)
{
	(void)state;
	/* Escape, newline and the invalid byte become U+FFFD. */
	char *text = output(write_print, 0);
	assert_string_equal(text,
			    "KERNEL                        time ms     %          n     mean\n"
			    "gemm_a_very_long_name_indeed    1.520  51.2  1,234,567   640 ns\n"
			    "     75.0 %  main > run\n"
			    "    and one more\n"
			    "a\"b,\xef\xbf\xbd[31m\xef\xbf\xbd\xef\xbf\xbd                     "
			    "0.099     -          -  75.1 us\n");
	free(text);

	text = output(write_print, 50);
	assert_memory_equal(text, "KERNEL           time ms", 24);
	assert_non_null(strstr(text, "\ngemm_a_very_l..    1.520  51.2  1,234,567   640 ns\n"));
	free(text);

	/* It keeps 8 characters, whatever the width. */
	text = output(write_print, 10);
	assert_non_null(strstr(text, "\ngemm_a..    1.520"));
	free(text);
}

/* A column without a title is for programs only, whatever it holds. */
static void test_untitled(void **state)
{
	(void)state;
	static const struct sheet_column some[] = {
		{ "kernel", "KERNEL", SHEET_TEXT, 8 },
		{ "time_ns", NULL, SHEET_NS, 4 },
		{ "share", NULL, SHEET_SHARE, 0 },
		{ "idle_ns", "idle", SHEET_NS, 0 },
	};
	for (int rows = 0; rows < 3; rows++) {
		struct sheet t;
		struct strbuf text = { 0 };
		sheet_init(&t, "kernels", some, ARRAY_SIZE(some));
		for (int i = 0; i < rows; i++) {
			sheet_row(&t);
			sheet_text(&t, 0, "gemm");
			sheet_number(&t, 1, 12345678);
			sheet_share(&t, 2, 1, 2);
			sheet_number(&t, 3, 2000000);
		}
		assert_int_equal(sheet_render(&t, 14, &text), 0);
		assert_string_equal(strbuf_text(&text),
				    !rows       ? "KERNEL  idle ns\n"
				    : rows == 1 ? "KERNEL  idle ms\ngemm      2.000\n"
						: "KERNEL  idle ms\n"
						  "gemm      2.000\n"
						  "gemm      2.000\n");
		strbuf_release(&text);
		sheet_release(&t);
	}
}

static void test_csv(void **state)
{
	(void)state;
	char *text = output(write_csv, 0);
	assert_string_equal(text, "kernel,time_ns,share,count,mean_ns\r\n"
				  "gemm_a_very_long_name_indeed,1520400,0.512,1234567,640\r\n"
				  "\"a\"\"b,\ufffd[31m\ufffd\ufffd\",98700,,,75120\r\n");
	free(text);
}

static void test_json(void **state)
{
	(void)state;
	char *text = output(write_json, 0);
	assert_non_null(strstr(text, "\"kernel\": \"a\\\"b,\\u001B[31m\\n\xef\xbf\xbd\""));
	assert_non_null(strstr(text, "\"time_ns\": 1520400"));
	assert_non_null(strstr(text, "\"share\": 0.512"));
	assert_non_null(strstr(text, "\"share\": null"));
	assert_non_null(strstr(text, "\"count\": null"));
	free(text);
}

static void assert_duration(uint64_t ns, const char *expected)
{
	struct strbuf b = { 0 };
	text_duration(&b, ns);
	assert_string_equal(strbuf_text(&b), expected);
	strbuf_release(&b);
}

static void test_durations(void **state)
{
	(void)state;
	assert_duration(0, "0 ns");
	assert_duration(999, "999 ns");
	assert_duration(1000, "1.00 us");
	assert_duration(5811, "5.81 us");
	assert_duration(9996, "10.0 us");
	assert_duration(98700, "98.7 us");
	assert_duration(412000, "412 us");
	assert_duration(1520000000, "1.52 s");
	assert_duration(7200000000000, "7,200 s");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_print),     cmocka_unit_test(test_untitled),
		cmocka_unit_test(test_csv),       cmocka_unit_test(test_json),
		cmocka_unit_test(test_durations),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
