/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of lib/device on objects of real compilers; what it says is compared in *_test.py. */
#include "unit.h"

#include "base/io.h"
#include "device/device.h"
#include "device/images.h"
#include "device/occupancy.h"
#include "device/stall.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

static char *load(const char *name, size_t *ret_size)
{
	char path[4096];
	char *data = NULL;
	snprintf(path, sizeof(path), "%s/device/fixture/%s", TEST_SOURCE_DIR, name);
	assert_int_equal(io_read_file(path, 64u << 20, &data, ret_size), 0);
	return data;
}

static struct device_object *open_fixture(const char *name, char **ret_data, unsigned flags)
{
	struct device_object *o = NULL;
	struct err err = { "" };
	size_t size;
	*ret_data = load(name, &size);
	int rc = device_open(&o, span_of(*ret_data, size), name, flags, &err);
	if (rc < 0)
		print_message("%s\n", err.text);
	assert_int_equal(rc, 0);
	return o;
}

/* By hand, from `readelf -s` and `llvm-dwarfdump` of the file. */
static void test_pocl(void **state)
{
	CLEANUP_FREE char *data = NULL;
	CLEANUP(device_close) struct device_object *o = open_fixture("pocl-debug.so", &data, 0);
	struct device_place p;
	size_t index;

	(void)state;
	assert_int_equal(device_format(o), DEVICE_POCL);
	assert_string_equal(device_arch(o), "x86-64");
	assert_int_equal(device_function_count(o), 4);
	assert_int_equal(device_function_find(o, "dot_row", &index), 0);
	const struct device_function *f = device_function_get(o, index);
	assert_false(f->is_kernel);
	assert_string_equal(f->kernel, "tile_product");
	assert_int_equal(device_resolve(o, f->offset, &p), 0);
	assert_ptr_equal(p.function, f);
	assert_int_equal(p.line_count, 1);
	assert_string_equal(p.lines[0].name, "dot_row");
	assert_int_equal(p.lines[0].line, 6);
	/* Any place inside an instruction is that instruction. */
	uint64_t start = p.offset, length = p.length;
	if (p.text) {
		assert_true(length > 0);
		assert_int_equal(p.bytes.size, length);
		for (uint64_t at = start; at < start + length; at++) {
			assert_int_equal(device_resolve(o, at, &p), 0);
			assert_int_equal(p.offset, start);
		}
	}
	assert_int_equal(device_resolve(o, 0, &p), -ENOENT);
	assert_int_equal(device_resolve(o, UINT64_MAX, &p), -ENOENT);
	assert_int_equal(device_function_find(o, "no such", &index), -ENOENT);
}

/* Optimised by POCL 3.1: no lines are a value. */
static void test_no_lines(void **state)
{
	CLEANUP_FREE char *data = NULL;
	CLEANUP(device_close) struct device_object *o = open_fixture("pocl-plain.so", &data, 0);
	struct device_place p;

	(void)state;
	assert_int_equal(device_resolve(o, device_function_get(o, 0)->offset + 64, &p), 0);
	assert_string_equal(p.function->name, "tile_product");
	assert_int_equal(p.line_count, 0);
}

/* Without disassembler and without child the lines are the same. */
static void test_no_text(void **state)
{
	CLEANUP_FREE char *data = NULL, *data2 = NULL;
	CLEANUP(device_close) struct device_object *o = open_fixture("pocl-lines.so", &data, 0);
	CLEANUP(device_close)
	struct device_object *bare = open_fixture("pocl-lines.so", &data2, DEVICE_NO_CHILD);
	struct device_place p, q;
	size_t lines = 0;

	(void)state;
	for (size_t i = 0; i < device_function_count(o); i++) {
		int64_t count = device_place_count(o, i);
		assert_true(count > 0);
		for (size_t k = 0; k < (size_t)count; k++) {
			device_place_get(o, i, k, &p);
			assert_int_equal(device_resolve(bare, p.offset, &q), 0);
			assert_null(q.text);
			assert_int_equal(q.offset, p.offset);
			assert_int_equal(q.line_count, p.line_count);
			for (size_t n = 0; n < p.line_count; n++) {
				assert_string_equal(q.lines[n].name, p.lines[n].name);
				assert_int_equal(q.lines[n].line, p.lines[n].line);
			}
			lines += p.line_count;
		}
	}
	assert_true(lines > 1000);
}

