/* SPDX-License-Identifier: Apache-2.0 */
/* A thread of ours in a program that is not: detached, and without the program's signals. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* @stack_bytes 0: as much as the program's threads have. */
bool thread_start(void *(*run)(void *data), size_t stack_bytes);
