/* SPDX-License-Identifier: Apache-2.0 */
/* vec, bisect, hash, strtab, arena. */
#include "unit.h"

#include "base/arena.h"
#include "base/bisect.h"
#include "base/hash.h"
#include "base/pairtab.h"
#include "base/strtab.h"
#include "base/vec.h"

#include <errno.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>

static void test_vec(void **state)
{
	(void)state;
	VEC(uint32_t) v = { 0 };
	uint64_t sum = 0;
	vec_for_each(&v, it)
		sum += *it; /* empty: nothing */
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(vec_push(&v, i), 0);
	vec_for_each(&v, it)
		sum += *it;
	assert_int_equal(sum, 499500); /* 1000 * 999 / 2 */
	assert_int_equal(v.len, 1000);
	assert_int_equal(*vec_last(&v), 999);
	assert_int_equal(vec_reserve(&v, 5000), 0);
	assert_true(v.cap >= 5000);
	assert_int_equal(v.data[999], 999);
	size_t cap = v.cap;
	assert_int_equal(vec_reserve(&v, SIZE_MAX), -ENOMEM);
	assert_int_equal(vec_reserve(&v, SIZE_MAX / 2), -ENOMEM);
	assert_int_equal(v.cap, cap);
	assert_int_equal(v.data[999], 999);
	vec_release(&v);
	assert_null(v.data);
	assert_int_equal(v.len + v.cap, 0);
}

static void test_hash(void **state)
{
	(void)state;
	struct hash h = { 0 };
	assert_null(hash_get(&h, 0));
	assert_false(hash_remove(&h, 0));
	assert_int_equal(hash_set(&h, 0, 10), 0); /* 0 and UINT64_MAX are keys like others */
	assert_int_equal(hash_set(&h, UINT64_MAX, 11), 0);
	assert_int_equal(*hash_get(&h, 0), 10);
	assert_int_equal(*hash_get(&h, UINT64_MAX), 11);
	assert_int_equal(hash_set(&h, 0, 12), 0);
	assert_int_equal(*hash_get(&h, 0), 12);
	assert_int_equal(h.len, 2);
	assert_true(hash_remove(&h, 0));
	assert_null(hash_get(&h, 0));
	assert_false(hash_remove(&h, 0));
	assert_int_equal(*hash_get(&h, UINT64_MAX), 11);
	hash_release(&h);
	assert_null(hash_get(&h, UINT64_MAX));
}

/* Against a plain array, with deletions all the while. */
static void test_hash_churn(void **state)
{
	(void)state;
	enum {
		KEYS = 500,
		STEPS = 200000
	};
	static uint64_t expected[KEYS]; /* 0: not there */
	struct hash h = { 0 };
	uint32_t seed = 12345;
	size_t count = 0;

	for (uint64_t step = 1; step <= STEPS; step++) {
		seed = seed * 1664525 + 1013904223;
		uint32_t key = (seed >> 8) % KEYS;
		if (seed >> 31) {
			assert_int_equal(hash_set(&h, key, step), 0);
			count += expected[key] == 0;
			expected[key] = step;
		} else {
			assert_int_equal(hash_remove(&h, key), expected[key] != 0);
			count -= expected[key] != 0;
			expected[key] = 0;
		}
		assert_int_equal(h.len, count);
	}
	for (uint32_t key = 0; key < KEYS; key++) {
		uint64_t *value = hash_get(&h, key);
		assert_int_equal(value ? *value : 0, expected[key]);
	}
	size_t seen = 0;
	hash_for_each(&h, it) {
		assert_int_equal(it->value, expected[it->key]);
		seen++;
	}
	assert_int_equal(seen, count);
	/* Deleted places are used again: the table does not grow with the number of steps. */
	assert_true(h.cap <= 4 * KEYS);
	hash_release(&h);
}

