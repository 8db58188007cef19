/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libunwind, for the rules that a row cannot say. It tracks all registers, so it has to walk from the
 * innermost frame; all it reads comes from the copy and from the objects' files. What it guesses where
 * there is no unwind information is no better than what we would look for, so it ends there.
 */
#include "unwind/copy.h"

#include <elf.h>
#include <libunwind.h>
#include <string.h>

/* Exported by libunwind for users with address spaces of their own, and declared by each of them (so
 * does perf): libunwind 1.1 and later. */
#define search_unwind_table UNW_OBJ(dwarf_search_unwind_table)
extern int search_unwind_table(unw_addr_space_t as, unw_word_t ip, unw_dyn_info_t *di,
			       unw_proc_info_t *pi, int need_unwind_info, void *arg);

/* What the accessors work on. */
struct subject {
	const struct unwind_space *space;
	const struct unwind_copy *copy;
	/* Whose call frame information is being read: found for the frame that libunwind is at. */
	const struct unwind_mapping *mapping;
	const struct unwind_object *object;
	struct elf_file *elf;
	const struct unwind_elves *elves;
	bool is_lost; /* no unwind information for the frame that was stepped from */
};

static int access_mem(unw_addr_space_t as, unw_word_t address, unw_word_t *value, int write,
		      void *arg)
{
	const struct subject *s = arg;
	uint64_t word;

	(void)as;
	if (write)
		return -UNW_EINVAL;
	if (unwind_copy_word(s->copy, address, &word) < 0 &&
	    (!s->elf ||
	     elf_read_vaddr(s->elf, unwind_object_address(s->object, s->mapping, address), &word,
			    sizeof(word)) < 0))
		return -UNW_EINVAL;
	*value = word;
	return 0;
}

/* libunwind's numbers are DWARF's on x86-64. */
static int access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *value, int write,
		      void *arg)
{
	const struct subject *s = arg;

	(void)as;
	if (write || reg < 0 || reg >= UNWIND_REG_COUNT)
		return -UNW_EBADREG;
	*value = s->copy->regs[reg];
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
	struct subject *s = arg;
	const struct unwind_mapping *mapping = unwind_space_find(s->space, ip);
	const struct unwind_object *object = unwind_space_object(s->space, mapping);
	unw_dyn_info_t table = { .format = UNW_INFO_FORMAT_REMOTE_TABLE };
	struct elf_file *elf = object ? object->elf : NULL;
	uint64_t address;
	uint32_t count;

	if (object && !elf && s->elves)
		elf = s->elves->get(s->elves->data, mapping->table);
	if (!elf || search_table(elf, &address, &count) < 0) {
		s->is_lost = true;
		return -UNW_ENOINFO;
	}
	s->mapping = mapping;
	s->object = object;
	s->elf = elf;
	table.start_ip = mapping->start;
	table.end_ip = mapping->end;
	table.u.rti.segbase = address - object->table->base + mapping->base;
	table.u.rti.table_data = table.u.rti.segbase + 12;
	table.u.rti.table_len = (unw_word_t)count * 8 / sizeof(unw_word_t);
	int rc = search_unwind_table(as, ip, &table, info, need, arg);
	s->is_lost |= rc < 0;
	return rc;
}

int unwind_libunwind_walk(void *data, const struct unwind_space *space,
			  const struct unwind_copy *copy, struct unwind_frame *frames, size_t max)
{
	unw_accessors_t accessors = {
		.find_proc_info = find_proc_info,
		.put_unwind_info = put_unwind_info,
		.get_dyn_info_list_addr = get_dyn_info_list_addr,
		.access_mem = access_mem,
		.access_reg = access_reg,
		.access_fpreg = access_fpreg,
		.resume = resume,
		.get_proc_name = get_proc_name,
	};
	struct subject s = { .space = space, .copy = copy, .elves = data };
	unw_addr_space_t as = unw_create_addr_space(&accessors, 0);
	unw_cursor_t cursor;
	size_t count = 0;

	if (!as)
		return -1;
	if (copy->regs && unw_init_remote(&cursor, as, &s) == 0) {
		do {
			unw_word_t pc, sp, fp;
			if (unw_get_reg(&cursor, UNW_REG_IP, &pc) < 0 ||
			    unw_get_reg(&cursor, UNW_REG_SP, &sp) < 0 ||
			    unw_get_reg(&cursor, UNWIND_REG_FP, &fp) < 0 || !pc)
				break;
			frames[count++] = (struct unwind_frame){ pc, sp, fp };
		} while (count < max && unw_step(&cursor) > 0 && !s.is_lost);
	}
	unw_destroy_addr_space(as);
	return (int)count;
}
