/* SPDX-License-Identifier: Apache-2.0 */
#include "dwarf/unit.h"

#include "base/bisect.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

/* Namespaces and classes nest by the dozen at most; this bounds recursion over a stranger's file. */
#define DIE_DEPTH_MAX 64
/* How many rows with line 0 are gone back over. */
#define ZERO_ROWS_MAX 64

static void drop_scopes(struct unit *u)
{
	vec_for_each(&u->scopes, s)
		scopes_release(s);
	u->scopes.len = 0;
	u->scope_count = 0;
	hash_release(&u->scopes_of);
}

void unit_release(struct unit *u)
{
	vec_release(&u->functions);
	drop_scopes(u);
	vec_release(&u->scopes);
}

struct collect {
	struct unit *unit;
	void *die;
};

static int add_function(void *data, uint64_t low, uint64_t high)
{
	struct collect *c = data;
	struct unit_function f = { .low = low, .high = high, .die = c->die };
	return vec_push(&c->unit->functions, f);
}

/* Damage ends the walk of the level where it is: what was found before counts. */
static int collect_functions(struct unit *u, struct walk *w, Dwarf_Die *parent, bool is_deep,
			     unsigned depth)
{
	Dwarf_Die die;
	if (depth > DIE_DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return 0;
	do {
		int rc = walk_step(w);
		if (rc < 0)
			return rc;
		bool has_functions = false;
		switch (dwarf_tag(&die)) {
		case DW_TAG_subprogram: {
			struct collect c = { .unit = u, .die = die.addr };
			rc = walk_ranges(w, &die, add_function, &c);
			if (rc < 0)
				return rc;
			has_functions = is_deep;
			break;
		}
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_union_type:
			has_functions = true;
			break;
		default:
			has_functions = is_deep;
			break;
		}
		if (has_functions) {
			rc = collect_functions(u, w, &die, is_deep, depth + 1);
			if (rc < 0)
				return rc;
		}
	} while (walk_sibling(&die) == 0);
	return 0;
}

static int compare_functions(const void *va, const void *vb)
{
	const struct unit_function *a = va, *b = vb;
	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	/* The larger first, so that an inner one is found before its outer one. */
	if (a->high != b->high)
		return a->high > b->high ? -1 : 1;
	return a->die < b->die ? -1 : a->die > b->die;
}

int unit_read_functions(struct unit *u, struct walk *w, bool is_deep)
{
	u->functions.len = 0;
	int rc = collect_functions(u, w, &u->die, is_deep, 0);
	if (rc < 0) {
		u->functions.len = 0;
		u->state = UNIT_UNREAD;
		return rc;
	}
	if (u->functions.len)
		qsort(u->functions.data, u->functions.len, sizeof(*u->functions.data),
		      compare_functions);
	uint64_t max = 0;
	vec_for_each(&u->functions, f) {
		max = f->high > max ? f->high : max;
		f->max_high = max;
	}
	u->state = is_deep ? UNIT_DEEP : UNIT_SHALLOW;
	return 0;
}

/* The function that holds @vaddr and starts last; NULL. */
static const struct unit_function *find_function(const struct unit *u, uint64_t vaddr)
{
	size_t below = bisect(u->functions.len, i, u->functions.data[i].low <= vaddr);

	for (size_t i = below; i-- > 0 && u->functions.data[i].max_high > vaddr;) {
		if (u->functions.data[i].high > vaddr)
			return &u->functions.data[i];
	}
	return NULL;
}

/*
 * The inlined functions in @function. dwarf_getscopes() would find those at one address, but walks the
 * whole unit each time, and leaves the chain at the first for that one's abstract definition.
 */
static int get_scopes(struct unit *u, struct walk *w, Dwarf_Die *function,
		      const struct scopes **ret)
{
	uint64_t key = (uint64_t)(uintptr_t)function->addr;
	uint64_t *known = hash_get(&u->scopes_of, key);
	struct scopes fresh = { 0 };

	if (known) {
		*ret = &u->scopes.data[*known];
		return 0;
	}
	int rc = scopes_read(&fresh, w, function);
	if (rc < 0)
		return rc;
	if (u->scope_count + fresh.scopes.len > UNIT_SCOPES_MAX)
		drop_scopes(u);
	if (hash_set(&u->scopes_of, key, u->scopes.len) < 0 || vec_push(&u->scopes, fresh) < 0) {
		hash_remove(&u->scopes_of, key);
		scopes_release(&fresh);
		return -ENOMEM;
	}
	u->scope_count += fresh.scopes.len;
	*ret = vec_last(&u->scopes);
	return 0;
}

static const char *die_name(Dwarf_Die *die)
{
	static const unsigned names[] = { DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name };
	Dwarf_Attribute attr;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *name = dwarf_formstring(dwarf_attr_integrate(die, names[i], &attr));
		if (name && *name)
			return name;
	}
	return NULL;
}

static uint32_t die_number(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;
	if (dwarf_formudata(dwarf_attr(die, name, &attr), &value) != 0 || value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

/* Where the inlined function @die was called from. */
static void call_place(struct unit *u, Dwarf_Die *die, struct debug_line *ret)
{
	Dwarf_Files *files;
	Dwarf_Attribute attr;
	Dwarf_Word file;

	ret->line = die_number(die, DW_AT_call_line);
	ret->column = die_number(die, DW_AT_call_column);
	/* Not dwarf_hasattr() and 0: file 0 is a file in DWARF 5. */
	if (dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attr), &file) == 0 &&
	    dwarf_getsrcfiles(&u->lines_die, &files, NULL) == 0)
		ret->file = dwarf_filesrc(files, file, NULL, NULL);
}

