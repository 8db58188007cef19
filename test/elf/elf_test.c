/* SPDX-License-Identifier: Apache-2.0 */
/* Headers, segments, sections and build-ids of real files, compared with readelf's view of them. */
#include "unit.h"

#include "elf/elf.h"
#include "elf/system_files.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <sys/mman.h>

struct listing {
	struct elf_file *elf;
	size_t next, checked;
};

/* "  LOAD  0x028000 0x0000000000028000 0x0000000000028000 0x155f25 0x155f25 R E 0x1000" */
static void check_segment(void *data, char *line)
{
	struct listing *l = data;
	char type[32], flags[4];
	unsigned long offset, vaddr, paddr, file_bytes, memory_bytes;

	if (sscanf(line, " %31s 0x%lx 0x%lx 0x%lx 0x%lx 0x%lx %3[RWE ]", type, &offset, &vaddr,
		   &paddr, &file_bytes, &memory_bytes, flags) != 7)
		return;
	struct elf_segment s = elf_segment_get(l->elf, l->next++);
	assert_int_equal(s.offset, offset);
	assert_int_equal(s.vaddr, vaddr);
	assert_int_equal(s.file_bytes, file_bytes);
	assert_int_equal(s.memory_bytes, memory_bytes);
	assert_int_equal(!!(s.flags & PF_X), strchr(flags, 'E') != NULL);
	assert_int_equal(s.type == PT_LOAD, strcmp(type, "LOAD") == 0);
	l->checked++;
}

/* "  [ 1] .note.gnu.property NOTE  0000000000000350 000350 000020 00   A  0   0  8" */
static void check_section(void *data, char *line)
{
	struct listing *l = data;
	unsigned index;
	char name[128], type[32];
	unsigned long addr, offset, size;

	if (sscanf(line, " [%u] %127s %31s %lx %lx %lx", &index, name, type, &addr, &offset,
		   &size) != 6 ||
	    !index)
		return;
	struct elf_section s = elf_section_get(l->elf, index), found;
	assert_string_equal(s.name, name);
	assert_int_equal(s.addr, addr);
	assert_int_equal(s.offset, offset);
	assert_int_equal(s.size, size);
	assert_int_equal(s.type == SHT_NOBITS, strcmp(type, "NOBITS") == 0);
	assert_int_equal(elf_section_find(l->elf, name, &found), 0);
	assert_string_equal(found.name, name);
	l->checked++;
}

static void check_build_id(void *data, char *line)
{
	struct listing *l = data;
	const char *text = strstr(line, "Build ID: ");
	struct elf_build_id id;
	char hex[2 * ELF_BUILD_ID_MAX + 1] = "";

	if (!text)
		return;
	assert_int_equal(elf_build_id(l->elf, &id), 0);
	for (size_t i = 0; i < id.size; i++)
		snprintf(hex + 2 * i, 3, "%02x", id.bytes[i]);
	assert_string_equal(hex, text + strlen("Build ID: "));
	l->checked++;
}

static size_t compare(struct elf_file *elf, const char *option, const char *path,
		      void (*fn)(void *data, char *line))
{
	char command[PATH_MAX + 64];
	struct listing l = { .elf = elf };

	snprintf(command, sizeof(command), "readelf -W %s '%s' 2>/dev/null", option, path);
	assert_true(command_lines(command, fn, &l) > 0);
	return l.checked;
}

static void test_like_readelf(void **state)
{
	(void)state;
	unsigned files = 0, with_build_id = 0;

	for (size_t i = 0; i < ARRAY_SIZE(system_files); i++) {
		char buffer[PATH_MAX];
		const char *path = system_file_path(i, buffer);
		if (!path)
			continue;
		CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
		assert_true(fd >= 0);
		struct err err;
		CLEANUP(elf_close) struct elf_file *elf = NULL;
		assert_int_equal(elf_open_fd(&elf, fd, path, i % 2 ? ELF_OPEN_MAP : 0, &err), 0);

		assert_int_equal(elf_header(elf).machine, EM_X86_64);
		assert_int_equal(compare(elf, "-l", path, check_segment), elf_segment_count(elf));
		/* All but section 0, whose name readelf prints as nothing. */
		assert_int_equal(compare(elf, "-S", path, check_section),
				 elf_section_count(elf) - 1);
		with_build_id += (unsigned)compare(elf, "-n", path, check_build_id);
		files++;
	}
	assert_true(files >= 4);
	assert_true(with_build_id >= 3);
}

