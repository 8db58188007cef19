/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names by which a recorder finds a library of ours in a process: accel_prof_RUNTIME_WHAT, as message.h says them.
 * INJECT_RUNTIME is the build's word for whose library a file is compiled into.
 */
#pragma once

#define CHANNEL_JOIN(runtime, what)   accel_prof_##runtime##_##what
#define CHANNEL_EXPAND(runtime, what) CHANNEL_JOIN(runtime, what)
#define CHANNEL_NAME(what)            CHANNEL_EXPAND(INJECT_RUNTIME, what)

#define EXPORT __attribute__((visibility("default")))
