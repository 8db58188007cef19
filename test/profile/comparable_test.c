/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "profile/comparable.h"

static void check(enum frame_kind kind, const char *name, const char *want)
{
	struct strbuf text = { 0 };
	comparable_name(&text, &(struct frame){ .kind = kind, .name = name });
	assert_string_equal(strbuf_text(&text), want);
	strbuf_release(&text);
}

static void test_names(void **state)
{
	(void)state;
	check(FRAME_PYTHON, "py::step (train.py:12)", "py::step (train.py)");
	check(FRAME_PYTHON, "py::<lambda>", "py::<lambda>");
	check(FRAME_PYTHON, "py::a:b (x)", "py::a:b (x)");
	check(FRAME_NATIVE, "f at 0x7f001234", "f at 0x*");
	check(FRAME_NATIVE, "0xa", "0xa"); /* too short for an address */
	check(FRAME_NATIVE, "{lambda()#2}::run", "{lambda()#*}::run");
	check(FRAME_NATIVE, "conv_2", "conv_2"); /* not generated: host code is written by people */
	check(FRAME_PROCESS, "python3 (4242)", "python3");
	check(FRAME_PROCESS, "python3 rank 7", "python3 rank");
	check(FRAME_PROCESS, "7", "7");
}

static void test_kernels(void **state)
{
	(void)state;
	check(FRAME_KERNEL, "gemm sm80 32x32 bf16", "gemm 32x32 bf16");
	check(FRAME_KERNEL, "gemm gfx90a 32x32 bf16 #2", "gemm 32x32 bf16");
	check(FRAME_KERNEL, "gemm sm90a", "gemm");
	check(FRAME_KERNEL, "sm_kernel", "sm_kernel");
	check(FRAME_KERNEL, "triton_poi_fused_add_3", "triton_poi_fused_add");
	check(FRAME_KERNEL, "_3", "_3");
	check(FRAME_KERNEL, "", "");
}

static void test_families(void **state)
{
	(void)state;
	static const char *const names[][2] = {
		{ "gemm sm80 32x32 bf16", "gemm" },
		{ "Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD (Pinned -> Device)" },
		{ "softmax", "softmax" },
	};
	for (size_t i = 0; i < 3; i++) {
		struct strbuf text = { 0 };
		comparable_family(&text,
				  &(struct frame){ .kind = FRAME_KERNEL, .name = names[i][0] });
		assert_string_equal(strbuf_text(&text), names[i][1]);
		strbuf_release(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_kernels),
		cmocka_unit_test(test_families),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
