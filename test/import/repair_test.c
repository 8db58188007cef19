/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "import/repair.h"

#include <errno.h>
#include <string.h>
#include <yajl/yajl_parse.h>

struct result {
	int rc;
	size_t size;
	struct strbuf out;
};

static struct result repair(const char *text)
{
	struct result r = { 0 };
	r.rc = repair_object(span_of(text, strlen(text)), &r.out, &r.size);
	return r;
}

/* yajl is the judge of what is strict JSON. */
static bool is_strict(const struct strbuf *b)
{
	yajl_handle yajl = yajl_alloc(NULL, NULL, NULL);
	bool good =
		yajl_parse(yajl, (const unsigned char *)strbuf_text(b), b->len) == yajl_status_ok &&
		yajl_complete_parse(yajl) == yajl_status_ok;
	yajl_free(yajl);
	return good;
}

static void test_repairs(void **state)
{
	static const struct {
		const char *text, *mended;
	} cases[] = {
		{ "{\"a\": 1}", "{\"a\":1}" },
		{ "{\"a\": NaN, \"b\": -inf, \"c\": Infinity, \"d\": -nan}",
		  "{\"a\":null,\"b\":null,\"c\":null,\"d\":null}" },
		{ "{\"a\": [1, inf, {\"b\": nan}]}", "{\"a\":[1,null,{\"b\":null}]}" },
		{ "{\"name\": \"f(\"x\")\", \"ts\": 1}", "{\"name\":\"f(\\\"x\\\")\",\"ts\":1}" },
		{ "{\"name\": \"f(\"x\", \"y\")\", \"ts\": 1}",
		  "{\"name\":\"f(\\\"x\\\", \\\"y\\\")\",\"ts\":1}" },
		{ "{\"name\": \"C:\\Users\\me\\\", \"ts\": 1}",
		  "{\"name\":\"C:\\\\Users\\\\me\\\\\",\"ts\":1}" },
		{ "{\"name\": \"a\tb\nc\", \"ts\": 1}",
		  "{\"name\":\"a\\u0009b\\u000ac\",\"ts\":1}" },
		{ "{\"name\": \"f, \"ts\": 1}", "{\"name\":\"f\",\"ts\":1}" },
		{ "{\"name\": \"f,\n  \"ts\": 1, \"x\": \"y\"}",
		  "{\"name\":\"f\",\"ts\":1,\"x\":\"y\"}" },
		{ "{\"a\": 1, }", "{\"a\":1}" },
		{ "{\"a\": [1, 2, ], }", "{\"a\":[1,2]}" },
		{ "{\"a\": 1 \"b\": 2}", "{\"a\":1,\"b\":2}" },
		{ "{\"a\": , \"b\": 2}", "{\"a\":null,\"b\":2}" },
		{ "{\"a\": 01, \"b\": +5, \"c\": .5}", "{\"a\":null,\"b\":null,\"c\":null}" },
		{ "{tid\": 5, \"a\": true}", "{\"tid\":5,\"a\":true}" },
		{ "{\"a\": [1, {\"b\": 2}}", "{\"a\":[1,{\"b\":2}]}" },
		{ "{\"a\": \"\\u00e9\\n\\\\\"}", "{\"a\":\"\\u00e9\\n\\\\\"}" },
	};
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct result r = repair(cases[i].text);
		assert_int_equal(r.rc, 1);
		assert_string_equal(strbuf_text(&r.out), cases[i].mended);
		assert_int_equal(r.size, strlen(cases[i].text));
		assert_true(is_strict(&r.out));
		strbuf_release(&r.out);
	}
}

static void test_stops_behind_the_object(void **state)
{
	struct result r = repair("{\"a\": inf}, {\"b\": 1}");
	(void)state;
	assert_int_equal(r.rc, 1);
	assert_int_equal(r.size, strlen("{\"a\": inf}"));
	strbuf_release(&r.out);
}

static void test_too_short(void **state)
{
	static const char text[] = "{\"name\": \"f(\"x\")\", \"args\": {\"b\": [NaN, \"C:\\U\"]}}";
	(void)state;

	for (size_t size = 1; size < sizeof(text) - 1; size++) {
		struct strbuf out = { 0 };
		size_t taken = 0;
		assert_int_equal(repair_object(span_of(text, size), &out, &taken), 0);
		strbuf_release(&out);
	}
}

static void test_beyond_repair(void **state)
{
	static const char *const texts[] = { "{]", "{\"a\": 1:2}" };
	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct result r = repair(texts[i]);
		assert_int_equal(r.rc, -EBADMSG);
		strbuf_release(&r.out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_repairs),
		cmocka_unit_test(test_stops_behind_the_object),
		cmocka_unit_test(test_too_short),
		cmocka_unit_test(test_beyond_repair),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
