/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/filter.h"

#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A tree from lines "a;b;c 3". A frame's first character may say what it is: '!' framework code,
 * '@' a scope, '#' a module of a framework, '$' Python's own library, '~' idle; the others are plain
 * native code.
 */
static struct profile *tree(const char *lines)
{
	struct profile *p = NULL;
	assert_int_equal(profile_new(&p), 0);
	int metric = profile_metric(p, "cpu-samples", "samples");
	CLEANUP_FREE char *text = strdup(lines);

	char *save_line = NULL;
	for (char *line = strtok_r(text, "\n", &save_line); line;
	     line = strtok_r(NULL, "\n", &save_line)) {
		uint32_t path[16];
		size_t count = 0;
		char *value = strrchr(line, ' ');
		*value++ = '\0';
		char *save = NULL;
		for (char *name = strtok_r(line, ";", &save); name;
		     name = strtok_r(NULL, ";", &save)) {
			struct frame f = { .kind = FRAME_NATIVE, .name = name };
			if (*name == '!')
				f.class = FRAME_CLASS_FRAMEWORK;
			else if (*name == '@')
				f.kind = FRAME_SCOPE;
			else if (*name == '#')
				f = (struct frame){ .kind = FRAME_SCOPE,
						    .class = FRAME_CLASS_FRAMEWORK,
						    .name = name };
			else if (*name == '$')
				f = (struct frame){ .kind = FRAME_PYTHON,
						    .class = FRAME_CLASS_STDLIB,
						    .name = name };
			else if (*name == '%')
				f.class = FRAME_CLASS_INTERPRETER;
			else if (*name == '~')
				f.kind = FRAME_IDLE;
			assert_int_equal(profile_frame(p, &f, &path[count++]), 0);
		}
		assert_int_equal(profile_add_path(p, path, count, metric, strtoul(value, NULL, 10)),
				 0);
	}
	assert_int_equal(profile_finish(p), 0);
	return p;
}

static void print_lines(const struct profile *p, uint32_t node, const char *above, FILE *out)
{
	struct profile_node n = profile_node(p, node);
	char path[512] = "";
	if (node != PROFILE_ROOT)
		snprintf(path, sizeof(path), "%s%s%s", above, *above ? ";" : "",
			 profile_frame_get(p, n.frame).name);
	if (profile_self(p, node, 0))
		fprintf(out, "%s %lu\n", path, (unsigned long)profile_self(p, node, 0));
	for (uint32_t c = n.first_child; c != PROFILE_NONE; c = profile_node(p, c).next)
		print_lines(p, c, path, out);
}

/* Takes @p. */
static void assert_lines(struct profile *p, const char *want)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	print_lines(p, PROFILE_ROOT, "", out);
	fclose(out);
	assert_string_equal(text, want);
	free(text);
	profile_free(p);
}

typedef int (*filter_fn)(const struct profile *p, const uint8_t *match, struct profile **ret);

static void assert_filter(filter_fn filter, const char *lines, const char *regex, const char *want)
{
	CLEANUP(profile_free) struct profile *p = tree(lines);
	CLEANUP_FREE uint8_t *match = NULL;
	struct profile *out = NULL;
	assert_int_equal(profile_match(p, regex, &match, NULL), 0);
	assert_int_equal(filter(p, match, &out), 0);
	assert_lines(out, want);
}

static const char sample[] = "main;run;mul 4\n"
			     "main;run;add 2\n"
			     "main;run 1\n"
			     "main;idle 8\n"
			     "other;run;mul;run;add 16\n";

static void root_at(void **state)
{
	(void)state;
	/* The first match of a path; what lies above and beside it is gone. */
	assert_filter(profile_root_at, sample, "^run$",
		      "run 1\nrun;add 2\nrun;mul 4\nrun;mul;run;add 16\n");
	assert_filter(profile_root_at, sample, "mul|idle", "idle 8\nmul 4\nmul;run;add 16\n");
	assert_filter(profile_root_at, sample, "nothing", "");
}

