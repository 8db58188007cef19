/* SPDX-License-Identifier: Apache-2.0 */
#include "export/exporter.h"

#include "base/cleanup.h"
#include "export/formats.h"

#include <string.h>

static const struct exporter *const exporters[] = {
	&folded_exporter,  &pprof_exporter,       &speedscope_exporter, &chrome_exporter,
	&hatchet_exporter, &perf_script_exporter, &csv_exporter,        &json_exporter,
};

const struct exporter *exporter_get(size_t i)
{
	return i < ARRAY_SIZE(exporters) ? exporters[i] : NULL;
}

const struct exporter *exporter_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(exporters); i++) {
		if (!strcmp(exporters[i]->name, name))
			return exporters[i];
	}
	return NULL;
}
