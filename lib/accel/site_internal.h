/* SPDX-License-Identifier: Apache-2.0 */
/* What site.c and the file for each processor share. */
#pragma once

#include "accel/site.h"

void site_choose_x86(const struct probe_site *site, struct span code, struct probe_place *ret);

/* Can all arguments that @site names be reached at @place? */
bool site_place_serves(const struct probe_site *site, const struct probe_place *place);
