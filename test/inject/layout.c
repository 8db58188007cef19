/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lib/inject/cupti.h against NVIDIA's own headers, where they are installed: it need not run, what
 * does not agree does not compile.
 */
#include <cupti.h>

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
SAME(cupti_memcpy, copy_kind, CUpti_ActivityMemcpy6, copyKind);
SAME(cupti_memcpy, bytes, CUpti_ActivityMemcpy6, bytes);
SAME(cupti_memcpy, start, CUpti_ActivityMemcpy6, start);
SAME(cupti_memcpy, device, CUpti_ActivityMemcpy6, deviceId);
SAME(cupti_memcpy, stream, CUpti_ActivityMemcpy6, streamId);
SAME(cupti_memcpy, correlation, CUpti_ActivityMemcpy6, correlationId);
SAME(cupti_memcpy, correlation, CUpti_ActivityMemcpy3, correlationId);
SAME(cupti_memcpy_peer, bytes, CUpti_ActivityMemcpyPtoP4, bytes);
SAME(cupti_memcpy_peer, stream, CUpti_ActivityMemcpyPtoP4, streamId);
SAME(cupti_memcpy_peer, correlation, CUpti_ActivityMemcpyPtoP4, correlationId);
SAME(cupti_memset, bytes, CUpti_ActivityMemset4, bytes);
SAME(cupti_memset, start, CUpti_ActivityMemset4, start);
SAME(cupti_memset, device, CUpti_ActivityMemset4, deviceId);
SAME(cupti_memset, stream, CUpti_ActivityMemset4, streamId);
SAME(cupti_memset, correlation, CUpti_ActivityMemset4, correlationId);
SAME(cupti_call, site, CUpti_CallbackData, callbackSite);
SAME(cupti_call, function, CUpti_CallbackData, functionName);
SAME(cupti_call, parameters, CUpti_CallbackData, functionParams);
SAME(cupti_call, symbol, CUpti_CallbackData, symbolName);
SAME(cupti_call, context, CUpti_CallbackData, context);
SAME(cupti_call, correlation, CUpti_CallbackData, correlationId);

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
