/* SPDX-License-Identifier: Apache-2.0 */
/* Events as a grid, against sums by hand; and its pictures. */
#include "unit.h"

#include "base/cleanup.h"
#include "flame/heat.h"
#include "flame/heatmap.h"
#include "profile/profile.h"

#include <errno.h>
#include <string.h>

#define SECOND 1000000000ull
#define ORIGIN (5 * SECOND)

/* A tree of all;p<i>, and an event on each of these. */
struct made {
	enum event_kind kind;
	uint32_t path;
	uint64_t time_ns, duration_ns, value;
};

static int make_heat(struct heat *h, const char *metric, const struct made *events, size_t count)
{
	CLEANUP(profile_free) struct profile *p = NULL;
	char name[] = "p0";
	uint32_t nodes[4], frame;

	*h = (struct heat){ .metric = heat_metric_find(metric), .origin_ns = ORIGIN };
	struct event_sink sink = heat_sink(h);
	assert_non_null(h->metric);
	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(sink.begin(sink.data, p), 0);
	for (uint32_t i = 0; i < 4; i++) {
		name[1] = (char)('0' + i);
		assert_int_equal(
			profile_frame(p, &(struct frame){ .kind = FRAME_NATIVE, .name = name },
				      &frame),
			0);
		assert_int_equal(profile_child(p, i ? nodes[0] : PROFILE_ROOT, frame, &nodes[i]),
				 0);
	}
	for (size_t i = 0; i < count; i++) {
		struct event e = {
			.kind = events[i].kind,
			.node = nodes[events[i].path],
			.time_ns = events[i].time_ns,
			.duration_ns = events[i].duration_ns,
			.value = events[i].value,
		};
		assert_int_equal(sink.event(sink.data, &e), 0);
	}
	return sink.end(sink.data);
}

static uint64_t value_at(const struct heat *h, uint32_t column, uint32_t row)
{
	return h->values[column * HEAT_ROWS + row];
}

/* 20 ms pieces of 1 s columns. */
static void test_spans(void **state)
{
	(void)state;
	static const struct made events[] = {
		{ EVENT_KIND_WORK, 3, ORIGIN + SECOND / 2, 10000000, 0 }, /* in piece 25 */
		/* From the last 5 ms of column 1 to the first 30 ms of column 2. */
		{ EVENT_KIND_COPY, 1, ORIGIN + 2 * SECOND - 5000000, 35000000, 0 },
		{ EVENT_KIND_WORK, 3, ORIGIN + 2 * SECOND + 1000000, 1000000, 0 },
		{ EVENT_KIND_IDLE, 1, ORIGIN + SECOND, 5, 0 },      /* another metric */
		{ EVENT_KIND_SAMPLE, 1, ORIGIN + 9 * SECOND, 0, 1 } /* says how long it all was */
	};
	CLEANUP(heat_release) struct heat h;

	assert_int_equal(make_heat(&h, "device-time", events, ARRAY_SIZE(events)), 0);
	assert_int_equal(h.column_ns, SECOND);
	assert_int_equal(h.begin_ns, ORIGIN);
	assert_int_equal(h.columns, 10);
	assert_int_equal(value_at(&h, 0, 25), 10000000);
	assert_int_equal(value_at(&h, 0, 26), 0);
	assert_int_equal(value_at(&h, 1, 49), 5000000);
	assert_int_equal(value_at(&h, 2, 0), 21000000); /* two at once */
	assert_int_equal(value_at(&h, 2, 1), 10000000);
	assert_int_equal(profile_total(h.profile, PROFILE_ROOT, 0), 46000000);

	/* all 0, p0 1, p1 2, p3 3; p2 had nothing. */
	assert_int_equal(profile_node_count(h.profile), 4);
	static const struct heat_slice slices[] = {
		{ 25, 3, 10000000 }, { 99, 2, 5000000 },   { 100, 2, 20000000 },
		{ 100, 3, 1000000 }, { 101, 2, 10000000 },
	};
	assert_int_equal(h.slices.len, ARRAY_SIZE(slices));
	for (size_t i = 0; i < ARRAY_SIZE(slices); i++) {
		assert_int_equal(h.slices.data[i].piece, slices[i].piece);
		assert_int_equal(h.slices.data[i].node, slices[i].node);
		assert_int_equal(h.slices.data[i].value, slices[i].value);
	}
}

