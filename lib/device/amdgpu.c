/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AMDGPU code objects, version 4 and later (llvm.org, "User Guide for AMDGPU Backend"): ET_DYN, kernel K
 * is the function K plus the object "K.kd" of 64 bytes, its descriptor. The processor is the low byte of
 * e_flags. Addresses are those that rocprofiler counts from.
 */
#include "device/disassembler.h"
#include "device/linked.h"
#include "device/notes.h"
#include "elf/symtab.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

/* EF_AMDGPU_MACH_*, table "AMDGPU ELF Header e_flags". */
static const struct {
	uint8_t mach;
	const char *name;
} processors[] = {
	{ 0x20, "gfx600" },        { 0x21, "gfx601" },          { 0x22, "gfx700" },
	{ 0x23, "gfx701" },        { 0x24, "gfx702" },          { 0x25, "gfx703" },
	{ 0x26, "gfx704" },        { 0x28, "gfx801" },          { 0x29, "gfx802" },
	{ 0x2a, "gfx803" },        { 0x2b, "gfx810" },          { 0x2c, "gfx900" },
	{ 0x2d, "gfx902" },        { 0x2e, "gfx904" },          { 0x2f, "gfx906" },
	{ 0x30, "gfx908" },        { 0x31, "gfx909" },          { 0x32, "gfx90c" },
	{ 0x33, "gfx1010" },       { 0x34, "gfx1011" },         { 0x35, "gfx1012" },
	{ 0x36, "gfx1030" },       { 0x37, "gfx1031" },         { 0x38, "gfx1032" },
	{ 0x39, "gfx1033" },       { 0x3a, "gfx602" },          { 0x3b, "gfx705" },
	{ 0x3c, "gfx805" },        { 0x3d, "gfx1035" },         { 0x3e, "gfx1034" },
	{ 0x3f, "gfx90a" },        { 0x40, "gfx940" },          { 0x41, "gfx1100" },
	{ 0x42, "gfx1013" },       { 0x43, "gfx1150" },         { 0x44, "gfx1103" },
	{ 0x45, "gfx1036" },       { 0x46, "gfx1101" },         { 0x47, "gfx1102" },
	{ 0x48, "gfx1200" },       { 0x4a, "gfx1151" },         { 0x4b, "gfx941" },
	{ 0x4c, "gfx942" },        { 0x4e, "gfx1201" },         { 0x4f, "gfx950" },
	{ 0x51, "gfx9-generic" },  { 0x52, "gfx10-1-generic" }, { 0x53, "gfx10-3-generic" },
	{ 0x54, "gfx11-generic" }, { 0x55, "gfx1152" },         { 0x58, "gfx1153" },
	{ 0x59, "gfx12-generic" }, { 0x5f, "gfx9-4-generic" },
};

static bool amdgpu_is_mine(struct elf_file *elf)
{
	return elf_header(elf).machine == EM_AMDGPU_;
}

/* Fields of the kernel descriptor: "Code Object V3 Kernel Descriptor". The counts of registers are
 * in granules that depend on the processor: vectors of 8 (4 on gfx6 to 9 and in wave64 of gfx10+). */
static void read_descriptor(const struct device_object *o, const char *name,
			    const struct elf_symtab *t, struct device_facts *ret)
{
	uint8_t kd[64];
	char symbol[4096];
	struct elf_symbol s;
	uint32_t shared, scratch, rsrc1, mach = elf_header(o->elf).flags & 0xff;

	if (snprintf(symbol, sizeof(symbol), "%s.kd", name) >= (int)sizeof(symbol) ||
	    elf_symtab_find((struct elf_symtab *)t, symbol, &s) < 0 ||
	    elf_read_vaddr(o->elf, s.value, kd, sizeof(kd)) < 0)
		return;
	memcpy(&shared, kd, 4);
	memcpy(&scratch, kd + 4, 4);
	memcpy(&rsrc1, kd + 48, 4);
	bool is_unified = mach == 0x3f || mach == 0x40 || mach == 0x4b || mach == 0x4c ||
			  mach == 0x4f || mach == 0x5f;
	bool is_gfx10 = !strncmp(o->arch, "gfx1", 4);
	bool is_wave32 = is_gfx10 && (kd[57] & 4); /* kernel_code_properties bit 10 */
	uint32_t granule = is_unified || is_wave32 ? 8 : 4;
	ret->registers = ((rsrc1 & 63) + 1) * granule;
	/* Granules of 16, of 8 before gfx9; from gfx10 on it is always 106 and the field says nothing. */
	if (!strncmp(o->arch, "gfx9", 4))
		ret->scalar_registers = ((rsrc1 >> 6 & 15) / 2 + 1) * 16;
	else if (!is_gfx10)
		ret->scalar_registers = ((rsrc1 >> 6 & 15) + 1) * 8;
	ret->shared_bytes = shared;
	ret->private_bytes = scratch;
	ret->simd = is_gfx10 ? (is_wave32 ? 32 : 64) : 64;
}

static int add_functions(struct device_object *o, struct elf_symtab *t,
			 struct amdgpu_spills *spills)
{
	for (size_t i = 0; i < elf_symtab_count(t); i++) {
		struct elf_symbol s = elf_symtab_get(t, i), kd;
		struct device_function f = { .name = s.name, .offset = s.value, .size = s.size };
		char symbol[4096];
		uint64_t at;
		if (s.type != STT_FUNC || elf_vaddr_to_offset(o->elf, s.value, &at) < 0)
			continue;
		f.is_kernel =
			snprintf(symbol, sizeof(symbol), "%s.kd", s.name) < (int)sizeof(symbol) &&
			elf_symtab_find(t, symbol, &kd) == 0;
		if (f.is_kernel) {
			uint32_t spilled;
			read_descriptor(o, s.name, t, &f.facts);
			if (amdgpu_spills_find(spills, s.name, &spilled) < 0)
				return -ENOMEM;
			f.facts.spill_bytes = spilled < UINT32_MAX / 4 ? 4 * spilled : 0;
		}
		if (object_add_function(o, &f, at, 0) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int amdgpu_open(struct device_object *o, struct err *err)
{
	CLEANUP(elf_symtab_free) struct elf_symtab *t = NULL;
	struct amdgpu_spills spills = { .registers = { .len = 0 } };
	uint8_t mach = elf_header(o->elf).flags & 0xff;
	int rc = elf_symtab_new(&t, o->elf, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < ARRAY_SIZE(processors); i++) {
		if (processors[i].mach == mach)
			strcpy(o->arch, processors[i].name);
	}
	rc = amdgpu_spills_read(&spills, o->elf);
	rc = rc ? rc : add_functions(o, t, &spills);
	amdgpu_spills_release(&spills);
	return rc < 0 ? err_set(err, rc, "'%s'", o->name) : 0;
}

static void amdgpu_prepare(struct device_object *o)
{
	if (!(o->flags & DEVICE_NO_TEXT) && o->arch[0])
		o->disassembler = disassembler_llvm("amdgcn-amd-amdhsa", o->arch);
}

static int amdgpu_list(struct device_object *o, size_t function)
{
	/* Instructions are 4, 8 or, since gfx10, 12 and more bytes. */
	return linked_list(o, function, &(struct linked_how){ .step = 4, .target = target_amdgpu });
}

const struct device_ops device_amdgpu = {
	.format = DEVICE_AMDGPU,
	.is_mine = amdgpu_is_mine,
	.open = amdgpu_open,
	.list = amdgpu_list,
	.prepare = amdgpu_prepare,
	.needs_helper = true,
};
