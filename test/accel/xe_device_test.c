/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and opening devices, against a kernel that is played here. */
#include "unit.h"

#include "accel/xe_device.h"
#include "fake/xe_uapi.h"

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
	uint64_t property[XE_UAPI_PROPERTIES]; /* by number */
	bool is_enabled;
	int stream;
} kernel;

static char folder[64];

static int answer_query(unsigned char *arg)
{
	unsigned char out[XE_UAPI_ANSWER_BYTES] = { 0 };
	uint64_t what = xe_uapi_queried(arg);
	size_t size = 0;

	if (what == XE_UAPI_CONFIG)
		size = xe_uapi_fill_config(out, 0x040000 | 0xe20b);
	for (uint32_t i = 0; what == XE_UAPI_GTS && i < kernel.gts; i++)
		size = xe_uapi_fill_gt(out, i,
				       &(struct xe_uapi_gt){
					       .is_media = i % 2,
					       .tile = i / 2,
					       .id = i,
					       .major = i % 2 ? 13 : kernel.major,
					       .minor = kernel.minor,
				       });
	if (what == XE_UAPI_STALLS && kernel.query_error)
		return xe_uapi_fail(kernel.query_error);
	if (what == XE_UAPI_STALLS && kernel.has_no_sampling)
		return 0;
	if (what == XE_UAPI_STALLS)
		size = xe_uapi_fill_stalls(out, kernel.record_bytes);
	return xe_uapi_answer_query(arg, out, size);
}

static int answer_observation(const unsigned char *arg)
{
	if (xe_uapi_read_stream(arg, kernel.property) < 0)
		return -1;
	if (kernel.open_error)
		return xe_uapi_fail(kernel.open_error);
	kernel.stream = open("/dev/null", O_RDONLY);
	return kernel.stream;
}

static int fake_ioctl(int fd, unsigned long request, void *arg)
{
	switch (request) {
	case XE_UAPI_VERSION:
		return xe_uapi_answer_version(arg, kernel.driver);
	case XE_UAPI_QUERY:
		return answer_query(arg);
	case XE_UAPI_OBSERVATION:
		return answer_observation(arg);
	case XE_UAPI_ENABLE:
		assert_int_equal(fd, kernel.stream);
		if (kernel.enable_error)
			return xe_uapi_fail(kernel.enable_error);
		kernel.is_enabled = true;
		return 0;
	default:
		return xe_uapi_fail(ENOTTY);
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
