/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scopes and states that a recorded program marks by time, made part of the stacks they lie around:
 * those of imports stand in their stacks already. Private to this module.
 */
#pragma once

#include "analyze/tables.h"

/* After the last record, before analysis_join(). 0 or -ENOMEM. */
int analysis_find_scopes(struct analysis *a);