/* Known answers of MurmurHash3's fmix64: 0 stays 0; and no two of many equal. */
static void test_hash_functions(void **state)
{
	(void)state;
	assert_int_equal(hash_u64(0), 0);
	assert_true(hash_u64(1) == 0xb456bcfc34c2cb2cULL);
	assert_true(hash_u64(1) != hash_u64(2));
	assert_true(hash_bytes("", 0) != hash_bytes("\0", 1));
	assert_true(hash_bytes("12345678", 8) != hash_bytes("12345678\0", 9));
	assert_true(hash_bytes("ab", 2) != hash_bytes("ba", 2));
	assert_true(hash_bytes("abcdefgh01234567", 16) != hash_bytes("01234567abcdefgh", 16));
	assert_true(hash_pair(1, 2) == 0x0000000100000002);
	assert_true(hash_hostile("", 0) != hash_hostile("\0", 1));
	assert_true(hash_hostile("12345678", 8) != hash_hostile("12345678\0", 9));
	assert_true(hash_hostile("ab", 2) != hash_hostile("ba", 2));
	assert_true(hash_hostile("ab", 2) == hash_hostile("ab", 2));
	assert_true(hash_hostile_pair(1, 2) != hash_hostile_pair(2, 1));
}

/* Strings that all have the same hash_bytes(): its step is undone by the second word. A table of a hundred thousand of
 * them would take the better part of a minute, and is to take no longer than one of any others. */
