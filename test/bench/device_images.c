/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: bench_device_images [-x FOLDER EVERY] FILE...
 * Walks the images in files, without inflating them, and says what each byte is and how long it took.
 * With -x every so manieth ELF image is inflated into FOLDER.
 */
#include "base/cleanup.h"
#include "base/io.h"
#include "base/parse.h"
#include "device/images.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

struct extract {
	const char *folder;
	uint32_t every;
	uint64_t elf, ptx, other, compressed, inflated_bytes, count;
};

static void extract(const struct extract *x, const struct device_image *image)
{
	CLEANUP_FREE uint8_t *owned = NULL;
	struct span bytes;
	struct err err;
	char path[4096];

	if (device_image_inflate(image, &bytes, &owned, &err) < 0) {
		printf("%s\n", err.text);
		return;
	}
	snprintf(path, sizeof(path), "%s/%06" PRIu64 ".%s.cubin", x->folder, x->count,
		 image->target);
	CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || io_write_all(fd, bytes.data, bytes.size) < 0)
		printf("cannot write '%s'\n", path);
}

static int on_image(void *data, const struct device_image *image)
{
	struct extract *x = data;
	x->elf += image->kind == IMAGE_ELF;
	x->ptx += image->kind == IMAGE_PTX;
	x->other += image->kind == IMAGE_OTHER;
	x->compressed += image->compression != IMAGE_STORED;
	x->inflated_bytes += image->size;
	if (image->kind == IMAGE_ELF && x->folder && x->count++ % x->every == 0)
		extract(x, image);
	return 0;
}

static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int walk(const char *path, struct extract *x)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct device_image_bytes b = { 0 };
	struct stat st;
	struct err err = { "" };

	if (fd < 0 || fstat(fd, &st) < 0) {
		printf("cannot open '%s'\n", path);
		return 1;
	}
	double begin = seconds();
	size_t size = (size_t)st.st_size;
	void *map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return 1;
	int rc = device_images(span_of(map, size), path, on_image, x, &b, &err);
	double took = seconds() - begin;
	munmap(map, size);
	if (rc < 0) {
		printf("%s\n", err.text);
		return 1;
	}
	printf("%s: %.1f MB in %.4f s (%.3f s/GB); headers %" PRIu64 ", images %" PRIu64
	       ", padding %" PRIu64 ", unknown %" PRIu64 "\n",
	       path, (double)size / 1e6, took, took / ((double)size / 1e9), b.headers, b.images,
	       b.padding, b.unknown);
	return b.unknown ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct extract x = { .every = 1 };
	int i = 1, failed = 0;

	if (argc > 3 && !strcmp(argv[1], "-x")) {
		x.folder = argv[2];
		if (parse_u32(argv[3], 10, &x.every) < 0 || !x.every)
			return 2;
		i = 4;
	}
	for (; i < argc; i++)
		failed |= walk(argv[i], &x);
	printf("%" PRIu64 " ELF, %" PRIu64 " PTX, %" PRIu64 " other; %" PRIu64
	       " compressed; %.1f MB inflated\n",
	       x.elf, x.ptx, x.other, x.compressed, (double)x.inflated_bytes / 1e6);
	return failed;
}
