/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/kernel.h"

#include "base/bisect.h"
#include "base/strtab.h"
#include "proc/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	uint64_t address;
	uint32_t name, module; /* strings */
	uint32_t order;        /* in the text */
	bool is_global;
};

struct kernel_symbols {
	struct strtab strings;
	VEC(struct entry) entries; /* by address, one for each */
};

void kernel_symbols_free(struct kernel_symbols *k)
{
	if (!k)
		return;
	strtab_release(&k->strings);
	vec_release(&k->entries);
	free(k);
}

/* By address; of those at one address the best name last: global, then the first in the text. */
static int compare_entries(const void *va, const void *vb)
{
	const struct entry *a = va, *b = vb;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->is_global != b->is_global)
		return a->is_global ? 1 : -1;
	return a->order < b->order ? 1 : -1;
}

static int add_entry(struct kernel_symbols *k, const struct proc_symbol *s, struct err *err)
{
	struct entry e = {
		.address = s->address,
		.order = (uint32_t)k->entries.len,
		.is_global = s->type == 'T' || s->type == 'W',
	};
	/* Code only: text and weak ones; 'A' would put per-CPU offsets into the user's half. */
	if (!strchr("tTwW", s->type) || !s->name.size)
		return 0;
	if (k->entries.len >= KERNEL_SYMBOLS_MAX)
		return err_set(err, -E2BIG, "kallsyms has more than %u symbols",
			       KERNEL_SYMBOLS_MAX);
	if (strtab_intern(&k->strings, s->name.data, s->name.size, &e.name, NULL) < 0 ||
	    strtab_intern(&k->strings, s->module.data, s->module.size, &e.module, NULL) < 0 ||
	    vec_push(&k->entries, e) < 0)
		return err_set(err, -ENOMEM, "kallsyms");
	return 0;
}

static void sort_entries(struct kernel_symbols *k)
{
	size_t kept = 0;

	qsort(k->entries.data, k->entries.len, sizeof(*k->entries.data), compare_entries);
	for (size_t i = 0; i < k->entries.len; i++) {
		const struct entry *e = &k->entries.data[i];
		if (kept && k->entries.data[kept - 1].address == e->address)
			kept--;
		k->entries.data[kept++] = *e;
	}
	k->entries.len = kept;
}

int kernel_symbols_new(struct kernel_symbols **ret, struct span kallsyms, struct err *err)
{
	CLEANUP(kernel_symbols_free) struct kernel_symbols *k = calloc(1, sizeof(*k));
	struct lines lines = lines_of(kallsyms, "kallsyms");
	struct proc_symbol symbol;
	bool has_address = false;
	int rc;

	if (!k)
		return err_set(err, -ENOMEM, "kallsyms");
	while ((rc = proc_kallsyms_next(&lines, &symbol, err)) > 0) {
		has_address |= symbol.address != 0;
		rc = add_entry(k, &symbol, err);
		if (rc < 0)
			return rc;
	}
	if (rc < 0)
		return rc;
	if (k->entries.len && !has_address)
		return err_set(err, -EPERM,
			       "kallsyms hides its addresses; run as root or set "
			       "kernel.kptr_restrict to 0");
	if (k->entries.len)
		sort_entries(k);
	*ret = TAKE(k);
	return 0;
}

size_t kernel_symbols_count(const struct kernel_symbols *k)
{
	return k->entries.len;
}

int kernel_symbols_at(const struct kernel_symbols *k, uint64_t address, struct kernel_symbol *ret)
{
	size_t below = bisect(k->entries.len, i, k->entries.data[i].address <= address);

	if (!below)
		return -ENOENT;
	const struct entry *e = &k->entries.data[below - 1], *next = e + 1;
	uint64_t size = KERNEL_SYMBOL_GUESS_BYTES;
	if (below < k->entries.len) {
		uint64_t gap = next->address - e->address;
		if (next->module == e->module || gap < size)
			size = gap;
	}
	if (address - e->address >= size)
		return -ENOENT;
	*ret = (struct kernel_symbol){
		.start = e->address,
		.size = size,
		.name = strtab_text(&k->strings, e->name),
		.module = e->module ? strtab_text(&k->strings, e->module) : NULL,
	};
	return 0;
}