/* From the descriptors as `llvm-objdump -d -j .rodata` of clang 15 writes them. */
static void test_facts(void **state)
{
	CLEANUP_FREE char *data = NULL;
	CLEANUP(device_close) struct device_object *o = open_fixture("amd-gfx90a.co", &data, 0);
	size_t index;

	(void)state;
	assert_int_equal(device_function_find(o, "tile_product", &index), 0);
	const struct device_facts *f = &device_function_get(o, index)->facts;
	assert_int_equal(f->shared_bytes, 128); /* two tiles of 4 x 4 floats */
	assert_int_equal(f->simd, 64);
	assert_true(f->registers > 8 && f->registers % 8 == 0);
}

static int count_image(void *data, const struct device_image *image)
{
	CLEANUP_FREE uint8_t *owned = NULL;
	CLEANUP(device_close) struct device_object *o = NULL;
	struct span bytes;
	if (image->kind != IMAGE_ELF)
		return 0;
	assert_int_equal(device_image_inflate(image, &bytes, &owned, NULL), 0);
	assert_int_equal(device_open(&o, bytes, image->target, 0, NULL), 0);
	assert_non_null(strstr(image->target, device_arch(o)));
	++*(int *)data;
	return 0;
}

static void test_bundle(void **state)
{
	size_t size;
	CLEANUP_FREE char *data = load("amd.bundle", &size);
	struct device_image_bytes bytes;
	int images = 0;

	(void)state;
	assert_int_equal(device_images(span_of(data, size), "amd.bundle", count_image, &images,
				       &bytes, NULL),
			 0);
	assert_int_equal(images, 2);
	assert_int_equal(bytes.headers + bytes.images + bytes.padding + bytes.unknown, size);
	assert_int_equal(bytes.unknown, 0);
}

/* From `ptxas -v` of CUDA 13 and `readelf -s`. */
static void test_cubin(void **state)
{
	CLEANUP_FREE char *data = NULL, *old = NULL;
	CLEANUP(device_close) struct device_object *o = open_fixture("tile-sm_90.cubin", &data, 0);
	CLEANUP(device_close) struct device_object *o75 = open_fixture("tile-sm_75.cubin", &old, 0);
	static const char kernel[] = "_Z12tile_productiPKfS0_Pf";
	struct device_place p;
	size_t index;

	(void)state;
	assert_string_equal(device_arch(o), "sm_90");
	assert_string_equal(device_arch(o75), "sm_75");
	assert_int_equal(device_function_count(o), 5);
	assert_int_equal(device_function_find(o, kernel, &index), 0);
	assert_int_equal(device_function_get(o, index)->facts.registers, 31);
	assert_int_equal(device_function_get(o, index)->facts.shared_bytes, 2048);
	assert_int_equal(device_function_get(o, index)->size, 5376);
	/* What lies at 0x690 and behind is of two functions inside it. */
	assert_int_equal(device_place_count(o, index), 0x690 / 16);
	assert_int_equal(device_function_find(o75, kernel, &index), 0);
	assert_int_equal(device_function_get(o75, index)->facts.shared_bytes, 2048);
	/* The function in the kernel's section, which is not inlined. */
	assert_int_equal(device_function_find(o, "_Z9slow_rootf", &index), 0);
	const struct device_function *f = device_function_get(o, index);
	assert_string_equal(f->kernel, kernel);
	assert_int_equal(device_resolve(o, f->offset + 24, &p), 0);
	assert_ptr_equal(p.function, f);
	assert_int_equal(p.offset, f->offset + 16);
	assert_int_equal(p.length, 16);
	assert_string_equal(p.lines[p.line_count - 1].file + strlen(p.lines[0].file) - 7,
			    "tile.cu");
}

/* The chain that `nvdisasm -gi` shows: two inlined functions over the kernel. */
static void test_cubin_chain(void **state)
{
	CLEANUP_FREE char *data = NULL;
	CLEANUP(device_close) struct device_object *o = open_fixture("tile-sm_75.cubin", &data, 0);
	struct device_place p;
	size_t index, deep = 0;

	(void)state;
	assert_int_equal(device_function_find(o, "_Z12tile_productiPKfS0_Pf", &index), 0);
	int64_t count = device_place_count(o, index);
	for (size_t i = 0; i < (size_t)count; i++) {
		device_place_get(o, index, i, &p);
		if (p.line_count != 3)
			continue;
		deep++;
		assert_string_equal(p.lines[0].name, "_Z12tile_productiPKfS0_Pf");
		assert_int_equal(p.lines[0].line, 37); /* sum += dot_row(...) */
		assert_non_null(strstr(p.lines[1].name, "dot_row"));
		assert_int_equal(p.lines[1].line, 14); /* sum = fused(...) */
		assert_non_null(strstr(p.lines[2].name, "fused"));
		assert_int_equal(p.lines[2].line, 7);
	}
	assert_true(deep >= 16); /* the loop of 16 is unrolled */
}

