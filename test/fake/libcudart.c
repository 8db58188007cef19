/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mock of libcudart.so: launches by the host's stub, which go on to the driver's library. With
 * FAKE_CUDART_DIRECT set they do so by a way of their own, as if the driver had given out other
 * functions than those that it exports.
 */
#include "cuda.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define STUBS_MAX 16

typedef struct {
	unsigned int x, y, z;
} dim3;

static struct {
	const void *stub;
	CUfunction function;
} stubs[STUBS_MAX];
static int stub_count;
static CUmodule module;

void __cudaRegisterFunction(void **handle, const char *stub, char *device_function,
			    const char *name, int thread_limit, void *tid, void *bid, void *block,
			    void *grid, int *size)
{
	(void)handle, (void)device_function, (void)thread_limit;
	(void)tid, (void)bid, (void)block, (void)grid, (void)size;
	if (!module && cuModuleLoadData(&module, "image") != CUDA_SUCCESS)
		abort();
	stubs[stub_count].stub = stub;
	cuModuleGetFunction(&stubs[stub_count++].function, module, name);
}

int cudaLaunchKernel(const void *stub, dim3 grid, dim3 block, void **arguments, size_t shared_bytes,
		     CUstream stream)
{
	static int direct = -1;
	int i = 0;

	if (direct < 0)
		direct = getenv("FAKE_CUDART_DIRECT") != NULL;
	while (i < stub_count && stubs[i].stub != stub)
		i++;
	if (i == stub_count)
		return CUDA_ERROR_INVALID_VALUE;
	if (direct)
		return CUDA_SUCCESS;
	return cuLaunchKernel(stubs[i].function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
			      (unsigned int)shared_bytes, stream, arguments, NULL);
}
