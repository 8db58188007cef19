/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kind of event a category names. By the words that categories are made of ("..._runtime",
 * "kernel", "gpu_memcpy"), so that the next vendor's are known too; a category that says nothing is
 * judged by the event's arguments.
 */
#pragma once

#include "base/span.h"
#include "import/event.h"

enum event_class {
	CLASS_UNKNOWN,
	CLASS_SKIP, /* drawn by viewers, says nothing that the others do not */
	CLASS_PYTHON,
	CLASS_OP,
	CLASS_SCOPE,
	CLASS_CALL,
	CLASS_KERNEL,
	CLASS_COPY,
	CLASS_FILL,
	CLASS_COLLECTIVE,
	CLASS_OVERHEAD, /* of the profiler itself */
	CLASS_INSIDE,   /* a part of a kernel, by a warp; the category is the kernel's name */
	CLASS_HOST,     /* anything else that a thread does */
};

enum event_class classify_category(struct span category);
/* For CLASS_UNKNOWN; @is_device_lane: the trace's metadata says that the lane is a device's. */
enum event_class classify_event(const struct event *e, bool is_device_lane);
