/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lib/inject/ze_api.h and opencl_api.h against the headers of Level Zero and OpenCL: it need not run, what does not agree
 * does not compile.
 */
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_layer.h>
#include <level_zero/loader/ze_loader.h>
#include <level_zero/ze_api.h>
#include <level_zero/zet_api.h>

#include "inject/opencl_api.h"
#include "inject/ze_api.h"

#define SAME(a, b) _Static_assert((long)(a) == (long)(b), #a " is not " #b)

SAME(sizeof(ze_result), sizeof(ze_result_t));
SAME(ZE_OK, ZE_RESULT_SUCCESS);
SAME(ZE_UNINITIALIZED, ZE_RESULT_ERROR_UNINITIALIZED);
SAME(ZE_ELF_DWARF, ZET_MODULE_DEBUG_INFO_FORMAT_ELF_DWARF);
SAME(ZE_HANDLE_KERNEL, ZEL_HANDLE_KERNEL);
SAME(ZE_TYPE_PCI, ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES);
SAME(ZE_TYPE_DEVICE, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES);
SAME(sizeof(struct ze_groups), sizeof(ze_group_count_t));
SAME(sizeof(struct ze_pci), sizeof(ze_pci_ext_properties_t));
SAME(offsetof(struct ze_pci, domain), offsetof(ze_pci_ext_properties_t, address));
SAME(offsetof(struct ze_pci, function),
     offsetof(ze_pci_ext_properties_t, address) + offsetof(ze_pci_address_ext_t, function));
_Static_assert(ZE_DEVICE_WORDS * 8 >= sizeof(ze_device_properties_t), "room");

SAME(sizeof(cl_result), sizeof(cl_int));
SAME(sizeof(cl_number), sizeof(cl_uint));
SAME(CL_OK, CL_SUCCESS);
SAME(CL_WRONG_VALUE, CL_INVALID_VALUE);
SAME(CL_PROGRAM_REFERENCES, CL_PROGRAM_REFERENCE_COUNT);
SAME(CL_PROGRAM_DEVICE_COUNT, CL_PROGRAM_NUM_DEVICES);
SAME(CL_PROGRAM_DEVICE_LIST, CL_PROGRAM_DEVICES);
SAME(CL_KERNEL_NAME, CL_KERNEL_FUNCTION_NAME);
SAME(CL_KERNEL_OF, CL_KERNEL_PROGRAM);
SAME(CL_KERNEL_REFERENCES, CL_KERNEL_REFERENCE_COUNT);
SAME(CL_DEVICE_PCI, CL_DEVICE_PCI_BUS_INFO_KHR);
SAME(CL_LAYER_VERSION, CL_LAYER_API_VERSION);
SAME(CL_LAYER_TITLE, CL_LAYER_NAME);
SAME(CL_LAYER_VERSION_VALUE, CL_LAYER_API_VERSION_100);

#define PLACE(place, name) SAME((place) * sizeof(void *), offsetof(cl_icd_dispatch, name))
PLACE(CL_PLACE_GET_DEVICE_INFO, clGetDeviceInfo);
PLACE(CL_PLACE_RELEASE_PROGRAM, clReleaseProgram);
PLACE(CL_PLACE_BUILD_PROGRAM, clBuildProgram);
PLACE(CL_PLACE_GET_PROGRAM_INFO, clGetProgramInfo);
PLACE(CL_PLACE_CREATE_KERNEL, clCreateKernel);
PLACE(CL_PLACE_CREATE_KERNELS, clCreateKernelsInProgram);
PLACE(CL_PLACE_RELEASE_KERNEL, clReleaseKernel);
PLACE(CL_PLACE_GET_KERNEL_INFO, clGetKernelInfo);
PLACE(CL_PLACE_ENQUEUE, clEnqueueNDRangeKernel);
PLACE(CL_PLACE_TASK, clEnqueueTask);
PLACE(CL_PLACE_CLONE_KERNEL, clCloneKernel);
_Static_assert(CL_PLACES * sizeof(void *) >= sizeof(cl_icd_dispatch), "room");

int main(void)
{
	return 0;
}
