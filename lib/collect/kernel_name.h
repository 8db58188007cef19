/* SPDX-License-Identifier: Apache-2.0 */
/* Names in the OS kernel and its modules, as the kernel itself tells them. */
#pragma once

#include "bpf/events.h"

#include <stdint.h>

struct programs;

struct kernel_name {
	uint64_t start, size;
	char name[KERNEL_NAME_BYTES];
	char module[KERNEL_NAME_BYTES]; /* "": the kernel itself */
};

/* The function at @address; -ENOENT: there is none. */
int kernel_name_at(const struct programs *p, uint64_t address, struct kernel_name *ret);

/* What the kernel's "%pS" has said of @address. */
int kernel_name_parse(const char *text, uint64_t address, struct kernel_name *ret);