/* The kernel decides what is mapped where: an address of ours, its line in maps, and back. */
static void test_offset_of_running_code(void **state)
{
	(void)state;
	uint64_t here = (uint64_t)(uintptr_t)test_offset_of_running_code;
	CLEANUP_FCLOSE FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start, end, offset;
	char line[1024], perms[8];
	struct err err;

	CLEANUP_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CLEANUP(elf_close) struct elf_file *elf = NULL;
	assert_int_equal(elf_open_fd(&elf, fd, "self", 0, &err), 0);
	while (fgets(line, sizeof(line), maps)) {
		assert_int_equal(sscanf(line, "%lx-%lx %7s %lx", &start, &end, perms, &offset), 4);
		if (here >= start && here < end)
			break;
	}
	uint64_t vaddr, back, file_offset = here - start + offset;
	assert_int_equal(elf_offset_to_vaddr(elf, file_offset, &vaddr), 0);
	assert_int_equal(elf_vaddr_to_offset(elf, vaddr, &back), 0);
	assert_int_equal(back, file_offset);

	uint8_t code[32];
	assert_int_equal(elf_read_vaddr(elf, vaddr, code, sizeof(code)), 0);
	assert_memory_equal(code, (const void *)(uintptr_t)here, sizeof(code));
	assert_int_equal(elf_read(elf, file_offset, code, sizeof(code)), 0);
	assert_memory_equal(code, (const void *)(uintptr_t)here, sizeof(code));
}

static volatile int zeros[100];

static void test_bss_reads_as_zero(void **state)
{
	(void)state;
	struct err err;
	CLEANUP_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CLEANUP(elf_close) struct elf_file *elf = NULL;
	assert_int_equal(elf_open_fd(&elf, fd, "self", 0, &err), 0);
	zeros[0] = 1;

	struct elf_section bss;
	assert_int_equal(elf_section_find(elf, ".bss", &bss), 0);
	uint8_t data[16];
	uint64_t offset;
	memset(data, 0xff, sizeof(data));
	assert_int_equal(elf_read_vaddr(elf, bss.addr + bss.size - 16, data, sizeof(data)), 0);
	for (size_t i = 0; i < sizeof(data); i++)
		assert_int_equal(data[i], 0);
	assert_int_equal(elf_vaddr_to_offset(elf, bss.addr + bss.size - 16, &offset), -ENOENT);
	assert_int_equal(elf_read_vaddr(elf, bss.addr + bss.size + 65536, data, 1), -EBADMSG);
	struct span empty;
	assert_int_equal(elf_section_data(elf, &bss, &empty, &err), 0);
	assert_int_equal(empty.size, 0);
}

/* The same section stored plain and compressed by binutils. */
static void check_compressed(const char *how)
{
	char command[PATH_MAX + 256], plain[PATH_MAX], packed[PATH_MAX];
	char self[PATH_MAX];
	struct err err;

	assert_non_null(realpath("/proc/self/exe", self));
	snprintf(plain, sizeof(plain), "%s/elf_test_plain.%d", TEST_BINARY_DIR, getpid());
	snprintf(packed, sizeof(packed), "%s/elf_test_%s.%d", TEST_BINARY_DIR, how, getpid());
	snprintf(command, sizeof(command),
		 "objcopy --decompress-debug-sections '%s' '%s' && "
		 "objcopy --compress-debug-sections=%s '%s' '%s' 2>/dev/null",
		 self, plain, how, plain, packed);
	if (system(command) != 0) { /* NOLINT(cert-env33-c) */
		print_message("objcopy here cannot do %s\n", how);
		skip();
	}

	CLEANUP_CLOSE int fd_plain = open(plain, O_RDONLY | O_CLOEXEC);
	CLEANUP_CLOSE int fd_packed = open(packed, O_RDONLY | O_CLOEXEC);
	unlink(plain);
	unlink(packed);
	CLEANUP(elf_close) struct elf_file *a = NULL, *b = NULL;
	assert_int_equal(elf_open_fd(&a, fd_plain, plain, 0, &err), 0);
	assert_int_equal(elf_open_fd(&b, fd_packed, packed, ELF_OPEN_MAP, &err), 0);
	struct elf_section sa, sb;
	struct span da, db, again;
	assert_int_equal(elf_section_find(a, ".debug_info", &sa), 0);
	assert_int_equal(elf_section_find(b, ".debug_info", &sb), 0);
	assert_true(sb.flags & SHF_COMPRESSED);
	assert_true(sb.size < sa.size);
	assert_int_equal(elf_section_data(a, &sa, &da, &err), 0);
	assert_int_equal(elf_section_data(b, &sb, &db, &err), 0);
	assert_int_equal(da.size, db.size);
	assert_memory_equal(da.data, db.data, da.size);
	assert_int_equal(elf_section_data(b, &sb, &again, &err), 0);
	assert_ptr_equal(again.data, db.data);
}

