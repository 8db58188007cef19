/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which forward op a backward op belongs to. Autograd evaluates its graph on a thread of its own, on
 * which there is no Python to see; the line that made the work is that of the forward op.
 */
#pragma once

#include "import/trace.h"

/* Fills trace->forward_of: by the arrows of the trace ("fwdbwd"), then by sequence numbers. */
int backward_link(struct trace *t);
