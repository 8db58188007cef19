/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's side of the xe driver's interface, for those who play that driver: requests by their numbers, arguments by
 * the places that include/uapi/drm/xe_drm.h of Linux 6.15 has them at, written out by hand. Apart from the product's
 * own words for it on purpose: two readings of the header check each other.
 */
#pragma once

#include <errno.h>
#include <stdint.h>
#include <string.h>

#define XE_UAPI_VERSION     0xc0406400 /* DRM_IOCTL_VERSION */
#define XE_UAPI_QUERY       0xc0286440 /* DRM_IOCTL_XE_DEVICE_QUERY */
#define XE_UAPI_OBSERVATION 0x4020644b /* DRM_IOCTL_XE_OBSERVATION */
#define XE_UAPI_ENABLE      0x6900     /* DRM_XE_OBSERVATION_IOCTL_ENABLE, of a stream */

#define XE_UAPI_CONFIG     2 /* what is queried: DRM_XE_DEVICE_QUERY_... */
#define XE_UAPI_GTS        3
#define XE_UAPI_STALLS     10
#define XE_UAPI_GT         1 /* properties of a stream: DRM_XE_EU_STALL_PROP_... */
#define XE_UAPI_PERIOD     2
#define XE_UAPI_PROPERTIES 4 /* they are 1 to 3 */

/* Room for any answer below. */
#define XE_UAPI_ANSWER_BYTES 1024
#define XE_UAPI_PERIOD_UNIT  251
#define XE_UAPI_PERIODS      7

static inline void xe_uapi_put(void *to, uint64_t value, size_t size)
{
	memcpy(to, &value, size);
}

static inline uint64_t xe_uapi_get(const void *from, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, from, size);
	return value;
}

static inline void *xe_uapi_pointer(uint64_t value)
{
	return (void *)(uintptr_t)value;
}

static inline int xe_uapi_fail(int error)
{
	errno = error;
	return -1;
}

/* drm_version: name_len at 16, name at 24, on 64 bits. */
static inline int xe_uapi_answer_version(unsigned char *arg, const char *driver)
{
	size_t room = xe_uapi_get(arg + 16, 8), size = strlen(driver);

	memcpy(xe_uapi_pointer(xe_uapi_get(arg + 24, 8)), driver, room < size ? room : size);
	xe_uapi_put(arg + 16, size, 8);
	return 0;
}

/* drm_xe_device_query: query at 8, size at 12, data at 16. A second call must have the size of the first. */
static inline uint64_t xe_uapi_queried(const unsigned char *arg)
{
	return xe_uapi_get(arg + 8, 4);
}

/* @size 0: nothing of that name is known. */
static inline int xe_uapi_answer_query(unsigned char *arg, const unsigned char *answer, size_t size)
{
	if (!size)
		return xe_uapi_fail(EINVAL);
	if (!xe_uapi_get(arg + 12, 4)) {
		xe_uapi_put(arg + 12, size, 4);
		return 0;
	}
	if (xe_uapi_get(arg + 12, 4) != size)
		return xe_uapi_fail(EINVAL);
	memcpy(xe_uapi_pointer(xe_uapi_get(arg + 16, 8)), answer, size);
	return 0;
}

/* drm_xe_query_config: the device's number in the low half of the first value, its revision above. */
static inline size_t xe_uapi_fill_config(unsigned char *out, uint64_t device)
{
	xe_uapi_put(out, 1, 4);
	xe_uapi_put(out + 8, device, 8);
	return 16;
}

/* drm_xe_query_gt_list: 96 bytes each from 8 on: type, tile and number, the version at 32 and 34. */
struct xe_uapi_gt {
	int is_media;
	uint64_t tile, id, major, minor;
};

static inline size_t xe_uapi_fill_gt(unsigned char *out, size_t index, const struct xe_uapi_gt *gt)
{
	unsigned char *at = out + 8 + 96 * index;

	xe_uapi_put(out, index + 1, 4);
	xe_uapi_put(at, gt->is_media != 0, 2);
	xe_uapi_put(at + 2, gt->tile, 2);
	xe_uapi_put(at + 4, gt->id, 2);
	xe_uapi_put(at + 32, gt->major, 2);
	xe_uapi_put(at + 34, gt->minor, 2);
	return 8 + 96 * (index + 1);
}

/* drm_xe_query_eu_stall: bytes of a record at 16, of a core's buffer at 24, how many rates at 72, rates at 80. */
static inline size_t xe_uapi_fill_stalls(unsigned char *out, uint64_t record_bytes)
{
	xe_uapi_put(out + 8, 1, 8);
	xe_uapi_put(out + 16, record_bytes, 8);
	xe_uapi_put(out + 24, 512 << 10, 8);
	xe_uapi_put(out + 72, XE_UAPI_PERIODS, 8);
	for (uint64_t i = 0; i < XE_UAPI_PERIODS; i++)
		xe_uapi_put(out + 80 + 8 * i, XE_UAPI_PERIOD_UNIT * (i + 1), 8);
	return 80 + 8 * XE_UAPI_PERIODS;
}

/*
 * drm_xe_observation_param: type at 8, operation at 16, at 24 the first of a chain of properties: next at 0, name at 8,
 * property at 16, value at 24; what is unused must be 0. 0 and what is asked for, by number, in @property; or -1.
 */
static inline int xe_uapi_read_stream(const unsigned char *arg,
				      uint64_t property[XE_UAPI_PROPERTIES])
{
	if (xe_uapi_get(arg, 8) || xe_uapi_get(arg + 8, 8) != 1 || xe_uapi_get(arg + 16, 8))
		return xe_uapi_fail(EINVAL);
	for (const unsigned char *p = xe_uapi_pointer(xe_uapi_get(arg + 24, 8)); p;
	     p = xe_uapi_pointer(xe_uapi_get(p, 8))) {
		uint64_t number = xe_uapi_get(p + 16, 4);
		if (xe_uapi_get(p + 8, 8) || xe_uapi_get(p + 20, 4) || xe_uapi_get(p + 32, 8) ||
		    xe_uapi_get(p + 40, 8) || number >= XE_UAPI_PROPERTIES)
			return xe_uapi_fail(EINVAL);
		property[number] = xe_uapi_get(p + 24, 8);
	}
	/* In units of 251 it must be 1 to 7. */
	uint64_t period = property[XE_UAPI_PERIOD];
	if (period &&
	    (period < XE_UAPI_PERIOD_UNIT || period / XE_UAPI_PERIOD_UNIT > XE_UAPI_PERIODS))
		return xe_uapi_fail(EINVAL);
	return 0;
}
