/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "proc/symbols.h"

#include <errno.h>
#include <string.h>

static struct lines text_of(const char *text)
{
	return lines_of(span_of(text, strlen(text)), "text");
}

static void assert_span(struct span s, const char *text)
{
	assert_int_equal(s.size, strlen(text));
	assert_memory_equal(s.data, text, s.size);
}

static void test_kallsyms(void **state)
{
	(void)state;
	struct lines text = text_of("ffffffff81000000 T _stext\n"
				    "ffffffffc0a01000 t nvme_probe\t[nvme]\n"
				    "ffffffffc0a02000 t bad [\n");
	struct proc_symbol s;
	struct err err;

	assert_int_equal(proc_kallsyms_next(&text, &s, &err), 1);
	assert_int_equal(s.address, 0xffffffff81000000);
	assert_int_equal(s.type, 'T');
	assert_span(s.name, "_stext");
	assert_int_equal(s.module.size, 0);
	assert_int_equal(proc_kallsyms_next(&text, &s, &err), 1);
	assert_span(s.name, "nvme_probe");
	assert_span(s.module, "nvme");
	assert_int_equal(proc_kallsyms_next(&text, &s, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "line 3"));
	assert_int_equal(proc_kallsyms_next(&text, &s, &err), 0);
}

static void test_perf_map(void **state)
{
	(void)state;
	/* As V8, CPython (-X perf) and oneDNN write them; the rest is what a stranger might. */
	struct lines text = text_of("3ef414c0 398 RegExp:[{(]\n"
				    "0x7f00 0x40 py::forward:/a b/m.py\n"
				    "7f3af8002000 0 empty\n"
				    "ffffffffffffffff 10 wraps\n"
				    "7f3a \n"
				    "\n"
				    "7f3af8003000 10 la");
	struct perf_map_entry e;
	size_t skipped = 0;

	assert_int_equal(perf_map_next(&text, &e, &skipped), 1);
	assert_int_equal(e.start, 0x3ef414c0);
	assert_int_equal(e.size, 0x398);
	assert_span(e.name, "RegExp:[{(]");
	assert_int_equal(perf_map_next(&text, &e, &skipped), 1);
	assert_int_equal(e.start, 0x7f00);
	assert_int_equal(e.size, 0x40);
	assert_span(e.name, "py::forward:/a b/m.py");
	assert_int_equal(perf_map_next(&text, &e, &skipped), 1);
	assert_int_equal(e.start, 0x7f3af8003000);
	assert_span(e.name, "la");
	assert_int_equal(perf_map_next(&text, &e, &skipped), 0);
	assert_int_equal(skipped, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kallsyms),
		cmocka_unit_test(test_perf_map),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
