/* SPDX-License-Identifier: Apache-2.0 */
/* Which call launched which work of a device. After nest.h: the path of the call becomes the work's. */
#pragma once

#include "import/trace.h"

/*
 * By correlation number, else by "External id" (the op), else by the arrow that ends in the work.
 * What has none of them keeps LINK_NONE; link_is_before() tells whether it was launched before the
 * trace began.
 */
int link_devices(struct trace *t);

/* Sets LAUNCH_BEFORE_WINDOW in the flags of what was launched before the trace began, as far as
 * numbers and order tell. */
int link_before_window(struct trace *t);
