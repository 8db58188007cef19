/* SPDX-License-Identifier: Apache-2.0 */
#include "export/exporter.h"

#include "pprof.pb-c.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static const struct frame frames[] = {
	{ .kind = FRAME_PROCESS, .name = "python3 rank 3", .module = "node7", .line = 4 },
	{ .kind = FRAME_CXX, .name = "outer", .file = "a.cc", .module = "/lib/a.so" },
	{ .kind = FRAME_CXX, .name = "middle", .module = "/lib/a.so", .is_inlined = true },
	{ .kind = FRAME_CXX, .name = "inner", .module = "/lib/a.so", .is_inlined = true },
	{ .kind = FRAME_BOUNDARY, .name = "-", .full = "7", .module = "GPU", .line = 2 },
	{ .kind = FRAME_KERNEL, .name = "gemm" },
	{ .kind = FRAME_STALL, .name = "sbid" },
};

static const char *find_build_id(void *data, const char *module)
{
	(void)data;
	return strcmp(module, "/lib/a.so") ? NULL : "c0ffee";
}

static uint8_t *inflate_all(char *data, size_t size, size_t *ret_size)
{
	uint8_t *out = malloc(1 << 20);
	z_stream z = { .next_in = (Bytef *)data,
		       .avail_in = (uInt)size,
		       .next_out = out,
		       .avail_out = 1 << 20 };
	assert_int_equal(inflateInit2(&z, MAX_WBITS + 16), Z_OK);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	*ret_size = z.total_out;
	inflateEnd(&z);
	return out;
}

static Pprof__Profile *export(const struct profile *p)
{
	const struct export_options opt = { .build_id = find_build_id };
	char *data;
	size_t size, plain_size;
	struct err err;
	FILE *out = open_memstream(&data, &size);

	assert_int_equal(exporter_find("pprof")->write(out, p, &opt, &err), 0);
	fclose(out);
	uint8_t *plain = inflate_all(data, size, &plain_size);
	Pprof__Profile *x = pprof__profile__unpack(NULL, plain_size, plain);
	assert_non_null(x);
	free(plain);
	free(data);
	return x;
}

static const char *function_name(const Pprof__Profile *x, uint64_t id)
{
	for (size_t i = 0; i < x->n_function; i++) {
		if (x->function[i]->id == id)
			return x->string_table[x->function[i]->name];
	}
	return "";
}

static const Pprof__Location *location(const Pprof__Profile *x, uint64_t id)
{
	for (size_t i = 0; i < x->n_location; i++) {
		if (x->location[i]->id == id)
			return x->location[i];
	}
	fail_msg("no location %u", (unsigned)id);
	abort();
}

static void assert_label(const Pprof__Profile *x, const char *key, const char *value)
{
	const Pprof__Sample *s = x->sample[0];
	for (size_t i = 0; i < s->n_label; i++) {
		if (!strcmp(x->string_table[s->label[i]->key], key)) {
			assert_string_equal(x->string_table[s->label[i]->str], value);
			return;
		}
	}
	fail_msg("no label '%s'", key);
}

/* profile.proto: of what was inlined, the last line is that of the function which was called. */
static void test_inlined(void **state)
{
	struct profile *p;
	uint32_t node = PROFILE_ROOT, frame;
	(void)state;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_metric(p, "device-time", "ns"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
		assert_int_equal(profile_frame(p, &frames[i], &frame), 0);
		assert_int_equal(profile_child(p, node, frame, &node), 0);
	}
	profile_add(p, node, 0, 42);
	assert_int_equal(profile_finish(p), 0);

	Pprof__Profile *x = export(p);
	assert_int_equal(x->n_sample, 1);
	const Pprof__Sample *s = x->sample[0];
	assert_int_equal(s->value[0], 42);
	assert_int_equal(s->n_location_id, 5);
	const Pprof__Location *l = location(x, s->location_id[3]);
	assert_int_equal(l->n_line, 3);
	assert_string_equal(function_name(x, l->line[0]->function_id), "inner");
	assert_string_equal(function_name(x, l->line[1]->function_id), "middle");
	assert_string_equal(function_name(x, l->line[2]->function_id), "outer");
	assert_int_equal(x->n_mapping, 1);
	assert_int_equal(l->mapping_id, x->mapping[0]->id);
	assert_string_equal(x->string_table[x->mapping[0]->filename], "/lib/a.so");
	assert_string_equal(x->string_table[x->mapping[0]->build_id], "c0ffee");
	assert_int_equal(location(x, s->location_id[4])->mapping_id, 0);

	assert_label(x, "process", "python3 rank 3");
	assert_label(x, "host", "node7");
	assert_label(x, "rank", "3");
	assert_label(x, "device", "GPU");
	assert_label(x, "device-id", "1");
	assert_label(x, "stream", "7");
	assert_label(x, "kernel", "gemm");
	assert_label(x, "stall", "sbid");
	pprof__profile__free_unpacked(x, NULL);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inlined),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
