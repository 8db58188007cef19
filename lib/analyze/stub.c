/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name of a CUDA kernel that was looked up before the recording: what launches it is a function
 * of the host that the compiler made for it and that is called like it ("stub"). It is the caller of
 * the runtime's launch function.
 */
#include "analyze/tables.h"

#include <errno.h>
#include <string.h>

/* How nvcc calls the stub of a kernel that is no template: this and the kernel's own name. */
#define STUB_PREFIX "__device_stub_"

static bool is_launch_function(const char *name)
{
	return strncmp(name, "cudaLaunch", 10) == 0 || strcmp(name, "__cudaLaunchKernel") == 0;
}

static int find_stub(struct analysis *a, uint32_t stack, uint32_t *ret)
{
	const struct frame_ref *frames = analysis_stack(a, stack);
	size_t count = frames ? a->stacks.data[stack].count : 0;
	bool was_launch = false;

	*ret = 0;
	for (size_t i = 0; i < count; i++) {
		struct symbol_frames symbol;
		int rc = analysis_symbolize(a, frames[i].object, frames[i].offset, &symbol);
		if (rc < 0)
			return rc;
		/* Without inlined ones: outermost is the function itself. */
		const struct frame *f = &symbol.frames[0];
		if (rc == 0 || is_launch_function(f->name)) {
			was_launch = rc == 1;
			continue;
		}
		if (!was_launch)
			continue;
		const char *name = f->full ? f->full : f->name;
		if (strncmp(f->name, STUB_PREFIX, sizeof(STUB_PREFIX) - 1) == 0)
			name = f->name + sizeof(STUB_PREFIX) - 1;
		return strtab_intern(&a->names, name, strlen(name), ret, NULL) < 0 ? -ENOMEM : 0;
	}
	return 0;
}

int analysis_stub_name(struct analysis *a, uint32_t site, uint32_t *ret)
{
	const uint64_t *known = hash_get(&a->stub_of_site, site);
	int rc;

	if (known) {
		*ret = (uint32_t)*known;
		return 0;
	}
	rc = find_stub(a, a->sites.data[site].stack, ret);
	return rc < 0 ? rc : hash_set(&a->stub_of_site, site, *ret);
}