struct inflated {
	struct span bytes[8];
	uint8_t *owned[8];
	enum image_compression compression[8];
	size_t count;
};

static int keep_image(void *data, const struct device_image *image)
{
	struct inflated *all = data;
	struct span bytes;
	uint8_t *owned = NULL;
	assert_true(all->count < 8);
	assert_int_equal(device_image_inflate(image, &bytes, &owned, NULL), 0);
	if (!owned) {
		owned = malloc(bytes.size);
		assert_non_null(owned);
		memcpy(owned, bytes.data, bytes.size);
	}
	all->compression[all->count] = image->compression;
	all->owned[all->count] = owned;
	all->bytes[all->count++] = span_of(owned, bytes.size);
	return 0;
}

/* fatbinary with LZ4, zstd and without compression, of the same code. */
static void test_fatbin(void **state)
{
	static const char *const names[] = { "nested-none.fatbin", "nested-speed.fatbin",
					     "nested-size.fatbin" };
	static const enum image_compression expected[] = { IMAGE_STORED, IMAGE_LZ4, IMAGE_ZSTD };
	struct inflated all[3] = { 0 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		size_t size;
		CLEANUP_FREE char *data = load(names[i], &size);
		struct device_image_bytes b;
		assert_int_equal(
			device_images(span_of(data, size), names[i], keep_image, &all[i], &b, NULL),
			0);
		assert_int_equal(b.headers + b.images + b.padding, size);
		assert_int_equal(b.unknown, 0);
		assert_int_equal(all[i].count, 3); /* sm_80, sm_90, PTX */
		for (size_t k = 0; k < 3; k++) {
			assert_int_equal(all[i].compression[k], expected[i]);
			/* Stored PTX is padded. */
			size_t smaller = all[i].bytes[k].size < all[0].bytes[k].size
						 ? all[i].bytes[k].size
						 : all[0].bytes[k].size;
			assert_true(all[0].bytes[k].size - smaller < 16);
			assert_memory_equal(all[i].bytes[k].data, all[0].bytes[k].data, smaller);
		}
	}
	for (size_t i = 0; i < 3; i++)
		for (size_t k = 0; k < all[i].count; k++)
			free(all[i].owned[k]);
}

static int ignore_image(void *data, const struct device_image *image)
{
	(void)data;
	(void)image;
	return 0;
}

static void put(uint8_t **at, const void *data, size_t size)
{
	memcpy(*at, data, size);
	*at += size;
}

/* The header of a compressed bundle as clang 19 writes version 2, and as LLVM has it for 1 and 3. */
static size_t pack_bundle(uint8_t *out, size_t cap, unsigned version, unsigned method,
			  const char *data, size_t size)
{
	uint8_t *at = out, body[1 << 16];
	uint16_t halves[2] = { (uint16_t)version, (uint16_t)method };
	uint64_t hash = 0x1234, sizes[2] = { 0, size };
	uLongf packed = sizeof(body);

	if (method)
		packed = ZSTD_compress(body, sizeof(body), data, size, 3);
	else
		assert_int_equal(compress2(body, &packed, (const Bytef *)data, size, 6), Z_OK);
	size_t header = version == 1 ? 20 : version == 2 ? 24 : 32;
	assert_true(header + packed <= cap);
	sizes[0] = header + packed;
	put(&at, "CCOB", 4);
	put(&at, halves, 4);
	if (version == 3)
		put(&at, sizes, 16);
	if (version == 2)
		put(&at, &sizes[0], 4);
	if (version < 3)
		put(&at, &sizes[1], 4);
	put(&at, &hash, 8);
	put(&at, body, packed);
	return (size_t)(at - out);
}

static void assert_same_images(struct span plain, struct span compressed)
{
	struct inflated a = { 0 }, b = { 0 };

	assert_int_equal(device_images(plain, "x", keep_image, &a, NULL, NULL), 0);
	assert_int_equal(device_images(compressed, "x", keep_image, &b, NULL, NULL), 0);
	assert_int_equal(a.count, b.count);
	for (size_t i = 0; i < a.count; i++) {
		assert_int_equal(a.bytes[i].size, b.bytes[i].size);
		assert_memory_equal(a.bytes[i].data, b.bytes[i].data, a.bytes[i].size);
		free(a.owned[i]);
		free(b.owned[i]);
	}
}

