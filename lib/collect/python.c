/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/python_internal.h"

#include "base/log.h"
#include "bpf/python.h"
#include "collect/object.h"
#include "collect/programs.h"

#include "recorder.skel.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

int python_open(struct python **ret, const struct programs *programs, struct capture_writer *writer,
		struct err *err)
{
	CLEANUP(python_close) struct python *p = calloc(1, sizeof(*p));

	if (!p)
		return err_set(err, -ENOMEM, "no memory for Python's frames");
	p->writer = writer;
	p->processes_fd = bpf_map__fd(programs->skeleton->maps.python_processes);
	p->layouts_fd = bpf_map__fd(programs->skeleton->maps.python_layouts);
	/* Numbers begin with 1. */
	if (vec_push(&p->spaces, (struct python_space){ 0 }) < 0 ||
	    vec_push(&p->codes, (struct known_code){ 0 }) < 0)
		return err_set(err, -ENOMEM, "no memory for Python's frames");
	*ret = TAKE(p);
	return 0;
}

void python_close(struct python *p)
{
	if (!p)
		return;
	vec_for_each(&p->codes, code)
		python_code_release(&code->code);
	vec_release(&p->codes);
	vec_release(&p->pending);
	vec_release(&p->spaces);
	vec_release(&p->layouts);
	hash_for_each(&p->followers, slot)
		free((void *)(uintptr_t)slot->value);
	hash_release(&p->followers);
	strtab_release(&p->keys);
	free(p);
}

int python_object(struct python *p, struct object *object)
{
	struct python_binary *binary;
	struct err err;

	binary = calloc(1, sizeof(*binary));
	if (!binary)
		return -ENOMEM;
	int rc = python_binary_find(binary, object->elf, &err);
	if (rc > 0) {
		object->python = binary;
		return 0;
	}
	free(binary);
	if (rc == -ENOTSUP)
		p->stats.refused++;
	if (rc < 0)
		log_debug("no Python frames of '%s': %s", object->path, err.text);
	return rc == -ENOMEM ? rc : 0;
}

static int layout_number(struct python *p, const struct python_layout *layout, uint32_t *ret)
{
	for (size_t i = 0; i < p->layouts.len; i++) {
		if (memcmp(&p->layouts.data[i], layout, sizeof(*layout)) == 0) {
			*ret = (uint32_t)i;
			return 0;
		}
	}
	if (p->layouts.len == PYTHON_LAYOUTS_MAX) {
		p->stats.refused++;
		return -ENOSPC;
	}
	uint32_t number = (uint32_t)p->layouts.len;
	if (vec_push(&p->layouts, *layout) < 0)
		return -ENOMEM;
	*ret = number;
	return bpf_map_update_elem(p->layouts_fd, &number, layout, BPF_ANY);
}

static struct python_follower *follower_find(const struct python *p, uint32_t pid)
{
	const uint64_t *value = hash_get(&p->followers, pid);

	return value ? (struct python_follower *)(uintptr_t)*value : NULL;
}

static int follower_get(struct python *p, uint32_t pid, struct python_follower **ret)
{
	struct python_follower *f = follower_find(p, pid);

	if (!f) {
		f = calloc(1, sizeof(*f));
		if (!f || hash_set(&p->followers, pid, (uint64_t)(uintptr_t)f) < 0) {
			free(f);
			return -ENOMEM;
		}
	}
	*ret = f;
	return 0;
}

static void tell_kernel(struct python *p, uint32_t pid, const struct python_follower *f)
{
	const struct python_space *space = &p->spaces.data[f->space];
	struct python_process value = { .runtime = space->runtime, .layout = space->layout };

	(void)bpf_map_update_elem(p->processes_fd, &pid, &value, BPF_ANY);
}

static void forget(struct python *p, uint32_t pid, struct python_follower *f)
{
	f->space = 0;
	(void)bpf_map_delete_elem(p->processes_fd, &pid);
}

uint32_t python_space_of(const struct python *p, uint32_t pid)
{
	const struct python_follower *f = follower_find(p, pid);

	return f ? f->space : 0;
}

/* @pid has the interpreter of @binary since @time_ns or before. */
static int settle(struct python *p, uint32_t pid, const struct python_binary *binary, uint64_t bias,
		  uint64_t time_ns)
{
	struct python_space space = { .runtime = binary->runtime + bias };
	uint32_t number = (uint32_t)p->spaces.len;
	struct python_follower *f;

	if (binary->code_type)
		space.code_type = binary->code_type + bias;
	int rc = layout_number(p, &binary->layout, &space.layout);
	if (rc < 0)
		return rc == -ENOMEM ? rc : 0;
	if (vec_push(&p->spaces, space) < 0 || follower_get(p, pid, &f) < 0)
		return -ENOMEM;
	f->space = number;
	f->seen_ns = time_ns;
	tell_kernel(p, pid, f);
	return 0;
}

int python_map(struct python *p, uint32_t pid, const struct object *object, uint64_t bias,
	       uint64_t time_ns)
{
	struct python_follower *f = follower_find(p, pid);

	if (!object->python)
		return 0;
	if (f && f->space) {
		bool is_older = time_ns < f->seen_ns;
		if (!is_older)
			f->seen_ns = time_ns;
		if (is_older || p->spaces.data[f->space].runtime == object->python->runtime + bias)
			return 0; /* another segment of it */
	}
	return settle(p, pid, object->python, bias, time_ns);
}

int python_look(struct python *p, uint32_t pid, const struct object *object, uint64_t bias,
		uint64_t looked_ns)
{
	if (!object->python || python_space_of(p, pid))
		return 0;
	return settle(p, pid, object->python, bias, looked_ns);
}

int python_fork(struct python *p, uint32_t pid, uint32_t child)
{
	const struct python_follower *parent = follower_find(p, pid);
	struct python_follower *f;

	if (!parent || child == pid)
		return 0;
	int rc = follower_get(p, child, &f);
	if (rc == 0)
		*f = *parent;
	return rc;
}

int python_image(struct python *p, uint32_t pid, uint64_t time_ns)
{
	struct python_follower *f;

	int rc = follower_get(p, pid, &f);
	if (rc < 0)
		return rc;
	f->image_ns = time_ns;
	if (f->space && f->seen_ns < time_ns)
		forget(p, pid, f);
	return 0;
}

int python_exec(struct python *p, uint32_t pid, uint64_t time_ns)
{
	struct python_follower *f;

	int rc = follower_get(p, pid, &f);
	if (rc < 0)
		return rc;
	/* python_image() of the same exec is still to come when there was none since the last. */
	bool is_new = f->image_ns > f->exec_ns && f->seen_ns >= f->image_ns;
	f->exec_ns = time_ns;
	if (f->space && is_new)
		tell_kernel(p, pid, f);
	else if (f->space)
		forget(p, pid, f);
	return 0;
}

void python_gone(struct python *p, uint32_t pid)
{
	struct python_follower *f = follower_find(p, pid);

	if (!f)
		return;
	forget(p, pid, f);
	(void)hash_remove(&p->followers, pid);
	free(f);
}

struct python_stats *python_stats(struct python *p)
{
	return &p->stats;
}
