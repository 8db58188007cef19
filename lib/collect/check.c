/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/check.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/parse.h"
#include "collect/describe.h"
#include "collect/perf.h"
#include "collect/probe.h"
#include "collect/programs.h"
#include "collect/sampler.h"
#include "collect/sideband.h"
#include "proc/read.h"
#include "proc/status.h"
#include "proc/symbols.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/utsname.h>

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

/* By what it can do: distributions carry features back to older versions. */
static void check_kernel(struct check *c)
{
	struct utsname system;

	if (uname(&system) < 0)
		return;
	FOUND(c, "%s", system.release);
	if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_loop, NULL) != 0)
		return; /* it has it, or we may not know */
	c->state = CHECK_NO;
	FOUND(c, "%s, without bpf_loop()", system.release);
	MEND(c, CHECK_OWNER, "boot Linux 5.17 or later");
}

/* Small containers and chroots have none: what is not seen may be there. */
static bool lacks_sys(struct check *c)
{
	if (access("/sys/kernel", F_OK) == 0)
		return false;
	FOUND(c, "not known: there is no /sys here");
	MEND(c, CHECK_ROOT, "mount -t sysfs sysfs /sys");
	return true;
}

static void check_btf(struct check *c)
{
	if (access("/sys/kernel/btf/vmlinux", R_OK) == 0) {
		FOUND(c, "/sys/kernel/btf/vmlinux");
		return;
	}
	c->state = CHECK_NO;
	FOUND(c, "no /sys/kernel/btf/vmlinux");
	if (lacks_sys(c))
		return;
	MEND(c, CHECK_OWNER,
	     "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y, as those of distributions are");
}

enum {
	/* Numbers of linux/capability.h. */
	CAPABILITY_SYS_PTRACE = 19,
	CAPABILITY_SYS_ADMIN = 21,
	CAPABILITY_PERFMON = 38,
	CAPABILITY_BPF = 39,
};

static bool has_capability(unsigned int bit)
{
	struct proc_status status;

	return proc_status_read((uint32_t)getpid(), &status) == 0 &&
	       status.effective_capabilities >> bit & 1;
}

static void check_capabilities(struct check *c)
{
	static const struct {
		unsigned int bit;
		const char *name;
		bool by_admin; /* the older, larger privilege stands for it */
	} wanted[] = {
		{ CAPABILITY_BPF, "cap_bpf", true },
		{ CAPABILITY_PERFMON, "cap_perfmon", true },
		{ CAPABILITY_SYS_PTRACE, "cap_sys_ptrace", false },
	};
	const bool is_admin = has_capability(CAPABILITY_SYS_ADMIN);

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		if (has_capability(wanted[i].bit) || (is_admin && wanted[i].by_admin))
			continue;
		size_t at = strlen(c->found);
		snprintf(c->found + at, sizeof(c->found) - at, "%s%s",
			 at ? ", " : "missing: ", wanted[i].name);
		c->state = CHECK_NO;
	}
	if (c->state == CHECK_YES)
		FOUND(c, "%s", "cap_bpf, cap_perfmon, cap_sys_ptrace");
	else
		MEND(c, CHECK_ROOT,
		     "run it with sudo, or: sudo setcap "
		     "cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search,"
		     "cap_checkpoint_restore,cap_syslog=ep $(command -v accel-prof)");
}

static void check_bpf(struct check *c)
{
	CLEANUP(programs_close) struct programs programs = { 0 };
	struct programs_options opt = { .ring_bytes = 1 << 20 };
	struct err err;

	int rc = programs_open(&programs, &opt, &err);
	if (rc == 0) {
		FOUND(c, "our programs load");
		return;
	}
	c->state = CHECK_NO;
	FOUND(c, "%s", err.text);
	if (lacks_sys(c))
		return;
	if (rc == -EPERM && geteuid() != 0)
		MEND(c, CHECK_ROOT, "run it with sudo, or give it the capabilities above");
	else
		MEND(c, CHECK_ROOT, "sudo accel-prof check -v tells what the kernel says");
}

static void check_samples(struct check *c)
{
	CLEANUP(sampler_close) struct sampler sampler = { 0 };
	struct err err;

	if (sampler_open(&sampler, &(struct sampler_options){ 0 }, &err) < 0) {
		c->state = CHECK_NO;
		FOUND(c, "not of everyone: perf_event_paranoid is %d", perf_paranoid());
		MEND(c, CHECK_ROOT,
		     "sudo sysctl kernel.perf_event_paranoid=-1, or run it with sudo");
		return;
	}
	FOUND(c, "of everyone; perf_event_paranoid is %d", perf_paranoid());
}

