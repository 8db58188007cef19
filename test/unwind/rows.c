/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the unwind table of an ELF file, a row a line, for oracle.py:
 *
 *	0x401136 sp+16 fp=cfa-16
 */
#include "elf/elf.h"
#include "unwind/table.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

static void print_fp(const struct unwind_row *row)
{
	switch (unwind_row_fp(row)) {
	case UNWIND_FP_SAME:
		printf(" fp=same\n");
		break;
	case UNWIND_FP_CFA:
		printf(" fp=cfa%+d\n", 8 * row->fp);
		break;
	case UNWIND_FP_DEREF:
		printf(" fp=fp%+d\n", 8 * row->fp);
		break;
	case UNWIND_FP_UNKNOWN:
		printf(" fp=unknown\n");
		break;
	}
}

static void print_row(uint64_t base, const struct unwind_row *row)
{
	unsigned param = row->param;
	int low = 8 * (int8_t)(param & 0xff);
	unsigned high = 8 * (param >> 8);

	printf("0x%" PRIx64 " ", base + row->pc);
	switch (unwind_row_cfa(row)) {
	case UNWIND_CFA_END:
		printf("end");
		break;
	case UNWIND_CFA_STOP:
		printf("stop");
		break;
	case UNWIND_CFA_SP:
		printf("sp+%u", 8 * param);
		break;
	case UNWIND_CFA_FP:
		printf("fp+%u", 8 * param);
		break;
	case UNWIND_CFA_PLT:
		printf("plt %u", param);
		break;
	case UNWIND_CFA_DEREF_FP:
		printf("*(fp%+d)+%u", low, high);
		break;
	case UNWIND_CFA_DEREF_SP:
		printf("*(sp%+d)+%u", low, high);
		break;
	case UNWIND_CFA_SIGNAL:
		printf("signal");
		break;
	case UNWIND_CFA_REG:
		printf("r%u+%u", param & 0xf, 8 * (param >> 4));
		break;
	case UNWIND_CFA_RA_REG:
		printf("sp+%u ra=r%u", 8 * (param >> 4), param & 0xf);
		break;
	case UNWIND_CFA_UNSUPPORTED:
	case UNWIND_CFA_COUNT:
		printf("unsupported");
		break;
	}
	print_fp(row);
}

int main(int argc, char **argv)
{
	CLEANUP(unwind_table_release) struct unwind_table table = { 0 };
	CLEANUP(elf_close) struct elf_file *elf = NULL;
	CLEANUP_CLOSE int fd = -1;
	struct err err = { 0 };

	if (argc != 2)
		return 2;
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || elf_open_fd(&elf, fd, argv[1], 0, &err) < 0 ||
	    unwind_table_build(elf, &table, NULL, &err) < 0 ||
	    unwind_table_check(&table, &err) < 0) {
		fprintf(stderr, "%s: %s\n", argv[1], err.text);
		return 1;
	}
	for (uint32_t i = 0; i < table.rows; i++)
		print_row(table.base, &table.cells[table.pages + i].row);
	return 0;
}
