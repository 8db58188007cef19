/* SPDX-License-Identifier: Apache-2.0 */
/* The libraries of NVIDIA's toolkit, hundreds of MB each: every byte of their fatbins is something, and what is in
 * them can be read. With ACCEL_PROF_TEST_FULL, where the toolkit is. */
#include "unit.h"

#include "device/device.h"
#include "device/images.h"
#include "elf/elf.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* Inflating all of them takes minutes. */
#define OPENED_EVERY 97

struct walked {
	uint64_t count, opened;
};

static int on_image(void *data, const struct device_image *image)
{
	struct walked *w = data;
	CLEANUP_FREE uint8_t *owned = NULL;
	CLEANUP(device_close) struct device_object *o = NULL;
	struct span bytes;
	struct err err = { "" };

	if (image->kind != IMAGE_ELF || w->count++ % OPENED_EVERY)
		return 0;
	if (device_image_inflate(image, &bytes, &owned, &err) < 0 ||
	    device_open(&o, bytes, image->name, 0, &err) < 0)
		fail_msg("%s", err.text);
	/* "sm_90a" is for sm_90. */
	assert_memory_equal(image->target, device_arch(o), strlen(device_arch(o)));
	for (size_t i = 0; i < device_function_count(o) && i < 4; i++)
		assert_true(device_place_count(o, i) > 0);
	w->opened++;
	return 0;
}

/* The sections that hold nothing but fatbins. */
static uint64_t own_sections(struct span file)
{
	CLEANUP(elf_close) struct elf_file *elf = NULL;
	uint64_t size = 0;

	assert_int_equal(elf_open_memory(&elf, file, "library", NULL), 0);
	for (size_t i = 1; i < elf_section_count(elf); i++) {
		struct elf_section s = elf_section_get(elf, i);
		if (!strcmp(s.name, ".nv_fatbin") || !strcmp(s.name, "__nv_relfatbin"))
			size += s.size;
	}
	return size;
}

static bool walk(const char *name)
{
	char path[256];
	struct stat st;
	struct device_image_bytes b = { 0 };
	struct walked w = { 0 };
	struct err err = { "" };

	snprintf(path, sizeof(path), "/usr/local/cuda/lib64/%s", name);
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return false;
	void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	struct span file = span_of(map, (size_t)st.st_size);
	if (device_images(file, name, on_image, &w, &b, &err) < 0)
		fail_msg("%s", err.text);
	uint64_t own = own_sections(file), all = b.headers + b.images + b.padding;
	print_message("%s: %.0f MB, %llu of %llu images read\n", name, (double)all / 1e6,
		      (unsigned long long)w.opened, (unsigned long long)w.count);
	assert_int_equal(b.unknown, 0);
	assert_true(all >= own && w.opened > 0);
	munmap(map, (size_t)st.st_size);
	return true;
}

static void test_libraries(void **state)
{
	static const char *const names[] = {
		"libcublas.so.13",   "libcublasLt.so.13", "libcudnn_engines_precompiled.so.9",
		"libcudnn_ops.so.9", "libcufft.so.12",    "libcusparse.so.12",
		"libcurand.so.10",   "libnccl.so.2",
	};
	unsigned found = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names) && getenv("ACCEL_PROF_TEST_FULL"); i++)
		found += walk(names[i]);
	if (!found)
		skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_libraries),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
