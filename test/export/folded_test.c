/* SPDX-License-Identifier: Apache-2.0 */
#include "export/folded.h"

#include "base/cleanup.h"
#include "profile/profile.h"

#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t child(struct profile *p, uint32_t parent, enum frame_kind kind, const char *name)
{
	uint32_t frame, node;
	assert_int_equal(profile_frame(p, &(struct frame){ .kind = kind, .name = name }, &frame),
			 0);
	assert_int_equal(profile_child(p, parent, frame, &node), 0);
	return node;
}

static void assert_folded(struct profile *p, int metric, const char *want)
{
	CLEANUP_FREE char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	assert_int_equal(profile_finish(p), 0);
	assert_int_equal(folded_write(out, p, metric, NULL), 0);
	fclose(out);
	assert_string_equal(text, want);
}

/* The line that iaprof's aiflamegraph.sh makes, kind by kind. */
static void suffixes(void **state)
{
	(void)state;
	CLEANUP(profile_free) struct profile *p = NULL;
	assert_int_equal(profile_new(&p), 0);
	int samples = profile_metric(p, "device-samples", "samples");
	int wall = profile_metric(p, "wall", "ns");

	uint32_t at = child(p, PROFILE_ROOT, FRAME_PROCESS, "python3");
	at = child(p, at, FRAME_PROCESS, "4242");
	at = child(p, at, FRAME_PYTHON, "py::forward (model.py:42)");
	at = child(p, at, FRAME_CXX, "at::native::matmul");
	at = child(p, at, FRAME_NATIVE, "clEnqueueNDRangeKernel");
	profile_add(p, child(p, at, FRAME_OS, "do_syscall_64"), samples, 2);
	at = child(p, at, FRAME_BOUNDARY, "-");
	profile_add(p, child(p, at, FRAME_IDLE, "[idle: host late]"), wall, 900);
	at = child(p, at, FRAME_KERNEL, "gemm");
	profile_add(p, at, wall, 100);
	at = child(p, at, FRAME_SOURCE, "mm.cl:7");
	at = child(p, at, FRAME_INSTRUCTION, "0x1a0: send");
	profile_add(p, child(p, at, FRAME_STALL, "sbid"), samples, 40);

#define HOST "python3;4242;py::forward (model.py:42);at::native::matmul;clEnqueueNDRangeKernel;"
	assert_folded(p, samples,
		      HOST "-;gemm_[G];mm.cl:7_[G];0x1a0: send_[g];sbid_[g] 40\n" HOST
			   "do_syscall_64_[k] 2\n");
	assert_folded(p, wall, HOST "-;[idle: host late] 900\n" HOST "-;gemm_[G] 100\n");
}

static void hostile_names(void **state)
{
	(void)state;
	static const struct {
		enum frame_kind kind;
		const char *name, *want;
	} cases[] = {
		{ FRAME_NATIVE, "a;b", "a:b 1\n" },
		{ FRAME_NATIVE, "two\nlines\r", "two\xef\xbf\xbdlines\xef\xbf\xbd 1\n" },
		{ FRAME_SCOPE, "step 3", "step_3 1\n" },
		{ FRAME_SCOPE, "step 3 4", "step 3_4 1\n" },
		{ FRAME_SCOPE, "ratio 1.5", "ratio_1.5 1\n" },
		{ FRAME_SCOPE, "step 3b", "step 3b 1\n" },
		{ FRAME_SCOPE, "3", "3 1\n" },
		{ FRAME_KERNEL, "gemm 16", "gemm_16_[G] 1\n" },
		{ FRAME_NATIVE, "", "[unknown] 1\n" },
		{ FRAME_NATIVE, "\xff\xe2\x80\xae", "\xef\xbf\xbd\xef\xbf\xbd 1\n" },
		{ FRAME_PYTHON, "py::\xe4\xbd\xa0 <script>", "py::\xe4\xbd\xa0 <script> 1\n" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(profile_free) struct profile *p = NULL;
		assert_int_equal(profile_new(&p), 0);
		int metric = profile_metric(p, "cpu-samples", "samples");
		profile_add(p, child(p, PROFILE_ROOT, cases[i].kind, cases[i].name), metric, 1);
		assert_folded(p, metric, cases[i].want);
	}
}

static void value_on_the_root(void **state)
{
	(void)state;
	CLEANUP(profile_free) struct profile *p = NULL;
	assert_int_equal(profile_new(&p), 0);
	int metric = profile_metric(p, "cpu-samples", "samples");
	assert_folded(p, metric, "");
	profile_add(p, PROFILE_ROOT, metric, UINT64_MAX);
	assert_folded(p, metric, "all 18446744073709551615\n");
}

static void full_disk(void **state)
{
	(void)state;
	CLEANUP(profile_free) struct profile *p = NULL;
	CLEANUP_FCLOSE FILE *out = fopen("/dev/full", "w");
	struct err err;
	assert_non_null(out);
	setvbuf(out, NULL, _IONBF, 0);
	assert_int_equal(profile_new(&p), 0);
	int metric = profile_metric(p, "cpu-samples", "samples");
	profile_add(p, child(p, PROFILE_ROOT, FRAME_NATIVE, "a"), metric, 1);
	assert_int_equal(profile_finish(p), 0);
	assert_true(folded_write(out, p, metric, &err) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(suffixes),
		cmocka_unit_test(hostile_names),
		cmocka_unit_test(value_on_the_root),
		cmocka_unit_test(full_disk),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
