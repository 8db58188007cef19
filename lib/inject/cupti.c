/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/cupti.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* Records have kept the shape that we know since CUDA 11.0. */
#define OLDEST_VERSION 13

static void *open_library(void)
{
	static const char *const names[] = { "libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8",
					     "libcupti.so.11.0", "libcupti.so" };
	/* Where NVIDIA's installer puts it, which the dynamic linker is not always told. */
	static const char *const places[] = { "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
					      "/usr/local/cuda/lib64/libcupti.so" };
	const char *path = getenv("ACCEL_PROF_CUPTI");
	void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;

	/* Two in one process would not know of each other. */
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !library; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !library; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && !library; i++)
		library = dlopen(places[i], RTLD_NOW | RTLD_LOCAL);
	return library;
}

int cupti_load(struct cupti *ret, char *why, size_t size)
{
	void *library = open_library();

	if (!library) {
		snprintf(why, size, "no libcupti here; name one in ACCEL_PROF_CUPTI");
		return -1;
	}
#define CUPTI_LOAD(name, symbol, parameters)                         \
	*(void **)&ret->name = dlsym(library, symbol);               \
	if (!ret->name) {                                            \
		snprintf(why, size, "libcupti has no '%s'", symbol); \
		return -1;                                           \
	}
	CUPTI_FUNCTIONS(CUPTI_LOAD)
#undef CUPTI_LOAD
#define CUPTI_LOOK(name, symbol, parameters) *(void **)&ret->name = dlsym(library, symbol);
	CUPTI_OPTIONAL(CUPTI_LOOK)
#undef CUPTI_LOOK
	if (ret->get_version(&ret->version) != CUPTI_OK || ret->version < OLDEST_VERSION) {
		snprintf(why, size, "libcupti is older than CUDA 11");
		return -1;
	}
	return 0;
}

const char *cupti_error(const struct cupti *c, cupti_result result)
{
	const char *text = NULL;

	if (c->error_text(result, &text) != CUPTI_OK || !text)
		return "unknown error";
	return text;
}
