/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child process that lists functions with the help of libdw, libLLVM and libiga64, none of which
 * should see a stranger's file in a process that has rights: it can read and write one socket and
 * allocate, nothing else, within limits of memory and time. Its answers are checked.
 *
 * Knows no format: it calls the object's ops. If it dies, the next one goes without disassembler,
 * because LLVM ends the process on processors that it does not know.
 */
#pragma once

#include "device/object.h"

struct helper;

/* The rows of one function into the object's tables: 0; -ENOMEM; -EPIPE: there is no answer. */
int helper_list(struct device_object *o, size_t function);
void helper_stop(struct helper *h);
