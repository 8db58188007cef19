/* SPDX-License-Identifier: Apache-2.0 */
/* How large things may get in a capture: what a reader must be ready for in a file it does not
 * trust. FORMAT.md tells them too. */
#pragma once

/* More frames than this are a runaway recursion or damage. The kernel's own limit is 127 by
 * default, Python's recursion limit 1000. */
#define STACK_FRAMES_MAX 4096u
/* Frames in the stacks of an epoch. Twenty thousand different host stacks, each with twenty places on
 * the accelerator, are a million. */
#define CAPTURE_EPOCH_FRAMES_MAX (2u << 20)
/* An inline chain; compilers stop far earlier. */
#define SYMBOL_LINES_MAX 1024u
/* Strings and objects are numbered without gaps: a reader makes room for one that says it is the
 * last, which must not be all of its memory. Gigabytes of names in the recorder, before that. */
#define DEFINITION_ID_MAX (1u << 25)
/* All fields of one record; twice the largest part of a code object. */
#define RECORD_MAX_BYTES (512u << 10)
