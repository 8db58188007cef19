/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/insert.h"

#include "accel/site.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "collect/root.h"
#include "elf/symtab.h"
#include "proc/maps.h"
#include "proc/read.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)

/* Until the thread has stopped, until a call has returned (loading reads files), and all in all. */
#define STOP_MS 2000
#define CALL_MS 5000
#define ALL_MS  10000
/* What the ABI lets a function use below its stack pointer. */
#define RED_ZONE   128
#define TEXT_BYTES 512 /* for the strings of one call */
/* XSAVE areas: AMX alone takes 8 KiB. */
#define XSTATE_BYTES (32u << 10)

/* What is to be loaded, and called then. */
struct payload {
	const char *path, *function;
	const char *bytes; /* of the file at @path */
	size_t size;
	uint64_t mapped; /* where the function is, if it is there already */
};

struct victim {
	pid_t pid;
	uint64_t until_ms; /* whatever it does */
	struct user_regs_struct saved;
	unsigned char xstate[XSTATE_BYTES];
	size_t xstate_size;
	uint64_t text; /* room for strings on its stack */
	uint64_t memfd_create, dlopen, dlsym, close;
};

static void pause_ms(long ms)
{
	const struct timespec pause = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&pause, NULL);
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* The status of its next stop; -ETIMEDOUT. */
static int wait_stop(pid_t pid, uint64_t until_ms, int *status)
{
	while (now_ms() < until_ms) {
		pid_t got = waitpid(pid, status, WNOHANG | __WALL);
		if (got < 0)
			return -errno;
		if (got == pid)
			return WIFSTOPPED(*status) ? 0 : -ESRCH;
		pause_ms(1);
	}
	return -ETIMEDOUT;
}

static int save(struct victim *v)
{
	struct iovec state = { v->xstate, sizeof(v->xstate) };

	if (ptrace(PTRACE_GETREGS, v->pid, NULL, &v->saved) < 0 ||
	    ptrace(PTRACE_GETREGSET, v->pid, 0x202 /* NT_X86_XSTATE */, &state) < 0)
		return -errno;
	v->xstate_size = state.iov_len;
	v->text = (v->saved.rsp - RED_ZONE - TEXT_BYTES) & ~(uint64_t)63;
	return 0;
}

static int restore(struct victim *v)
{
	struct iovec state = { v->xstate, v->xstate_size };

	if (ptrace(PTRACE_SETREGSET, v->pid, 0x202, &state) < 0 ||
	    ptrace(PTRACE_SETREGS, v->pid, NULL, &v->saved) < 0)
		return -errno;
	return 0;
}

static int write_memory(pid_t pid, uint64_t address, const void *data, size_t size)
{
	struct iovec local = { (void *)(uintptr_t)data, size };
	struct iovec remote = { (void *)(uintptr_t)address, size };
	ssize_t done = process_vm_writev(pid, &local, 1, &remote, 1, 0);

	return done == (ssize_t)size ? 0 : done < 0 ? -errno : -EFAULT;
}

/* It has returned to address 0, where nothing is. Its own signals are passed on meanwhile, -EAGAIN when they have no
 * end. */
static int run_to_return(struct victim *v, uint64_t *ret)
{
	uint64_t until_ms = now_ms() + CALL_MS;
	struct user_regs_struct regs;
	int signal = 0, status, rc;

	if (until_ms > v->until_ms)
		until_ms = v->until_ms;

	for (;;) {
		if (now_ms() >= until_ms)
			return -EAGAIN;
		if (ptrace(PTRACE_CONT, v->pid, NULL, (void *)(intptr_t)signal) < 0)
			return -errno;
		rc = wait_stop(v->pid, until_ms, &status);
		if (rc < 0)
			return rc;
		signal = status >> 16 ? 0 : WSTOPSIG(status);
		if (signal != SIGSEGV)
			continue;
		if (ptrace(PTRACE_GETREGS, v->pid, NULL, &regs) < 0)
			return -errno;
		if (regs.rip != 0)
			return -EFAULT; /* in the function itself */
		*ret = regs.rax;
		return 0;
	}
}

static int call(struct victim *v, uint64_t function, const uint64_t argument[2], uint64_t *ret)
{
	struct user_regs_struct regs = v->saved;
	const uint64_t nowhere = 0;
	int status, rc;

	/* At a function's first instruction the stack is 8 off a multiple of 16. */
	regs.rsp = ((v->text - 64) & ~(uint64_t)15) - 8;
	regs.rip = function;
	regs.rdi = argument[0];
	regs.rsi = argument[1];
	regs.rax = 0;
	regs.orig_rax = UINT64_MAX; /* no system call to begin again */
	regs.eflags &= ~(uint64_t)0x400;
	rc = write_memory(v->pid, regs.rsp, &nowhere, sizeof(nowhere));
	if (rc < 0)
		return rc;
	if (ptrace(PTRACE_SETREGS, v->pid, NULL, &regs) < 0)
		return -errno;
	rc = run_to_return(v, ret);
	if (rc != -ETIMEDOUT)
		return rc;
	/* It waits for a lock that this very thread holds: back to where it was. */
	if (ptrace(PTRACE_INTERRUPT, v->pid, NULL, NULL) < 0 ||
	    wait_stop(v->pid, now_ms() + STOP_MS, &status) < 0)
		return -ETIMEDOUT;
	return -EAGAIN;
}

