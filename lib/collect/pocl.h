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
 * By where POCL puts them: FOLDER/KERNEL/16-16-1[-goffs0-smallgrid]/KERNEL.so, whatever the folder
 * is (POCL_CACHE_DIR, "uncached" with POCL_KERNEL_CACHE=0). Not by the symbols in it: the tables of a
 * stranger's file are for the worker to read.
 */
bool pocl_is_kernel_path(const char *path);

/* Write its bytes as CODE_OBJECT number @number. */
int pocl_keep(struct object *object, uint32_t number, struct capture_writer *w);