static void test_zlib_section(void **state)
{
	(void)state;
	check_compressed("zlib");
}

static void test_zstd_section(void **state)
{
	(void)state;
	check_compressed("zstd");
}

static void test_not_elf(void **state)
{
	(void)state;
	struct err err;
	struct elf_file *elf = NULL;
	uint8_t bytes[64] = { 0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, 1 };

	assert_int_equal(elf_open_memory(&elf, span_of("#!/bin/sh\n", 10), "script", &err),
			 -EBADMSG);
	assert_string_equal(err.text, "'script' is not an ELF file");
	assert_int_equal(elf_open_memory(&elf, span_of(bytes, sizeof(bytes)), "old", &err),
			 -ENOTSUP);
	assert_int_equal(elf_open_memory(&elf, span_of(NULL, 0), "empty", &err), -EBADMSG);
	CLEANUP_CLOSE int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(elf_open_fd(&elf, fd, "/dev/null", 0, &err), -EBADMSG);
	assert_null(elf);
}

/* Section headers beyond 65279 are counted in section 0 (gABI). */
static void test_lies(void **state)
{
	(void)state;
	struct err err;
	struct elf_file *elf = NULL;
	struct {
		Elf64_Ehdr eh;
		Elf64_Shdr sh[2];
	} image = {
		.eh = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_DYN,
			.e_shoff = sizeof(Elf64_Ehdr),
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = 0 },
		.sh = { [0] = { .sh_size = 2 },
			[1] = { .sh_type = SHT_PROGBITS, .sh_offset = 60, .sh_size = UINT64_MAX } },
	};
	struct span bytes = span_of(&image, sizeof(image)), data;

	assert_int_equal(elf_open_memory(&elf, bytes, "x", &err), 0);
	assert_int_equal(elf_section_count(elf), 2);
	struct elf_section s = elf_section_get(elf, 1);
	assert_int_equal(elf_section_data(elf, &s, &data, &err), -EBADMSG);
	elf_close(elf);
	elf = NULL;

	image.sh[0].sh_size = 1ull << 60;
	assert_int_equal(elf_open_memory(&elf, bytes, "x", &err), -EBADMSG);
	image.sh[0].sh_size = 3;
	assert_int_equal(elf_open_memory(&elf, bytes, "x", &err), -EBADMSG);
	image.sh[0].sh_size = 2;
	image.eh.e_shentsize = 32;
	assert_int_equal(elf_open_memory(&elf, bytes, "x", &err), -EBADMSG);
	assert_null(elf);
}

