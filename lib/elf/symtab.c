/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/symtab_internal.h"

#include "base/bisect.h"
#include "base/radix.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int bind_rank(const struct elf_symbol *s)
{
	switch (s->bind) {
	case STB_GLOBAL:
	case STB_GNU_UNIQUE:
		return 2;
	case STB_WEAK:
		return 1;
	default:
		return 0;
	}
}

static int type_rank(const struct elf_symbol *s)
{
	switch (s->type) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return 2;
	case STT_OBJECT:
		return 1;
	default:
		return 0;
	}
}

/* Positive when @a is the better name for an address that both start at. */
static int compare_names(const struct elf_symbol *a, const struct elf_symbol *b)
{
	if (type_rank(a) != type_rank(b))
		return type_rank(a) - type_rank(b);
	if (bind_rank(a) != bind_rank(b))
		return bind_rank(a) - bind_rank(b);
	size_t ua = strspn(a->name, "_"), ub = strspn(b->name, "_");
	if (ua != ub)
		return ua < ub ? 1 : -1;
	return strcmp(b->name, a->name);
}

/* By address; of those that start together the best one last. */
static int compare_order(const void *va, const void *vb, void *arg)
{
	const struct symtab_entry *entries = arg;
	uint32_t ia, ib;
	memcpy(&ia, va, sizeof(ia));
	memcpy(&ib, vb, sizeof(ib));
	const struct elf_symbol *a = &entries[ia].symbol, *b = &entries[ib].symbol;

	if (a->value != b->value)
		return a->value < b->value ? -1 : 1;
	int better = compare_names(a, b);
	if (better)
		return better;
	return ia < ib ? 1 : -1;
}

static int compare_ranges(const void *va, const void *vb)
{
	const struct symtab_range *a = va, *b = vb;
	return a->start < b->start ? -1 : a->start > b->start;
}

/* The numbers of all entries that have a size, or of all code that has none, in order. */
static int sort_entries(const struct elf_symtab *t, bool is_sized, uint32_t **ret,
			size_t *ret_count)
{
	CLEANUP_FREE struct radix_item *items = malloc(t->entries.len * sizeof(*items) + 1);
	CLEANUP_FREE uint32_t *order = malloc(t->entries.len * sizeof(*order) + 1);
	size_t n = 0;

	if (!items || !order)
		return -ENOMEM;
	for (size_t i = 0; i < t->entries.len; i++) {
		const struct symtab_entry *e = &t->entries.data[i];
		uint64_t end;
		if (is_sized ? e->symbol.size && !__builtin_add_overflow(e->symbol.value,
									 e->symbol.size, &end)
			     : !e->symbol.size && e->section_end)
			items[n++] = (struct radix_item){ e->symbol.value, i };
	}
	if (radix_sort(items, n) < 0)
		return -ENOMEM;
	for (size_t i = 0, same = 0; i < n; i++) {
		order[i] = (uint32_t)items[i].value;
		if (i + 1 < n && items[i + 1].key == items[i].key)
			continue;
		if (i > same)
			qsort_r(order + same, i + 1 - same, sizeof(*order), compare_order,
				t->entries.data);
		same = i + 1;
	}
	*ret = TAKE(order);
	*ret_count = n;
	return 0;
}

static uint64_t entry_end(const struct elf_symtab *t, uint32_t entry)
{
	return t->entries.data[entry].symbol.value + t->entries.data[entry].symbol.size;
}

/*
 * Cut the symbols, which may nest and overlap, into disjoint ranges in one sweep: the stack holds
 * what has started and not been seen to end, the latest on top, and the top owns the addresses.
 */
static int add_sized_ranges(struct elf_symtab *t)
{
	CLEANUP_FREE uint32_t *order = NULL;
	size_t count, depth = 0;
	uint64_t at = 0;

	if (sort_entries(t, true, &order, &count) < 0)
		return -ENOMEM;
	CLEANUP_FREE uint32_t *stack = malloc(count * sizeof(*stack) + 1);
	if (!stack)
		return -ENOMEM;
	for (size_t i = 0; i <= count; i++) {
		uint64_t next = i < count ? t->entries.data[order[i]].symbol.value : UINT64_MAX;
		while (depth && at < next) {
			uint64_t end = entry_end(t, stack[depth - 1]);
			if (end <= at) {
				depth--;
				continue;
			}
			end = end < next ? end : next;
			struct symtab_range r = { .start = at,
						  .end = end,
						  .entry = stack[depth - 1] };
			if (vec_push(&t->ranges, r) < 0)
				return -ENOMEM;
			at = end;
		}
		at = next;
		if (i < count)
			stack[depth++] = order[i];
	}
	return 0;
}