static void focus_and_ignore(void **state)
{
	(void)state;
	assert_filter(profile_focus, sample, "mul", "main;run;mul 4\nother;run;mul;run;add 16\n");
	assert_filter(profile_ignore, sample, "mul", "main;idle 8\nmain;run 1\nmain;run;add 2\n");
	assert_filter(profile_focus, sample, "^main$",
		      "main;idle 8\nmain;run 1\nmain;run;add 2\nmain;run;mul 4\n");
	assert_filter(profile_ignore, sample, ".", "");
}

static void hide(void **state)
{
	(void)state;
	assert_filter(profile_hide, sample, "^run$",
		      "main 1\nmain;add 2\nmain;idle 8\nmain;mul 4\nother;mul;add 16\n");
	assert_filter(profile_hide, sample, "main|run|mul|add|idle", " 15\nother 16\n");
}

static void reverse(void **state)
{
	(void)state;
	CLEANUP(profile_free) struct profile *p = tree(sample);
	struct profile *out = NULL;
	assert_int_equal(profile_reverse(p, &out), 0);
	assert_int_equal(profile_total(out, PROFILE_ROOT, 0), 31);
	assert_lines(out, "add;run;main 2\nadd;run;mul;run;other 16\nidle;main 8\nmul;run;main 4\n"
			  "run;main 1\n");
}

static void fold(void **state)
{
	(void)state;
	/* Two runs, each entered by a different frame; a value on a folded frame is not lost. */
	CLEANUP(profile_free)
	struct profile *p = tree("a;!call;!impl;b;!linear;!addmm;gemm 3\n"
				 "a;!call;!impl;b;!linear;!bias;gemm 4\n"
				 "a;!call;!impl;!hook 5\n"
				 "@layers.0;x 1\n@layers.11;x 2\n@fp16 7\n");
	struct profile *out = NULL;
	assert_true(profile_can_fold(p));
	assert_int_equal(profile_fold(p, &out), 0);
	assert_lines(out, "@fp16 7\n@layers.*;x 3\na;!call 5\na;!call;b;!linear;gemm 7\n");

	/* A module stands for the framework's call of it, and one in the other both stay; a run of
	 * Python's library is one of its own. */
	CLEANUP(profile_free)
	struct profile *modules = tree("$boot;$run;a;#net;!call;!impl;#linear;!call;$with;!mm 3\n");
	assert_true(profile_can_fold(modules));
	assert_int_equal(profile_fold(modules, &out), 0);
	assert_lines(out, "$boot;a;#net;#linear;$with;!mm 3\n");

	/* An interpreter's own frames: the first of a stack stays, and none parts a run. */
	CLEANUP(profile_free)
	struct profile *python = tree("%start;libc;%run;$run;%call;%get;!lin;%call;!impl;gemm 3\n"
				      "%start;libc;%run 2\n%start;libc;%run;$run;%call;$next 4\n");
	assert_true(profile_can_fold(python));
	assert_int_equal(profile_fold(python, &out), 0);
	assert_lines(out, "%start;libc 2\n%start;libc;$run 4\n%start;libc;$run;!lin;gemm 3\n");

	CLEANUP(profile_free) struct profile *plain = tree("a1;b_2 3\n@fp16 1\n");
	assert_false(profile_can_fold(plain));
}

static void layer_names(void **state)
{
	(void)state;
	static const struct {
		const char *name, *want;
	} cases[] = {
		{ "Conv2d_3", "Conv2d_*" },
		{ "decoder.layers.17.mlp", "decoder.layers.*.mlp" },
		{ "layers[12]", "layers[*]" },
		{ "step 3", "step *" },
		{ "7", "*" },
		{ "a.1.b.22.c", "a.*.b.*.c" },
		{ "Conv2d", NULL },
		{ "fp16", NULL },
		{ "x.4bit", NULL },
		{ "", NULL },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct strbuf name = { 0 };
		struct frame f = { .kind = FRAME_SCOPE, .name = cases[i].name };
		assert_int_equal(profile_layer_name(&f, &name), cases[i].want != NULL);
		assert_string_equal(strbuf_text(&name), cases[i].want ? cases[i].want : "");
		strbuf_release(&name);

		/* Kernels that differ by a number are different kernels. */
		f.kind = FRAME_KERNEL;
		assert_false(profile_layer_name(&f, &name));
	}
}

