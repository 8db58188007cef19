/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What colour a look has: the hue tells a frame's kind and the shade only neighbours apart; of
 * changes, the hue tells the direction and the shade how much. Knows no SVG; every colour leaves its text readable (contrast of at least 4.5, WCAG 2.1 level AA).
 */
#pragma once

#include "flame/look.h"

#include <stdint.h>

struct colour {
	uint8_t r, g, b;
};

enum flame_theme {
	FLAME_LIGHT,
	FLAME_DARK,
	FLAME_THEME_COUNT
};

struct colour flame_colour(enum flame_theme theme, unsigned group, unsigned shade);
/* The second colour of the hatched kinds (idle, missing); else the first. */
struct colour flame_colour_hatch(enum flame_theme theme, unsigned group);
struct colour flame_colour_text(enum flame_theme theme);
struct colour flame_colour_back(enum flame_theme theme);
/* A search match, and the text on it. */
struct colour flame_colour_match(void);
struct colour flame_colour_match_text(void);
