/* SPDX-License-Identifier: Apache-2.0 */
/* clang's offload bundles, plain and compressed. */
#include "device_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_images(span_of(data, size));
	return 0;
}
