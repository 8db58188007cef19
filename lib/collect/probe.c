/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attaching. The events are taken apart in probe_event.c, the site's program for the kernel is made
 * in probe_program.c.
 */
#include "collect/probe.h"

#include "base/hash.h"
#include "base/log.h"
#include "collect/probe_internal.h"
#include "collect/programs.h"

#include "recorder.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Newer than the headers we build with: enum bpf_attach_type of Linux 6.6. */
#define ATTACH_UPROBE_MULTI        48
#define ATTACH_UPROBE_MULTI_RETURN (1u << 0)

/* BPF_LINK_CREATE with the fields of its uprobe_multi variant (include/uapi/linux/bpf.h, 6.6). */
struct multi_link_attr {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t count, multi_flags, pid, padding;
};

/* The fd of a link, or a negative errno. */
static int multi_link_create(int program, const char *path, const struct target *targets,
			     size_t count, uint32_t flags)
{
	uint64_t offsets[TARGETS_MAX], cookies[TARGETS_MAX], counters[TARGETS_MAX];
	struct multi_link_attr attr = {
		.prog_fd = (uint32_t)program,
		.attach_type = ATTACH_UPROBE_MULTI,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)offsets,
		.ref_ctr_offsets = (uintptr_t)counters,
		.cookies = (uintptr_t)cookies,
		.count = (uint32_t)count,
		.multi_flags = flags,
	};

	for (size_t i = 0; i < count; i++) {
		offsets[i] = targets[i].offset;
		counters[i] = targets[i].counter;
		cookies[i] = targets[i].program;
	}
	long fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	return fd < 0 ? -errno : (int)fd;
}

/* A folder cannot be probed: a kernel that has the link type says so, an older one knows no such
 * attach type. */
static bool kernel_has_multi(void)
{
	const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = ATTACH_UPROBE_MULTI);
	const struct target target = { 0 };
	CLEANUP_CLOSE int program =
		bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "Dual BSD/GPL", nothing, 2, &opts);

	if (program < 0)
		return false;
	CLEANUP_CLOSE int link = multi_link_create(program, "/", &target, 1, 0);
	return link == -EBADF;
}

/* Sleepable uprobes came with Linux 6.0; loading is the only way to find out. */
static bool kernel_has_sleepable(void)
{
	const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .prog_flags = BPF_F_SLEEPABLE);
	CLEANUP_CLOSE int program =
		bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "Dual BSD/GPL", nothing, 2, &opts);

	return program >= 0;
}

void probes_prepare(struct recorder_bpf *skeleton, bool single_uprobes)
{
	bool sleepable = kernel_has_sleepable();

	bpf_program__set_autoload(skeleton->progs.on_probe_return, sleepable);
	bpf_program__set_autoload(skeleton->progs.on_probe_return_plain, !sleepable);
	if (single_uprobes || !kernel_has_multi())
		return;
	bpf_program__set_expected_attach_type(skeleton->progs.on_probe, ATTACH_UPROBE_MULTI);
	bpf_program__set_expected_attach_type(skeleton->progs.on_probe_entry, ATTACH_UPROBE_MULTI);
	bpf_program__set_expected_attach_type(skeleton->progs.on_probe_return, ATTACH_UPROBE_MULTI);
	bpf_program__set_expected_attach_type(skeleton->progs.on_probe_return_plain,
					      ATTACH_UPROBE_MULTI);
}

bool probes_by_multi(const struct recorder_bpf *skeleton)
{
	return bpf_program__expected_attach_type(skeleton->progs.on_probe) == ATTACH_UPROBE_MULTI;
}

int probes_open(struct probes **ret, struct programs *programs, const struct accel *accel,
		bool samples, struct err *err)
{
	CLEANUP(probes_close) struct probes *p = calloc(1, sizeof(*p));

	if (!p)
		return err_set(err, -ENOMEM, "no memory for probes");
	p->accel = accel;
	p->samples = samples;
	p->programs = programs;
	p->map_fd = bpf_map__fd(programs->skeleton->maps.probe_programs);
	*ret = TAKE(p);
	return 0;
}

static struct bpf_program *program_of(const struct probes *p, enum probe_kind kind)
{
	const struct recorder_bpf *skeleton = p->programs->part[PROGRAMS_LAUNCHES];

	switch (kind) {
	case PROBE_CALL:
		return skeleton->progs.on_probe;
	case PROBE_ENTRY:
		return skeleton->progs.on_probe_entry;
	case PROBE_EXIT:
		break;
	}
	return bpf_program__autoload(skeleton->progs.on_probe_return)
		       ? skeleton->progs.on_probe_return
		       : skeleton->progs.on_probe_return_plain;
}

static void links_close(struct probes *p, size_t from)
{
	while (p->links.len > from) {
		struct link *link = vec_last(&p->links);
		if (link->perf)
			bpf_link__destroy(link->perf);
		else
			close(link->fd);
		p->links.len--;
	}
}

void probes_close(struct probes *p)
{
	if (!p)
		return;
	links_close(p, 0);
	vec_release(&p->links);
	hash_release(&p->files);
	probe_texts_release(p);
	free(p);
}

bool probes_want(const struct accel *accel, const char *path)
{
	for (size_t i = 0; i < accel_site_count(accel); i++)
		if (site_in_library(accel_site(accel, i), path))
			return true;
	return false;
}

static int attach_multi(struct probes *p, enum probe_kind kind, const char *path,
			const struct target *targets, size_t count, struct err *err)
{
	struct link link = {
		.fd = multi_link_create(bpf_program__fd(program_of(p, kind)), path, targets, count,
					kind == PROBE_EXIT ? ATTACH_UPROBE_MULTI_RETURN : 0),
	};

	if (link.fd < 0)
		return err_set(err, link.fd, "cannot attach uprobes");
	if (vec_push(&p->links, link) < 0) {
		close(link.fd);
		return err_set(err, -ENOMEM, "no memory for probes");
	}
	return 0;
}

