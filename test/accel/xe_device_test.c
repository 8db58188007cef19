/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding and opening devices, against a kernel that is played here: requests by their numbers, arguments by the places
 * that include/uapi/drm/xe_drm.h of Linux 6.15 has them at, written out by hand.
 */
#include "unit.h"

#include "accel/xe_device.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the kernel is like. */
static struct {
	const char *driver;
	uint16_t major, minor;
	uint32_t gts; /* alternating: main, media, main, ... */
	int query_error, open_error, enable_error;
	bool has_no_sampling; /* the query's answer is empty */
	uint64_t record_bytes;
	/* what it was asked for */
	uint64_t property[8]; /* by number */
	bool is_enabled;
	int stream;
} kernel;

static char folder[64];

static void put16(uint8_t *p, uint16_t v)
{
	memcpy(p, &v, sizeof(v));
}

static void put32(uint8_t *p, uint32_t v)
{
	memcpy(p, &v, sizeof(v));
}

static void put64(uint8_t *p, uint64_t v)
{
	memcpy(p, &v, sizeof(v));
}

static uint64_t get64(const uint8_t *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

static int fail_with(int error)
{
	errno = error;
	return -1;
}

/* drm_version: name_len at 16, name at 24, on 64 bits. */
static int answer_version(uint8_t *arg)
{
	size_t size =
		get64(arg + 16) < strlen(kernel.driver) ? get64(arg + 16) : strlen(kernel.driver);
	memcpy((void *)(uintptr_t)get64(arg + 24), kernel.driver, size);
	put64(arg + 16, strlen(kernel.driver));
	return 0;
}

static uint32_t fill_query(uint32_t what, uint8_t *out)
{
	switch (what) {
	case 2: /* config: the device's number in the low half of the first value */
		put32(out, 1);
		put64(out + 8, 0x040000 | 0xe20b);
		return 16;
	case 3: /* GT list: type at 0, id at 4, version at 32 and 34 of 96 bytes */
		put32(out, kernel.gts);
		for (uint32_t i = 0; i < kernel.gts; i++) {
			uint8_t *gt = out + 8 + 96 * i;
			put16(gt, i % 2);
			put16(gt + 2, (uint16_t)(i / 2));
			put16(gt + 4, (uint16_t)i);
			put16(gt + 32, i % 2 ? 13 : kernel.major);
			put16(gt + 34, kernel.minor);
		}
		return 8 + 96 * kernel.gts;
	default: /* EU stalls: record size at 16, buffer at 24, how many rates at 72, rates at 80 */
		put64(out + 8, 1);
		put64(out + 16, kernel.record_bytes);
		put64(out + 24, 512 << 10);
		put64(out + 72, 7);
		for (uint64_t i = 0; i < 7; i++)
			put64(out + 80 + 8 * i, 251 * (i + 1));
		return 80 + 8 * 7;
	}
}

/* query at 8, size at 12, data at 16. A second call must have the size of the first. */
static int answer_query(uint8_t *arg)
{
	uint8_t out[1024] = { 0 };
	uint32_t what = get32(arg + 8);
	if (what == 10 && kernel.query_error)
		return fail_with(kernel.query_error);
	if (what == 10 && kernel.has_no_sampling)
		return 0;
	uint32_t size = fill_query(what, out);
	if (!get32(arg + 12)) {
		put32(arg + 12, size);
		return 0;
	}
	if (get32(arg + 12) != size)
		return fail_with(EINVAL);
	memcpy((void *)(uintptr_t)get64(arg + 16), out, size);
	return 0;
}

/* type at 8, operation at 16, the first of a chain of properties at 24: next at 0, name at 8, property at 16, value at
 * 24; what is unused must be 0. */
static int answer_observation(const uint8_t *arg)
{
	if (get64(arg) || get64(arg + 8) != 1 || get64(arg + 16))
		return fail_with(EINVAL);
	for (const uint8_t *p = (void *)(uintptr_t)get64(arg + 24); p;
	     p = (void *)(uintptr_t)get64(p)) {
		if (get32(p + 8) || get32(p + 12) || get32(p + 20) || get64(p + 32) ||
		    get64(p + 40) || get32(p + 16) > 3)
			return fail_with(EINVAL);
		kernel.property[get32(p + 16)] = get64(p + 24);
	}
	/* value / 251 must be 1 to 7 */
	if (kernel.property[2] && (kernel.property[2] < 251 || kernel.property[2] >= 8 * 251))
		return fail_with(EINVAL);
	if (kernel.open_error)
		return fail_with(kernel.open_error);
	kernel.stream = open("/dev/null", O_RDONLY);
	return kernel.stream;
}

static int fake_ioctl(int fd, unsigned long request, void *arg)
{
	switch (request) {
	case 0xc0406400:
		return answer_version(arg);
	case 0xc0286440:
		return answer_query(arg);
	case 0x4020644b:
		return answer_observation(arg);
	case 0x6900:
		assert_int_equal(fd, kernel.stream);
		if (kernel.enable_error)
			return fail_with(kernel.enable_error);
		kernel.is_enabled = true;
		return 0;
	default:
		return fail_with(ENOTTY);
	}
}

static int fake_open(const char *path, int flags)
{
	return open(path, flags);
}

static struct xe_kernel fake = { fake_open, fake_ioctl, folder, folder };

static void write_file(const char *name, const char *text)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void make_folder(const char *name)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

/* A folder with one render node, and a process that samples. */
static int setup(void **state)
{
	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	kernel.driver = "xe";
	kernel.major = 20;
	kernel.minor = 1;
	kernel.gts = 2;
	kernel.record_bytes = 64;
	kernel.stream = -1;
	strcpy(folder, "/tmp/xe-device-XXXXXX");
	assert_non_null(mkdtemp(folder));
	write_file("renderD128", "");
	make_folder("77");
	make_folder("77/fd");
	write_file("77/comm", "unitrace\n");
	char path[256];
	snprintf(path, sizeof(path), "%s/77/fd/5", folder);
	assert_int_equal(symlink("anon_inode:[xe_eu_stall]", path), 0);
	make_folder("sys");
	make_folder("sys/dev");
	make_folder("sys/dev/xe");
	write_file("sys/dev/xe/observation_paranoid", "1\n");
	return 0;
}

static int teardown(void **state)
{
	char command[128];
	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

static struct xe_device find_one(void)
{
	struct xe_device all[XE_DEVICES_MAX];
	size_t count = 0;
	struct err err = { "" };
	if (xe_devices_find(&fake, all, &count, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(count, 1);
	return all[0];
}

static void assert_none(int expected, const char *why)
{
	struct xe_device all[XE_DEVICES_MAX];
	size_t count = 5;
	struct err err = { "" };
	assert_int_equal(xe_devices_find(&fake, all, &count, &err), expected);
	assert_int_equal(count, 0);
	if (!strstr(err.text, why))
		fail_msg("'%s' does not say '%s'", err.text, why);
}

static void test_find(void **state)
{
	(void)state;
	struct xe_device d = find_one();
	assert_int_equal(d.pci_id, 0xe20b);
	assert_int_equal(d.version_major, 20);
	assert_int_equal(d.layout, XE_LAYOUT_XE2);
	assert_int_equal(d.gt_count, 1); /* the other is for video */
	assert_int_equal(d.gts[0], 0);
	assert_int_equal(d.period_count, 7);
	assert_int_equal(d.periods[3], 1004);
	assert_int_equal(xe_period_choose(&d, 0), 0);
	assert_int_equal(xe_period_choose(&d, 1), 251);
	assert_int_equal(xe_period_choose(&d, 1000), 1004);
	assert_int_equal(xe_period_choose(&d, 1u << 30), 1757);
}

/* PVC: two tiles, each with a main GT. */
static void test_tiles(void **state)
{
	(void)state;
	kernel.major = 12;
	kernel.minor = 60;
	kernel.gts = 3;
	struct xe_device d = find_one();
	assert_int_equal(d.layout, XE_LAYOUT_PVC);
	assert_int_equal(d.gt_count, 2);
	assert_int_equal(d.gts[1], 2);
	kernel.gts = 10; /* a kernel with more than any device has is cut, not overrun */
	d = find_one();
	assert_int_equal(d.gt_count, 5);
}

static void test_none(void **state)
{
	(void)state;
	kernel.driver = "i915";
	assert_none(-ENOENT, "is run by the i915 driver");
	kernel.driver = "amdgpu";
	assert_none(-ENODEV, "no Intel GPU with the xe driver");
	kernel.driver = "xe";
	kernel.query_error = EINVAL;
	assert_none(-ENOENT, "Linux 6.15");
	kernel.query_error = 0;
	kernel.has_no_sampling = true;
	assert_none(-ENOENT, "no virtual function");
	kernel.has_no_sampling = false;
	kernel.major = 13;
	assert_none(-ENOENT, "13.1");
	kernel.major = 20;
	kernel.record_bytes = 128;
	assert_none(-ENOENT, "not known here");
	char path[128];
	snprintf(path, sizeof(path), "%s/renderD128", folder);
	assert_int_equal(unlink(path), 0);
	assert_none(-ENODEV, "no Intel GPU");
}

static void test_sample(void **state)
{
	struct xe_device d = find_one();
	struct err err = { "" };
	int fd = -1;

	(void)state;
	assert_int_equal(xe_device_sample(&fake, &d, 2, 502, &fd, &err), 0);
	assert_int_equal(fd, kernel.stream);
	assert_true(kernel.is_enabled);
	assert_int_equal(kernel.property[1], 2);
	assert_int_equal(kernel.property[2], 502);
	assert_true(kernel.property[3] > 0);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	/* The kernel's own period. */
	kernel.property[2] = 0;
	assert_int_equal(xe_device_sample(&fake, &d, 0, 0, &fd, &err), 0);
	assert_int_equal(kernel.property[2], 0);
	close(fd);
}

static void assert_refused(int error, const char *why)
{
	struct xe_device d = find_one();
	struct err err = { "" };
	int fd = -1;
	assert_int_equal(xe_device_sample(&fake, &d, 0, 0, &fd, &err), -error);
	assert_int_equal(fd, -1);
	if (!strstr(err.text, why))
		fail_msg("'%s' does not say '%s'", err.text, why);
}

static void test_refused(void **state)
{
	(void)state;
	kernel.open_error = EACCES;
	assert_refused(EACCES, "observation_paranoid is 1: run as root, or with CAP_PERFMON");
	write_file("sys/dev/xe/observation_paranoid", "0\n");
	assert_refused(EACCES, "': run as root");
	kernel.open_error = EBUSY;
	assert_refused(EBUSY, "by process 77 (unitrace)");
	kernel.open_error = ENODEV;
	assert_refused(ENODEV, "cannot sample");
	kernel.open_error = 0;
	kernel.enable_error = ETIMEDOUT;
	assert_refused(ETIMEDOUT, "cannot sample");
	/* What was opened is closed again. */
	assert_int_equal(fcntl(kernel.stream, F_GETFD), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_find, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tiles, setup, teardown),
		cmocka_unit_test_setup_teardown(test_none, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sample, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