static void test_moments(void **state)
{
	(void)state;
	static const struct made events[] = {
		{ EVENT_KIND_LAUNCH, 1, ORIGIN + 30, 0, 2 },
		{ EVENT_KIND_LAUNCH, 2, ORIGIN + 30, 0, 1 },
		{ EVENT_KIND_LAUNCH, 1, ORIGIN + 1000000, 0, 4 },
		{ EVENT_KIND_LAUNCH, 1, 7, 0, 100 }, /* before everything */
	};
	CLEANUP(heat_release) struct heat h;

	/* A millisecond: columns of 0.1 ms, pieces of 2 us. */
	assert_int_equal(make_heat(&h, "launches", events, ARRAY_SIZE(events)), 0);
	assert_int_equal(h.column_ns, 100000);
	assert_int_equal(h.columns, 11);
	assert_int_equal(value_at(&h, 0, 0), 3);
	assert_int_equal(value_at(&h, 10, 0), 4);
	assert_int_equal(profile_total(h.profile, PROFILE_ROOT, 0), 7);
}

/* Of three samples narrower columns would show nothing but when they were taken. */
static void test_few_samples(void **state)
{
	(void)state;
	static const struct made events[] = {
		{ EVENT_KIND_SAMPLE, 1, ORIGIN, 0, 1 },
		{ EVENT_KIND_SAMPLE, 1, ORIGIN + 10000000, 0, 1 },
		{ EVENT_KIND_SAMPLE, 1, ORIGIN + 20000000, 0, 1 },
	};
	CLEANUP(heat_release) struct heat h;

	assert_int_equal(make_heat(&h, "cpu-samples", events, ARRAY_SIZE(events)), 0);
	assert_int_equal(h.column_ns, SECOND);
	assert_int_equal(h.columns, 1);
	assert_int_equal(value_at(&h, 0, 0), 2);
	assert_int_equal(value_at(&h, 0, 1), 1);
}

static void test_hours_have_wider_columns(void **state)
{
	(void)state;
	static const struct made events[] = {
		{ EVENT_KIND_LAUNCH, 1, ORIGIN, 0, 1 },
		{ EVENT_KIND_LAUNCH, 1, ORIGIN + 7200 * SECOND, 0, 1 },
	};
	CLEANUP(heat_release) struct heat h;

	assert_int_equal(make_heat(&h, "launches", events, ARRAY_SIZE(events)), 0);
	assert_int_equal(h.column_ns, 10 * SECOND);
	assert_int_equal(h.columns, 721);
}

static void test_nothing(void **state)
{
	(void)state;
	static const struct made events[] = { { EVENT_KIND_SAMPLE, 1, ORIGIN, 0, 1 } };
	CLEANUP(heat_release) struct heat h;

	assert_int_equal(make_heat(&h, "idle", events, 1), -ENODATA);
	assert_null(heat_metric_find("wall"));
}

static char *draw(const struct heat *h, enum flame_format format)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct heatmap_options opt = { .format = format, .title = "<&\"\x01>" };

	assert_non_null(out);
	assert_int_equal(heatmap_write(out, h, &opt, NULL), 0);
	fclose(out);
	return text;
}

static void test_pictures(void **state)
{
	(void)state;
	static const struct made events[] = {
		{ EVENT_KIND_WORK, 3, ORIGIN + SECOND / 2, 10000000, 0 },
		{ EVENT_KIND_WORK, 3, ORIGIN + 9 * SECOND, 100, 0 },
	};
	CLEANUP(heat_release) struct heat h;
	assert_int_equal(make_heat(&h, "device-time", events, ARRAY_SIZE(events)), 0);

	CLEANUP_FREE char *svg = draw(&h, FLAME_SVG);
	CLEANUP_FREE char *again = draw(&h, FLAME_SVG);
	assert_string_equal(svg, again);
	assert_non_null(strstr(svg, "&lt;&amp;&quot;\xef\xbf\xbd&gt;"));
	assert_non_null(strstr(svg, "0.5 s to 0.52 s: 10.0 ms, 50.0 %</title>"));
	assert_non_null(strstr(svg, "9 s to 9.02 s: 100 ns, &lt; 0.1 %</title>"));
	assert_null(strstr(svg, "<script"));

	CLEANUP_FREE char *page = draw(&h, FLAME_HTML);
	assert_non_null(strstr(page, "id=\"slices\" data-count=\"2\""));
	assert_non_null(strstr(page, "class=\"flame\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spans),       cmocka_unit_test(test_moments),
		cmocka_unit_test(test_few_samples), cmocka_unit_test(test_hours_have_wider_columns),
		cmocka_unit_test(test_nothing),     cmocka_unit_test(test_pictures),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
