/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The few kernel structures our programs read. Only the fields named here are used: clang records
 * each access by name (preserve_access_index) and libbpf puts in the offsets of the running kernel
 * when it loads the programs, so that neither their order here nor what is left out matters and a
 * build host needs no BTF.
 */
#pragma once

#include <linux/bpf.h>
/* bpf_tracing.h takes the kernel's names of registers (di, not rdi) when it thinks this is so. */
#define __VMLINUX_H__
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include <stdbool.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;

/*
 * Registers are the context of our programs, whose layout is the kernel's promise to user space:
 * not relocated. (Relocated, `cs` would become the 2-byte member that Linux 6.18 has, a size that
 * the verifier does not allow for a context.)
 */
#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	u64 r15, r14, r13, r12, bp, bx;
	u64 r11, r10, r9, r8, ax, cx, dx, si, di;
	u64 orig_ax, ip, cs, flags, sp, ss;
};
typedef struct pt_regs bpf_user_pt_regs_t;
#elif defined(__TARGET_ARCH_arm64)
struct user_pt_regs {
	u64 regs[31];
	u64 sp, pc, pstate;
};
struct pt_regs {
	struct user_pt_regs user_regs;
};
typedef struct user_pt_regs bpf_user_pt_regs_t;
#else
#error "this processor is not supported yet"
#endif

/* Context of a perf_event program. */
struct bpf_perf_event_data {
	bpf_user_pt_regs_t regs;
	u64 sample_period;
	u64 addr;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live; /* threads that have not begun to exit */
};

struct pid_namespace;

/* An array of these is walked, so its size here must be the kernel's: unchanged since Linux 4.19. */
struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level; /* of the innermost namespace */
	struct upid numbers[1];
};

typedef struct {
	u32 val;
} kuid_t;

struct cred {
	kuid_t euid;
};

/* A function that a return probe waits for. */
struct return_instance {
	unsigned long stack;          /* where its return address was, on the stack */
	unsigned long orig_ret_vaddr; /* the return address */
	struct return_instance *next; /* of an outer function */
};

struct uprobe_task {
	struct return_instance *return_instances;
	unsigned long vaddr;     /* of the instruction being stepped over... */
	unsigned long xol_vaddr; /* ...and of the copy that is executed */
};

/* The page of copied instructions; its first bytes are what return probes return to. */
struct xol_area {
	unsigned long vaddr;
};

struct uprobes_state {
	struct xol_area *xol_area;
};

struct vm_unmapped_area_info {
	unsigned long length;
};

struct mm_struct {
	unsigned long arg_start, arg_end;
	struct uprobes_state uprobes_state;
};

struct thread_struct {
#if defined(__TARGET_ARCH_x86)
	unsigned long fsbase; /* thread register */
#else
	struct {
		unsigned long tp_value;
	} uw;
#endif
};
#if defined(__TARGET_ARCH_x86)
#define THREAD_REGISTER thread.fsbase
#else
#define THREAD_REGISTER thread.uw.tp_value /* as it was when the thread last left the CPU */
#endif

struct task_struct {
	unsigned int __state;
	int pid;  /* of the thread, as gettid() gives it in the machine's own namespace */
	int tgid; /* of the process, as getpid() gives it there */
	struct task_struct *group_leader;
	struct pid *thread_pid;
	struct signal_struct *signal;
	struct mm_struct *mm;
	const struct cred *cred;
	struct uprobe_task *utask;
	struct thread_struct thread;
};

#pragma clang attribute pop
