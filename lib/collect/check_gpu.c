/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs that the kernel samples itself: by sampling them for a moment. */
#include "collect/check.h"

#include "accel/xe_device.h"
#include "base/cleanup.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* A text that says what is wrong, and how to mend it behind the first ": ". */
static void put_refusal(struct check *c, int error, const char *text)
{
	const char *colon = strstr(text, ": ");
	int size = colon ? (int)(colon - text) : (int)strlen(text);

	c->state = CHECK_NO;
	FOUND(c, "%.*s", size, text);
	if (colon)
		MEND(c, error == -EACCES || error == -EPERM ? CHECK_ROOT : CHECK_YOU, "%s",
		     colon + 2);
}

void check_intel(struct check *c)
{
	struct xe_device devices[XE_DEVICES_MAX];
	struct err err = { "" };
	size_t count;

	int rc = xe_devices_find(&xe_kernel_real, devices, &count, &err);
	if (rc == -ENODEV) {
		c->state = CHECK_ABSENT;
		FOUND(c, "none that the xe driver runs");
		return;
	}
	if (rc < 0) {
		put_refusal(c, rc, err.text);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		CLEANUP_CLOSE int fd = -1;
		rc = xe_device_sample(&xe_kernel_real, &devices[i], devices[i].gts[0], 0, &fd,
				      &err);
		if (rc < 0) {
			put_refusal(c, rc, err.text);
			return;
		}
	}
	const struct xe_device *d = &devices[0];
	uint64_t fastest = d->period_count ? d->periods[0] : 0;
	uint64_t slowest = d->period_count ? d->periods[d->period_count - 1] : 0;
	FOUND(c,
	      "%s%s: stalls each %" PRIu64 " to %" PRIu64
	      " cycles, with source lines where kernels are built with '-g'",
	      d->path, count > 1 ? " and others" : "", fastest, slowest);
}
