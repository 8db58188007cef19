/* SPDX-License-Identifier: Apache-2.0 */
/* Device samples down to lines and instructions by the code objects in the capture. */
#include "analyze/device.h"
#include "base/io.h"
#include "scene.h"

static const char product[] = "_Z12tile_productiPKfS0_Pf";

static char *load(const char *name, size_t *ret_size)
{
	char path[4096];
	char *data = NULL;
	snprintf(path, sizeof(path), "%s/device/fixture/%s", TEST_SOURCE_DIR, name);
	assert_int_equal(io_read_file(path, 64u << 20, &data, ret_size), 0);
	return data;
}

/* A scene with one kernel in one code object, launched by main(). */
static void scene_code(struct scene *s, uint32_t kind, const char *file, const char *kernel)
{
	size_t size;
	CLEANUP_FREE char *data = load(file, &size);
	struct record_code_object object = { .id = 5, .kind = kind, .process = 1 };

	scene_open(s);
	scene_process(s, 1, 10, "toy");
	scene_thread(s, 1, 1, 10);
	scene_device(s, 1, 0);
	object.name = scene_text(s, file);
	assert_int_equal(capture_writer_code_object(s->w, &object, data, size), 0);
	scene_put(s, (struct record){ .type = RECORD_KERNEL,
				      .kernel = { .id = 1,
						  .process = 1,
						  .code_object = 5,
						  .name = scene_text(s, kernel) } });
	scene_launch(s, 1, 900, 1, "main", 1);
	scene_dispatch(s, 1, 1, 1000, 2000);
}

/* The first instruction of @kernel that has a chain of @depth, from its start, without a capture. */
static uint64_t find_deep(const char *file, const char *kernel, size_t depth,
			  struct device_place *p, struct device_object **ret, char **ret_data)
{
	size_t size, index;
	*ret_data = load(file, &size);
	assert_int_equal(device_open(ret, span_of(*ret_data, size), file, 0, NULL), 0);
	device_use_nvdisasm(*ret); /* as captures of few cubins do */
	assert_int_equal(device_function_find(*ret, kernel, &index), 0);
	int64_t count = device_place_count(*ret, index);
	for (size_t i = 0; i < (size_t)count; i++) {
		device_place_get(*ret, index, i, p);
		if (p->line_count == depth)
			return p->offset - p->function->offset;
	}
	fail_msg("no chain");
	return 0;
}

static void scene_sample(struct scene *s, uint32_t code_object, uint64_t offset, const char *reason,
			 uint64_t count)
{
	scene_put(s, (struct record){ .type = RECORD_PC_SAMPLE,
				      .pc_sample = { .time_ns = 1500,
						     .device = 1,
						     .kernel = 1,
						     .code_object = code_object,
						     .offset = offset,
						     .reason = scene_text(s, reason),
						     .count = count,
						     .correlation = 1 } });
}

/* Offsets from the kernel's start, as CUPTI gives them, and in the code object, are the same place. The
 * lines are those of fixture/tile.cu. */
