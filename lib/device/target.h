/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where branches go, as people read it: disassemblers write a distance, counted in each architecture in its own way.
 * Internal.
 */
#pragma once

#include "device/object.h"

/* Make the targets of the branch that @text is, if it is one, places in functions. @offset: where the instruction
 * begins; @length is its own, @size that of @text. */
typedef void target_rewrite(const struct device_object *o, size_t function, uint64_t offset,
			    size_t length, char *text, size_t size);

target_rewrite target_x86, target_arm, target_amdgpu, target_iga;

/* @to as people write it in @function: the place in it, else another's name, else the address. */
void target_write(const struct device_object *o, size_t function, uint64_t to, char *text,
		  size_t size);
