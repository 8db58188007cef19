/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/peaks.h"

#include <stddef.h>
#include <string.h>

/*
 * From the makers' data sheets, without sparsity, at the boost clock; the first that fits. V100:
 * fp16 stands under bf16, which it has not.
 */
static const struct device_peaks peaks[] = {
	/* NVIDIA: fp8, tf32, bf16, fp32, fp64, TB/s */
	{ "V100-SXM", "sm70", 80, 0, 0, 125, 15.7, 7.8, 0.900 },
	{ "V100-DGXS", "sm70", 80, 0, 0, 125, 15.7, 7.8, 0.900 },
	{ "A100-SXM4-80GB", "sm80", 108, 624, 156, 312, 19.5, 9.7, 2.039 },
	{ "A100-SXM4-40GB", "sm80", 108, 624, 156, 312, 19.5, 9.7, 1.555 },
	{ "H100 80GB HBM3", "sm90", 132, 1978.9, 494.7, 989.4, 66.9, 33.5, 3.35 },
	{ "H100 PCIe", "sm90", 114, 1513, 378, 756, 51.2, 25.6, 2.00 },
	{ "H200", "sm90", 132, 1978.9, 494.7, 989.4, 66.9, 33.5, 4.80 },
	{ "B200", "sm100", 148, 4500, 1125, 2250, 80, 40, 8.00 },
	/* AMD: matrix fp32 under tf32 where there is no other */
	{ "MI210", "gfx90a", 104, 181, 45.3, 181, 22.6, 22.6, 1.638 },
	/* one of its two dies */
	{ "MI250X", "gfx90a", 110, 191.5, 47.9, 191.5, 23.9, 23.9, 1.638 },
	{ "MI300X", "gfx942", 304, 2614.9, 653.7, 1307.4, 163.4, 81.7, 5.325 },
	{ "MI325X", "gfx942", 304, 2614.9, 653.7, 1307.4, 163.4, 81.7, 6.00 },
};

const struct device_peaks *device_peaks_find(const char *name)
{
	for (size_t i = 0; i < sizeof(peaks) / sizeof(peaks[0]); i++) {
		if (strstr(name, peaks[i].name))
			return &peaks[i];
	}
	return NULL;
}

/*
 * TFLOP/s in 8 bit numbers; wider ones take as many times longer as they are wider. Where NVIDIA's
 * clock does not count, the figures are those of the product at its boost clock.
 */
static double flops_by_clocks(const struct device_clocks *c, const char *arch)
{
	static const struct {
		const char *arch;
		double per_clock; /* and unit */
	} known[] = {
		{ "gfx90a", 1024 }, /* 8 bit integers: it has no fp8 */
		{ "gfx942", 4096 },
		{ "gfx950", 8192 },
		{ "100", 16384 },
		/* 1513 TFLOP/s with 114 multiprocessors at 1755 MHz */
		{ "90", 1513e12 / 114 / 1755e6 },
	};
	if (!strcmp(arch, "80"))
		return 624;
	if (!strcmp(arch, "89"))
		return 330.3;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (!strcmp(arch, known[i].arch))
			return known[i].per_clock * (double)c->units * (double)c->clock_khz * 1e3 /
			       1e12;
	}
	return 0;
}

static double bytes_by_clocks(const struct device_clocks *c, const char *arch)
{
	static const struct {
		const char *arch;
		double bytes;
	} known[] = { { "gfx90a", 3.2 }, { "gfx942", 5.3 }, { "gfx950", 8.0 } };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (!strcmp(arch, known[i].arch))
			return known[i].bytes;
	}
	/* Both edges of the clock carry data. */
	return strcmp(c->runtime, "cuda") != 0
		       ? 0
		       : 2 * (double)c->bus_bits / 8 * (double)c->memory_khz * 1e3 / 1e12;
}

bool device_peaks_by_clocks(const struct device_clocks *c, struct device_peaks *ret)
{
	const char *space = strrchr(c->name, ' ');
	const char *arch = space ? space + 1 : "";
	double flops = flops_by_clocks(c, arch), bytes = bytes_by_clocks(c, arch);

	if (flops <= 0 && bytes <= 0)
		return false;
	*ret = (struct device_peaks){
		.name = "",
		.arch = "",
		.units = (uint32_t)c->units,
		.fp8 = flops,
		.bf16 = flops / 2,
		.tf32 = flops / 4,
		.fp32 = flops / 4,
		.fp64 = flops / 8,
		.bytes = bytes,
	};
	return true;
}
