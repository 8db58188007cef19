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
	hash_release(&p->by_pid);
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

static void tell_kernel(struct python *p, uint32_t pid, const struct python_space *space)
{
	struct python_process value = { .runtime = space->runtime, .layout = space->layout };

	(void)bpf_map_update_elem(p->processes_fd, &pid, &value, BPF_ANY);
}

int python_map(struct python *p, uint32_t pid, const struct object *object, uint64_t bias)
{
	struct python_space space = { 0 };
	uint32_t number = (uint32_t)p->spaces.len;
	const uint64_t *known = hash_get(&p->by_pid, pid);

	if (!object || !object->python)
		return 0;
	space.runtime = object->python->runtime + bias;
	if (object->python->code_type)
		space.code_type = object->python->code_type + bias;
	if (known && p->spaces.data[*known].runtime == space.runtime)
		return 0; /* another segment of it */
	int rc = layout_number(p, &object->python->layout, &space.layout);
	if (rc < 0)
		return rc == -ENOMEM ? rc : 0;
	if (vec_push(&p->spaces, space) < 0 || hash_set(&p->by_pid, pid, number) < 0)
		return -ENOMEM;
	tell_kernel(p, pid, &space);
	return 0;
}

int python_fork(struct python *p, uint32_t pid, uint32_t child)
{
	const uint64_t *number = hash_get(&p->by_pid, pid);

	return number ? hash_set(&p->by_pid, child, *number) : 0;
}

int python_exec(struct python *p, uint32_t pid, bool is_new)
{
	const uint64_t *number = hash_get(&p->by_pid, pid);

	if (is_new)
		python_gone(p, pid);
	else if (number)
		tell_kernel(p, pid, &p->spaces.data[*number]);
	return 0;
}

void python_gone(struct python *p, uint32_t pid)
{
	if (hash_remove(&p->by_pid, pid))
		(void)bpf_map_delete_elem(p->processes_fd, &pid);
}

struct python_stats *python_stats(struct python *p)
{
	return &p->stats;
}