struct row {
	uint64_t address;
	int line, column;
	const char *file;
	bool is_end;
};

static bool read_row(const struct unit *u, size_t index, struct row *ret)
{
	Dwarf_Line *line = dwarf_onesrcline(u->lines, index);
	Dwarf_Addr address;

	if (!line || dwarf_lineaddr(line, &address) != 0 ||
	    dwarf_lineendsequence(line, &ret->is_end) != 0 || dwarf_lineno(line, &ret->line) != 0)
		return false;
	if (dwarf_linecol(line, &ret->column) != 0)
		ret->column = 0;
	ret->address = address;
	ret->file = dwarf_linesrc(line, NULL, NULL);
	return true;
}

/* The number of the last row at or below @vaddr, which libdw has sorted: -ENOENT. */
static int64_t find_row(struct unit *u, uint64_t vaddr)
{
	if (!u->has_lines_read) {
		u->has_lines_read = true;
		if (dwarf_getsrclines(&u->lines_die, &u->lines, &u->line_count) != 0)
			u->line_count = 0;
	}
	size_t low = 0, high = u->line_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		Dwarf_Addr address;
		Dwarf_Line *line = dwarf_onesrcline(u->lines, middle);
		if (!line || dwarf_lineaddr(line, &address) != 0)
			return -ENOENT;
		if (address <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? (int64_t)low - 1 : -ENOENT;
}

/*
 * The line being executed at @vaddr, in @scope of @scopes. Compilers give line 0 to code that belongs to
 * no line (DWARF 5, 6.2.2): the nearest row before it that has one is shown instead, if that is in the
 * same function, inlined or not.
 */
static int current_row(struct unit *u, Dwarf_Die *function, const struct scopes *scopes,
		       uint64_t vaddr, struct row *ret)
{
	int64_t at = find_row(u, vaddr);
	struct row row;
	if (at < 0 || !read_row(u, (size_t)at, &row) || row.is_end)
		return -ENOENT;
	*ret = row;
	if (row.line || !function)
		return 0;

	uint32_t scope = scopes_at(scopes, vaddr);
	for (unsigned i = 0; i < ZERO_ROWS_MAX && at-- > 0; i++) {
		if (!read_row(u, (size_t)at, &row) || row.is_end)
			return 0;
		if (!row.line)
			continue;
		if (dwarf_haspc(function, row.address) != 1)
			return 0;
		if (scopes_at(scopes, row.address) == scope) {
			*ret = row;
			return 0;
		}
	}
	return 0;
}

/*
 * The chain from the function, whose name @ret has, down to @scope: each one's place is where it calls
 * the next. The innermost are kept where there are too many.
 */
static void fill_chain(struct unit *u, const struct scopes *scopes, uint32_t scope,
		       struct debug_place *ret)
{
	size_t depth = scope ? scopes->scopes.data[scope - 1].depth : 0;

	ret->count = depth < DEBUG_LINES_MAX ? depth + 1 : DEBUG_LINES_MAX;
	memset(&ret->lines[1], 0, (ret->count - 1) * sizeof(*ret->lines));
	for (size_t i = ret->count; scope && i-- > 0;) {
		const struct scope *s = &scopes->scopes.data[scope - 1];
		Dwarf_Die die = { .addr = s->die, .cu = u->die.cu };
		ret->lines[i].name = die_name(&die);
		if (i)
			call_place(u, &die, &ret->lines[i - 1]);
		scope = s->parent;
	}
}

/* See debug_info_deduce_inlined(). */
static void deduce_inlined(struct unit *u, Dwarf_Die *function, const struct scopes *scopes,
			   uint64_t vaddr, const struct row *row, struct debug_place *ret)
{
	uint32_t at = scopes_at(scopes, vaddr);
	bool is_one;
	uint32_t scope = scopes_deduce(scopes, function, at, row->file, row->line, &is_one);
	if (scope == at)
		return;
	fill_chain(u, scopes, scope, ret);
	if (!is_one && ret->count > 1)
		ret->lines[ret->count - 2].line = ret->lines[ret->count - 2].column = 0;
}

int unit_at(struct unit *u, struct walk *w, uint64_t vaddr, struct debug_place *ret)
{
	Dwarf_Die die = { .cu = u->die.cu }, *function = NULL;
	const struct unit_function *f = NULL;

	for (enum unit_state want = UNIT_SHALLOW; want <= UNIT_DEEP && !f; want++) {
		if (u->state < want) {
			int rc = unit_read_functions(u, w, want == UNIT_DEEP);
			if (rc < 0)
				return rc;
		}
		f = find_function(u, vaddr);
	}
	ret->start = f ? f->low : vaddr;
	ret->size = f ? f->high - f->low : 0;
	ret->lines[0] = (struct debug_line){ 0 };
	ret->count = 1;
	const struct scopes *scopes = NULL;
	if (f) {
		die.addr = f->die;
		function = &die;
		int rc = get_scopes(u, w, function, &scopes);
		if (rc < 0)
			return rc;
		ret->lines[0].name = die_name(function);
		fill_chain(u, scopes, scopes_at(scopes, vaddr), ret);
	}

	struct row row;
	int rc = current_row(u, function, scopes, vaddr, &row);
	if (rc < 0)
		return function ? 0 : rc;
	if (w->deduces_inlined && function && scopes->has_unplaced && row.file && row.line > 0)
		deduce_inlined(u, function, scopes, vaddr, &row, ret);
	struct debug_line *last = &ret->lines[ret->count - 1];
	last->file = row.file;
	last->line = row.line > 0 ? (uint32_t)row.line : 0;
	last->column = row.column > 0 ? (uint32_t)row.column : 0;
	return 0;
}
