/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/look.h"

#include "unit.h"

#include <string.h>

static void assert_change(uint64_t now, uint64_t base, uint64_t all, const char *look,
			  const char *text)
{
	struct strbuf b = { 0 };
	look_put(&b, look_of_change(now, base, all));
	assert_string_equal(strbuf_text(&b), look);
	strbuf_reset(&b);
	look_put_change(&b, now, base, all);
	assert_string_equal(strbuf_text(&b), text);
	strbuf_release(&b);
}

/* p is more, q less, r the same; seven steps for a change of all there is. */
static void changes(void **state)
{
	(void)state;
	assert_change(200, 100, 1000, "p3", "+100 %");
	assert_change(100, 200, 1000, "q3", "-50 %");
	assert_change(103, 100, 1000, "p0", "+3.0 %");
	assert_change(5, 0, 1000, "p7 new", "new");
	assert_change(0, 5, 1000, "q7 gone", "gone");
	assert_change(7, 7, 1000, "r0", "");
	/* A thousandth of everything is the least that is shown. */
	assert_change(101, 100, 1000, "p0", "+1.0 %");
	assert_change(101, 100, 2000, "r0", "");
	assert_change(0, 1, 2000, "r0", "");
	assert_change(0, 0, 10, "r0", "");
	assert_change(UINT64_MAX, 1, UINT64_MAX, "p7", "+1844674407370955161600 %");
}

static void frames(void **state)
{
	(void)state;
	struct strbuf b = { 0 };
	look_put(&b, look_of_frame(&(struct frame){ .kind = FRAME_IDLE, .name = "[idle: sync]" }));
	look_put(&b, look_of_frame(&(struct frame){ .kind = FRAME_MISSING, .name = "[lost]" }));
	assert_string_equal(strbuf_text(&b), "n0 idleo0 missing");
	strbuf_release(&b);
	struct look look = look_of_frame(&(struct frame){ .kind = FRAME_PYTHON, .name = "f" });
	assert_int_equal(look.group, FRAME_PYTHON);
	assert_int_equal(look.shade, look_shade("f"));
	assert_string_equal(look.word, "");
	/* One's own code: Python that is no library's; all of a C program is its own. */
	struct frame own = { .kind = FRAME_PYTHON, .class = FRAME_CLASS_OWN, .name = "f" };
	assert_string_equal(look_of_frame(&own).word, " own");
	own.kind = FRAME_NATIVE;
	assert_string_equal(look_of_frame(&own).word, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes),
		cmocka_unit_test(frames),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
