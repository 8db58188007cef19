/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code of a hostile library. Whatever its bytes are: a decoded length lies within them, and a
 * place chosen as emulated is an instruction that the kernel emulates, reached by whole ones.
 */
#include "accel/site.h"
#include "accel/x86.h"

#include <elf.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct probe_site site = {
		.library = "libx",
		.symbol = "f",
		.value = { { .base = PROBE_ARGUMENT, .index = 2 } },
	};
	struct span code = span_of(data, size);
	struct probe_place place;
	struct x86_insn insn = { 0 };
	size_t at = 0;

	require(site_choose(&site, EM_X86_64, code, &place) == 0);
	require(place.argument[2].kind != PLACE_LOST);
	require(place.return_address >= 0);
	require(place.emulated || place.skip == 0);
	if (!place.emulated)
		return 0;
	for (;;) {
		unsigned int length = x86_decode(span_of(data + at, size - at), &insn);
		require(length > 0 && length <= size - at && length <= 15);
		if (at == place.skip)
			break;
		at += length;
		require(at <= place.skip);
	}
	require((insn.opcode & 0xf8) == 0x50 || insn.opcode == 0x90 || insn.opcode == 0xe8 ||
		insn.opcode == 0xe9 || insn.opcode == 0xeb || (insn.opcode & 0xf0) == 0x70 ||
		(insn.map == X86_MAP_0F && (insn.opcode & 0xf0) == 0x80));
	return 0;
}
