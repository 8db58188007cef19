/* SPDX-License-Identifier: Apache-2.0 */
/* From stacks at moments to spans, by hand. */
#include "unit.h"

#include "base/strbuf.h"
#include "export/stacking.h"

struct told {
	struct profile *p;
	struct strbuf text;
};

static void on_open(void *data, const struct stacking_frame *frames, size_t count, uint64_t time_ns,
		    const struct stacking_step *step)
{
	struct told *t = data;
	(void)step;
	while (count--)
		strbuf_printf(&t->text, "%s@%u ", profile_frame_get(t->p, frames[count].frame).name,
			      (unsigned)time_ns);
}

static void on_close(void *data, size_t count, uint64_t time_ns)
{
	struct told *t = data;
	while (count--)
		strbuf_printf(&t->text, "/%u ", (unsigned)time_ns);
}

/* The node of "a;b;c", each letter a frame, below a process. */
static uint32_t path(struct profile *p, const char *letters)
{
	uint32_t node = PROFILE_ROOT, frame;
	struct frame process = { .kind = FRAME_PROCESS, .name = "python3" };
	assert_int_equal(profile_frame(p, &process, &frame), 0);
	assert_int_equal(profile_child(p, node, frame, &node), 0);
	for (; *letters; letters++) {
		char name[] = { *letters, 0 };
		struct frame f = { .kind = FRAME_NATIVE, .name = name };
		assert_int_equal(profile_frame(p, &f, &frame), 0);
		assert_int_equal(profile_child(p, node, frame, &node), 0);
	}
	return node;
}

struct moment {
	const char *path;
	uint64_t time_ns, duration_ns, slack_ns;
	bool is_call;
};

static void check(const struct moment *moments, size_t count, const char *want)
{
	struct told told = { .p = NULL };
	struct stacking s = { .end_ns = 0 };
	struct stacking_sink sink = { on_open, on_close, &told };

	assert_int_equal(profile_new(&told.p), 0);
	for (size_t i = 0; i < count; i++) {
		const struct moment *m = &moments[i];
		struct stacking_step step = {
			.node = path(told.p, m->path),
			.time_ns = m->time_ns,
			.duration_ns = m->duration_ns,
			.slack_ns = m->slack_ns,
			.is_call = m->is_call,
		};
		assert_int_equal(stacking_step(&s, told.p, &step, &sink), 0);
	}
	stacking_end(&s, &sink);
	assert_string_equal(strbuf_text(&told.text), want);
	strbuf_release(&told.text);
	stacking_release(&s);
	profile_free(told.p);
}

static void test_common_frames_stay_open(void **state)
{
	(void)state;
	static const struct moment moments[] = {
		{ .path = "abc", .time_ns = 10, .duration_ns = 5 },
		{ .path = "abd", .time_ns = 15, .duration_ns = 5 },
		{ .path = "a", .time_ns = 20, .duration_ns = 1 },
	};
	check(moments, 3, "a@10 b@10 c@10 /15 d@15 /20 /20 /21 ");
}

static void test_a_pause_closes_everything(void **state)
{
	(void)state;
	static const struct moment moments[] = {
		{ .path = "ab", .time_ns = 10, .duration_ns = 5 },
		{ .path = "ab", .time_ns = 16, .duration_ns = 5 },
	};
	check(moments, 2, "a@10 b@10 /15 /15 a@16 b@16 /21 /21 ");
}

static void test_slack_bridges_a_pause(void **state)
{
	(void)state;
	static const struct moment moments[] = {
		{ .path = "ab", .time_ns = 10, .duration_ns = 5, .slack_ns = 5 },
		{ .path = "ab", .time_ns = 20, .duration_ns = 5, .slack_ns = 5 },
		{ .path = "ab", .time_ns = 31, .duration_ns = 5, .slack_ns = 5 },
	};
	check(moments, 3, "a@10 b@10 /25 /25 a@31 b@31 /36 /36 ");
}

static void test_each_call_is_a_span(void **state)
{
	(void)state;
	static const struct moment moments[] = {
		{ .path = "ab", .time_ns = 10, .duration_ns = 5, .is_call = true },
		{ .path = "ab", .time_ns = 10, .duration_ns = 5 },
		{ .path = "ab", .time_ns = 12, .duration_ns = 5, .is_call = true },
	};
	check(moments, 3, "a@10 b@10 /12 b@12 /17 /17 ");
}

static void test_the_process_is_no_frame(void **state)
{
	(void)state;
	static const struct moment moments[] = { { .path = "", .time_ns = 10, .duration_ns = 5 } };
	check(moments, 1, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_common_frames_stay_open),
		cmocka_unit_test(test_a_pause_closes_everything),
		cmocka_unit_test(test_slack_bridges_a_pause),
		cmocka_unit_test(test_each_call_is_a_span),
		cmocka_unit_test(test_the_process_is_no_frame),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