static int call_text(struct victim *v, uint64_t function, uint64_t before, const char *text,
		     uint64_t after, uint64_t *ret)
{
	size_t size = strlen(text) + 1;
	int rc = size > TEXT_BYTES ? -EINVAL : write_memory(v->pid, v->text, text, size);

	if (rc < 0)
		return rc;
	if (before)
		return call(v, function, (uint64_t[]){ before, v->text }, ret);
	return call(v, function, (uint64_t[]){ v->text, after }, ret);
}

/* The library @name, without its suffix, that it maps: a descriptor, and where the file's first byte is in memory. */
static int open_mapped(pid_t pid, const char *name, uint64_t *ret_start, struct err *err)
{
	CLEANUP_FREE char *text = NULL;
	struct proc_mapping m;
	char path[96];
	size_t size;
	int rc = proc_read((uint32_t)pid, "maps", PROC_MAPS_MAX_BYTES, &text, &size);

	if (rc < 0)
		return err_set(err, rc, "cannot read the mappings of process %d", pid);
	struct lines lines = lines_of(span_of(text, size), "maps");
	while (proc_maps_next(&lines, &m, NULL) > 0) {
		CLEANUP_FREE char *file = strndup((const char *)m.path.data, m.path.size);
		if (!file || m.offset != 0 || !library_has_name(name, file))
			continue;
		*ret_start = m.start;
		snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid,
			 m.start, m.end);
		int fd = root_open_regular(path);
		return fd < 0 ? err_set(err, fd, "cannot open '%s'", path) : fd;
	}
	return err_set(err, -ENOENT, "process %d maps no '%s'", pid, name);
}

struct wanted {
	const char *name;
	uint64_t *to;
};

static int find_in(pid_t pid, const char *library, const struct wanted *wanted, size_t count,
		   struct err *err)
{
	CLEANUP(elf_symtab_free) struct elf_symtab *symbols = NULL;
	CLEANUP(elf_close) struct elf_file *elf = NULL;
	struct elf_symbol symbol;
	uint64_t start = 0;
	CLEANUP_CLOSE int fd = open_mapped(pid, library, &start, err);

	if (fd < 0)
		return fd;
	int rc = elf_open_fd(&elf, fd, library, ELF_OPEN_LEAN, err);
	if (rc == 0)
		rc = elf_symtab_new(&symbols, elf, err);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		if (elf_symtab_find(symbols, wanted[i].name, &symbol) < 0)
			return err_set(err, -ENOTSUP, "'%s' of process %d has no '%s'", library,
				       pid, wanted[i].name);
		/* Libraries begin at address 0 of their file. */
		*wanted[i].to = start + symbol.value;
	}
	return rc;
}

/* glibc 2.34 and later have all of them in one library. */
static int find_functions(struct victim *v, struct err *err)
{
	const struct wanted wanted[] = {
		{ "memfd_create", &v->memfd_create },
		{ "dlopen", &v->dlopen },
		{ "dlsym", &v->dlsym },
		{ "close", &v->close },
	};
	int rc = find_in(v->pid, "libc", wanted, ARRAY_SIZE(wanted), err);

	return rc == -ENOENT ? err_set(err, -ENOTSUP, "process %d has no glibc", v->pid) : rc;
}

/*
 * The process's descriptor @number, as the process itself has it: only what it may write to is written to. Its answer
 * need not be true, and another thread may have put something else there: no file but one of memfd_create() can still
 * be sealed (memfd_create(2), F_GET_SEALS of fcntl(2)), and those never make their writer wait.
 */
static int borrow_file(pid_t pid, int number)
{
	CLEANUP_CLOSE int process = (int)syscall(SYS_pidfd_open, pid, 0);
	CLEANUP_CLOSE int fd = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, number, 0);

	if (fd < 0)
		return -errno;
	int seals = fcntl(fd, F_GET_SEALS);
	return seals < 0 || seals & F_SEAL_SEAL ? -EPROTO : TAKE_FD(fd);
}

