/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/probe_internal.h"

#include <assert.h>

static_assert(EVENT_PROBE_VALUES == PROBE_VALUES, "bpf/probe.h and accel/site.h");
static_assert(EVENT_PROBE_DEREFS == PROBE_DEREFS, "bpf/probe.h and accel/site.h");
static_assert((int)PROBE_PROGRAM_STRING == PROBE_TEXT_STRING, "bpf/probe.h and accel/site.h");
static_assert((int)PROBE_PROGRAM_STRINGS == PROBE_TEXT_STRINGS, "bpf/probe.h and accel/site.h");
static_assert((int)PROBE_PROGRAM_BYTES == PROBE_TEXT_BYTES, "bpf/probe.h and accel/site.h");
static_assert((int)PROBE_PROGRAM_WINDOW == PROBE_TEXT_WINDOW, "bpf/probe.h and accel/site.h");

/* By the number of a register: its word in struct pt_regs (arch/x86/include/asm/ptrace.h). Another
 * processor needs its own table, and launch.bpf.c the words of sp and the return value. */
#if defined(__x86_64__)
static const uint8_t register_word[PLACE_REGISTERS] = {
	10, 11, 12, 5, 19, 4, 13, 14, 9, 8, 7, 6, 3, 2, 1, 0,
};
#else
/* aarch64 numbers its registers as it stores them. */
static const uint8_t register_word[PLACE_REGISTERS] = {
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
};
#endif

static struct probe_read read_make(const struct probe_value *value, const struct probe_place *place)
{
	struct probe_read read = {
		.derefs = value->derefs,
		.bytes = value->size ? value->size : 8,
	};

	assert(value->derefs <= PROBE_DEREFS);
	if (value->base == PROBE_RETURN) {
		read.from = PROBE_READ_RETURN;
	} else if (value->base == PROBE_VALUE) {
		read.from = (uint8_t)(PROBE_READ_VALUE + value->index);
	} else if (value->base == PROBE_OUT) {
		assert(value->derefs > 0);
		read.from = (uint8_t)(PROBE_READ_LATER + value->index);
	} else if (place->argument[value->index].kind == PLACE_STACK) {
		read.from = PROBE_READ_STACK;
		read.stack = place->argument[value->index].offset;
	} else {
		assert(place->argument[value->index].kind == PLACE_REGISTER);
		read.from = register_word[place->argument[value->index].reg];
	}
	for (unsigned int i = 0; i + 1 < value->derefs; i++)
		read.step[i] = value->offset[i];
	if (value->derefs > 0)
		read.last = value->offset[value->derefs - 1];
	if (value->count > 1) {
		assert(value->derefs > 0 && value->count <= EVENT_PROBE_WORDS);
		read.bytes = (uint8_t)(value->count * 8);
	}
	return read;
}

void probe_program_make(const struct probe_site *site, uint32_t number,
			const struct probe_place *place, struct probe_program *ret)
{
	struct probe_program program = {
		.site = number,
		.flags = (uint16_t)((site->flags & PROBE_STACK ? PROBE_PROGRAM_STACK : 0) |
				    (site->flags & PROBE_TELLS ? PROBE_PROGRAM_TELLS : 0) |
				    (site->flags & PROBE_UNLESS_TOLD ? PROBE_PROGRAM_UNLESS_TOLD
								     : 0)),
		.return_address = place->return_address,
		.text = site->text.kind,
		.text_max = site->text.max,
		.text_pointer = site->text.pointer,
		.text_count = site->text.count,
		.text_lengths = site->text.lengths,
		.text_scale = site->text.scale,
	};

	assert(!(site->flags & PROBE_STACK) || !(site->flags & PROBE_AT_RETURN));
	assert(site->text.kind == PROBE_TEXT_NONE || site->flags & PROBE_AT_RETURN);
	assert(site->text.pointer < 8 && site->text.count < 8 && site->text.lengths < 8);
	assert(site_value_count(site) <= PROBE_VALUES);
	for (unsigned int i = 0; i < PROBE_VALUES && site->value[i].base != PROBE_NONE; i++) {
		const struct probe_value *value = &site->value[i];
		program.read[i] = read_make(value, place);
		program.read[i].to = program.values;
		program.values = (uint8_t)(program.values + (value->count ? value->count : 1));
		program.reads++;
	}
	*ret = program;
}
