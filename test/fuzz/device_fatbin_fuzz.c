/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA's fat binaries, and host programs that carry them. */
#include "device_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_images(span_of(data, size));
	return 0;
}
