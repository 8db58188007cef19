/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources: NVIDIA, "CUDA C++ Programming Guide", table of technical specifications by compute capability,
 * and the allocation units of its occupancy calculator (256 registers a warp, 4 warps); AMD,
 * what clang 15 and 19 write as "Occupancy" of each processor; Intel, "oneAPI GPU Optimization Guide", large GRF mode (8 threads of 128 registers, 4 of
 * 256).
 */
#include "device/occupancy.h"

#include "base/parse.h"

#include <errno.h>
#include <string.h>

static const struct {
	uint16_t first, last; /* sm_NN */
	uint16_t warps;
} multiprocessors[] = {
	{ 70, 72, 64 }, { 75, 75, 32 },  { 80, 80, 64 },
	{ 86, 89, 48 }, { 90, 103, 64 }, { 120, 121, 48 },
};

static int nvidia(const char *arch, uint32_t registers, struct device_occupancy *ret)
{
	uint32_t sm;
	if (strncmp(arch, "sm_", 3) != 0 || parse_u32(arch + 3, 10, &sm) < 0)
		return -ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(multiprocessors); i++) {
		if (sm < multiprocessors[i].first || sm > multiprocessors[i].last)
			continue;
		uint32_t a_warp = (registers * 32 + 255) / 256 * 256;
		uint32_t fit = 65536 / a_warp / 4 * 4;
		ret->most = multiprocessors[i].warps;
		ret->possible = fit < ret->most ? fit : ret->most;
		ret->unit = "warps of a multiprocessor";
		return 0;
	}
	return -ENOENT;
}

/* Of a SIMD: vector registers and their step for waves of 64 (waves of 32, which gfx10 and later have, get twice as
 * many), scalar registers (0: as many as each wave can have), waves. The first that the name begins with. */
static const struct {
	const char *name;
	uint16_t registers, step, scalar;
	uint8_t waves;
} simds[] = {
	{ "gfx90a", 512, 8, 800, 8 },  { "gfx94", 512, 8, 800, 8 },   { "gfx95", 512, 8, 800, 8 },
	{ "gfx9-4", 512, 8, 800, 8 },  { "gfx9", 256, 4, 800, 10 },   { "gfx8", 256, 4, 800, 10 },
	{ "gfx7", 256, 4, 512, 10 },   { "gfx6", 256, 4, 512, 10 },   { "gfx101", 512, 4, 0, 20 },
	{ "gfx10-1", 512, 4, 0, 20 },  { "gfx10", 512, 8, 0, 16 },    { "gfx1100", 768, 12, 0, 16 },
	{ "gfx1101", 768, 12, 0, 16 }, { "gfx1151", 768, 12, 0, 16 }, { "gfx11", 512, 8, 0, 16 },
	{ "gfx12", 768, 12, 0, 16 },
};

static int amd(const char *arch, const struct device_facts *f, struct device_occupancy *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(simds); i++) {
		uint32_t twice = f->simd == 32 ? 2 : 1, step = simds[i].step * twice;
		if (strncmp(arch, simds[i].name, strlen(simds[i].name)) != 0)
			continue;
		uint32_t fit =
			simds[i].registers * twice / ((f->registers + step - 1) / step * step);
		if (simds[i].scalar && f->scalar_registers) {
			/* Both in steps of 16. */
			uint32_t waves = simds[i].scalar / ((f->scalar_registers + 15) / 16 * 16);
			fit = waves < fit ? waves : fit;
		}
		ret->most = simds[i].waves;
		ret->possible = fit < ret->most ? fit : ret->most;
		ret->unit = "waves of a SIMD";
		return ret->possible ? 0 : -ENOENT;
	}
	return -ENOENT;
}

int device_occupancy(const struct device_object *o, const struct device_facts *facts,
		     struct device_occupancy *ret)
{
	if (!facts->registers || facts->registers > 1024)
		return -ENOENT;
	switch (device_format(o)) {
	case DEVICE_CUBIN:
		return nvidia(device_arch(o), facts->registers, ret);
	case DEVICE_AMDGPU:
		return amd(device_arch(o), facts, ret);
	case DEVICE_ZEBIN:
		if (facts->registers != 128 && facts->registers != 256)
			return -ENOENT;
		*ret = (struct device_occupancy){ facts->registers == 128 ? 8 : 4, 8,
						  "threads of a vector engine" };
		return 0;
	case DEVICE_POCL:
		break;
	}
	return -ENOENT;
}
