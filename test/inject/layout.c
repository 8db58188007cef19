/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lib/inject/cupti.h against NVIDIA's own headers, where they are installed: it need not run, what
 * does not agree does not compile.
 */
#include <cupti.h>
#include <cupti_pcsampling.h>

#include "inject/cupti.h"

#define SAME(ours, member, theirs, field) \
	_Static_assert(offsetof(struct ours, member) == offsetof(theirs, field), #theirs "." #field)

SAME(cupti_kernel, start, CUpti_ActivityKernel10, start);
SAME(cupti_kernel, end, CUpti_ActivityKernel10, end);
SAME(cupti_kernel, device, CUpti_ActivityKernel10, deviceId);
SAME(cupti_kernel, stream, CUpti_ActivityKernel10, streamId);
SAME(cupti_kernel, correlation, CUpti_ActivityKernel10, correlationId);
SAME(cupti_kernel, name, CUpti_ActivityKernel10, name);
SAME(cupti_kernel, node, CUpti_ActivityKernel10, graphNodeId);
SAME(cupti_kernel, graph, CUpti_ActivityKernel10, graphId);
SAME(cupti_kernel, correlation, CUpti_ActivityKernel5, correlationId);
SAME(cupti_kernel, node, CUpti_ActivityKernel5, graphNodeId);
SAME(cupti_transfer, copy_kind, CUpti_ActivityMemcpy6, copyKind);
SAME(cupti_transfer, bytes, CUpti_ActivityMemcpy6, bytes);
SAME(cupti_transfer, start, CUpti_ActivityMemcpy6, start);
SAME(cupti_transfer, device, CUpti_ActivityMemcpy6, deviceId);
SAME(cupti_transfer, stream, CUpti_ActivityMemcpy6, streamId);
SAME(cupti_transfer, correlation, CUpti_ActivityMemcpy6, correlationId);
SAME(cupti_transfer, correlation, CUpti_ActivityMemcpy3, correlationId);
SAME(cupti_transfer, node, CUpti_ActivityMemcpy6, graphNodeId);
SAME(cupti_transfer, node, CUpti_ActivityMemcpy3, graphNodeId);
SAME(cupti_transfer, node, CUpti_ActivityMemset4, graphNodeId);
SAME(cupti_transfer, node, CUpti_ActivityMemset2, graphNodeId);
SAME(cupti_transfer, copy_kind, CUpti_ActivityMemcpyPtoP4, copyKind);
SAME(cupti_transfer_peer, bytes, CUpti_ActivityMemcpyPtoP4, bytes);
SAME(cupti_transfer_peer, start, CUpti_ActivityMemcpyPtoP4, start);
SAME(cupti_transfer_peer, device, CUpti_ActivityMemcpyPtoP4, deviceId);
SAME(cupti_transfer_peer, stream, CUpti_ActivityMemcpyPtoP4, streamId);
SAME(cupti_transfer_peer, correlation, CUpti_ActivityMemcpyPtoP4, correlationId);
SAME(cupti_transfer_peer, node, CUpti_ActivityMemcpyPtoP4, graphNodeId);
SAME(cupti_transfer_peer, correlation, CUpti_ActivityMemcpyPtoP2, correlationId);
SAME(cupti_transfer_peer, node, CUpti_ActivityMemcpyPtoP2, graphNodeId);
SAME(cupti_transfer, bytes, CUpti_ActivityMemset4, bytes);
SAME(cupti_transfer, start, CUpti_ActivityMemset4, start);
SAME(cupti_transfer, device, CUpti_ActivityMemset4, deviceId);
SAME(cupti_transfer, stream, CUpti_ActivityMemset4, streamId);
SAME(cupti_transfer, correlation, CUpti_ActivityMemset4, correlationId);
SAME(cupti_call, site, CUpti_CallbackData, callbackSite);
SAME(cupti_call, function, CUpti_CallbackData, functionName);
SAME(cupti_call, parameters, CUpti_CallbackData, functionParams);
SAME(cupti_call, symbol, CUpti_CallbackData, symbolName);
SAME(cupti_call, context, CUpti_CallbackData, context);
SAME(cupti_call, correlation, CUpti_CallbackData, correlationId);

SAME(cupti_resource, descriptor, CUpti_ResourceData, resourceDescriptor);
SAME(cupti_resource, context, CUpti_ResourceData, context);
SAME(cupti_graph, node, CUpti_GraphData, node);
SAME(cupti_graph, original_node, CUpti_GraphData, originalNode);
SAME(cupti_graph, type, CUpti_GraphData, nodeType);
SAME(cupti_module, size, CUpti_ModuleResourceData, cubinSize);
SAME(cupti_module, cubin, CUpti_ModuleResourceData, pCubin);
SAME(cupti_crc, cubin, CUpti_GetCubinCrcParams, cubin);
SAME(cupti_crc, crc, CUpti_GetCubinCrcParams, cubinCrc);
SAME(cupti_pc_request, context, CUpti_PCSamplingEnableParams, ctx);
SAME(cupti_pc_request, reason_count, CUpti_PCSamplingGetNumStallReasonsParams, numStallReasons);
SAME(cupti_pc_request, reasons.names, CUpti_PCSamplingGetStallReasonsParams, stallReasons);
SAME(cupti_pc_request, settings.settings, CUpti_PCSamplingConfigurationInfoParams,
     pPCSamplingConfigurationInfo);
SAME(cupti_pc_request, data, CUpti_PCSamplingGetDataParams, pcSamplingData);
SAME(cupti_pc_setting, status, CUpti_PCSamplingConfigurationInfo, attributeStatus);
SAME(cupti_pc_setting, reasons.index, CUpti_PCSamplingConfigurationInfo,
     attributeData.stallReasonData.pStallReasonIndex);
SAME(cupti_pc, crc, CUpti_PCSamplingPCData, cubinCrc);
SAME(cupti_pc, offset, CUpti_PCSamplingPCData, pcOffset);
SAME(cupti_pc, function, CUpti_PCSamplingPCData, functionName);
SAME(cupti_pc, stall_count, CUpti_PCSamplingPCData, stallReasonCount);
SAME(cupti_pc, stalls, CUpti_PCSamplingPCData, stallReason);
SAME(cupti_pc_data, capacity, CUpti_PCSamplingData, collectNumPcs);
SAME(cupti_pc_data, dropped_samples, CUpti_PCSamplingData, droppedSamples);
SAME(cupti_pc_data, count, CUpti_PCSamplingData, totalNumPcs);
SAME(cupti_pc_data, left, CUpti_PCSamplingData, remainingNumPcs);
SAME(cupti_pc_data, pcs, CUpti_PCSamplingData, pPcData);
SAME(cupti_pc_data, buffer_full, CUpti_PCSamplingData, hardwareBufferFull);

_Static_assert(sizeof(CUpti_PCSamplingEnableParams) == 24, "size");
_Static_assert(sizeof(CUpti_PCSamplingGetNumStallReasonsParams) == 32, "size");
_Static_assert(sizeof(CUpti_PCSamplingGetStallReasonsParams) == 48, "size");
_Static_assert(sizeof(CUpti_PCSamplingConfigurationInfoParams) == 40, "size");
_Static_assert(sizeof(CUpti_PCSamplingGetDataParams) == 32, "size");
_Static_assert(sizeof(struct cupti_pc_setting) == sizeof(CUpti_PCSamplingConfigurationInfo),
	       "size");
_Static_assert(sizeof(struct cupti_pc_data) == sizeof(CUpti_PCSamplingData), "size");
_Static_assert(sizeof(CUpti_PCSamplingPCData) == CUPTI_PC_LONG, "size");
_Static_assert(CUPTI_PC_PERIOD == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD,
	       "setting");
_Static_assert(CUPTI_PC_REASONS == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_STALL_REASON,
	       "setting");
_Static_assert(CUPTI_PC_MODE == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE,
	       "setting");
_Static_assert(CUPTI_PC_BUFFER == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER,
	       "setting");
_Static_assert(CUPTI_PC_SERIALIZED == CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED, "mode");
_Static_assert(CUPTI_PC_CONTINUOUS == CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS, "mode");
_Static_assert(CUPTI_OUT_OF_MEMORY == CUPTI_ERROR_OUT_OF_MEMORY, "error");
_Static_assert(CUPTI_MODULE_LOADED == CUPTI_CBID_RESOURCE_MODULE_LOADED, "id");
_Static_assert(CUPTI_MODULE_UNLOADED == CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, "id");

_Static_assert(CUPTI_CONTEXT_ENDS == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, "id");
_Static_assert(CUPTI_NODE_CREATED == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, "id");
_Static_assert(CUPTI_NODE_CLONED == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, "id");
_Static_assert(CUPTI_NODE_KERNEL == CU_GRAPH_NODE_TYPE_KERNEL, "node");
_Static_assert(CUPTI_NODE_COPY == CU_GRAPH_NODE_TYPE_MEMCPY, "node");
_Static_assert(CUPTI_NODE_FILL == CU_GRAPH_NODE_TYPE_MEMSET, "node");

_Static_assert((int)CUPTI_KIND_MEMCPY == CUPTI_ACTIVITY_KIND_MEMCPY, "kind");
_Static_assert((int)CUPTI_KIND_MEMSET == CUPTI_ACTIVITY_KIND_MEMSET, "kind");
_Static_assert((int)CUPTI_KIND_CONCURRENT_KERNEL == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, "kind");
_Static_assert((int)CUPTI_KIND_MEMCPY_PEER == CUPTI_ACTIVITY_KIND_MEMCPY2, "kind");
_Static_assert(CUPTI_DOMAIN_DRIVER == CUPTI_CB_DOMAIN_DRIVER_API, "domain");
_Static_assert(CUPTI_SITE_ENTER == CUPTI_API_ENTER, "site");
_Static_assert(CUPTI_MULTIPLE_SUBSCRIBERS == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
	       "error");

int main(void)
{
	return 0;
}
