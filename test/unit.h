/* SPDX-License-Identifier: Apache-2.0 */
/* What every unit test includes: cmocka, with the headers it wants before it. */
#pragma once

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