/* The library as a file that only the process has; its number there. */
static int make_file(struct victim *v, const struct payload *payload, uint64_t *ret)
{
	const char *name = strrchr(payload->path, '/');
	int rc;

	/* Shown in its maps as "/memfd:/NAME": what it is called stays the last part of a path. */
	rc = call_text(v, v->memfd_create, 0, name ? name : payload->path, MFD_ALLOW_SEALING, ret);
	if (rc < 0 || (int32_t)*ret < 0)
		return rc < 0 ? rc : -EIO;
	CLEANUP_CLOSE int fd = borrow_file(v->pid, (int32_t)*ret);
	if (fd < 0)
		return fd;
	return io_write_all(fd, payload->bytes, payload->size);
}

static int load(struct victim *v, const struct payload *payload, uint64_t *ret_library)
{
	int slashes = (int)strlen(strrchr(payload->path, '/') ? strrchr(payload->path, '/')
							      : payload->path);
	uint64_t number, result;
	char path[128];
	int rc = make_file(v, payload, &number);

	if (rc < 0)
		return rc;
	/* The linker takes a path that it knows for the same library, and numbers come again: other libraries have
	 * other paths. */
	snprintf(path, sizeof(path), "/proc/self%.*sfd/%d", slashes,
		 "////////////////////////////////////////////////////////", (int32_t)number);
	rc = call_text(v, v->dlopen, 0, path, RTLD_NOW, ret_library);
	if (rc == 0)
		rc = call(v, v->close, (uint64_t[]){ number, 0 }, &result);
	return rc < 0 ? rc : *ret_library ? 0 : -ELIBACC;
}

static int load_and_call(struct victim *v, const struct payload *payload)
{
	uint64_t library = 0, address = payload->mapped, result;
	int rc = 0;

	if (!address) {
		rc = load(v, payload, &library);
		if (rc == 0)
			rc = call_text(v, v->dlsym, library, payload->function, 0, &address);
	}
	if (rc < 0 || !address)
		return rc < 0 ? rc : -ELIBACC;
	rc = call(v, address, (uint64_t[]){ library, 0 }, &result);
	return rc < 0 ? rc : (int32_t)result ? 0 : -EIO;
}

static int run_in(struct victim *v, const struct payload *payload, struct err *err)
{
	int rc = save(v);

	if (rc < 0)
		return err_set(err, rc, "cannot see the registers of %d", v->pid);
	rc = load_and_call(v, payload);
	if (restore(v) < 0 && rc == 0)
		rc = -EIO;
	return rc < 0 ? err_set(err, rc, "cannot load a library in process %d", v->pid) : 0;
}

/* A copy of it may be there from before: then that is called. */
static int find_mapped(pid_t pid, struct payload *payload, struct err *err)
{
	const char *slash = strrchr(payload->path, '/'), *base = slash ? slash + 1 : payload->path;
	CLEANUP_FREE char *name = strndup(base, strcspn(base, "."));
	const struct wanted wanted = { payload->function, &payload->mapped };
	int rc = name ? find_in(pid, name, &wanted, 1, err) : -ENOMEM;

	return rc == -ENOENT ? 0 : rc;
}

static int insert_payload(struct victim *v, struct payload *payload, struct err *err)
{
	int status, rc = find_mapped(v->pid, payload, err);

	if (rc == 0)
		rc = find_functions(v, err);
	if (rc < 0)
		return rc;
	v->until_ms = now_ms() + ALL_MS;
	if (ptrace(PTRACE_SEIZE, v->pid, NULL, NULL) < 0)
		return err_set(err, -errno, "cannot attach to process %d", v->pid);
	if (ptrace(PTRACE_INTERRUPT, v->pid, NULL, NULL) < 0 ||
	    wait_stop(v->pid, now_ms() + STOP_MS, &status) < 0)
		rc = err_set(err, -ETIMEDOUT, "process %d does not stop", v->pid);
	else
		rc = run_in(v, payload, err);
	ptrace(PTRACE_DETACH, v->pid, NULL, NULL);
	return rc;
}

int insert_library(uint32_t pid, const char *path, const char *function, struct err *err)
{
	CLEANUP_FREE struct victim *v = calloc(1, sizeof(*v));
	struct payload payload = { .path = path, .function = function };
	CLEANUP_FREE char *bytes = NULL;
	int rc;

	if (!v)
		return err_set(err, -ENOMEM, "no memory");
	rc = io_read_file(path, INSERT_LIBRARY_MAX, &bytes, &payload.size);
	if (rc < 0)
		return err_set(err, rc, "cannot read '%s'", path);
	payload.bytes = bytes;
	v->pid = (pid_t)pid;
	return insert_payload(v, &payload, err);
}

#else

int insert_library(uint32_t pid, const char *path, const char *function, struct err *err)
{
	(void)pid, (void)path, (void)function;
	return err_set(err, -ENOTSUP, "libraries can be put into processes on x86-64 only");
}

#endif
