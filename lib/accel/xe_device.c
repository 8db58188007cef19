/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/xe_device.h"

#include "accel/xe_clients.h"
#include "base/io.h"
#include "base/parse.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Declared here, as the system's headers may be older. Checked with a program that had the kernel's. */
#define DRM_VERSION_        0xc0406400u
#define XE_DEVICE_QUERY_    0xc0286440u
#define XE_OBSERVATION_     0x4020644bu
#define XE_STREAM_ENABLE    0x6900u
#define XE_QUERY_CONFIG     2
#define XE_QUERY_GT_LIST    3
#define XE_QUERY_EU_STALL   10
#define XE_OBSERVE_EU_STALL 1
#define XE_OP_STREAM_OPEN   0
#define XE_GT_TYPE_MAIN     0

enum {
	XE_PROPERTY_GT = 1,
	XE_PROPERTY_PERIOD = 2,
	XE_PROPERTY_WAIT = 3,
};

struct drm_version_arg {
	int32_t major, minor, patch;
	uint64_t name_size, name, date_size, date, text_size, text;
};
static_assert(sizeof(struct drm_version_arg) == 64, "drm.h");

struct xe_query_arg {
	uint64_t extensions;
	uint32_t query, size;
	uint64_t data, reserved[2];
};
static_assert(sizeof(struct xe_query_arg) == 40, "xe_drm.h");

struct xe_gt_arg {
	uint16_t type, tile, gt, pad[3];
	uint32_t clock;
	uint64_t near, far;
	uint16_t major, minor, revision, pad2;
	uint64_t reserved[7];
};
static_assert(sizeof(struct xe_gt_arg) == 96, "xe_drm.h");

struct xe_eu_stall_arg {
	uint64_t extensions, capabilities, record_bytes, core_buffer_bytes, reserved[5], periods;
};
static_assert(sizeof(struct xe_eu_stall_arg) == 80, "xe_drm.h");

struct xe_property_arg {
	uint64_t next;
	uint32_t name, pad;
	uint32_t property, pad2;
	uint64_t value, reserved[2];
};
static_assert(sizeof(struct xe_property_arg) == 48, "xe_drm.h");

struct xe_observation_arg {
	uint64_t extensions, type, operation, param;
};
static_assert(sizeof(struct xe_observation_arg) == 32, "xe_drm.h");

static int real_open(const char *path, int flags)
{
	return open(path, flags);
}

static int real_ioctl(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg);
}

const struct xe_kernel xe_kernel_real = { real_open, real_ioctl, "/dev/dri", "/proc" };

static int call(const struct xe_kernel *k, int fd, unsigned long request, void *arg)
{
	int rc;
	do {
		rc = k->ioctl(fd, request, arg);
	} while (rc < 0 && errno == EINTR);
	return rc < 0 ? -errno : rc;
}

/* ---- what a device is ---- */

#define DRIVER_NAME_BYTES 16

static void read_driver(const struct xe_kernel *k, int fd, char ret[DRIVER_NAME_BYTES])
{
	struct drm_version_arg v = { .name_size = DRIVER_NAME_BYTES - 1, .name = (uintptr_t)ret };
	memset(ret, 0, DRIVER_NAME_BYTES);
	if (call(k, fd, DRM_VERSION_, &v) < 0)
		ret[0] = '\0';
}

/* Some kB at most. */
#define QUERY_BYTES_MAX (1u << 20)

/* The answer to a query, with zeros up to @least bytes. -EINVAL: the kernel does not know it. */
static int query(const struct xe_kernel *k, int fd, uint32_t what, size_t least, void **ret,
		 size_t *ret_size)
{
	struct xe_query_arg q = { .query = what };
	int rc = call(k, fd, XE_DEVICE_QUERY_, &q);
	if (rc < 0)
		return rc;
	if (!q.size || q.size > QUERY_BYTES_MAX) /* for the owner of the device alone */
		return -ENODEV;
	CLEANUP_FREE void *data = calloc(1, q.size > least ? q.size : least);
	if (!data)
		return -ENOMEM;
	q.data = (uintptr_t)data;
	rc = call(k, fd, XE_DEVICE_QUERY_, &q);
	if (rc < 0)
		return rc;
	*ret_size = q.size;
	*ret = TAKE(data);
	return 0;
}

static int read_gts(const struct xe_kernel *k, int fd, struct xe_device *d)
{
	CLEANUP_FREE void *data = NULL;
	size_t size;
	uint32_t count;
	int rc = query(k, fd, XE_QUERY_GT_LIST, 8, &data, &size);
	if (rc < 0)
		return rc;
	memcpy(&count, data, sizeof(count));
	for (uint32_t i = 0; i < count && 8 + (i + 1) * sizeof(struct xe_gt_arg) <= size; i++) {
		struct xe_gt_arg gt;
		memcpy(&gt, (uint8_t *)data + 8 + i * sizeof(gt), sizeof(gt));
		if (gt.type != XE_GT_TYPE_MAIN || d->gt_count == XE_GTS_MAX)
			continue;
		d->gts[d->gt_count++] = gt.gt;
		d->version_major = gt.major;
		d->version_minor = gt.minor;
	}
	return d->gt_count ? 0 : -ENODEV;
}

