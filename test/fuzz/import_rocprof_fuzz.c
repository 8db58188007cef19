/* SPDX-License-Identifier: Apache-2.0 */
#include "import_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_import("rocprof", data, size);
	return 0;
}