/* Code of a framework without symbols goes by its library's name; one's own by where it is. */
static void unnamed_places(void **state)
{
	(void)state;
	static const struct {
		const char *name, *want;
		enum frame_class class;
	} cases[] = {
		{ "libtorch_cpu.so+0x4694fa0", "libtorch_cpu.so", FRAME_CLASS_FRAMEWORK },
		{ "python3.11+0x0", "python3.11", FRAME_CLASS_INTERPRETER },
		{ "a+0x1+0x2f", "a+0x1", FRAME_CLASS_FRAMEWORK },
		{ "mine.so+0x10", NULL, FRAME_CLASS_OWN },
		{ "mine.so+0x10", NULL, FRAME_CLASS_NONE },
		{ "operator+", NULL, FRAME_CLASS_FRAMEWORK },
		{ "x+0x", NULL, FRAME_CLASS_FRAMEWORK },
		{ "x+0x1z", NULL, FRAME_CLASS_FRAMEWORK },
		{ "+0x1", NULL, FRAME_CLASS_FRAMEWORK },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct strbuf name = { 0 };
		struct frame f = { .kind = FRAME_NATIVE,
				   .class = cases[i].class,
				   .name = cases[i].name };
		assert_int_equal(profile_layer_name(&f, &name), cases[i].want != NULL);
		assert_string_equal(strbuf_text(&name), cases[i].want ? cases[i].want : "");
		strbuf_release(&name);
	}
}

static void matching(void **state)
{
	(void)state;
	CLEANUP(profile_free) struct profile *p = tree("main;~wait 8\n");
	struct err err = { 0 };
	uint8_t *none = NULL;

	assert_int_equal(profile_match(p, "a(", &none, &err), -EINVAL);
	assert_null(none);
	assert_non_null(strstr(err.text, "'a('"));

	/* The full name counts, too; the root, which is no frame of the program, does not. */
	uint32_t frame;
	CLEANUP_FREE uint8_t *match = NULL;
	assert_int_equal(profile_frame(p,
				       &(struct frame){ .kind = FRAME_KERNEL,
							.name = "gemm",
							.full = "_Z4gemmPf" },
				       &frame),
			 0);
	assert_int_equal(profile_match(p, "Pf$|all", &match, NULL), 0);
	assert_int_equal(match[frame], 1);
	assert_int_equal(match[0], 0);
}

static void several_metrics(void **state)
{
	(void)state;
	CLEANUP(profile_free) struct profile *p = tree("a;!b;!c 3\n");
	int launches = profile_metric(p, "launches", "launches");
	uint32_t a = profile_node(p, PROFILE_ROOT).first_child;
	uint32_t b = profile_node(p, a).first_child;
	profile_add(p, b, launches, 5);
	assert_int_equal(profile_finish(p), 0);

	CLEANUP(profile_free) struct profile *out = NULL;
	assert_int_equal(profile_fold(p, &out), 0);
	assert_int_equal(profile_metric_find(out, "launches"), launches);
	assert_string_equal(profile_metric_get(out, launches).unit, "launches");
	assert_int_equal(profile_node_count(out), 3);
	assert_int_equal(profile_self(out, 2, 0), 3);
	assert_int_equal(profile_self(out, 2, launches), 5);
	assert_int_equal(profile_total(out, PROFILE_ROOT, launches), 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(root_at),        cmocka_unit_test(focus_and_ignore),
		cmocka_unit_test(hide),           cmocka_unit_test(reverse),
		cmocka_unit_test(fold),           cmocka_unit_test(layer_names),
		cmocka_unit_test(matching),       cmocka_unit_test(several_metrics),
		cmocka_unit_test(unnamed_places),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