static int read_sampling(const struct xe_kernel *k, int fd, struct xe_device *d)
{
	CLEANUP_FREE void *data = NULL;
	struct xe_eu_stall_arg s;
	size_t size;
	int rc = query(k, fd, XE_QUERY_EU_STALL, sizeof(s), &data, &size);
	if (rc < 0)
		return rc;
	memcpy(&s, data, sizeof(s));
	for (uint64_t i = 0; i < s.periods && i < XE_RATES_MAX && sizeof(s) + (i + 1) * 8 <= size;
	     i++)
		memcpy(&d->periods[d->period_count++], (uint8_t *)data + sizeof(s) + i * 8, 8);
	return xe_layout_choose(s.record_bytes, d->version_major, d->version_minor, &d->layout);
}

/* The PCI number is for people only. */
static void read_config(const struct xe_kernel *k, int fd, struct xe_device *d)
{
	CLEANUP_FREE void *data = NULL;
	size_t size;
	/* u32 count, u32 pad, then numbers, of which the first is revision and device. */
	if (query(k, fd, XE_QUERY_CONFIG, 16, &data, &size) == 0 && size >= 16)
		memcpy(&d->pci_id, (uint8_t *)data + 8, sizeof(d->pci_id));
}

/* Where it is, as runtimes know it. */
static void read_place(const struct xe_kernel *k, int fd, struct xe_device *d)
{
	struct xe_fdinfo info;
	char path[300];
	CLEANUP_FREE char *text = NULL;
	size_t size;
	snprintf(path, sizeof(path), "%s/self/fdinfo/%d", k->proc, fd);
	if (io_read_file(path, 1u << 16, &text, &size) == 0 &&
	    xe_fdinfo_parse(span_of(text, size), &info))
		d->pci = info.pci;
}

/* 0; 1: not of this driver. */
static int read_device(const struct xe_kernel *k, const char *path, struct xe_device *d,
		       struct err *why)
{
	char driver[DRIVER_NAME_BYTES];
	CLEANUP_CLOSE int fd = k->open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return err_set(why, -errno, "cannot open '%s'", path);
	*d = (struct xe_device){ .gt_count = 0 };
	snprintf(d->path, sizeof(d->path), "%s", path);
	read_driver(k, fd, driver);
	/* Its out-of-tree versions have an interface of their own, which needs their kernels. */
	if (!strcmp(driver, "i915"))
		return err_set(
			why, -EINVAL,
			"'%s' is run by the i915 driver, which cannot sample EU stalls: from "
			"Xe2 on, and for Ponte Vecchio, the xe driver can (boot with "
			"'i915.force_probe=!ID xe.force_probe=ID', ID of 'lspci -nn')",
			path);
	if (strcmp(driver, "xe") != 0)
		return 1;
	int rc = read_gts(k, fd, d);
	if (rc < 0)
		return err_set(why, rc, "cannot ask '%s' for its parts", path);
	read_config(k, fd, d);
	read_place(k, fd, d);
	rc = read_sampling(k, fd, d);
	/* -EINVAL where a text says all. */
	if (rc == -EINVAL)
		return err_set(
			why, -EINVAL,
			"the kernel cannot sample EU stalls of '%s': Linux 6.15 and later can",
			path);
	if (rc == -ENODEV)
		return err_set(
			why, -EINVAL,
			"'%s' cannot sample EU stalls: Ponte Vecchio, Xe2 and later can, and "
			"no virtual function",
			path);
	if (rc == -ENOTSUP)
		return err_set(why, -EINVAL,
			       "'%s' has a graphics version that is not known here: %u.%u", path,
			       d->version_major, d->version_minor);
	return rc < 0 ? err_set(why, rc, "cannot ask '%s' for its sampling", path) : 0;
}

/* Render nodes have the numbers 128 to 191 (drivers/gpu/drm/drm_drv.c). */
#define RENDER_FIRST 128
#define RENDER_LAST  191

int xe_devices_find(const struct xe_kernel *k, struct xe_device *ret, size_t *ret_count,
		    struct err *why)
{
	size_t count = 0;
	struct err first = { "" };

	for (unsigned n = RENDER_FIRST; n <= RENDER_LAST && count < XE_DEVICES_MAX; n++) {
		char path[48];
		struct err err = { "" };
		snprintf(path, sizeof(path), "%s/renderD%u", k->dri, n);
		int rc = read_device(k, path, &ret[count], &err);
		if (rc == 0)
			count++;
		else if (rc < 0 && rc != -ENOENT && !first.text[0])
			first = err;
	}
	*ret_count = count;
	if (count)
		return 0;
	if (first.text[0])
		return err_set(why, -ENOENT, "%s", first.text);
	return err_set(why, -ENODEV, "no Intel GPU with the xe driver is here");
}

