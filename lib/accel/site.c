/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/site.h"

#include "accel/site_internal.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

unsigned int site_value_count(const struct probe_site *site)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < PROBE_VALUES && site->value[i].base != PROBE_NONE; i++)
		count += site->value[i].count ? site->value[i].count : 1;
	return count;
}

bool library_has_name(const char *library, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t length = strlen(library);

	return strncmp(name, library, length) == 0 &&
	       (name[length] == '.' || name[length] == '-') && strstr(name + length, ".so");
}

bool site_in_library(const struct probe_site *site, const char *path)
{
	return library_has_name(site->library, path);
}

bool site_place_serves(const struct probe_site *site, const struct probe_place *place)
{
	for (unsigned int i = 0; i < PROBE_VALUES; i++) {
		const struct probe_value *value = &site->value[i];
		if (value->base == PROBE_ARGUMENT &&
		    place->argument[value->index].kind == PLACE_LOST)
			return false;
	}
	return true;
}

int site_choose(const struct probe_site *site, uint16_t machine, struct span code,
		struct probe_place *ret)
{
	switch (machine) {
	case EM_X86_64:
		site_choose_x86(site, code, ret);
		return 0;
	default:
		return -ENOTSUP;
	}
}
