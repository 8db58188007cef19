/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostile SECONDS FOLDER link|fifo|map: what a program can do to whoever records it, all at once and as fast
 * as it goes, with files in FOLDER:
 *
 *	names of threads and programs that are orders to a terminal, and new ones all the time
 *	libraries that are cut off and grow again while they are mapped
 *	sparse files whose tables are as large as a file can say, under the names of libraries that are probed
 *	a perf map that is a link to what only root can read, a FIFO, or full of lies; a jitdump of noise
 *	files, threads, processes and mappings that come and go
 *	code in memory without a file, and stacks as deep as they get
 *
 * The perf map stays when it ends, for that is when it is read; FOLDER/map is a link to it.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double end;
static const char *folder;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void burn(void)
{
	for (volatile int i = 0; i < 20000; i++)
		;
}

static void rename_thread(void)
{
	static long number;
	char name[16];

	snprintf(name, sizeof(name), "\033]0;%ld\a\xff", number++);
	prctl(PR_SET_NAME, name);
	burn();
}

static int make_file(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	unlink(path);
	return open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0755);
}

/* A copy of what is running here. */
static void cut_off(void)
{
	static int number;
	char name[32], bytes[1 << 16];
	off_t size = 0;
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	snprintf(name, sizeof(name), "cut%d.so", number++ % 50);
	int fd = make_file(name);
	for (ssize_t n; (n = read(from, bytes, sizeof(bytes))) > 0; size += n)
		if (write(fd, bytes, (size_t)n) != n)
			break;
	close(from);
	void *map = mmap(NULL, (size_t)size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	for (int i = 0; i < 20; i++)
		if (ftruncate(fd, 4096) < 0 || ftruncate(fd, size) < 0)
			break;
	if (ftruncate(fd, 100) == 0)
		munmap(map, (size_t)size);
	close(fd);
}

/* Section names of a gigabyte and eight million symbols, of nothing. */
static void make_huge(void)
{
	static const char *const names[] = { "libOpenCL.so.1", "libcuda.so.1", "libpython3.11.so",
					     "libze_loader.so.1", "libother.so" };
	static unsigned number;
	struct {
		Elf64_Ehdr e;
		Elf64_Phdr p;
		Elf64_Shdr s[3];
	} f = {
		.e = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		       .e_type = ET_DYN,
		       .e_machine = EM_X86_64,
		       .e_phoff = sizeof(Elf64_Ehdr),
		       .e_phentsize = sizeof(Elf64_Phdr),
		       .e_phnum = 1,
		       .e_shoff = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr),
		       .e_shentsize = sizeof(Elf64_Shdr),
		       .e_shnum = 3,
		       .e_shstrndx = 1 },
		.p = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = 4096 },
		.s[1] = { .sh_type = SHT_STRTAB, .sh_offset = 4096, .sh_size = 1 << 30 },
		.s[2] = { .sh_type = SHT_DYNSYM,
			  .sh_offset = 4096,
			  .sh_size = 24 << 23,
			  .sh_link = 1 },
	};
	int fd = make_file(names[number++ % 5]);

	if (write(fd, &f, sizeof(f)) == sizeof(f) && ftruncate(fd, 3ll << 30) == 0) {
		void *map = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		usleep(20000); /* so that it can be looked at */
		munmap(map, 4096);
	}
	close(fd);
}

static void come_and_go(void)
{
	void *map;
	int fd = memfd_create("\033]0;file\a", MFD_CLOEXEC);

	if (ftruncate(fd, 8192) == 0) {
		map = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		mprotect(map, 4096, PROT_READ);
		mprotect(map, 4096, PROT_READ | PROT_EXEC);
		munmap(map, 8192);
	}
	close(fd);
	pid_t child = fork();
	if (child == 0) {
		execl("/bin/true", "\033]0;argument\a\xff", (char *)NULL);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

/* dec rdi; jnz; ret: at ten thousand places. */
static void run_without_file(void)
{
	static const unsigned char code[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };
	static unsigned char *memory;
	static size_t at;

	if (!memory)
		memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE | PROT_EXEC,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char *place = memory + at++ % 10000 * 64;
	memcpy(place, code, sizeof(code));
#if defined(__x86_64__)
	((void (*)(long))(uintptr_t)place)(20000);
#endif
}

static int go_down(int n)
{
	volatile char bytes[64] = { (char)n };

	if (!n)
		burn();
	return n ? go_down(n - 1) + bytes[0] : 0;
}

static void go_deep(void)
{
	for (int i = 0; i < 10; i++)
		go_down(3000);
}

static void *repeat(void *what)
{
	void (*act)(void);

	memcpy(&act, what, sizeof(act));
	while (now() < end)
		act();
	return NULL;
}

static void make_map(const char *how)
{
	char path[64], link[512];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	snprintf(link, sizeof(link), "%s/map", folder);
	unlink(path);
	unlink(link);
	if (symlink(path, link) < 0)
		perror(link);
	if (!strcmp(how, "link")) {
		if (symlink("/etc/shadow", path) < 0)
			perror(path);
		return;
	}
	if (!strcmp(how, "fifo")) {
		mkfifo(path, 0666);
		return;
	}
	FILE *file = fopen(path, "we");
	for (long i = 0; file && i < 100000; i++)
		fprintf(file, "%lx 40 \033]0;%ld\a\xff\n", 0x7f0000000000 + i * 64, i);
	if (file) {
		fflush(file);
		if (ftruncate(fileno(file), 60 << 20) < 0)
			perror(path);
		fclose(file);
	}
}

static void make_jitdump(void)
{
	uint32_t words[10] = { 0x4a695444, 1, 40, EM_X86_64, 0, (uint32_t)getpid() };
	char name[32];

	snprintf(name, sizeof(name), "jit-%d.dump", (int)getpid());
	int fd = make_file(name);
	for (uint32_t i = 0; i < 5000; i++) {
		if (write(fd, words, sizeof(words)) < 0)
			break;
		words[0] = i % 5;
		words[1] = i * 2654435761u % 100;
	}
	mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
}

int main(int argc, char **argv)
{
	static void (*const acts[])(void) = { rename_thread, cut_off,          make_huge,
					      come_and_go,   run_without_file, go_deep };
	pthread_t threads[sizeof(acts) / sizeof(acts[0])];

	if (argc != 4)
		return 2;
	end = now() + strtod(argv[1], NULL);
	folder = argv[2];
	make_map(argv[3]);
	make_jitdump();
	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
		pthread_create(&threads[i], NULL, repeat, (void *)(uintptr_t)&acts[i]);
	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
		pthread_join(threads[i], NULL);
	return 0;
}
