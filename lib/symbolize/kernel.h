/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names in the OS kernel and its modules, from the text of /proc/kallsyms. There sizes are not told: a
 * symbol reaches to the next one of the same module.
 */
#pragma once

#include "base/cleanup.h"
#include "base/err.h"
#include "base/span.h"

#include <stddef.h>
#include <stdint.h>

struct kernel_symbols;

/* Kernels here have 200,000 lines, 12 MB. */
#define KERNEL_SYMBOLS_MAX (4u << 20)
/* How far the last symbol of a module, or of the kernel, is taken to reach. */
#define KERNEL_SYMBOL_GUESS_BYTES 4096u

/*
 * The text is not needed afterwards. -EPERM: it hides its addresses (kptr_restrict); -EBADMSG: it is
 * none.
 */
int kernel_symbols_new(struct kernel_symbols **ret, struct span kallsyms, struct err *err);
void kernel_symbols_free(struct kernel_symbols *k);
DEFINE_CLEANUP(kernel_symbols_free, struct kernel_symbols *)

size_t kernel_symbols_count(const struct kernel_symbols *k);

struct kernel_symbol {
	uint64_t start, size;
	const char *name;
	const char *module; /* NULL: the kernel itself */
};

/* The function at @address; -ENOENT. */
int kernel_symbols_at(const struct kernel_symbols *k, uint64_t address, struct kernel_symbol *ret);
