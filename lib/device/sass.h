/* SPDX-License-Identifier: Apache-2.0 */
/* Text of SASS instructions, 16 bytes each: of NVIDIA's disassembler where it is wanted and here, else the
 * mnemonic, from a table of our own. Internal. */
#pragma once

#include "base/hash.h"
#include "device/object.h"

#define SASS_BYTES 16u

struct sass {
	bool has_failed;     /* the disassembler, and is not asked again */
	struct hash asked;   /* sections */
	struct hash text_of; /* offset -> string */
};

void sass_release(struct sass *s);
/* Have the disassembler write the instructions of a section. 0, -ENOMEM. */
int sass_ask(struct device_object *o, struct sass *s, uint32_t section);
/* The text of the instruction at @offset; 0: not known. */
int sass_text(struct device_object *o, const struct sass *s, uint64_t offset, struct span code,
	      uint32_t *ret);
/* NN of sm_NN. */
unsigned sass_version(const struct device_object *o);
