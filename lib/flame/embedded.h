/* SPDX-License-Identifier: Apache-2.0 */
/* What lies in web/, as bytes; made by scripts/cmake/embed.cmake when building. */
#pragma once

#include <stddef.h>

extern const unsigned char flame_style[];
extern const size_t flame_style_size;
extern const unsigned char heat_script[];
extern const size_t heat_script_size;
extern const unsigned char flame_script[];
extern const size_t flame_script_size;
