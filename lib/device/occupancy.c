/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources: NVIDIA, "CUDA C++ Programming Guide", table of technical specifications by compute capability,
 * and the allocation units of its occupancy calculator (256 registers a warp, 4 warps); AMD, "CDNA2 ISA"
 * and LLVM's AMDGPUBaseInfo (512 registers in steps of 8, 8 waves on gfx90a and gfx94x; 256 in steps of 4,
 * 10 waves before); Intel, "oneAPI GPU Optimization Guide", large GRF mode (8 threads of 128 registers, 4 of
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

static int amd(const char *arch, uint32_t registers, struct device_occupancy *ret)
{
	if (strlen(arch) != 6 || strncmp(arch, "gfx9", 4) != 0)
		return -ENOENT;
	bool is_unified = !strcmp(arch, "gfx90a") || arch[4] >= '4';
	uint32_t granule = is_unified ? 8 : 4, all = is_unified ? 512 : 256;
	uint32_t fit = all / ((registers + granule - 1) / granule * granule);
	ret->most = is_unified ? 8 : 10;
	ret->possible = fit < ret->most ? fit : ret->most;
	ret->unit = "waves of a SIMD";
	return 0;
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
		return amd(device_arch(o), facts->registers, ret);
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