/* A section that says it inflates to a petabyte, and one that is only a header. */
static void test_compression_lies(void **state)
{
	(void)state;
	struct err err;
	struct {
		Elf64_Ehdr eh;
		Elf64_Shdr sh[2];
		Elf64_Chdr ch;
		uint8_t data[8];
	} image = {
		.eh = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_shoff = sizeof(Elf64_Ehdr),
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = 2 },
		.sh[1] = { .sh_type = SHT_PROGBITS,
			   .sh_flags = SHF_COMPRESSED,
			   .sh_offset = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Shdr),
			   .sh_size = sizeof(Elf64_Chdr) + 8 },
	};
	static const struct {
		uint32_t type;
		uint64_t size, stored;
		int rc;
	} cases[] = {
		{ ELFCOMPRESS_ZLIB, 1ull << 50, sizeof(Elf64_Chdr) + 8, -EFBIG },
		{ ELFCOMPRESS_ZLIB, 1ull << 29, sizeof(Elf64_Chdr) + 8, -EBADMSG },
		{ ELFCOMPRESS_ZLIB, 100, sizeof(Elf64_Chdr) + 8, -EBADMSG },
		{ 2, 100, sizeof(Elf64_Chdr) + 8, -EBADMSG },
		{ 77, 100, sizeof(Elf64_Chdr) + 8, -ENOTSUP },
		{ ELFCOMPRESS_ZLIB, 0, 5, -EBADMSG },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		image.ch.ch_type = cases[i].type;
		image.ch.ch_size = cases[i].size;
		image.sh[1].sh_size = cases[i].stored;
		CLEANUP(elf_close) struct elf_file *elf = NULL;
		struct span data;
		assert_int_equal(elf_open_memory(&elf, span_of(&image, sizeof(image)), "x", &err),
				 0);
		struct elf_section s = elf_section_get(elf, 1);
		assert_int_equal(elf_section_data(elf, &s, &data, &err), cases[i].rc);
	}
}

/* Of a file that a stranger has made to cost what it can, a lean reader takes next to nothing. */
static void test_lean(void **state)
{
	(void)state;
	struct err err;
	CLEANUP_CLOSE int fd = memfd_create("hostile", 0);
	CLEANUP(elf_close) struct elf_file *elf = NULL, *many = NULL;
	struct {
		Elf64_Ehdr eh;
		Elf64_Phdr ph;
		Elf64_Shdr sh[3];
	} image = {
		.eh = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_phoff = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 1,
			.e_shoff = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr),
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = 3,
			.e_shstrndx = 1 },
		.ph = { .p_type = PT_LOAD, .p_vaddr = 0x1000, .p_filesz = 0x2000 },
		.sh[1] = { .sh_type = SHT_STRTAB, .sh_offset = 4096, .sh_size = 1ull << 40 },
		.sh[2] = { .sh_type = SHT_PROGBITS,
			   .sh_offset = 4096,
			   .sh_size = ELF_LEAN_SECTION_BYTES_MAX + 1 },
	};
	struct span data;
	uint64_t vaddr;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)1 << 41), 0);
	assert_int_equal(pwrite(fd, &image, sizeof(image), 0), sizeof(image));
	assert_int_equal(elf_open_fd(&elf, fd, "x", ELF_OPEN_LEAN, &err), 0);
	assert_int_equal(elf_section_count(elf), 3);
	struct elf_section s = elf_section_get(elf, 2);
	assert_string_equal(s.name, "");
	assert_int_equal(elf_section_data(elf, &s, &data, &err), -EFBIG);
	elf_forget_sections(elf);
	assert_int_equal(elf_section_count(elf), 0);
	assert_int_equal(elf_section_find(elf, ".text", &s), -ENOENT);
	assert_int_equal(elf_offset_to_vaddr(elf, 0x1234, &vaddr), 0);
	assert_int_equal(vaddr, 0x2234);

	image.eh.e_shnum = ELF_LEAN_SECTIONS_MAX + 1;
	assert_int_equal(pwrite(fd, &image, sizeof(image), 0), sizeof(image));
	assert_int_equal(elf_open_fd(&many, fd, "x", ELF_OPEN_LEAN, &err), 0);
	assert_int_equal(elf_section_count(many), 0);
	image.eh.e_phnum = ELF_LEAN_SEGMENTS_MAX + 1;
	assert_int_equal(pwrite(fd, &image, sizeof(image), 0), sizeof(image));
	elf_close(TAKE(many));
	assert_int_equal(elf_open_fd(&many, fd, "x", ELF_OPEN_LEAN, &err), -EBADMSG);
	assert_string_equal(err.text, "'x': more than 64 segments");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_like_readelf),
		cmocka_unit_test(test_offset_of_running_code),
		cmocka_unit_test(test_bss_reads_as_zero),
		cmocka_unit_test(test_zlib_section),
		cmocka_unit_test(test_zstd_section),
		cmocka_unit_test(test_not_elf),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_compression_lies),
		cmocka_unit_test(test_lean),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
