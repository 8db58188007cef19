/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scopes and states that a recorded program marks by time, made part of the stacks they lie around:
 * those of imports stand in their stacks already. Private to this module.
 */
#pragma once

#include "analyze/tables.h"

/* The numbers of all marks by thread, then time: those of one thread nest. 0 or -ENOMEM. */
int analysis_marks_order(const struct analysis *a, uint32_t *order);
/* After the last record, before analysis_join(). 0 or -ENOMEM. */
int analysis_find_scopes(struct analysis *a);