static void test_compressed_bundle(void **state)
{
	static uint8_t file[1 << 16];
	size_t size;
	CLEANUP_FREE char *data = load("amd.bundle", &size);

	(void)state;
	for (unsigned version = 1; version <= 3; version++) {
		for (unsigned method = 0; method < 2; method++) {
			struct device_image_bytes b;
			int images = 0;
			size_t n = pack_bundle(file, sizeof(file), version, method, data, size);
			assert_int_equal(device_images(span_of(file, n), "x.ccob", count_image,
						       &images, &b, NULL),
					 0);
			assert_int_equal(images, 2);
			assert_int_equal(b.headers + b.images + b.padding, n);
			assert_same_images(span_of(data, size), span_of(file, n));
			/* Damage inside is told, or is in what images hold. */
			file[n / 2] ^= 0xff;
			file[n / 2 + 1] ^= 0xff;
			struct err err = { "" };
			if (device_images(span_of(file, n), "x.ccob", ignore_image, NULL, &b,
					  &err) < 0)
				assert_true(err.text[0]);
		}
	}
}

/* From NVIDIA's occupancy calculator for compute capability 8.0 and 7.5, and by hand. */
static void test_occupancy(void **state)
{
	CLEANUP_FREE char *data = NULL, *amd = NULL, *zebin = NULL;
	CLEANUP(device_close) struct device_object *o = open_fixture("tile-sm_75.cubin", &data, 0);
	CLEANUP(device_close) struct device_object *a = open_fixture("amd-gfx90a.co", &amd, 0);
	CLEANUP(device_close) struct device_object *z = open_fixture("nested-pvc.zebin", &zebin, 0);
	struct device_occupancy q;

	(void)state;
	assert_int_equal(device_occupancy(o, &(struct device_facts){ .registers = 64 }, &q), 0);
	assert_int_equal(q.possible, 32);
	assert_int_equal(q.most, 32);
	assert_int_equal(device_occupancy(o, &(struct device_facts){ .registers = 96 }, &q), 0);
	assert_int_equal(q.possible, 20);
	assert_int_equal(device_occupancy(o, &(struct device_facts){ .registers = 255 }, &q), 0);
	assert_int_equal(q.possible, 8);
	assert_int_equal(device_occupancy(a, &(struct device_facts){ .registers = 128 }, &q), 0);
	assert_int_equal(q.possible, 4);
	assert_int_equal(device_occupancy(z, &(struct device_facts){ .registers = 256 }, &q), 0);
	assert_int_equal(q.possible, 4);
	assert_int_equal(q.most, 8);
	assert_int_equal(device_occupancy(o, &(struct device_facts){ .registers = 0 }, &q),
			 -ENOENT);
}

/* LLVM before 17 ends its process on gfx942: text is lost with it, the lines are not. */
static void test_unknown_processor(void **state)
{
	size_t size, index, lines = 0;
	CLEANUP_FREE char *data = load("amd-gfx90a.co", &size);
	CLEANUP(device_close) struct device_object *o = NULL;
	struct device_place p;

	(void)state;
	data[48] = 0x4c; /* the low byte of e_flags: EF_AMDGPU_MACH_AMDGCN_GFX942 */
	assert_int_equal(device_open(&o, span_of(data, size), "gfx942", 0, NULL), 0);
	assert_string_equal(device_arch(o), "gfx942");
	assert_int_equal(device_function_find(o, "scale", &index), 0);
	int64_t count = device_place_count(o, index);
	assert_true(count > 0);
	for (size_t i = 0; i < (size_t)count; i++) {
		device_place_get(o, index, i, &p);
		lines += p.line_count;
	}
	assert_true(lines > 0);
	assert_int_equal(device_resolve(o, device_function_get(o, index)->offset, &p), 0);
	assert_string_equal(p.lines[0].name, "scale");
}

