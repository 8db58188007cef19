/* SPDX-License-Identifier: Apache-2.0 */
#include "dwarf/debug_info.h"

#include "base/bisect.h"
#include "dwarf/unit.h"

#include <dwarf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

/* [low, high) belongs to a unit. */
struct unit_range {
	uint64_t low, high;
	uint64_t max_high; /* as in struct unit_function */
	uint32_t unit;
};

/* More than this many units that claim one address are not all asked. */
#define OVERLAPS_MAX 16

struct debug_info {
	Elf *elf;
	Dwarf *dw;
	VEC(struct unit) units;
	VEC(struct unit_range) ranges;
	VEC(uint32_t) unranged; /* units that do not say where their code lies */
	Dwarf_CU *last_cu;      /* where listing goes on after a deadline */
	bool is_listed;
	struct walk walk;
};

void debug_info_close(struct debug_info *d)
{
	if (!d)
		return;
	vec_for_each(&d->units, u)
		unit_release(u);
	vec_release(&d->units);
	vec_release(&d->ranges);
	vec_release(&d->unranged);
	if (d->dw)
		dwarf_end(d->dw);
	if (d->elf)
		elf_end(d->elf);
	free(d);
}

/* Whether there is code at address 0, as in relocatable and accelerator files. */
static bool has_zero_code(Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr sh;

	while ((section = elf_nextscn(elf, section))) {
		if (gelf_getshdr(section, &sh) && (sh.sh_flags & SHF_EXECINSTR) && !sh.sh_addr &&
		    sh.sh_size)
			return true;
	}
	return false;
}

static int debug_info_begin(struct debug_info **ret, Elf *elf, const char *name, struct err *err)
{
	CLEANUP(debug_info_close) struct debug_info *d = calloc(1, sizeof(*d));
	if (!d) {
		elf_end(elf);
		return err_set(err, -ENOMEM, "'%s'", name);
	}
	if (!elf)
		return err_set(err, -EBADMSG, "'%s': %s", name, elf_errmsg(-1));
	d->elf = elf;
	if (elf_kind(elf) != ELF_K_ELF)
		return err_set(err, -EBADMSG, "'%s' is not an ELF file", name);
	d->dw = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	if (!d->dw) {
		int code = dwarf_errno();
		/* Its only way to say "no DWARF" is a text, which has not changed since 2009. */
		const char *text = dwarf_errmsg(code);
		if (text && strstr(text, "no DWARF"))
			return err_set(err, -ENOENT, "'%s' has no DWARF", name);
		return err_set(err, -EBADMSG, "'%s': %s", name, text ? text : "bad DWARF");
	}
	d->walk.is_zero_code = has_zero_code(elf);
	*ret = TAKE(d);
	return 0;
}

int debug_info_open_fd(struct debug_info **ret, int fd, const char *name, unsigned flags,
		       struct err *err)
{
	elf_version(EV_CURRENT);
	Elf_Cmd how = flags & DEBUG_INFO_MAP ? ELF_C_READ_MMAP : ELF_C_READ;
	return debug_info_begin(ret, elf_begin(fd, how, NULL), name, err);
}

int debug_info_open_memory(struct debug_info **ret, struct span bytes, const char *name,
			   struct err *err)
{
	elf_version(EV_CURRENT);
	/* Not const for the sake of its writers; it is opened for reading. */
	return debug_info_begin(ret, elf_memory((char *)(uintptr_t)bytes.data, bytes.size), name,
				err);
}

void debug_info_set_alt(struct debug_info *d, struct debug_info *alt)
{
	dwarf_setalt(d->dw, alt->dw);
}

void debug_info_deduce_inlined(struct debug_info *d)
{
	d->walk.deduces_inlined = true;
}

struct add_range {
	struct debug_info *d;
	uint32_t unit;
};

static int add_range(void *data, uint64_t low, uint64_t high)
{
	struct add_range *a = data;
	struct unit_range r = { .low = low, .high = high, .unit = a->unit };
	return vec_push(&a->d->ranges, r);
}

