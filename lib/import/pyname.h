/* SPDX-License-Identifier: Apache-2.0 */
/* The forms in which profilers write a Python function as one string. */
#pragma once

#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

struct pyname {
	struct span file, function;
	uint32_t line;
};

/*
 * True for
 *	path/file.py(123): function	torch.profiler
 *	path/file.py:123@function	Proton
 *	path/file.py:function@123	FlagTree, older Proton
 * The spans point into @text.
 */
bool pyname_parse(struct span text, struct pyname *ret);

/*
 * "<built-in method numel of Tensor object at 0x7f62c2b1d0>" without its address, which differs
 * from call to call: the length of what to keep before it and where to go on behind it.
 * False when there is none.
 */
bool pyname_address(struct span text, size_t *ret_before, size_t *ret_behind);
