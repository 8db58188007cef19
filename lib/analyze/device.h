/* SPDX-License-Identifier: Apache-2.0 */
/* The accelerator code in a capture: opened when first asked for, kept as long as the analysis. */
#pragma once

#include "analyze/analyze.h"
#include "device/device.h"

/*
 * What a kernel's samples hit, in one code object. A kernel that was built several times (for other
 * sizes, in other processes) has several.
 */
struct analysis_hit {
	uint64_t offset;    /* as lib/device counts */
	const char *reason; /* "": none */
	uint64_t samples;
	const char *file; /* what an import knows where there is no code object; "" */
	uint32_t line;
};

struct analysis_kernel_hits {
	const char *kernel;           /* mangled */
	struct device_object *object; /* NULL: the capture does not hold its code */
	const char *object_name;      /* "" */
	const char *device;           /* that it ran on; "" */
	const char *metadata;         /* "key=value;..." of the runtime; "" */
	uint32_t process;             /* row; 0: not known */
	uint64_t samples;             /* in @hits */
	uint64_t kernel_samples;      /* of this kernel in all its builds */
	uint64_t all_samples;         /* of all kernels that pass the filter */
	struct analysis_hit *hits;    /* by offset, then reason */
	size_t hit_count;
};

/*
 * @kernel: a shell pattern on the name, mangled or not; NULL: the hottest kernel. -ENOENT, with a text:
 * no samples of such a kernel. Strings live as long as the analysis.
 */
int analysis_kernel_hits(struct analysis *a, const char *kernel,
			 const struct analysis_filter *filter, struct analysis_kernel_hits *ret,
			 struct err *err);
void analysis_kernel_hits_release(struct analysis_kernel_hits *h);
DEFINE_CLEANUP_EMBEDDED(analysis_kernel_hits_release, struct analysis_kernel_hits)

/*
 * The text of the program that @kernel was compiled from, as the capture holds it (OpenCL): the source of
 * the same process that has the kernel's name in it. -ENOENT.
 */
int analysis_kernel_source(struct analysis *a, const struct analysis_kernel_hits *h,
			   struct span *ret, const char **ret_name);

/* The file that a line's code is in, as people call it: POCL compiles from a file of its own that has
 * another name each time, and is gone when it is done. */
const char *analysis_source_name(const char *file);
