/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/check.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/parse.h"
#include "collect/library.h"
#include "collect/probe.h"
#include "collect/programs.h"
#include "collect/sampler.h"
#include "collect/sideband.h"
#include "proc/read.h"
#include "proc/status.h"
#include "proc/symbols.h"

#include <errno.h>
#include <string.h>
#include <sys/utsname.h>

#define FOUND(c, ...) snprintf((c)->found, sizeof((c)->found), __VA_ARGS__)
#define MEND(c, ...)  snprintf((c)->mend, sizeof((c)->mend), __VA_ARGS__)

/* bpf_get_attach_cookie() and bpf_task_pt_regs(). */
#define KERNEL_LEAST_MAJOR 5
#define KERNEL_LEAST_MINOR 15

static bool read_number(const char *path, int64_t *ret)
{
	CLEANUP_FREE char *text = NULL;
	size_t size;
	uint64_t value;

	if (io_read_file(path, 64, &text, &size) < 0)
		return false;
	text[strcspn(text, "\n")] = '\0';
	bool is_negative = text[0] == '-';
	if (parse_u64(text + is_negative, 10, &value) < 0 || value > INT32_MAX)
		return false;
	*ret = is_negative ? -(int64_t)value : (int64_t)value;
	return true;
}

static void check_kernel(struct check *c)
{
	struct utsname system;
	uint64_t major = 0, minor = 0;

	if (uname(&system) < 0)
		return;
	const char *p = system.release, *end = p + strlen(p);
	if (parse_digits(&p, end, 10, &major) == 0 && *p++ == '.')
		(void)parse_digits(&p, end, 10, &minor);
	FOUND(c, "%s", system.release);
	if (major > KERNEL_LEAST_MAJOR ||
	    (major == KERNEL_LEAST_MAJOR && minor >= KERNEL_LEAST_MINOR))
		return;
	c->state = CHECK_NO;
	MEND(c, "Linux %d.%d or later is needed", KERNEL_LEAST_MAJOR, KERNEL_LEAST_MINOR);
}

static void check_btf(struct check *c)
{
	if (access("/sys/kernel/btf/vmlinux", R_OK) == 0) {
		FOUND(c, "/sys/kernel/btf/vmlinux");
		return;
	}
	c->state = CHECK_NO;
	FOUND(c, "no /sys/kernel/btf/vmlinux");
	MEND(c, "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y, as those of distributions are");
}

static const struct {
	unsigned int bit;
	const char *name;
} capabilities[] = {
	/* Numbers of linux/capability.h. */
	{ 39, "cap_bpf" },
	{ 38, "cap_perfmon" },
	{ 19, "cap_sys_ptrace" },
};

static void check_capabilities(struct check *c)
{
	CLEANUP_FREE char *text = NULL;
	struct proc_status status;
	size_t size;

	if (proc_read((uint32_t)getpid(), "status", PROC_SMALL_MAX_BYTES, &text, &size) < 0 ||
	    proc_status_parse(span_of(text, size), "status", &status, NULL) < 0) {
		FOUND(c, "not known: /proc is not readable");
		return;
	}
	const bool is_admin = status.effective_capabilities >> 21 & 1; /* CAP_SYS_ADMIN */
	for (size_t i = 0; i < ARRAY_SIZE(capabilities); i++) {
		bool has = status.effective_capabilities >> capabilities[i].bit & 1;
		/* The older, larger privilege stands for the first two. */
		if (has || (is_admin && i < 2))
			continue;
		size_t at = strlen(c->found);
		snprintf(c->found + at, sizeof(c->found) - at, "%s%s",
			 at ? ", " : "missing: ", capabilities[i].name);
		c->state = CHECK_NO;
	}
	if (c->state == CHECK_YES)
		FOUND(c, "%s", "cap_bpf, cap_perfmon, cap_sys_ptrace");
	else
		MEND(c, "run it with sudo, or: sudo setcap "
			"cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search,"
			"cap_checkpoint_restore,cap_syslog=ep $(command -v accel-prof)");
}

static void check_bpf(struct check *c)
{
	CLEANUP(programs_close) struct programs programs = { 0 };
	struct programs_options opt = { .ring_bytes = 1 << 20 };
	struct err err;

	if (programs_open(&programs, &opt, &err) == 0) {
		FOUND(c, "our programs load");
		return;
	}
	c->state = CHECK_NO;
	FOUND(c, "%s", err.text);
	MEND(c, "sudo accel-prof check -v tells what the kernel says");
}

