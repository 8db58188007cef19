/* SPDX-License-Identifier: Apache-2.0 */
/* From what a CFI program says to a row of the table. Implemented once per machine: x86_64.c. */
#pragma once

#include "unwind/cfi.h"
#include "unwind/unwind_table.h"

/* A rule that a row cannot say becomes UNWIND_CFA_UNSUPPORTED or UNWIND_FP_UNKNOWN. */
struct unwind_row unwind_row_of(uint32_t pc, const struct cfi_state *state, bool is_signal);
