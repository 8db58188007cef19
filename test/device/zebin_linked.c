/* SPDX-License-Identifier: Apache-2.0 */
/* usage: zebin_linked IN OUT: has Intel's driver link a zebin, as it does for debuggers. For make.sh. */
#include <level_zero/ze_api.h>
#include <level_zero/zet_api.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                \
	do {                                                       \
		ze_result_t rc_ = (call);                          \
		if (rc_) {                                         \
			fprintf(stderr, "%s: 0x%x\n", #call, rc_); \
			exit(1);                                   \
		}                                                  \
	} while (0)

int main(int argc, char **argv)
{
	static char data[1 << 20];
	uint32_t one = 1;
	ze_driver_handle_t driver;
	ze_device_handle_t device;
	ze_context_handle_t context;
	ze_module_handle_t module;
	ze_context_desc_t context_desc = { ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_module_desc_t desc = { ZE_STRUCTURE_TYPE_MODULE_DESC };
	FILE *in = fopen(argc == 3 ? argv[1] : "", "r");

	if (!in)
		return 1;
	desc.format = ZE_MODULE_FORMAT_NATIVE;
	desc.pInputModule = (const uint8_t *)data;
	desc.inputSize = fread(data, 1, sizeof(data), in);
	desc.pBuildFlags = "-g";
	fclose(in);
	CHECK(zeInit(0));
	CHECK(zeDriverGet(&one, &driver));
	CHECK(zeDeviceGet(driver, &one, &device));
	CHECK(zeContextCreate(driver, &context_desc, &context));
	CHECK(zeModuleCreate(context, device, &desc, &module, NULL));

	size_t size = 0;
	CHECK(zetModuleGetDebugInfo(module, ZET_MODULE_DEBUG_INFO_FORMAT_ELF_DWARF, &size, NULL));
	uint8_t *elf = malloc(size);
	FILE *out = fopen(argv[2], "w");
	if (!elf || !out)
		return 1;
	CHECK(zetModuleGetDebugInfo(module, ZET_MODULE_DEBUG_INFO_FORMAT_ELF_DWARF, &size, elf));
	fwrite(elf, 1, size, out);
	return fclose(out) != 0;
}
