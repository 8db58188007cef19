/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/programs.h"

#include "base/io.h"
#include "base/log.h"
#include "base/parse.h"
#include "collect/probe.h"

#include "recorder.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Of what the verifier says of a program that it refuses, the end: where it refused. */
#define REFUSAL_LINES 40

/* libbpf's own words go where our debug messages go. */
__attribute__((format(printf, 2, 0))) static int print_debug(enum libbpf_print_level level,
							     const char *fmt, va_list args)
{
	CLEANUP_FREE char *text = NULL;

	if (level == LIBBPF_DEBUG || vasprintf(&text, fmt, args) < 0)
		return 0;
	size_t lines = 0;
	char *line = text + strlen(text);
	while (line > text && lines <= REFUSAL_LINES)
		lines += *--line == '\n';
	for (char *next; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (*line)
			log_debug("%s", line);
	}
	return 0;
}

/* A power of two of whole pages, as BPF_MAP_TYPE_RINGBUF wants it. */
static uint32_t ring_size(uint64_t want)
{
	uint32_t size = (uint32_t)sysconf(_SC_PAGESIZE);

	while (size < want && size < 1u << 30)
		size *= 2;
	return size;
}

/* kernel.perf_event_max_stack: how many frames a frame-pointer stack has at most. */
static uint32_t stack_limit(void)
{
	CLEANUP_FREE char *text = NULL;
	size_t size;
	uint32_t limit;

	if (io_read_file("/proc/sys/kernel/perf_event_max_stack", 64, &text, &size) < 0)
		return 127;
	text[strcspn(text, "\n")] = '\0';
	return parse_u32(text, 10, &limit) < 0 ? 127 : limit;
}

static int load_failed(int code, struct err *err)
{
	if (code == -EPERM)
		return err_set(err, code,
			       "cannot load BPF programs: run as root, or give the binary the "
			       "capabilities CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE");
	if (access("/sys/kernel/btf/vmlinux", R_OK) < 0)
		return err_set(err, -EOPNOTSUPP,
			       "cannot load BPF programs: this kernel has no BTF "
			       "(/sys/kernel/btf/vmlinux); it needs CONFIG_DEBUG_INFO_BTF=y");
	return err_set(err, code, "cannot load BPF programs (-v tells what the kernel said)");
}

static int resize_maps(struct recorder_bpf *skeleton, uint64_t ring_bytes)
{
	int cpus = libbpf_num_possible_cpus();
	if (cpus < 0)
		return cpus;
	int rc = bpf_map__set_max_entries(skeleton->maps.slots, (uint32_t)cpus * SLOTS_PER_CPU);
	if (rc < 0)
		return rc;
	uint32_t size = ring_size(ring_bytes ? ring_bytes : PROGRAMS_RING_BYTES);
	skeleton->rodata->wakeup_bytes = size / 4;
	return bpf_map__set_max_entries(skeleton->maps.events, size);
}

static int attach_process(struct recorder_bpf *skeleton)
{
	skeleton->links.on_fork = bpf_program__attach(skeleton->progs.on_fork);
	skeleton->links.on_exec = bpf_program__attach(skeleton->progs.on_exec);
	skeleton->links.on_exit = bpf_program__attach(skeleton->progs.on_exit);
	if (!skeleton->links.on_fork || !skeleton->links.on_exec || !skeleton->links.on_exit)
		return -errno;
	/* Without it, a library that takes another's place may be walked wrongly for some milliseconds. */
	skeleton->links.on_place = bpf_program__attach(skeleton->progs.on_place);
	if (!skeleton->links.on_place)
		log_debug("cannot follow mappings in the kernel: %s", strerror(errno));
	return 0;
}

static int measure_ids(struct recorder_bpf *skeleton)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	return bpf_prog_test_run_opts(bpf_program__fd(skeleton->progs.ids_measure), &opts);
}

static void choose_none(struct recorder_bpf *skeleton)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, skeleton->obj)
		bpf_program__set_autoload(program, false);
}

static void choose_part(struct recorder_bpf *skeleton, enum programs_part part, bool single_uprobes)
{
	bool waits = skeleton->rodata->blocked_mode != BLOCKED_MODE_NONE;

	switch (part) {
	case PROGRAMS_LAUNCHES:
		bpf_program__set_autoload(skeleton->progs.on_probe, true);
		bpf_program__set_autoload(skeleton->progs.on_probe_entry, true);
		probes_prepare(skeleton, single_uprobes);
		break;
	case PROGRAMS_WAITS:
		bpf_program__set_autoload(skeleton->progs.on_switch, waits);
		bpf_program__set_autoload(skeleton->progs.blocked_measure, waits);
		break;
	}
}

