/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libunwind, for the rules that a row cannot say. It tracks all registers, so it has to walk from the
 * innermost frame; all it reads comes from the copy and from the objects' files.
 */
#include "unwind/copy.h"

#include <elf.h>
#include <libunwind.h>
#include <string.h>

/* Exported by libunwind-x86_64 for users with address spaces of their own, and declared by each of
 * them (so does perf): libunwind 1.1 and later. */
extern int _Ux86_64_dwarf_search_unwind_table(unw_addr_space_t as, unw_word_t ip,
					      unw_dyn_info_t *di, unw_proc_info_t *pi,
					      int need_unwind_info, void *arg);

/* Steps from the innermost frame to the one wanted; what is deeper is left alone. */
#define ODD_STEPS_MAX 256u

struct unwind_odd {
	const struct unwind_space *space;
	const struct unwind_copy *copy;
	/* Whose call frame information is being read: found for the frame that libunwind is at. */
	const struct unwind_mapping *mapping;
	const struct unwind_object *object;
	unw_addr_space_t as;
	unw_cursor_t cursor;
	unsigned steps;
};

static int access_mem(unw_addr_space_t as, unw_word_t address, unw_word_t *value, int write,
		      void *arg)
{
	const struct unwind_odd *odd = arg;
	uint64_t word;

	(void)as;
	if (write)
		return -UNW_EINVAL;
	if (unwind_copy_word(odd->copy, address, &word) < 0 &&
	    (!odd->object ||
	     elf_read_vaddr(odd->object->elf,
			    unwind_object_address(odd->object, odd->mapping, address), &word,
			    sizeof(word)) < 0))
		return -UNW_EINVAL;
	*value = word;
	return 0;
}

/* libunwind's numbers are DWARF's on x86-64. */
static int access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *value, int write,
		      void *arg)
{
	const struct unwind_odd *odd = arg;

	(void)as;
	if (write || reg < 0 || reg >= UNWIND_REG_COUNT)
		return -UNW_EBADREG;
	*value = odd->copy->regs[reg];
	return 0;
}

static int access_fpreg(unw_addr_space_t as, unw_regnum_t reg, unw_fpreg_t *value, int write,
			void *arg)
{
	(void)as, (void)reg, (void)value, (void)write, (void)arg;
	return -UNW_EINVAL;
}

static int get_dyn_info_list_addr(unw_addr_space_t as, unw_word_t *ret, void *arg)
{
	(void)as, (void)ret, (void)arg;
	return -UNW_ENOINFO;
}

static void put_unwind_info(unw_addr_space_t as, unw_proc_info_t *info, void *arg)
{
	(void)as, (void)info, (void)arg;
}

static int resume(unw_addr_space_t as, unw_cursor_t *cursor, void *arg)
{
	(void)as, (void)cursor, (void)arg;
	return -UNW_EINVAL;
}

static int get_proc_name(unw_addr_space_t as, unw_word_t ip, char *name, size_t size,
			 unw_word_t *offset, void *arg)
{
	(void)as, (void)ip, (void)name, (void)size, (void)offset, (void)arg;
	return -UNW_ENOINFO;
}

/* Where in the object .eh_frame_hdr is, and how many FDEs its table has. */
static int search_table(struct elf_file *elf, uint64_t *ret_address, uint32_t *ret_count)
{
	/* version 1; eh_frame pcrel sdata4; count udata4; table datarel sdata4 */
	static const uint8_t usual[] = { 1, 0x1b, 0x03, 0x3b };
	uint8_t head[12];

	for (size_t i = 0; i < elf_segment_count(elf); i++) {
		struct elf_segment s = elf_segment_get(elf, i);
		if (s.type != PT_GNU_EH_FRAME)
			continue;
		if (elf_read_vaddr(elf, s.vaddr, head, sizeof(head)) < 0 ||
		    memcmp(head, usual, sizeof(usual)))
			return -1;
		memcpy(ret_count, head + 8, sizeof(*ret_count));
		if (*ret_count > s.memory_bytes / 8)
			return -1;
		*ret_address = s.vaddr;
		return 0;
	}
	return -1;
}

