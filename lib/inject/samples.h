/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of instructions and of why they stall, by CUPTI's PC sampling in its continuous mode: it
 * serializes nothing, and covers graphs. Of one context for each GPU, which is CUPTI's limit. Or, on
 * request, with kernels one at a time: each sample is of a known launch then, and graphs have none.
 */
#pragma once

#include "inject/cupti.h"

#include <stdbool.h>

/* A context that gives a device work; from the thread that does. Cheap for one that is known. */
void samples_see_context(void *context);
/* A module's image is there for as long as this call takes. */
void samples_see_module(const struct cupti *c, const struct cupti_module *module);
/* Take what there is and tell it; begin in contexts that are new. One thread at a time. */
void samples_drain(const struct cupti *c, uint64_t now_ns, bool is_serial);
/* It is about to be destroyed: drained first, and then none of ours. One thread at a time. */
void samples_forget_context(const struct cupti *c, void *context);
/* Not any more: nothing is left behind in the contexts. */
void samples_end(const struct cupti *c);