/* Each program that walks stacks takes 5 to 20 ms to load. */
static void choose_programs(struct recorder_bpf *skeleton, const struct programs_options *opt)
{
	choose_none(skeleton);
	bpf_program__set_autoload(skeleton->progs.on_sample, !opt->by_tracepoint_only);
	bpf_program__set_autoload(skeleton->progs.on_tracepoint, opt->by_tracepoint);
	bpf_program__set_autoload(skeleton->progs.on_fork, true);
	bpf_program__set_autoload(skeleton->progs.on_exec, true);
	bpf_program__set_autoload(skeleton->progs.on_exit, true);
	bpf_program__set_autoload(skeleton->progs.on_place, true);
	bpf_program__set_autoload(skeleton->progs.ids_measure, true);
	bpf_program__set_autoload(skeleton->progs.tell_name, true);
	for (int part = 0; part < PROGRAMS_PARTS; part++) {
		if (!opt->is_late[part])
			choose_part(skeleton, (enum programs_part)part, opt->single_uprobes);
	}
}

/* How much the verifier had to look at: it gives up after a million, and some kernels need more. */
static void tell_sizes(const struct recorder_bpf *skeleton)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, skeleton->obj)
	{
		struct bpf_prog_info info = { 0 };
		uint32_t size = sizeof(info);
		int fd = bpf_program__fd(program);
		if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size) < 0)
			continue;
		log_debug("program %s: %zu instructions, %u verified", bpf_program__name(program),
			  bpf_program__insn_cnt(program), info.verified_insns);
	}
}

int programs_open(struct programs *ret, const struct programs_options *opt, struct err *err)
{
	CLEANUP(programs_close) struct programs p = { 0 };

	libbpf_set_print(print_debug);
	/* What each CPU has of a map is of no use without knowing how many there may be. */
	if (libbpf_num_possible_cpus() < 0)
		return err_set(err, -EOPNOTSUPP,
			       "cannot load BPF programs without /sys, which is not mounted here: "
			       "mount -t sysfs sysfs /sys");
	p.skeleton = recorder_bpf__open();
	if (!p.skeleton)
		return err_set(err, -errno, "cannot open the BPF object");
	p.skeleton->rodata->stack_limit = stack_limit();
	p.skeleton->rodata->stack_mode = opt->stacks;
	p.skeleton->rodata->blocked_mode = opt->blocked;
	p.skeleton->rodata->target_mode = opt->targets.mode;
	p.skeleton->rodata->target_cgroup = opt->targets.cgroup;
	p.skeleton->rodata->target_level = opt->targets.level;
	p.skeleton->rodata->target_by_thread = opt->targets.by_thread;
	if (opt->tracepoint_period)
		p.skeleton->rodata->tracepoint_period = opt->tracepoint_period;
	if (opt->max_stack && opt->max_stack < EVENT_USER_FRAMES)
		p.skeleton->rodata->unwind_frames_max = opt->max_stack;
	if (opt->stack_share)
		p.skeleton->rodata->launch_stack_price = 10000 / opt->stack_share;
	choose_programs(p.skeleton, opt);
	int rc = resize_maps(p.skeleton, opt->ring_bytes);
	if (rc < 0)
		return err_set(err, rc, "cannot size the BPF maps");
	rc = recorder_bpf__load(p.skeleton);
	if (rc < 0)
		return load_failed(rc, err);
	tell_sizes(p.skeleton);
	rc = measure_ids(p.skeleton);
	if (rc < 0)
		return err_set(err, rc, "cannot find out which pid namespace we are in");
	rc = attach_process(p.skeleton);
	if (rc < 0)
		return err_set(err, rc, "cannot follow processes");
	ret->single_uprobes = opt->single_uprobes;
	for (int part = 0; part < PROGRAMS_PARTS; part++)
		ret->part[part] = opt->is_late[part] ? NULL : p.skeleton;
	ret->skeleton = TAKE(p.skeleton);
	return 0;
}

void programs_close(struct programs *p)
{
	for (int part = 0; part < PROGRAMS_PARTS; part++) {
		if (p->part[part] != p->skeleton)
			recorder_bpf__destroy(p->part[part]);
		p->part[part] = NULL;
	}
	recorder_bpf__destroy(p->skeleton);
	p->skeleton = NULL;
}