static int find_proc_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *info, int need,
			  void *arg)
{
	struct unwind_odd *odd = arg;
	const struct unwind_mapping *mapping = unwind_space_find(odd->space, ip);
	const struct unwind_object *object = unwind_space_object(odd->space, mapping);
	unw_dyn_info_t table = { .format = UNW_INFO_FORMAT_REMOTE_TABLE };
	uint64_t address;
	uint32_t count;

	if (!object || !object->elf || search_table(object->elf, &address, &count) < 0)
		return -UNW_ENOINFO;
	odd->mapping = mapping;
	odd->object = object;
	table.start_ip = mapping->start;
	table.end_ip = mapping->end;
	table.u.rti.segbase = address - object->table->base + mapping->base;
	table.u.rti.table_data = table.u.rti.segbase + 12;
	table.u.rti.table_len = (unw_word_t)count * 8 / sizeof(unw_word_t);
	return _Ux86_64_dwarf_search_unwind_table(as, ip, &table, info, need, arg);
}

static int odd_new(struct unwind_odd **ret, const struct unwind_space *space,
		   const struct unwind_copy *copy)
{
	static unw_accessors_t accessors = {
		.find_proc_info = find_proc_info,
		.put_unwind_info = put_unwind_info,
		.get_dyn_info_list_addr = get_dyn_info_list_addr,
		.access_mem = access_mem,
		.access_reg = access_reg,
		.access_fpreg = access_fpreg,
		.resume = resume,
		.get_proc_name = get_proc_name,
	};
	CLEANUP(unwind_odd_free) struct unwind_odd *odd = calloc(1, sizeof(*odd));

	if (!odd)
		return -1;
	odd->space = space;
	odd->copy = copy;
	odd->as = unw_create_addr_space(&accessors, 0);
	if (!odd->as || unw_init_remote(&odd->cursor, odd->as, odd) < 0)
		return -1;
	*ret = TAKE(odd);
	return 0;
}

void unwind_odd_free(struct unwind_odd *odd)
{
	if (!odd)
		return;
	if (odd->as)
		unw_destroy_addr_space(odd->as);
	free(odd);
}

static bool odd_is_at(struct unwind_odd *odd, const struct unwind_state *state)
{
	unw_word_t ip = 0, sp = 0;

	return unw_get_reg(&odd->cursor, UNW_REG_IP, &ip) == 0 && ip == state->pc &&
	       unw_get_reg(&odd->cursor, UNW_REG_SP, &sp) == 0 && sp == state->sp;
}

enum unwind_result unwind_odd_step(struct unwind_odd **odd, const struct unwind_space *space,
				   const struct unwind_copy *copy, struct unwind_state *state)
{
	unw_word_t ip, sp, fp;

	if (!copy->regs || (!*odd && odd_new(odd, space, copy) < 0))
		return UNWIND_UNSUPPORTED;
	while (!odd_is_at(*odd, state)) {
		if ((*odd)->steps++ == ODD_STEPS_MAX || unw_step(&(*odd)->cursor) <= 0)
			return UNWIND_UNSUPPORTED;
	}
	if (unw_step(&(*odd)->cursor) <= 0 || unw_get_reg(&(*odd)->cursor, UNW_REG_IP, &ip) < 0 ||
	    unw_get_reg(&(*odd)->cursor, UNW_REG_SP, &sp) < 0 ||
	    unw_get_reg(&(*odd)->cursor, UNW_X86_64_RBP, &fp) < 0 || sp <= state->sp)
		return UNWIND_UNSUPPORTED;
	*state = (struct unwind_state){ .pc = ip, .sp = sp, .fp = fp, .has_fp = 1, .is_return = 1 };
	return UNWIND_OK;
}