/* What anybody may record without programs in the kernel: try it on ourselves. */
static void check_own_samples(struct check *c)
{
	CLEANUP(sampler_close) struct sampler sampler = { 0 };
	const uint32_t self = (uint32_t)getpid();
	const struct sampler_options opt = {
		.scope = { .tids = &self, .tid_count = 1 },
		.with_rings = true,
	};
	struct err err;

	if (sampler_open(&sampler, &opt, &err) < 0) {
		c->state = CHECK_NO;
		FOUND(c, "%s", err.text);
		MEND(c, CHECK_ROOT, "sudo sysctl kernel.perf_event_paranoid=%d",
		     perf_paranoid() > 2 ? 2 : 1);
		return;
	}
	FOUND(c, "%s%s", sampler.kind.name,
	      sampler.is_user_only ? ", without time in the kernel" : "");
	if (!sampler.is_user_only)
		return;
	c->state = CHECK_PARTLY;
	MEND(c, CHECK_ROOT, "sudo sysctl kernel.perf_event_paranoid=1");
}

static void check_counters(struct check *c)
{
	CLEANUP(sampler_close) struct sampler sampler = { 0 };
	const uint32_t self = (uint32_t)getpid();
	const struct sampler_options opt = {
		.event = "cycles:u",
		.scope = { .tids = &self, .tid_count = 1 },
	};

	if (sampler_open(&sampler, &opt, NULL) == 0) {
		FOUND(c, "cycles");
		return;
	}
	c->state = CHECK_PARTLY;
	FOUND(c, "none, as is usual in a virtual machine: samples are of cpu-clock");
	MEND(c, CHECK_OWNER,
	     "let the hypervisor show the virtual machine a PMU (qemu: -cpu host,pmu=on)");
}

static void check_mappings(struct check *c)
{
	CLEANUP(sideband_close) struct sideband sideband = { 0 };
	struct err err;

	if (sideband_open(&sideband, &(struct perf_scope){ 0 }, SIDEBAND_RING_BYTES, &err) == 0) {
		FOUND(c, "told by the kernel as they happen");
		return;
	}
	c->state = CHECK_NO;
	FOUND(c, "of programs of your own only");
	MEND(c, CHECK_ROOT, "sudo sysctl kernel.perf_event_paranoid=-1, or run it with sudo");
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
	MEND(c, CHECK_ROOT, "%s",
	     restrict_level == 2 ? "sudo sysctl kernel.kptr_restrict=1" : "run it with sudo");
}

static void check_uprobes(struct check *c)
{
	CLEANUP(programs_close) struct programs programs = { 0 };
	struct programs_options opt = { .ring_bytes = 1 << 20 };
	int64_t type;

	if (!read_number("/sys/bus/event_source/devices/uprobe/type", &type)) {
		c->state = CHECK_PARTLY;
		if (lacks_sys(c))
			return;
		FOUND(c, "none: launches on accelerators are not recorded");
		MEND(c, CHECK_OWNER, "boot a kernel built with CONFIG_UPROBE_EVENTS=y");
		return;
	}
	if (programs_open(&programs, &opt, NULL) == 0 && !probes_by_multi(programs.skeleton)) {
		c->state = CHECK_PARTLY;
		FOUND(c,
		      "one by one, which takes a tenth of a second for each to attach and detach");
		MEND(c, CHECK_OWNER,
		     "boot Linux 6.6 or later, which attaches those of a library at once");
		return;
	}
	FOUND(c, "those of a library at once");
}

/* Whether a process may look into another of the same user: its libraries, Python's code objects. */
static void check_ptrace(struct check *c)
{
	int64_t scope = 0;

	if (!read_number("/proc/sys/kernel/yama/ptrace_scope", &scope) || scope == 0 ||
	    has_capability(CAPABILITY_SYS_PTRACE)) {
		FOUND(c, "ptrace_scope is %d", (int)scope);
		return;
	}
	c->state = CHECK_PARTLY;
	FOUND(c, "ptrace_scope is %d: -p may not look into running programs, even one's own",
	      (int)scope);
	MEND(c, CHECK_ROOT,
	     scope < 3 ? "sudo sysctl kernel.yama.ptrace_scope=0, or start it with 'record -- CMD'"
		       : "it can only be lowered by booting anew; start it with 'record -- CMD'");
}

