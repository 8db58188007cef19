/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/look.h"

#include "base/hash.h"

#include <stdbool.h>
#include <string.h>

unsigned look_shade(const char *name)
{
	return (unsigned)(hash_bytes(name, strlen(name)) >> 32) % LOOK_SHADES;
}

struct look look_of_frame(const struct frame *frame)
{
	/* Hatched kinds have one shade. */
	if (frame->kind == FRAME_IDLE)
		return (struct look){ FRAME_IDLE, 0, " idle" };
	if (frame->kind == FRAME_MISSING)
		return (struct look){ FRAME_MISSING, 0, " missing" };
	bool is_own = frame->kind == FRAME_PYTHON && frame->class == FRAME_CLASS_OWN;
	return (struct look){ frame->kind, look_shade(frame->name), is_own ? " own" : "" };
}

static double change_of(uint64_t now, uint64_t base)
{
	double n = (double)now, b = (double)base;
	return (n - b) / (n > b ? n : b);
}

static bool is_noise(uint64_t now, uint64_t base, uint64_t all)
{
	return (now > base ? now - base : base - now) < all / LOOK_NOISE || now == base;
}

struct look look_of_change(uint64_t now, uint64_t base, uint64_t all)
{
	if (is_noise(now, base, all))
		return (struct look){ LOOK_SAME, 0, "" };
	double change = change_of(now, base);
	unsigned shade = (unsigned)((change < 0 ? -change : change) * (LOOK_SHADES - 1));
	if (change > 0)
		return (struct look){ LOOK_MORE, shade, base ? "" : " new" };
	return (struct look){ LOOK_LESS, shade, now ? "" : " gone" };
}

void look_put_change(struct strbuf *out, uint64_t now, uint64_t base, uint64_t all)
{
	if (is_noise(now, base, all))
		return;
	if (!base || !now) {
		strbuf_puts(out, base ? "gone" : "new");
		return;
	}
	double percent = 100 * ((double)now - (double)base) / (double)base;
	strbuf_printf(out, "%+.*f %%", percent < 10 && percent > -10 ? 1 : 0, percent);
}

void look_put(struct strbuf *out, struct look look)
{
	strbuf_printf(out, "%c%u%s", 'a' + (int)look.group, look.shade, look.word);
}
