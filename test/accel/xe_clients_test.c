/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who else uses a GPU, in a /proc made here; what fdinfo looks like is from Documentation/gpu/drm-usage-stats.rst and
 * drivers/gpu/drm/xe/xe_drm_client.c of Linux 6.15.
 */
#include "unit.h"

#include "accel/accel.h"
#include "accel/xe_clients.h"

#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static const char text[] = "pos:\t0\nflags:\t02100002\nmnt_id:\t26\nino:\t684\n"
			   "drm-driver:\txe\ndrm-client-id:\t%u\ndrm-pdev:\t0000:%02x:00.0\n"
			   "drm-total-system:\t0\ndrm-total-vram0:\t16 MiB\n"
			   "drm-cycles-rcs:\t%" PRIu64 "\ndrm-total-cycles-rcs:\t7655183225\n"
			   "drm-cycles-bcs:\t999\ndrm-total-cycles-bcs:\t7655183225\n"
			   "drm-cycles-ccs:\t%" PRIu64 "\ndrm-total-cycles-ccs:\t7655183225\n"
			   "drm-engine-capacity-ccs:\t4\n";

static void write_to(const char *path, const char *bytes)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(bytes, file);
	fclose(file);
}

/* Process @pid has, as descriptor @fd, client @client of the GPU on bus @bus. */
static void put(unsigned pid, unsigned fd, unsigned client, unsigned bus, uint64_t rcs,
		uint64_t ccs)
{
	char path[128], bytes[1024], comm[32];
	const char *const parts[] = { "", "/fd", "/fdinfo" };

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		snprintf(path, sizeof(path), "%s/%u%s", folder, pid, parts[i]);
		mkdir(path, 0700);
	}
	snprintf(path, sizeof(path), "%s/%u/fd/%u", folder, pid, fd);
	unlink(path);
	assert_int_equal(symlink("/dev/dri/renderD128", path), 0);
	snprintf(path, sizeof(path), "%s/%u/fdinfo/%u", folder, pid, fd);
	snprintf(bytes, sizeof(bytes), text, client, bus, rcs, ccs);
	write_to(path, bytes);
	snprintf(path, sizeof(path), "%s/%u/comm", folder, pid);
	snprintf(comm, sizeof(comm), "program %u\n", pid);
	write_to(path, comm);
}

static bool is_ten(void *data, uint32_t pid)
{
	(void)data;
	return pid == 10;
}

static int delete_one(const char *path, const struct stat *s, int flag, struct FTW *ftw)
{
	(void)s, (void)flag, (void)ftw;
	return remove(path);
}

static void test_usage(void **state)
{
	const struct xe_kernel kernel = { .dri = "/dev/dri", .proc = folder };
	CLEANUP(xe_clients_free) struct xe_clients *c = NULL;
	char path[128];

	(void)state;
	strcpy(folder, "/tmp/xe_clients.XXXXXX");
	assert_non_null(mkdtemp(folder));
	assert_int_equal(xe_clients_new(&c, &kernel, ACCEL_PCI(0, 3, 0, 0)), 0);
	put(10, 4, 1, 3, 100, 1000);
	put(20, 7, 2, 3, 50000, 50000); /* long before */
	put(20, 8, 3, 4, 1, 1);         /* on another GPU */
	/* Not of a GPU, whatever it says. */
	snprintf(path, sizeof(path), "%s/20/fd/9", folder);
	assert_int_equal(symlink("/tmp/x", path), 0);
	snprintf(path, sizeof(path), "%s/20/fdinfo/9", folder);
	write_to(path, "drm-driver:\txe\ndrm-pdev:\t0000:03:00.0\ndrm-client-id:\t9\n");
	assert_int_equal(xe_clients_look(c, is_ten, NULL), 0);
	struct xe_usage u = xe_clients_usage(c);
	assert_int_equal(u.targets + u.others, 0);

	put(10, 4, 1, 3, 150, 1850); /* 50 + 850 */
	put(20, 7, 2, 3, 50030, 50000);
	put(20, 8, 3, 4, 1000, 1000);
	put(30, 5, 7, 3, 0, 70); /* begun since */
	put(10, 6, 8, 3, 0, 100);
	put(30, 6, 8, 3, 0, 100); /* inherited from ours */
	assert_int_equal(xe_clients_look(c, is_ten, NULL), 0);
	u = xe_clients_usage(c);
	assert_int_equal(u.targets, 1000);
	assert_int_equal(u.others, 100);
	assert_int_equal(u.target_count, 1);
	assert_int_equal(u.pid, 30);
	assert_string_equal(u.comm, "program 30");
	nftw(folder, delete_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void test_text(void **state)
{
	static const char other[] = "drm-driver:\ti915\ndrm-client-id:\t7\n";
	static const char odd[] = "drm-driver:\txe\ndrm-pdev:\t0001:c1:1f.7\ndrm-cycles-ccs:\t12 \n"
				  "drm-cycles-rcs:\tx\ndrm-client-id:";
	struct xe_fdinfo info;

	(void)state;
	assert_false(xe_fdinfo_parse(span_of(other, sizeof(other) - 1), &info));
	assert_false(xe_fdinfo_parse(span_of("", 0), &info));
	assert_true(xe_fdinfo_parse(span_of(odd, sizeof(odd) - 1), &info));
	assert_int_equal(info.pci, 0x1c1ff); /* domain 1, bus c1, device 31, function 7 */
	assert_int_equal(info.client, 0);
	assert_int_equal(info.cycles, 12);
	for (size_t i = 0; i < sizeof(odd); i++)
		xe_fdinfo_parse(span_of(odd, i), &info);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_usage),
		cmocka_unit_test(test_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
