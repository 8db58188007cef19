/* SPDX-License-Identifier: Apache-2.0 */
/* The texts inside of names: Python functions, addresses, iterations. */
#include "unit.h"

#include "import/iteration.h"
#include "import/pyname.h"

#include <string.h>

static struct span text(const char *s)
{
	return span_of(s, strlen(s));
}

static void assert_text(struct span s, const char *expected)
{
	assert_int_equal(s.size, strlen(expected));
	assert_memory_equal(s.data, expected, s.size);
}

static void test_python_forms(void **state)
{
	static const struct {
		const char *text, *file, *function;
		uint32_t line;
	} cases[] = {
		{ "torch/nn/modules/linear.py(124): forward", "torch/nn/modules/linear.py",
		  "forward", 124 },
		{ "/srv/app/train.py:42@step", "/srv/app/train.py", "step", 42 },
		{ "/srv/app/train.py:step@42", "/srv/app/train.py", "step", 42 },
		{ "<string>(1): <module>", "<string>", "<module>", 1 },
		{ "/a (1)/b.py(2): f", "/a (1)/b.py", "f", 2 },
		{ "/home/me@host/x.py:7@run", "/home/me@host/x.py", "run", 7 },
		{ "x.py(3): <lambda>", "x.py", "<lambda>", 3 },
	};
	static const char *const others[] = {
		"",
		"aten::mm",
		"nn.Module: Linear_3",
		"<built-in method numel of Tensor object>",
		"void f<int>(int)",
		"f(12)",
		"(12): f",
		"x.py:",
		"a@b",
		"x.py:f@",
		"x.py:@3",
		"x.py(99999999999): f",
	};
	struct pyname n;
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(pyname_parse(text(cases[i].text), &n));
		assert_text(n.file, cases[i].file);
		assert_text(n.function, cases[i].function);
		assert_int_equal(n.line, cases[i].line);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(pyname_parse(text(others[i]), &n));
}

static void test_addresses(void **state)
{
	size_t before, behind;
	struct span name = text("<built-in method size of Tensor object at 0x7f62c2b1d0>");
	(void)state;

	assert_true(pyname_address(name, &before, &behind));
	assert_int_equal(before, strlen("<built-in method size of Tensor object"));
	assert_text(span_of(name.data + behind, name.size - behind), ">");
	assert_false(pyname_address(text("<built-in method at 0xyz>"), &before, &behind));
	assert_false(pyname_address(text("<lambda>"), &before, &behind));
}

static void test_iterations(void **state)
{
	static const struct {
		const char *text, *base;
		uint64_t number;
	} cases[] = {
		{ "ProfilerStep#6", "ProfilerStep", 7 },
		{ "ProfilerStep#0", "ProfilerStep", 1 },
		{ "train step 12", "train step", 13 },
		{ "iteration_3", "iteration", 4 },
		{ "epoch: 2", "epoch", 3 },
		{ "Conv2d_15", "Conv2d_15", 0 },
		{ "12", "12", 0 },
		{ "step", "step", 0 },
		{ "", "", 0 },
		{ "#5", "#5", 6 },
		{ "step 99999999999999999999", "step 99999999999999999999", 0 },
	};
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct span base;
		assert_int_equal(iteration_parse(text(cases[i].text), &base), cases[i].number);
		assert_text(base, cases[i].base);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_python_forms),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_iterations),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