static int compare_ranges(const void *va, const void *vb)
{
	const struct unit_range *a = va, *b = vb;
	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	if (a->high != b->high)
		return a->high > b->high ? -1 : 1;
	return a->unit < b->unit ? -1 : a->unit > b->unit;
}

static void sort_ranges(struct debug_info *d)
{
	if (d->ranges.len)
		qsort(d->ranges.data, d->ranges.len, sizeof(*d->ranges.data), compare_ranges);
	uint64_t max = 0;
	vec_for_each(&d->ranges, r) {
		max = r->high > max ? r->high : max;
		r->max_high = max;
	}
}

static int add_unit(struct debug_info *d, uint8_t type, const Dwarf_Die *cu, const Dwarf_Die *split)
{
	if (type != DW_UT_compile && type != DW_UT_skeleton)
		return 0;
	struct unit u = { .lines_die = *cu, .die = type == DW_UT_skeleton ? *split : *cu };
	if (type == DW_UT_skeleton && !split->addr) /* its file is not here */
		u.die = *cu;
	if (vec_push(&d->units, u) < 0)
		return -ENOMEM;
	struct add_range a = { .d = d, .unit = (uint32_t)d->units.len - 1 };
	size_t before = d->ranges.len;
	Dwarf_Die die = *cu;
	int rc = walk_ranges(&d->walk, &die, add_range, &a);
	if (rc < 0)
		return rc;
	if (d->ranges.len == before && dwarf_haschildren(&die) == 1 &&
	    dwarf_hasattr(&die, DW_AT_stmt_list) && !dwarf_hasattr(&die, DW_AT_ranges) &&
	    !dwarf_hasattr(&die, DW_AT_low_pc))
		return vec_push(&d->unranged, a.unit);
	return 0;
}

static int list_units(struct debug_info *d)
{
	while (!d->is_listed) {
		Dwarf_CU *cu = NULL;
		Dwarf_Die die, split = { 0 };
		uint8_t type;
		int rc = walk_step(&d->walk);
		if (rc < 0)
			return rc;
		/* Damage ends the list where it is. */
		if (dwarf_get_units(d->dw, d->last_cu, &cu, NULL, &type, &die, &split) != 0) {
			d->is_listed = true;
			sort_ranges(d);
			break;
		}
		d->last_cu = cu;
		rc = add_unit(d, type, &die, &split);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Ask the units that do not say where their code lies for their functions, once. */
static int list_unranged(struct debug_info *d)
{
	while (d->unranged.len) {
		uint32_t index = *vec_last(&d->unranged);
		struct unit *u = &d->units.data[index];
		int rc = unit_read_functions(u, &d->walk, false);
		if (rc < 0)
			return rc;
		vec_for_each(&u->functions, f) {
			struct unit_range r = { .low = f->low, .high = f->high, .unit = index };
			if (vec_push(&d->ranges, r) < 0)
				return -ENOMEM;
		}
		d->unranged.len--;
	}
	sort_ranges(d);
	return 0;
}

/* Ask the units that claim @vaddr, the one whose range starts last first. */
static int ask_units(struct debug_info *d, uint64_t vaddr, struct debug_place *ret)
{
	size_t below = bisect(d->ranges.len, i, d->ranges.data[i].low <= vaddr);

	unsigned asked = 0;
	for (size_t i = below; i-- > 0 && d->ranges.data[i].max_high > vaddr;) {
		if (d->ranges.data[i].high <= vaddr)
			continue;
		int rc = unit_at(&d->units.data[d->ranges.data[i].unit], &d->walk, vaddr, ret);
		if (rc != -ENOENT)
			return rc;
		if (++asked == OVERLAPS_MAX)
			break;
	}
	return -ENOENT;
}

int debug_info_at(struct debug_info *d, uint64_t vaddr, uint64_t deadline_ns,
		  struct debug_place *ret)
{
	d->walk.deadline_ns = deadline_ns;
	d->walk.steps = 0;
	int rc = list_units(d);
	if (rc < 0)
		return rc;
	rc = ask_units(d, vaddr, ret);
	if (rc != -ENOENT || !d->unranged.len)
		return rc;
	rc = list_unranged(d);
	if (rc < 0)
		return rc;
	return ask_units(d, vaddr, ret);
}