static void test_chosen_strings(void **state)
{
	(void)state;
	struct strtab t = { 0 };
	uint64_t words[2], same = 0;
	uint32_t id;

	for (uint64_t i = 0; i < 100000; i++) {
		uint64_t h = (0x9e3779b97f4a7c15ULL ^ 16 ^ i) * 0xff51afd7ed558ccdULL;
		words[0] = i;
		words[1] = h ^ h >> 32;
		uint64_t hash = hash_bytes(words, sizeof(words));
		if (i == 0)
			same = hash;
		assert_true(hash == same);
		assert_int_equal(strtab_intern(&t, words, sizeof(words), &id, NULL), 0);
		assert_int_equal(id, i + 1);
	}
	/* The longest run of taken places: in a table of a quarter of a million, three quarters full at most. */
	size_t run = 0, longest = 0;
	for (size_t i = 0; i < t.slots.cap; i++) {
		run = t.slots.tags[i] ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	assert_true(longest < 2000);
	strtab_release(&t);
}

static void test_strtab(void **state)
{
	(void)state;
	struct strtab t = { 0 };
	uint32_t id, other;
	bool is_fresh;

	assert_string_equal(strtab_text(&t, 0), "");
	assert_int_equal(strtab_count(&t), 1);
	assert_int_equal(strtab_find(&t, "a", 1, &other), -ENOENT);
	assert_int_equal(strtab_intern(&t, "a", 1, &id, &is_fresh), 0);
	assert_int_equal(id, 1); /* 0 is the empty one, whatever comes first */
	assert_true(is_fresh);
	assert_int_equal(strtab_intern(&t, NULL, 0, &id, &is_fresh), 0);
	assert_int_equal(id, 0);
	assert_false(is_fresh);
	assert_int_equal(strtab_intern(&t, "a\0b", 3, &id, &is_fresh), 0);
	assert_int_equal(id, 2);
	assert_true(is_fresh);
	assert_int_equal(strtab_find(&t, "a\0b", 3, &other), 0);
	assert_int_equal(other, id);
	assert_int_equal(strtab_find(&t, "a\0c", 3, &other), -ENOENT);
	assert_int_equal(strtab_intern(&t, "a\0b", 3, &other, &is_fresh), 0);
	assert_int_equal(other, 2);
	assert_false(is_fresh);
	assert_int_equal(strtab_get(&t, 2).size, 3);
	assert_memory_equal(strtab_get(&t, 2).data, "a\0b", 4); /* and a NUL behind it */

	const char *before = strtab_text(&t, 1);
	for (uint32_t i = 0; i < 10000; i++) {
		char text[32];
		snprintf(text, sizeof(text), "string %u", i);
		assert_int_equal(strtab_add(&t, text, &id), 0);
		assert_int_equal(id, 3 + i);
	}
	assert_ptr_equal(strtab_text(&t, 1), before); /* strings do not move */
	assert_int_equal(strtab_add(&t, "string 1234", &id), 0);
	assert_int_equal(id, 1237);
	assert_string_equal(strtab_text(&t, 1237), "string 1234");
	assert_int_equal(strtab_count(&t), 10003);
	strtab_release(&t);
	assert_int_equal(strtab_count(&t), 1);
}

static void test_arena(void **state)
{
	(void)state;
	struct arena a = { 0 };
	uint8_t *first = arena_alloc(&a, 1), *zeroed = arena_alloc(&a, 100);
	for (int i = 0; i < 100; i++)
		assert_int_equal(zeroed[i], 0);
	for (size_t size = 1; size < 2000; size += 7) {
		uint8_t *p = arena_alloc(&a, size);
		assert_non_null(p);
		assert_int_equal((uintptr_t)p % alignof(max_align_t), 0);
		memset(p, 0xff, size);
	}
	uint8_t *large = arena_alloc(&a, 3 << 20);
	memset(large, 0xff, 3 << 20);
	uint8_t *after = arena_alloc(&a, 16);
	assert_int_equal(after[0], 0);
	assert_int_equal(*first, 0);
	char *copy = arena_copy(&a, "abc", 2);
	assert_string_equal(copy, "ab");
	assert_null(arena_alloc(&a, SIZE_MAX));
	assert_true(a.used_bytes > 3 << 20);
	arena_release(&a);
	assert_int_equal(a.used_bytes, 0);
}

/* A tree with more nodes than the first tables hold, found again. */
static void test_pairtab(void **state)
{
	(void)state;
	struct pairtab t = { 0 };
	uint32_t id, first;

	assert_int_equal(pairtab_count(&t), 1);
	assert_int_equal(pairtab_get(&t, 0).second, 0);
	assert_int_equal(pairtab_intern(&t, 0, 0, &first), 1);
	assert_int_equal(first, 1);
	for (uint32_t i = 1; i < 5000; i++) {
		assert_int_equal(pairtab_intern(&t, i / 2, i, &id), 1);
		assert_int_equal(id, i + 1);
	}
	for (uint32_t i = 1; i < 5000; i++) {
		assert_int_equal(pairtab_intern(&t, i / 2, i, &id), 0);
		assert_int_equal(id, i + 1);
	}
	/* The other way round is another pair. */
	assert_int_equal(pairtab_intern(&t, 4999, 2499, &id), 1);
	assert_int_equal(pairtab_intern(&t, 0, 0, &id), 0);
	assert_int_equal(id, first);
	assert_int_equal(pairtab_get(&t, 3).first, 1);
	assert_int_equal(pairtab_get(&t, 3).second, 2);
	assert_int_equal(pairtab_count(&t), 5002);
	/* A path that comes in one piece, one that leaves it half-way, and both again. */
	for (int again = 0; again < 2; again++) {
		uint32_t fork = 0;
		id = 0;
		for (uint32_t i = 0; i < 5; i++) {
			assert_int_equal(pairtab_intern(&t, id, 9000 + i, &id), !again);
			assert_int_equal(id, 5002 + i);
			fork = i == 2 ? id : fork;
		}
		assert_int_equal(pairtab_intern(&t, fork, 8000, &id), !again);
		assert_int_equal(id, 5007);
		assert_int_equal(pairtab_intern(&t, id, 8001, &id), !again);
		assert_int_equal(id, 5008);
		assert_int_equal(pairtab_intern(&t, fork, 8001, &id), !again);
		assert_int_equal(id, 5009);
	}
	pairtab_release(&t);
	assert_int_equal(pairtab_count(&t), 1);
}

/* Against counting, for every number of things and every place of the border. */
static void test_bisect(void **state)
{
	(void)state;
	for (size_t count = 0; count < 20; count++) {
		for (size_t first = 0; first <= count; first++) {
			size_t asked = 0;
			assert_int_equal(bisect(count, i, (asked++, i < first)), first);
			assert_true(asked <= 5);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vec),
		cmocka_unit_test(test_hash),
		cmocka_unit_test(test_hash_churn),
		cmocka_unit_test(test_hash_functions),
		cmocka_unit_test(test_strtab),
		cmocka_unit_test(test_arena),
		cmocka_unit_test(test_pairtab),
		cmocka_unit_test(test_bisect),
		cmocka_unit_test(test_chosen_strings),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
