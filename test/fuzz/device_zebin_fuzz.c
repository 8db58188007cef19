/* SPDX-License-Identifier: Apache-2.0 */
/* Intel's code objects. */
#include "device_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_object(span_of(data, size));
	return 0;
}
