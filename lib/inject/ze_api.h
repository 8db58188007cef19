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

#define ZE_TYPE_DEVICE_HERTZ 0x20006 /* ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2 */
#define ZE_TYPE_POOL         0x10    /* ZE_STRUCTURE_TYPE_EVENT_POOL_DESC */
#define ZE_TYPE_EVENT        0x11
#define ZE_POOL_VISIBLE      1u /* ZE_EVENT_POOL_FLAG_HOST_VISIBLE, _IPC, _KERNEL_TIMESTAMP */
#define ZE_POOL_SHARED       2u
#define ZE_POOL_TIMES        4u
#define ZE_SCOPE_HOST        4u /* ZE_EVENT_SCOPE_FLAG_HOST */

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

/* ze_device_properties_t. */
struct ze_device_words {
	uint32_t type; /* ZE_TYPE_DEVICE_HERTZ */
	const void *next;
	uint64_t words[8];
	uint64_t timer; /* ticks a second */
	uint32_t bits, kernel_bits;
	uint64_t rest[34];
};

/* ze_event_pool_desc_t. */
struct ze_pool_desc {
	uint32_t type;
	const void *next;
	uint32_t flags, count;
};

/* ze_event_desc_t. */
struct ze_event_desc {
	uint32_t type;
	const void *next;
	uint32_t index, signal, wait;
};

/* ze_kernel_timestamp_result_t: by all and by the context's own clock. */
struct ze_timestamps {
	uint64_t start, end, own_start, own_end;
};