/* Both are of the one object, whose maps are in the same order. */
static int share_maps(struct recorder_bpf *to, const struct recorder_bpf *from)
{
	struct bpf_map *theirs = NULL, *map;

	bpf_object__for_each_map(map, to->obj)
	{
		theirs = bpf_object__next_map(from->obj, theirs);
		int rc = bpf_map__reuse_fd(map, bpf_map__fd(theirs));
		if (rc < 0)
			return rc;
	}
	return 0;
}

int programs_load(struct programs *p, enum programs_part part, struct err *err)
{
	if (p->part[part])
		return 0;
	struct recorder_bpf *late = recorder_bpf__open();
	if (!late)
		return err_set(err, -errno, "cannot open the BPF object");
	memcpy(late->rodata, p->skeleton->rodata, sizeof(*late->rodata));
	choose_none(late);
	choose_part(late, part, p->single_uprobes);
	int rc = share_maps(late, p->skeleton);
	if (rc >= 0)
		rc = recorder_bpf__load(late);
	if (rc < 0) {
		recorder_bpf__destroy(late);
		return load_failed(rc, err);
	}
	tell_sizes(late);
	p->part[part] = late;
	return 0;
}

int programs_follow_waits(struct programs *p)
{
	if (!p->skeleton || p->skeleton->rodata->blocked_mode == BLOCKED_MODE_NONE)
		return 0;
	int rc = programs_load(p, PROGRAMS_WAITS, NULL);
	struct recorder_bpf *waits = p->part[PROGRAMS_WAITS];
	if (rc < 0 || waits->links.on_switch)
		return rc;
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	(void)bpf_prog_test_run_opts(bpf_program__fd(waits->progs.blocked_measure), &opts);
	waits->links.on_switch = bpf_program__attach(waits->progs.on_switch);
	return waits->links.on_switch ? 0 : -errno;
}

int programs_add_target(const struct programs *p, uint32_t pid, uint32_t flags, struct err *err)
{
	if (!p->skeleton)
		return 0;
	int rc = bpf_map__update_elem(p->skeleton->maps.targets, &pid, sizeof(pid), &flags,
				      sizeof(flags), BPF_ANY);
	if (rc < 0)
		return err_set(err, rc, "cannot make process %u a target", pid);
	return 0;
}

int programs_add_thread(const struct programs *p, uint32_t tid, struct err *err)
{
	const uint32_t one = 1;
	int rc = bpf_map__update_elem(p->skeleton->maps.target_threads, &tid, sizeof(tid), &one,
				      sizeof(one), BPF_ANY);

	return rc < 0 ? err_set(err, rc, "cannot make thread %u a target", tid) : 0;
}

void programs_remove_target(const struct programs *p, uint32_t pid)
{
	if (p->skeleton)
		(void)bpf_map__delete_elem(p->skeleton->maps.targets, &pid, sizeof(pid), 0);
}

/* Sum the @count 64-bit words that each CPU has under @key. */
static int sum_per_cpu(const struct bpf_map *map, uint32_t key, uint64_t *ret, size_t count)
{
	int cpus = libbpf_num_possible_cpus();
	if (cpus < 0)
		return cpus;
	size_t size = (size_t)cpus * count * sizeof(uint64_t);
	CLEANUP_FREE uint64_t *values = malloc(size);
	if (!values)
		return -ENOMEM;
	int rc = bpf_map__lookup_elem(map, &key, sizeof(key), values, size, 0);
	if (rc < 0)
		return rc;
	memset(ret, 0, count * sizeof(*ret));
	for (size_t i = 0; i < (size_t)cpus * count; i++)
		ret[i % count] += values[i];
	return 0;
}

int programs_losses(const struct programs *p, uint64_t ret[LOSS_COUNT])
{
	memset(ret, 0, LOSS_COUNT * sizeof(*ret));
	for (uint32_t i = 0; p->skeleton && i < LOSS_COUNT; i++) {
		int rc = sum_per_cpu(p->skeleton->maps.losses, i, &ret[i], 1);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int programs_costs(const struct programs *p, struct cost_total ret[COST_COUNT])
{
	memset(ret, 0, COST_COUNT * sizeof(*ret));
	for (uint32_t i = 0; p->skeleton && i < COST_COUNT; i++) {
		uint64_t words[2];
		int rc = sum_per_cpu(p->skeleton->maps.costs, i, words, 2);
		if (rc < 0)
			return rc;
		ret[i] = (struct cost_total){ .runs = words[0], .time_ns = words[1] };
	}
	return 0;
}
