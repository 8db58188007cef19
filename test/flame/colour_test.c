/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/colour.h"

#include "unit.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

/* WCAG 2.1, "relative luminance" and "contrast ratio". */
static double linear(uint8_t value)
{
	double c = value / 255.0;
	return c <= 0.03928 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

static double luminance(struct colour c)
{
	return 0.2126 * linear(c.r) + 0.7152 * linear(c.g) + 0.0722 * linear(c.b);
}

static double contrast(struct colour a, struct colour b)
{
	double x = luminance(a), y = luminance(b);
	return (fmax(x, y) + 0.05) / (fmin(x, y) + 0.05);
}

static void the_formula(void **state)
{
	(void)state;
	struct colour white = { 255, 255, 255 }, black = { 0, 0, 0 }, grey = { 0x77, 0x77, 0x77 };
	assert_true(fabs(contrast(white, black) - 21) < 0.001);
	/* A pair known for just failing. */
	assert_true(fabs(contrast(white, grey) - 4.48) < 0.01);
}

static void text_is_readable(void **state)
{
	(void)state;
	for (enum flame_theme theme = 0; theme < FLAME_THEME_COUNT; theme++) {
		struct colour text = flame_colour_text(theme);
		assert_true(contrast(text, flame_colour_back(theme)) >= 7);
		for (unsigned kind = 0; kind < LOOK_GROUP_COUNT; kind++) {
			for (unsigned shade = 0; shade < LOOK_SHADES; shade++) {
				double c = contrast(text, flame_colour(theme, kind, shade));
				if (c < 4.5)
					fail_msg("theme %d, group %u, shade %u: %.2f", theme, kind,
						 shade, c);
			}
			assert_true(contrast(text, flame_colour_hatch(theme, kind)) >= 4.5);
		}
	}
	assert_true(contrast(flame_colour_match(), flame_colour_match_text()) >= 4.5);
}

/* What DESIGN calls them, by the order of their channels. */
static void hues(void **state)
{
	(void)state;
	for (enum flame_theme theme = 0; theme < FLAME_THEME_COUNT; theme++) {
		for (unsigned s = 0; s < LOOK_SHADES; s++) {
			struct colour c = flame_colour(theme, FRAME_PYTHON, s);
			assert_true(c.r > c.b && c.b > c.g); /* pink */
			c = flame_colour(theme, FRAME_CXX, s);
			assert_true(c.r > c.g && c.g > 2 * c.b - 60); /* yellow */
			c = flame_colour(theme, FRAME_NATIVE, s);
			assert_true(c.r > c.g + 60 && c.r > c.b + 60); /* red */
			c = flame_colour(theme, FRAME_OS, s);
			assert_true(c.r > c.g && c.g > c.b + 40); /* orange */
			c = flame_colour(theme, FRAME_KERNEL, s);
			assert_true(c.b >= c.g && c.g > c.r); /* aqua */
			c = flame_colour(theme, FRAME_STALL, s);
			assert_true(c.g > c.r && c.r > c.b); /* green */
			c = flame_colour(theme, FRAME_SCOPE, s);
			assert_true(c.b > c.r && c.r > c.g); /* purple */
			c = flame_colour(theme, LOOK_MORE, s);
			assert_true(c.r > c.g && c.r > c.b); /* red */
			c = flame_colour(theme, LOOK_LESS, s);
			assert_true(c.b > c.g && c.g > c.r); /* blue */
			c = flame_colour(theme, FRAME_BOUNDARY, s);
			assert_true(c.r == c.g && c.g == c.b); /* grey */
		}
	}
	/* Hatching is seen. */
	for (enum flame_theme theme = 0; theme < FLAME_THEME_COUNT; theme++) {
		assert_true(contrast(flame_colour(theme, FRAME_IDLE, 0),
				     flame_colour_hatch(theme, FRAME_IDLE)) > 1.25);
		assert_true(contrast(flame_colour(theme, FRAME_MISSING, 0),
				     flame_colour_hatch(theme, FRAME_MISSING)) > 1.25);
	}
}

static void shades_vary(void **state)
{
	(void)state;
	bool seen[LOOK_SHADES] = { false };
	for (int i = 0; i < 200; i++) {
		char name[16];
		snprintf(name, sizeof(name), "kernel%d", i);
		unsigned shade = look_shade(name);
		assert_true(shade < LOOK_SHADES);
		assert_int_equal(shade, look_shade(name));
		seen[shade] = true;
	}
	for (unsigned i = 0; i < LOOK_SHADES; i++)
		assert_true(seen[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_formula),
		cmocka_unit_test(text_is_readable),
		cmocka_unit_test(hues),
		cmocka_unit_test(shades_vary),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
