/* SPDX-License-Identifier: Apache-2.0 */
/* Names for every address that was hit: SYMBOL records, made at the end of a recording. */
#pragma once

struct session;

/* What cannot be named is left out: it shows as file and offset. Negative: the writer's errors. */
int symbols_write(struct session *s);
