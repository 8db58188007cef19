/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "flame/pack.h"
#include "flame/unbase64.h"

#include <stdlib.h>
#include <zlib.h>

/* zlib unpacks to the end what was packed in blocks, and gets what was put in. */
static void check(size_t size)
{
	struct packer k = { 0 };
	struct strbuf text = { 0 }, again = { 0 };
	uint8_t *plain = malloc(size + 1), *back = malloc(size + 1);

	/* Neither noise nor all alike, and what repeats reaches over the seams of blocks. */
	for (size_t i = 0; i < size; i++)
		plain[i] = (uint8_t)(i % 1013 * (i / 70000 + 1) >> 3);
	packer_add(&k, plain, size / 3);
	packer_add(&k, plain + size / 3, size - size / 3);
	assert_int_equal(packer_end(&k, &text), 0);
	/* However the threads went about it. */
	assert_int_equal(packer_end(&k, &again), 0);
	assert_string_equal(text.data, again.data);
	packer_release(&k);

	uint8_t *packed = malloc(text.len);
	z_stream z = { .next_in = packed,
		       .avail_in = (uInt)unbase64(text.data, packed),
		       .next_out = back,
		       .avail_out = (uInt)size + 1 };
	assert_int_equal(inflateInit2(&z, -15), Z_OK);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(z.avail_in, 0);
	assert_int_equal(z.total_out, size);
	assert_memory_equal(plain, back, size);
	inflateEnd(&z);
	strbuf_release(&text);
	strbuf_release(&again);
	free(packed);
	free(plain);
	free(back);
}

static void blocks(void **state)
{
	(void)state;
	const size_t sizes[] = { 0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, (5 << 20) + 12345 };
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		check(sizes[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