/* ---- sampling ---- */

uint64_t xe_period_choose(const struct xe_device *d, uint64_t wanted)
{
	uint64_t best = 0, distance = UINT64_MAX;
	for (size_t i = 0; wanted && i < d->period_count; i++) {
		uint64_t p = d->periods[i], off = p > wanted ? p - wanted : wanted - p;
		if (off < distance) {
			best = p;
			distance = off;
		}
	}
	return best;
}

/* Does the process hold a stream? */
static bool is_sampling(const struct xe_kernel *k, const char *pid)
{
	char path[300], target[64];
	bool found = false;
	snprintf(path, sizeof(path), "%s/%s/fd", k->proc, pid);
	DIR *dir = opendir(path);
	for (struct dirent *e; dir && !found && (e = readdir(dir));) {
		char name[600];
		snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
		ssize_t n = readlink(name, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = '\0';
		found = !strcmp(target, "anon_inode:[xe_eu_stall]");
	}
	if (dir)
		closedir(dir);
	return found;
}

/* "by process 12 (unitrace)"; without rights to look: empty. */
static void find_user(const struct xe_kernel *k, char *text, size_t size)
{
	DIR *dir = opendir(k->proc);
	text[0] = '\0';
	for (struct dirent *e; dir && !text[0] && (e = readdir(dir));) {
		uint64_t pid;
		char path[300];
		CLEANUP_FREE char *comm = NULL;
		size_t comm_size = 0;
		if (parse_u64(e->d_name, 10, &pid) < 0 || !is_sampling(k, e->d_name))
			continue;
		snprintf(path, sizeof(path), "%s/%s/comm", k->proc, e->d_name);
		if (io_read_file(path, 64, &comm, &comm_size) < 0)
			comm_size = 0;
		snprintf(text, size, " by process %s (%.*s)", e->d_name,
			 (int)(comm_size ? comm_size - 1 : 0), comm ? comm : "");
	}
	if (dir)
		closedir(dir);
}

static bool is_paranoid(const struct xe_kernel *k)
{
	char path[300];
	CLEANUP_FREE char *text = NULL;
	size_t size = 0;
	snprintf(path, sizeof(path), "%s/sys/dev/xe/observation_paranoid", k->proc);
	return io_read_file(path, 16, &text, &size) == 0 && size && text[0] == '1';
}

static int explain(const struct xe_kernel *k, const struct xe_device *d, int rc, struct err *err)
{
	char user[128];

	switch (rc) {
	case -EACCES:
	case -EPERM:
		return err_set(err, rc,
			       "not allowed to sample EU stalls of '%s'%s: run as root, or with "
			       "CAP_PERFMON, or set 'sysctl dev.xe.observation_paranoid=0'",
			       d->path,
			       is_paranoid(k) ? ", as dev.xe.observation_paranoid is 1" : "");
	case -EBUSY:
		find_user(k, user, sizeof(user));
		return err_set(
			err, rc,
			"EU stalls of '%s' are sampled already%s: only one can at a time, so end that first",
			d->path, user);
	case -ENODEV:
		return err_set(err, rc, "'%s' cannot sample EU stalls, or is gone", d->path);
	default:
		return err_set(err, rc, "cannot sample EU stalls of '%s'", d->path);
	}
}

/* Wake up the reader for a 64th of a core's buffer of 8192 records: some kHz at full rate. */
#define WAIT_RECORDS 128

int xe_device_sample(const struct xe_kernel *k, const struct xe_device *d, uint16_t gt,
		     uint64_t period, int *ret_fd, struct err *err)
{
	struct xe_property_arg properties[3] = {
		{ .property = XE_PROPERTY_GT, .value = gt },
		{ .property = XE_PROPERTY_WAIT, .value = WAIT_RECORDS },
		{ .property = XE_PROPERTY_PERIOD, .value = period },
	};
	struct xe_observation_arg open_stream = {
		.type = XE_OBSERVE_EU_STALL,
		.operation = XE_OP_STREAM_OPEN,
		.param = (uintptr_t)&properties[0],
	};
	properties[0].next = (uintptr_t)&properties[1];
	if (period)
		properties[1].next = (uintptr_t)&properties[2];
	CLEANUP_CLOSE int node = k->open(d->path, O_RDWR | O_CLOEXEC);
	if (node < 0)
		return err_set(err, -errno, "cannot open '%s'", d->path);
	int rc = call(k, node, XE_OBSERVATION_, &open_stream);
	if (rc < 0)
		return explain(k, d, rc, err);
	CLEANUP_CLOSE int fd = rc;
	/* It comes without either. */
	if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		return err_set(err, -errno, "cannot set up the stream of '%s'", d->path);
	rc = call(k, fd, XE_STREAM_ENABLE, NULL);
	if (rc < 0)
		return explain(k, d, rc, err);
	*ret_fd = TAKE_FD(fd);
	return 0;
}