/* Tokens by hand, from the text that iga64 prints: each wait names a token that the source takes. */
static void test_stall_source(void **state)
{
	CLEANUP_FREE char *data = NULL;
	CLEANUP(device_close) struct device_object *o = open_fixture("nested-pvc.zebin", &data, 0);
	struct device_place p, q;
	size_t index, checked = 0;

	(void)state;
	assert_int_equal(device_function_find(o, "product", &index), 0);
	int64_t count = device_place_count(o, index);
	assert_true(count > 20);
	for (size_t i = 0; i < (size_t)count; i++) {
		device_place_get(o, index, i, &p);
		if (!p.text) /* no libiga64 here */
			return;
		int64_t source = device_stall_source(o, index, i);
		if (!strstr(p.text, ".dst")) {
			if (!strstr(p.text, ".src"))
				assert_int_equal(source, -ENOENT);
			continue;
		}
		assert_true(source >= 0 && source < (int64_t)i);
		device_place_get(o, index, (size_t)source, &q);
		/* "{...,$5.dst}" and "{...,$5}" */
		char token[8] = "$";
		const char *dst = strstr(p.text, ".dst"), *at = dst;
		while (at[-1] != '$')
			at--;
		memcpy(token + 1, at, (size_t)(dst - at));
		assert_non_null(strstr(strrchr(q.text, '{'), token));
		/* What waits for memory waits for what reads memory. */
		assert_true(strstr(q.text, "load") || strstr(q.text, "send") ||
			    strstr(q.text, "math"));
		checked++;
	}
	assert_true(checked > 3);
}

static void test_foreign(void **state)
{
	struct device_object *o = NULL;
	struct err err = { "" };
	static const char text[] = "no ELF file";
	CLEANUP_FREE char *data = NULL;
	size_t size;

	(void)state;
	assert_int_equal(device_open(&o, span_of(text, sizeof(text)), "x", 0, &err), -EBADMSG);
	assert_int_equal(io_read_file("/proc/self/exe", 64u << 20, &data, &size), 0);
	assert_int_equal(device_open(&o, span_of(data, size), "x", 0, &err), -ENOTSUP);
	assert_int_equal(device_open(&o, span_of("CTNI\1\0\0\0", 8), "x", 0, &err), -ENOTSUP);
	assert_non_null(strstr(err.text, "patch tokens"));
	assert_null(o);
}

static void test_stalls(void **state)
{
	(void)state;
	const char *s = device_stall_meaning("long_scoreboard");
	assert_non_null(s);
	assert_string_equal(
		device_stall_meaning("smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued"),
		s);
	assert_non_null(device_stall_meaning(
		"ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_WAITCNT"));
	assert_non_null(device_stall_meaning("sbid"));
	assert_non_null(device_stall_meaning("stall:waitcnt"));
	/* All that the vendors' interfaces have: CUPTI 13's strings, CUPTI's activity records, drm/xe's fields, Level
	 * Zero's metrics, rocprofiler-sdk's enumeration. */
	static const char *const all[] = {
		"barrier",
		"branch_resolving",
		"dispatch_stall",
		"drain",
		"imc_miss",
		"lg_throttle",
		"long_scoreboard",
		"math_pipe_throttle",
		"membar",
		"mio_throttle",
		"misc",
		"no_instructions",
		"not_selected",
		"selected",
		"short_scoreboard",
		"sleeping",
		"tex_throttle",
		"wait",
		"warpgroup_arrive",
		"gmma",
		"inst_fetch",
		"exec_dependency",
		"memory_dependency",
		"texture",
		"sync",
		"constant_memory_dependency",
		"pipe_busy",
		"memory_throttle",
		"other",
		"active",
		"control",
		"pipestall",
		"send",
		"dist_acc",
		"sbid",
		"tdr",
		"Active",
		"PSDepStall",
		"ControlStall",
		"PipeStall[Events]",
		"SendStall",
		"DistStall",
		"SbidStall",
		"SyncStall",
		"InstrFetchStall",
		"OtherStall",
		"NO_INSTRUCTION_AVAILABLE",
		"ALU_DEPENDENCY",
		"WAITCNT",
		"INTERNAL_INSTRUCTION",
		"BARRIER_WAIT",
		"ARBITER_NOT_WIN",
		"ARBITER_WIN_EX_STALL",
		"OTHER_WAIT",
		"SLEEP_WAIT",
		"issued:VALU",
	};
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (!device_stall_meaning(all[i]))
			fail_msg("%s has no meaning", all[i]);
	}
	assert_null(device_stall_meaning("made_up"));
	assert_null(device_stall_meaning(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pocl),         cmocka_unit_test(test_no_lines),
		cmocka_unit_test(test_no_text),      cmocka_unit_test(test_facts),
		cmocka_unit_test(test_bundle),       cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_stalls),       cmocka_unit_test(test_cubin),
		cmocka_unit_test(test_cubin_chain),  cmocka_unit_test(test_fatbin),
		cmocka_unit_test(test_stall_source), cmocka_unit_test(test_compressed_bundle),
		cmocka_unit_test(test_occupancy),    cmocka_unit_test(test_unknown_processor),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