static int attach_perf(struct probes *p, enum probe_kind kind, const char *path,
		       const struct target *target, struct err *err)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = target->program,
		    .ref_ctr_offset = target->counter, .retprobe = kind == PROBE_EXIT);
	struct link link = {
		.fd = -1,
		.perf = bpf_program__attach_uprobe_opts(program_of(p, kind), -1, path,
							target->offset, &opts),
	};

	if (!link.perf)
		return err_set(err, -errno, "cannot attach a uprobe");
	if (vec_push(&p->links, link) < 0) {
		bpf_link__destroy(link.perf);
		return err_set(err, -ENOMEM, "no memory for probes");
	}
	return 0;
}

static int attach_kind(struct probes *p, enum probe_kind kind, const char *path,
		       const struct target *targets, size_t count, struct err *err)
{
	int rc = 0;

	if (count == 0)
		return 0;
	if (probes_by_multi(p->programs->part[PROGRAMS_LAUNCHES]))
		return attach_multi(p, kind, path, targets, count, err);
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = attach_perf(p, kind, path, &targets[i], err);
	return rc;
}

/* Write the program of a site and note where it goes. 0: this file has no such function. */
static int target_add(struct probes *p, struct site_file *file, size_t number, struct target *ret,
		      struct err *err)
{
	const struct probe_site *site = accel_site(p->accel, number);
	struct probe_program program;
	struct probe_place place;
	int rc;

	rc = site_resolve(file, site, &place, &ret->offset, err);
	if (rc == -ENOENT)
		return 0;
	if (rc == 0)
		rc = site_counter(file, site, &ret->counter, err);
	if (rc < 0)
		return rc;
	if (p->used == PROBE_PROGRAMS_MAX)
		return err_set(err, -ENOSPC, "more than %d probes", PROBE_PROGRAMS_MAX);
	probe_program_make(site, (uint32_t)number, &place, &program);
	ret->program = p->used;
	rc = bpf_map_update_elem(p->map_fd, &ret->program, &program, BPF_ANY);
	if (rc < 0)
		return err_set(err, rc, "cannot program the probe of '%s'", site->symbol);
	p->used++;
	log_debug("probe %s+%u%s", site->symbol, place.skip, place.emulated ? "" : " (stepped)");
	return 1;
}

/* All sites that the file has. On failure the links made so far stay for the caller to close. */
static int attach_sites(struct probes *p, struct site_file *file, const char *name,
			const char *link_path, struct err *err)
{
	struct target calls[TARGETS_MAX], returns[TARGETS_MAX];
	size_t call_count = 0, return_count = 0;
	int rc;

	for (size_t i = 0; i < accel_site_count(p->accel); i++) {
		const struct probe_site *site = accel_site(p->accel, i);
		bool at_return = site->flags & PROBE_AT_RETURN;
		if (site->flags & PROBE_ON_REQUEST && !accel_wants(p->accel, site, p->samples))
			continue;
		if (!site_in_library(site, name) || call_count == TARGETS_MAX ||
		    return_count == TARGETS_MAX)
			continue;
		rc = target_add(p, file, i, at_return ? &returns[return_count] : &calls[call_count],
				err);
		if (rc < 0)
			return rc;
		*(at_return ? &return_count : &call_count) += (size_t)rc;
	}
	rc = attach_kind(p, PROBE_CALL, link_path, calls, call_count, err);
	if (rc == 0)
		rc = attach_kind(p, PROBE_ENTRY, link_path, returns, return_count, err);
	if (rc == 0)
		rc = attach_kind(p, PROBE_EXIT, link_path, returns, return_count, err);
	return rc < 0 ? rc : (int)(call_count + return_count);
}

int probes_attach(struct probes *p, int fd, const char *path, struct err *err)
{
	CLEANUP(site_file_close) struct site_file *file = NULL;
	size_t before = p->links.len;
	char link_path[64];
	struct stat st;
	int rc;

	if (!probes_want(p->accel, path))
		return 0;
	if (fstat(fd, &st) < 0)
		return err_set(err, -errno, "cannot look at '%s'", path);
	/* One key of two numbers: two of some hundred files will not have the same. */
	uint64_t key = hash_u64(st.st_dev) ^ st.st_ino;
	if (hash_get(&p->files, key))
		return 0;
	/* Whatever comes of it, it would come of it again. */
	rc = hash_set(&p->files, key, 1);
	if (rc < 0)
		return err_set(err, rc, "no memory for probes");
	rc = programs_load(p->programs, PROGRAMS_LAUNCHES, err);
	if (rc >= 0)
		rc = site_file_open(&file, fd, path, err);
	if (rc < 0)
		return rc;
	/* Through the descriptor: by now the path may name another file, or none that we can see. */
	snprintf(link_path, sizeof(link_path), "/proc/self/fd/%d", fd);
	rc = attach_sites(p, file, path, link_path, err);
	if (rc < 0) {
		links_close(p, before);
		return err_prefix(err, rc, "cannot probe '%s'", path);
	}
	p->stats.files += rc > 0;
	p->stats.sites += (uint32_t)rc;
	return rc;
}

struct probes_stats probes_stats(const struct probes *p)
{
	struct probes_stats stats = p->stats;

	const struct recorder_bpf *skeleton = p->programs->part[PROGRAMS_LAUNCHES];
	stats.by_multi = skeleton && probes_by_multi(skeleton);
	return stats;
}
