/* SPDX-License-Identifier: Apache-2.0 */
/* Names for every address that was hit: SYMBOL records, made at the end of a recording. */
#pragma once

struct session;

/* For source lines of all host code together, when the options say nothing else. */
#define LINE_BUDGET_NS 10000000000u

/* What cannot be named is left out: it shows as file and offset. Negative: the writer's errors. */
int symbols_write(struct session *s);
