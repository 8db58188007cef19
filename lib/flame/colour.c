/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/colour.h"

#include <assert.h>
#include <stdbool.h>

/*
 * The hues are those that readers of AI flame graphs know (pink Python, yellow C++, red native,
 * orange kernel, aqua and green accelerator). Both ends of each range are tested for contrast.
 */
struct range {
	struct colour from, to;
};

static const struct range palette[FLAME_THEME_COUNT][LOOK_GROUP_COUNT] = {
	[FLAME_LIGHT] = {
		[FRAME_ROOT] = { { 214, 217, 224 }, { 214, 217, 224 } },
		[FRAME_PROCESS] = { { 190, 200, 219 }, { 208, 216, 231 } },
		[FRAME_SCOPE] = { { 195, 163, 239 }, { 218, 193, 248 } },
		[FRAME_PYTHON] = { { 245, 150, 164 }, { 255, 188, 199 } },
		[FRAME_CXX] = { { 226, 202, 74 }, { 243, 226, 128 } },
		[FRAME_NATIVE] = { { 236, 112, 99 }, { 250, 148, 136 } },
		[FRAME_OS] = { { 243, 156, 51 }, { 253, 188, 99 } },
		[FRAME_BOUNDARY] = { { 200, 200, 200 }, { 200, 200, 200 } },
		[FRAME_KERNEL] = { { 72, 193, 196 }, { 124, 218, 219 } },
		[FRAME_FUNCTION] = { { 98, 203, 208 }, { 146, 226, 228 } },
		[FRAME_SOURCE] = { { 120, 211, 219 }, { 166, 231, 236 } },
		[FRAME_INSTRUCTION] = { { 96, 196, 104 }, { 144, 220, 144 } },
		[FRAME_STALL] = { { 140, 205, 72 }, { 180, 226, 118 } },
		[FRAME_IDLE] = { { 230, 230, 230 }, { 230, 230, 230 } },
		[FRAME_MISSING] = { { 255, 240, 240 }, { 255, 240, 240 } },
		[LOOK_MORE] = { { 255, 226, 220 }, { 246, 112, 96 } },
		[LOOK_LESS] = { { 222, 234, 255 }, { 104, 158, 240 } },
		[LOOK_SAME] = { { 236, 236, 236 }, { 236, 236, 236 } },
	},
	[FLAME_DARK] = {
		[FRAME_ROOT] = { { 70, 74, 84 }, { 70, 74, 84 } },
		[FRAME_PROCESS] = { { 62, 74, 100 }, { 78, 90, 116 } },
		[FRAME_SCOPE] = { { 98, 64, 146 }, { 118, 84, 168 } },
		[FRAME_PYTHON] = { { 140, 56, 82 }, { 166, 76, 102 } },
		[FRAME_CXX] = { { 104, 88, 14 }, { 124, 106, 28 } },
		[FRAME_NATIVE] = { { 146, 50, 44 }, { 172, 68, 60 } },
		[FRAME_OS] = { { 138, 78, 12 }, { 158, 94, 26 } },
		[FRAME_BOUNDARY] = { { 88, 88, 88 }, { 88, 88, 88 } },
		[FRAME_KERNEL] = { { 12, 96, 100 }, { 22, 118, 122 } },
		[FRAME_FUNCTION] = { { 16, 90, 108 }, { 26, 112, 130 } },
		[FRAME_SOURCE] = { { 20, 84, 114 }, { 32, 106, 138 } },
		[FRAME_INSTRUCTION] = { { 30, 100, 44 }, { 44, 122, 58 } },
		[FRAME_STALL] = { { 66, 100, 18 }, { 82, 118, 30 } },
		[FRAME_IDLE] = { { 48, 49, 53 }, { 48, 49, 53 } },
		[FRAME_MISSING] = { { 62, 34, 38 }, { 62, 34, 38 } },
		[LOOK_MORE] = { { 84, 52, 50 }, { 172, 44, 32 } },
		[LOOK_LESS] = { { 48, 60, 88 }, { 30, 88, 184 } },
		[LOOK_SAME] = { { 60, 62, 66 }, { 60, 62, 66 } },
	},
};

static uint8_t between(uint8_t from, uint8_t to, unsigned shade)
{
	return (uint8_t)(from + (to - from) * (int)shade / (LOOK_SHADES - 1));
}

struct colour flame_colour(enum flame_theme theme, unsigned group, unsigned shade)
{
	assert(theme < FLAME_THEME_COUNT && group < LOOK_GROUP_COUNT && shade < LOOK_SHADES);
	const struct range *r = &palette[theme][group];
	return (struct colour){
		.r = between(r->from.r, r->to.r, shade),
		.g = between(r->from.g, r->to.g, shade),
		.b = between(r->from.b, r->to.b, shade),
	};
}

struct colour flame_colour_hatch(enum flame_theme theme, unsigned group)
{
	bool dark = theme == FLAME_DARK;
	if (group == FRAME_IDLE)
		return dark ? (struct colour){ 68, 69, 74 } : (struct colour){ 204, 204, 206 };
	if (group == FRAME_MISSING)
		return dark ? (struct colour){ 118, 48, 56 } : (struct colour){ 240, 176, 176 };
	return flame_colour(theme, group, 0);
}

struct colour flame_colour_text(enum flame_theme theme)
{
	return theme == FLAME_DARK ? (struct colour){ 240, 240, 240 }
				   : (struct colour){ 16, 16, 16 };
}

struct colour flame_colour_back(enum flame_theme theme)
{
	return theme == FLAME_DARK ? (struct colour){ 24, 26, 30 }
				   : (struct colour){ 255, 255, 255 };
}

struct colour flame_colour_match(void)
{
	return (struct colour){ 230, 0, 230 };
}

struct colour flame_colour_match_text(void)
{
	return (struct colour){ 0, 0, 0 };
}