static void test_cubin(void **state)
{
	CLEANUP_FREE char *data = NULL;
	CLEANUP(device_close) struct device_object *o = NULL;
	struct device_place at;
	uint64_t offset = find_deep("tile-sm_75.cubin", product, 3, &at, &o, &data);
	struct scene s;
	char path[512];

	(void)state;
	scene_code(&s, CODE_OBJECT_CUBIN, "tile-sm_75.cubin", product);
	scene_sample(&s, 0, offset, "long_scoreboard", 4);
	scene_sample(&s, 5, at.offset, "wait", 3);
	scene_load(&s);
	struct profile *p = scene_profile(&s, (struct analysis_profile_options){ .full = true });
	snprintf(path, sizeof(path),
		 "toy;main;-;tile_product;tile.cu:37;dot_row;tile.cu:14;fused;tile.cu:7;"
		 "0x%llx: %s;long_scoreboard",
		 (unsigned long long)offset, at.text);
	if (!tree_self(p, path, "device-samples"))
		tree_print(p, "device-samples");
	assert_int_equal(tree_self(p, path, "device-samples"), 4);
	strcpy(strrchr(path, ';'), ";wait");
	assert_int_equal(tree_self(p, path, "device-samples"), 3);
	profile_free(p);

	p = scene_profile(&s, (struct analysis_profile_options){
				      .full = true, .leaf = { ANALYSIS_LEAF_SOURCE } });
	assert_int_equal(tree_self(p, "toy;main;-;tile_product;tile.cu:7", "device-samples"), 7);
	profile_free(p);

	/* As the field's folded lines have it: text, reason, place. */
	struct analysis_profile_options apart = { .full = true };
	assert_int_equal(analysis_leaf_parse("insn,stall,offset", apart.leaf, NULL), 0);
	p = scene_profile(&s, apart);
	snprintf(path, sizeof(path), "toy;main;-;tile_product;%s;long_scoreboard;0x%llx", at.text,
		 (unsigned long long)offset);
	assert_int_equal(tree_self(p, path, "device-samples"), 4);
	snprintf(path, sizeof(path), "toy;main;-;tile_product;%s;wait;0x%llx", at.text,
		 (unsigned long long)offset);
	assert_int_equal(tree_self(p, path, "device-samples"), 3);
	profile_free(p);
	scene_close(&s);
}

static void test_hits(void **state)
{
	CLEANUP_FREE char *data = NULL;
	CLEANUP(device_close) struct device_object *o = NULL;
	struct analysis_filter none = { 0 };
	struct device_place at;
	uint64_t offset = find_deep("tile-sm_75.cubin", product, 3, &at, &o, &data);
	struct analysis_kernel_hits h;
	struct err err = { "" };
	struct scene s;

	(void)state;
	scene_code(&s, CODE_OBJECT_CUBIN, "tile-sm_75.cubin", product);
	scene_sample(&s, 0, offset, "long_scoreboard", 4);
	scene_sample(&s, 5, at.offset, "wait", 3);
	scene_sample(&s, 5, at.offset, "wait", 2);
	scene_load(&s);
	assert_int_equal(analysis_kernel_hits(s.a, NULL, &none, &h, &err), 0);
	assert_string_equal(h.kernel, product);
	assert_int_equal(h.samples, 9);
	assert_int_equal(h.all_samples, 9);
	assert_int_equal(h.hit_count, 2);
	assert_non_null(h.object);
	assert_int_equal(h.hits[0].offset, at.offset);
	assert_string_equal(h.hits[0].reason, "long_scoreboard");
	assert_int_equal(h.hits[0].samples, 4);
	assert_int_equal(h.hits[1].samples, 5);
	analysis_kernel_hits_release(&h);
	assert_int_equal(analysis_kernel_hits(s.a, "tile_*", &none, &h, &err), 0);
	analysis_kernel_hits_release(&h);
	assert_int_equal(analysis_kernel_hits(s.a, "other", &none, &h, &err), -EINVAL);
	assert_non_null(strstr(err.text, "other"));
	scene_close(&s);
}

/* A damaged object, one of an unknown kind, a place outside: as if there were none. */
static void test_no_code(void **state)
{
	struct scene s;

	(void)state;
	scene_code(&s, CODE_OBJECT_CUBIN, "tile.cu", product);
	scene_sample(&s, 0, 0x40, "wait", 1);
	scene_load(&s);
	struct profile *p = scene_profile(&s, (struct analysis_profile_options){ .full = true });
	assert_int_equal(tree_self(p, "toy;main;-;tile_product;jit;0x40;wait", "device-samples"),
			 1);
	profile_free(p);
	scene_close(&s);

	scene_code(&s, CODE_OBJECT_CUBIN, "tile-sm_75.cubin", product);
	scene_sample(&s, 5, 1u << 30, "wait", 1);
	scene_load(&s);
	p = scene_profile(&s, (struct analysis_profile_options){ .full = true });
	assert_int_equal(
		tree_self(p, "toy;main;-;tile_product;jit;0x40000000;wait", "device-samples"), 1);
	profile_free(p);
	scene_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cubin),
		cmocka_unit_test(test_hits),
		cmocka_unit_test(test_no_code),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