/* Give symbols without a size what no sized symbol claims. */
static int add_guessed_ranges(struct elf_symtab *t)
{
	CLEANUP_FREE uint32_t *order = NULL;
	size_t count, sized = t->ranges.len, r = 0;

	if (sort_entries(t, false, &order, &count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct symtab_entry *e = &t->entries.data[order[i]];
		uint64_t start = e->symbol.value, end = e->section_end;
		/* The best name of an address is its last. */
		if (i + 1 < count) {
			uint64_t next = t->entries.data[order[i + 1]].symbol.value;
			if (next == start)
				continue;
			end = next < end ? next : end;
		}
		while (r < sized && t->ranges.data[r].end <= start)
			r++;
		if (r < sized && t->ranges.data[r].start < end)
			end = t->ranges.data[r].start;
		if (end <= start)
			continue;
		if (end - start > ELF_SYMBOL_GUESS_BYTES)
			end = start + ELF_SYMBOL_GUESS_BYTES;
		struct symtab_range range = {
			.start = start, .end = end, .entry = order[i], .is_guessed = true
		};
		if (vec_push(&t->ranges, range) < 0)
			return -ENOMEM;
	}
	if (t->ranges.len > sized)
		qsort(t->ranges.data, t->ranges.len, sizeof(*t->ranges.data), compare_ranges);
	return 0;
}

int elf_symtab_new(struct elf_symtab **ret, struct elf_file *f, struct err *err)
{
	CLEANUP(elf_symtab_free) struct elf_symtab *t = calloc(1, sizeof(*t));
	if (!t)
		return err_set(err, -ENOMEM, "'%s'", elf_name(f));
	int rc = symtab_load(t, f, err);
	if (rc < 0)
		return rc;
	if (add_sized_ranges(t) < 0 || add_guessed_ranges(t) < 0)
		return err_set(err, -ENOMEM, "'%s'", elf_name(f));
	*ret = TAKE(t);
	return 0;
}

void elf_symtab_free(struct elf_symtab *t)
{
	if (!t)
		return;
	vec_release(&t->entries);
	vec_release(&t->ranges);
	hash_release(&t->by_name);
	arena_release(&t->arena);
	elf_close(t->mini);
	free(t->mini_bytes);
	free(t);
}

size_t elf_symtab_count(const struct elf_symtab *t)
{
	return t->entries.len;
}

struct elf_symbol elf_symtab_get(const struct elf_symtab *t, size_t index)
{
	return t->entries.data[index].symbol;
}

int elf_symtab_at(const struct elf_symtab *t, uint64_t vaddr, struct elf_symbol *ret)
{
	/* The first range that ends behind @vaddr. */
	size_t at = bisect(t->ranges.len, i, t->ranges.data[i].end <= vaddr);

	if (at == t->ranges.len || t->ranges.data[at].start > vaddr)
		return -ENOENT;
	const struct symtab_range *r = &t->ranges.data[at];
	*ret = t->entries.data[r->entry].symbol;
	if (r->is_guessed) {
		ret->size = r->end - ret->value;
		ret->is_guessed = true;
	}
	return 0;
}

static int index_names(struct elf_symtab *t)
{
	if (t->is_indexed)
		return 0;
	/* Backwards, so that a chain is in the file's order. */
	for (size_t i = t->entries.len; i-- > 0;) {
		struct symtab_entry *e = &t->entries.data[i];
		uint64_t key = hash_hostile(e->symbol.name, strlen(e->symbol.name));
		uint64_t *head = hash_get(&t->by_name, key);
		e->next_by_name = head ? (uint32_t)*head : 0;
		if (hash_set(&t->by_name, key, i + 1) < 0)
			return -ENOMEM;
	}
	t->is_indexed = true;
	return 0;
}

int elf_symtab_find(struct elf_symtab *t, const char *name, struct elf_symbol *ret)
{
	const char *sign = strchr(name, '@');
	size_t size = sign ? (size_t)(sign - name) : strlen(name);
	const char *version = sign ? sign + 1 + (sign[1] == '@') : NULL;
	const struct elf_symbol *best = NULL;

	if (index_names(t) < 0)
		return -ENOMEM;
	uint64_t *head = hash_get(&t->by_name, hash_hostile(name, size));
	for (size_t i = head ? *head : 0; i; i = t->entries.data[i - 1].next_by_name) {
		const struct elf_symbol *s = &t->entries.data[i - 1].symbol;
		if (strncmp(s->name, name, size) != 0 || s->name[size])
			continue;
		if (version && (!s->version || strcmp(s->version, version) != 0))
			continue;
		if (!best || s->is_default > best->is_default ||
		    (s->is_default == best->is_default && bind_rank(s) > bind_rank(best)))
			best = s;
	}
	if (!best)
		return -ENOENT;
	*ret = *best;
	return 0;
}
