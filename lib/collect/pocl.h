/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POCL turns an OpenCL kernel into a shared library and runs it on the CPU: such a file is device
 * code. Knows how to recognise one and how to keep it in the capture.
 */
#pragma once

#include "capture/writer.h"

#include <stdbool.h>
#include <stdint.h>

struct object;

/*
 * By where POCL keeps them (".../kcache/...", or ".../uncached/..." with POCL_KERNEL_CACHE=0), or by
 * the symbols that every one of them has, _pocl_kernel_NAME.
 */
bool pocl_is_kernel(const struct object *object);

/* Write its bytes as CODE_OBJECT number @number. */
int pocl_keep(struct object *object, uint32_t number, struct capture_writer *w);
