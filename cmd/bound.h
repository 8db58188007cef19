/* SPDX-License-Identifier: Apache-2.0 */
/* What a command that reads a stranger's file may take of the machine. */
#pragma once

/*
 * No more memory than there is now: a file of some kilobytes can hold records for gigabytes, and that ends
 * in an error, not in whatever the kernel chooses to kill. Where a lower limit is set, it stays.
 */
void bound_memory(void);