static void check_lockdown(struct check *c)
{
	CLEANUP_FREE char *text = NULL;
	size_t size;

	if (io_read_file("/sys/kernel/security/lockdown", 128, &text, &size) < 0) {
		FOUND(c, "none");
		return;
	}
	text[strcspn(text, "\n")] = '\0';
	FOUND(c, "%s", text);
	if (!strstr(text, "[confidentiality]"))
		return;
	c->state = CHECK_NO;
	MEND(c, CHECK_OWNER,
	     "boot with lockdown=integrity or without it: in this mode no program may read the "
	     "memory that stacks and launches are in");
}

/* In the machine's own pid namespace, process 2 is the kernel's. */
static void check_container(struct check *c)
{
	static const char *const marks[] = { "/.dockerenv", "/run/.containerenv" };
	struct proc_status status;
	bool has_mark = false;

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		has_mark |= access(marks[i], F_OK) == 0;
	bool is_outer = proc_status_read(2, &status) == 0 && status.parent == 0;
	if (is_outer) {
		FOUND(c, "%s", has_mark ? "in one that sees all processes" : "none");
		return;
	}
	c->state = CHECK_PARTLY;
	FOUND(c, "in one: processes outside are not seen");
	MEND(c, CHECK_OWNER,
	     "to record others, run it outside, or start the container with --pid=host; to record "
	     "at all it needs --cap-add BPF,PERFMON,SYS_PTRACE or --privileged");
}

static const struct {
	const char *name;
	void (*check)(struct check *c);
	bool bpf, perf; /* indispensable for */
} checks[] = {
	{ "kernel", check_kernel, true, false },
	{ "BTF", check_btf, true, false },
	{ "capabilities", check_capabilities, true, false },
	{ "BPF programs", check_bpf, true, false },
	{ "CPU samples", check_samples, true, false },
	{ "own CPU samples", check_own_samples, false, true },
	{ "counters", check_counters, false, false },
	{ "mappings", check_mappings, true, false },
	{ "kernel symbols", check_kernel_symbols, false, false },
	{ "uprobes", check_uprobes, false, false },
	{ "ptrace", check_ptrace, false, false },
	{ "lockdown", check_lockdown, true, false },
	{ "container", check_container, false, false },
	{ "Intel GPU", check_intel, false, false },
	{ "NVIDIA GPU", check_nvidia, false, false },
	{ "NVIDIA samples", check_nvidia_samples, false, false },
	{ "NVIDIA tools", check_nvidia_tools, false, false },
};

/* Whether it may be recorded. */
static bool check_process(uint32_t pid, check_fn fn, void *data)
{
	CLEANUP(process_facts_release) struct process_facts facts = { 0 };
	struct check check = { .group = "process", .name = "process" };
	CLEANUP_FREE char *maps = NULL;
	size_t size;

	(void)process_facts_read(pid, &facts);
	snprintf(check.found, sizeof(check.found), "%u '%s' of user %u%s%s", pid, facts.comm,
		 facts.uid, facts.cgroup ? " in " : "", facts.cgroup ? facts.cgroup : "");
	if (proc_read(pid, "maps", PROC_MAPS_MAX_BYTES, &maps, &size) < 0) {
		check.state = CHECK_NO;
		MEND(&check, CHECK_ROOT, "run it with sudo: it is not ours to look into");
	}
	fn(data, &check);
	return check.state == CHECK_YES;
}

int check_all(uint32_t pid, check_fn fn, void *data, enum check_verdict *ret, struct err *err)
{
	bool by_bpf = true, by_perf = true, is_ours = true;

	if (pid && kill((pid_t)pid, 0) < 0 && errno == ESRCH)
		return err_set(err, -ESRCH, "no process %u", pid);
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		struct check check = { .group = "machine", .name = checks[i].name };
		checks[i].check(&check);
		bool is_there = check.state != CHECK_NO;
		by_bpf &= is_there || !checks[i].bpf;
		by_perf &= is_there || !checks[i].perf;
		fn(data, &check);
	}
	if (pid)
		is_ours = check_process(pid, fn, data);
	check_runtimes(pid, fn, data);
	*ret = !is_ours  ? CHECK_NOT_THIS
	       : by_bpf  ? CHECK_BY_BPF
	       : by_perf ? CHECK_BY_PERF
			 : CHECK_BY_NOTHING;
	return 0;
}
