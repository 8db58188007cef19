/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/peaks.h"

#include <stddef.h>
#include <string.h>

/*
 * From the makers' data sheets, without sparsity, at the boost clock; the first that fits. V100:
 * fp16 stands under bf16, which it has not. fp32: of the ordinary units, not of matrix units.
 */
static const struct device_peaks peaks[] = {
	/* NVIDIA */
	{ "V100-SXM", "sm70", 80, 0, 125, 15.7, 0.900 },
	{ "V100-DGXS", "sm70", 80, 0, 125, 15.7, 0.900 },
	{ "A100-SXM4-80GB", "sm80", 108, 156, 312, 19.5, 2.039 },
	{ "A100-SXM4-40GB", "sm80", 108, 156, 312, 19.5, 1.555 },
	{ "H100 80GB HBM3", "sm90", 132, 494.7, 989.4, 66.9, 3.35 },
	{ "H100 PCIe", "sm90", 114, 378, 756, 51.2, 2.00 },
	{ "H200", "sm90", 132, 494.7, 989.4, 66.9, 4.80 },
	{ "B200", "sm100", 148, 1125, 2250, 80, 8.00 },
	/* AMD: matrix fp32 under tf32 where there is no other */
	{ "MI210", "gfx90a", 104, 45.3, 181, 22.6, 1.638 },
	{ "MI250X", "gfx90a", 110, 47.9, 191.5, 23.9, 1.638 }, /* one of its two dies */
	{ "MI300X", "gfx942", 304, 653.7, 1307.4, 163.4, 5.325 },
	{ "MI325X", "gfx942", 304, 653.7, 1307.4, 163.4, 6.00 },
};

const struct device_peaks *device_peaks_find(const char *name)
{
	for (size_t i = 0; i < sizeof(peaks) / sizeof(peaks[0]); i++) {
		if (strstr(name, peaks[i].name))
			return &peaks[i];
	}
	return NULL;
}
