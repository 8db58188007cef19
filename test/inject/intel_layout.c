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
SAME(ZE_TYPE_DEVICE_HERTZ, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2);
SAME(ZE_TYPE_POOL, ZE_STRUCTURE_TYPE_EVENT_POOL_DESC);
SAME(ZE_TYPE_EVENT, ZE_STRUCTURE_TYPE_EVENT_DESC);
SAME(ZE_POOL_VISIBLE, ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
SAME(ZE_POOL_SHARED, ZE_EVENT_POOL_FLAG_IPC);
SAME(ZE_POOL_TIMES, ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
SAME(ZE_SCOPE_HOST, ZE_EVENT_SCOPE_FLAG_HOST);
SAME(sizeof(struct ze_device_words), sizeof(ze_device_properties_t));
SAME(offsetof(struct ze_device_words, timer), offsetof(ze_device_properties_t, timerResolution));
SAME(offsetof(struct ze_device_words, bits), offsetof(ze_device_properties_t, timestampValidBits));
SAME(offsetof(struct ze_device_words, kernel_bits),
     offsetof(ze_device_properties_t, kernelTimestampValidBits));
SAME(sizeof(struct ze_pool_desc), sizeof(ze_event_pool_desc_t));
SAME(offsetof(struct ze_pool_desc, flags), offsetof(ze_event_pool_desc_t, flags));
SAME(offsetof(struct ze_pool_desc, count), offsetof(ze_event_pool_desc_t, count));
SAME(sizeof(struct ze_event_desc), sizeof(ze_event_desc_t));
SAME(offsetof(struct ze_event_desc, index), offsetof(ze_event_desc_t, index));
SAME(offsetof(struct ze_event_desc, signal), offsetof(ze_event_desc_t, signal));
SAME(offsetof(struct ze_event_desc, wait), offsetof(ze_event_desc_t, wait));
SAME(sizeof(struct ze_timestamps), sizeof(ze_kernel_timestamp_result_t));
SAME(offsetof(struct ze_timestamps, own_start), offsetof(ze_kernel_timestamp_result_t, context));
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
SAME(CL_NOT_PROFILED, CL_PROFILING_INFO_NOT_AVAILABLE);
SAME(CL_COMPLETE_STATUS, CL_COMPLETE);
SAME(CL_QUEUE_PROFILING, CL_QUEUE_PROFILING_ENABLE);
SAME(CL_QUEUE_PROPERTIES_KEY, CL_QUEUE_PROPERTIES);
SAME(CL_QUEUE_PAIRS, CL_QUEUE_PROPERTIES_ARRAY);
SAME(CL_QUEUE_DEVICE_KEY, CL_QUEUE_DEVICE);
SAME(CL_EVENT_QUEUE, CL_EVENT_COMMAND_QUEUE);
SAME(CL_TIME_QUEUED, CL_PROFILING_COMMAND_QUEUED);
SAME(CL_TIME_START, CL_PROFILING_COMMAND_START);
SAME(CL_TIME_END, CL_PROFILING_COMMAND_END);
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
PLACE(CL_PLACE_QUEUE, clCreateCommandQueue);
PLACE(CL_PLACE_QUEUE_PROPERTIES, clCreateCommandQueueWithProperties);
PLACE(CL_PLACE_GET_QUEUE_INFO, clGetCommandQueueInfo);
PLACE(CL_PLACE_GET_EVENT_INFO, clGetEventInfo);
PLACE(CL_PLACE_RELEASE_EVENT, clReleaseEvent);
PLACE(CL_PLACE_GET_PROFILING_INFO, clGetEventProfilingInfo);
PLACE(CL_PLACE_SET_EVENT_CALLBACK, clSetEventCallback);
PLACE(CL_PLACE_READ, clEnqueueReadBuffer);
PLACE(CL_PLACE_WRITE, clEnqueueWriteBuffer);
PLACE(CL_PLACE_COPY, clEnqueueCopyBuffer);
PLACE(CL_PLACE_FILL, clEnqueueFillBuffer);
PLACE(CL_PLACE_SVM_COPY, clEnqueueSVMMemcpy);
PLACE(CL_PLACE_SVM_FILL, clEnqueueSVMMemFill);
_Static_assert(CL_PLACES * sizeof(void *) >= sizeof(cl_icd_dispatch), "room");

int main(void)
{
	return 0;
}
