/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intel GPUs of the xe driver that can sample EU stalls: found by their render nodes, and opened. Asks the kernel what a
 * device can do rather than a table of PCI numbers. Interfaces: include/uapi/drm/xe_drm.h of Linux 6.15 and later.
 *
 * A stream covers one GT; devices of several tiles have a main GT on each.
 */
#pragma once

#include "accel/xe_stall.h"
#include "base/err.h"

#include <stddef.h>

/* The kernel, or what a test puts in its place. */
struct xe_kernel {
	int (*open)(const char *path, int flags);
	int (*ioctl)(int fd, unsigned long request, void *arg);
	const char *dri;  /* "/dev/dri" */
	const char *proc; /* "/proc" */
};
extern const struct xe_kernel xe_kernel_real;

#define XE_GTS_MAX   8 /* main ones: PVC has 2 */
#define XE_RATES_MAX 16

struct xe_device {
	char path[64]; /* of the render node */
	uint32_t pci;  /* ACCEL_PCI(); 0: the kernel does not say */
	uint16_t pci_id;
	uint16_t version_major, version_minor; /* of the graphics part */
	enum xe_layout layout;
	uint16_t gts[XE_GTS_MAX];
	size_t gt_count;
	uint64_t periods[XE_RATES_MAX]; /* GPU cycles between samples, shortest first */
	size_t period_count;
};

#define XE_DEVICES_MAX 16

/*
 * 0: *@ret_count of them, at least one. -ENODEV: no GPU of this driver is here. -ENOENT: there is, and the text says
 * why it cannot be sampled: a kernel that cannot, a device that has no such unit, or no right to open it.
 */
int xe_devices_find(const struct xe_kernel *k, struct xe_device *ret, size_t *ret_count,
		    struct err *why);

/* The period that comes nearest to @wanted GPU cycles; 0: what the kernel takes by itself. */
uint64_t xe_period_choose(const struct xe_device *d, uint64_t wanted);

/*
 * Start sampling: a descriptor, O_NONBLOCK, of which records can be read. Closing it ends the sampling. The texts of
 * -EACCES and -EBUSY say what mends it, and who else is sampling.
 */
int xe_device_sample(const struct xe_kernel *k, const struct xe_device *d, uint16_t gt,
		     uint64_t period, int *ret_fd, struct err *err);
