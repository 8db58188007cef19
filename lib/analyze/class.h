/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose code a host frame is, by where its file lies. Knows the names of packages; a table, because
 * torch.profiler strips what would tell an installed package from a program's own folder.
 */
#pragma once

#include "base/frame.h"

/* Of Python code: the path of its source file, as it was imported or as a trace shortened it. */
enum frame_class class_of_python(const char *path);
/* Of compiled code: the path of the binary. */
enum frame_class class_of_binary(const char *path);
/* Of a function in it: a program's file also holds what its language's library has for all types. */
enum frame_class class_of_function(const char *name, const char *path);
/* Of a function of a foreign trace that is known by name alone. */
enum frame_class class_of_native(const char *name);