static void check_samples(struct check *c)
{
	CLEANUP(sampler_close) struct sampler sampler = { 0 };
	int64_t paranoid = 0;
	struct err err;

	(void)read_number("/proc/sys/kernel/perf_event_paranoid", &paranoid);
	if (sampler_open(&sampler, &(struct sampler_options){ 0 }, &err) < 0) {
		c->state = CHECK_NO;
		FOUND(c, "%s (perf_event_paranoid is %d)", err.text, (int)paranoid);
		MEND(c, "sudo sysctl kernel.perf_event_paranoid=-1, or run it with sudo");
		return;
	}
	if (!sampler.has_no_pmu) {
		FOUND(c, "cycles");
		return;
	}
	c->state = CHECK_PARTLY;
	FOUND(c, "cpu-clock only: no performance counters here, as is usual in a virtual machine");
	MEND(c, "let the hypervisor show the virtual machine a PMU (qemu: -cpu host,pmu=on)");
}

static void check_mappings(struct check *c)
{
	CLEANUP(sideband_close) struct sideband sideband = { 0 };
	struct err err;

	if (sideband_open(&sideband, &(struct perf_scope){ 0 }, &err) == 0) {
		FOUND(c, "told by the kernel as they happen");
		return;
	}
	c->state = CHECK_NO;
	FOUND(c, "%s", err.text);
	MEND(c, "run it with sudo");
}

static void check_kernel_symbols(struct check *c)
{
	CLEANUP_FREE char *text = NULL;
	struct proc_symbol symbol;
	int64_t restrict_level = -1;
	size_t size;

	(void)read_number("/proc/sys/kernel/kptr_restrict", &restrict_level);
	if (io_read_file("/proc/kallsyms", 256u << 20, &text, &size) == 0) {
		struct lines lines = lines_of(span_of(text, size), "kallsyms");
		while (proc_kallsyms_next(&lines, &symbol, NULL) > 0) {
			if (symbol.address) {
				FOUND(c, "kptr_restrict is %d", (int)restrict_level);
				return;
			}
		}
	}
	c->state = CHECK_PARTLY;
	FOUND(c, "hidden: kernel functions have no names (kptr_restrict is %d)",
	      (int)restrict_level);
	MEND(c, "%s",
	     restrict_level == 2 ? "sudo sysctl kernel.kptr_restrict=1" : "run it with sudo");
}

static void check_uprobes(struct check *c)
{
	CLEANUP(programs_close) struct programs programs = { 0 };
	struct programs_options opt = { .ring_bytes = 1 << 20 };
	int64_t type;

	if (!read_number("/sys/bus/event_source/devices/uprobe/type", &type)) {
		c->state = CHECK_PARTLY;
		FOUND(c, "none: launches on accelerators are not recorded");
		MEND(c, "boot a kernel built with CONFIG_UPROBE_EVENTS=y");
		return;
	}
	if (programs_open(&programs, &opt, NULL) == 0 && !probes_by_multi(programs.skeleton)) {
		c->state = CHECK_PARTLY;
		FOUND(c,
		      "one by one, which takes a tenth of a second for each to attach and detach");
		MEND(c, "Linux 6.6 and later attach those of a library at once");
		return;
	}
	FOUND(c, "those of a library at once");
}

static void check_opencl(struct check *c)
{
	CLEANUP_FREE char *path = library_find("libOpenCL.so.1");
	CLEANUP_FREE char *pocl = library_find("libpocl.so.2");

	if (path) {
		FOUND(c, "%s%s%s", path, pocl ? ", " : "", pocl ? pocl : "");
		return;
	}
	c->state = CHECK_PARTLY;
	FOUND(c, "no libOpenCL.so.1 for the dynamic linker");
	MEND(c, "apt-get install ocl-icd-libopencl1 pocl-opencl-icd, if OpenCL is what you use");
}

static const struct {
	const char *name;
	void (*check)(struct check *c);
} checks[] = {
	{ "kernel", check_kernel },
	{ "BTF", check_btf },
	{ "capabilities", check_capabilities },
	{ "BPF programs", check_bpf },
	{ "CPU samples", check_samples },
	{ "mappings", check_mappings },
	{ "kernel symbols", check_kernel_symbols },
	{ "uprobes", check_uprobes },
	{ "OpenCL", check_opencl },
};

bool check_all(check_fn fn, void *data)
{
	bool works = true;

	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		struct check check = { .name = checks[i].name };
		checks[i].check(&check);
		works &= check.state != CHECK_NO;
		fn(data, &check);
	}
	return works;
}
