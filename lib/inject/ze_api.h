/* SPDX-License-Identifier: Apache-2.0 */
/* The little of Level Zero that the library uses, as ze_api.h of every version since 1.0 has it; test/inject compares. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef uint32_t ze_result; /* ze_result_t */

#define ZE_OK            0
#define ZE_UNINITIALIZED 0x78000001u
#define ZE_ELF_DWARF     0  /* ZET_MODULE_DEBUG_INFO_FORMAT_ELF_DWARF */
#define ZE_HANDLE_KERNEL 11 /* ZEL_HANDLE_KERNEL */
#define ZE_TYPE_PCI      0x10008
#define ZE_TYPE_DEVICE   3  /* ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES */
#define ZE_DEVICE_WORDS  64 /* room for ze_device_properties_t */

/* ze_group_count_t and ze_group_size_t, which are given by value. */
struct ze_groups {
	uint32_t x, y, z;
};

/* ze_pci_ext_properties_t. */
struct ze_pci {
	uint32_t type; /* ZE_TYPE_PCI */
	const void *next;
	uint32_t domain, bus, device, function;
	int64_t speed[2];
};
