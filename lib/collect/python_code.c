/* SPDX-License-Identifier: Apache-2.0 */
/* Code objects: from an address in an event to a name in the capture. */
#include "collect/python_internal.h"

#include "base/log.h"
#include "bpf/python.h"
#include "collect/ring.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

/* What makes a code object the one that was met before. */
struct code_key {
	uint64_t address;
	uint32_t space, check;
};

/* The number of a code object, which is pending when it is new; 0: too many. */
static int code_number(struct python *p, uint32_t pid, uint32_t space, uint64_t address,
		       uint32_t check, uint32_t *ret)
{
	const struct code_key key = { address, space, check };
	bool is_fresh;

	if (p->codes.len >= PYTHON_CODES_MAX) {
		p->stats.unreadable++;
		*ret = 0;
		return 0;
	}
	int rc = strtab_intern(&p->keys, &key, sizeof(key), ret, &is_fresh);
	if (rc < 0 || !is_fresh)
		return rc;
	struct known_code code = {
		.address = address,
		.pid = pid,
		.layout = p->spaces.data[space].layout,
		.code_type = p->spaces.data[space].code_type,
		.check = check,
	};
	p->stats.codes++;
	return vec_push(&p->codes, code) < 0 || vec_push(&p->pending, *ret) < 0 ? -ENOMEM : 0;
}

int python_intake(struct python *p, const struct event_header **event)
{
	const struct event_stack *stack = event_stack(*event);

	if (!stack || !stack->python_count)
		return 0;
	uint32_t space = python_space_of(p, (*event)->pid);
	size_t frames = (size_t)stack->skip + stack->user_count + stack->kernel_count;
	memcpy(p->event, *event, (*event)->size);
	struct event_stack *copy = (void *)((char *)p->event + (*event)->stack_offset);
	struct python_entry *entries = (struct python_entry *)&copy->ips[frames];
	for (uint32_t i = 0; i < copy->python_count; i++) {
		uint64_t address = entries[i].code & ~(uint64_t)PYTHON_ENTRY_END;
		uint32_t number = 0;
		if (address && space) {
			int rc = code_number(p, (*event)->pid, space, address, entries[i].check,
					     &number);
			if (rc < 0)
				return rc;
		}
		/* Entry 0 of codes is the one that cannot be read; no entry at all is that run. */
		uint64_t end = entries[i].code & PYTHON_ENTRY_END;
		entries[i].code = address ? ((uint64_t)number + 1) << 1 | end : end;
	}
	*event = (const struct event_header *)p->event;
	return 0;
}

/* What the kernel has read of it; false: it is malformed. */
static bool parts_of(const struct event_python_code *event, struct python_code_parts *ret)
{
	const struct event_python_text *file = &event->file_text, *name = &event->name_text;

	if ((file->width != 1 && file->width != 2 && file->width != 4) ||
	    (name->width != 1 && name->width != 2 && name->width != 4) ||
	    file->chars * file->width > EVENT_PYTHON_TEXT_BYTES ||
	    name->chars * name->width > EVENT_PYTHON_TEXT_BYTES)
		return false;
	*ret = (struct python_code_parts){
		.first_line = event->first_line,
		.file = { span_of(event->file, file->chars * file->width), file->width },
		.name = { span_of(event->name, name->chars * name->width), name->width },
		.is_one_name = event->file_address == event->name_address,
		.lines = span_of(event->lines, event->lines_bytes),
	};
	return true;
}

int python_take_code(struct python *p, const struct event_python_code *event)
{
	uint32_t space = python_space_of(p, event->header.pid);
	struct python_code_parts parts;
	uint32_t number;
	struct err err;

	if (!space || !parts_of(event, &parts))
		return 0;
	int rc = code_number(p, event->header.pid, space, event->code, event->check, &number);
	if (rc < 0 || !number || p->codes.data[number].is_read)
		return rc;
	struct known_code *known = &p->codes.data[number];
	rc = python_code_parse(&known->code, &p->layouts.data[known->layout], &parts, &err);
	known->is_read = rc == 0;
	if (rc == -EBADMSG)
		log_debug("process %u: code object at 0x%llx: %s", known->pid,
			  (unsigned long long)event->code, err.text);
	return rc == -ENOMEM ? rc : 0;
}

static int read_process(void *data, uint64_t address, void *to, uint32_t size)
{
	const uint32_t *pid = data;
	struct iovec local = { .iov_base = to, .iov_len = size };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)address, .iov_len = size };

	return process_vm_readv((pid_t)*pid, &local, 1, &remote, 1, 0) != (ssize_t)size;
}

int python_resolve(struct python *p)
{
	vec_for_each(&p->pending, number) {
		struct known_code *known = &p->codes.data[*number];
		if (known->is_read)
			continue;
		const struct python_access access = { read_process, &known->pid };
		struct err err;
		const struct python_runtime runtime = { &p->layouts.data[known->layout],
							known->code_type };
		int rc = python_code_read(&known->code, &access, &runtime, known->address,
					  known->check, &err);
		if (rc == -ENOMEM)
			return rc;
		known->is_read = rc == 0;
		if (rc == -ESTALE)
			p->stats.changed++;
		if (rc < 0) {
			p->stats.unreadable++;
			log_debug("process %u: %s", known->pid, err.text);
		}
	}
	p->pending.len = 0;
	return 0;
}

static int missing_frame(struct python *p, const char *text, uint32_t *object,
			 struct record_frame *ret)
{
	struct record_object record = { .kind = OBJECT_MISSING };
	int rc = 0;

	if (!*object) {
		rc = capture_writer_string(p->writer, text, &record.name);
		if (rc >= 0)
			rc = capture_writer_object(p->writer, &record, object);
	}
	*ret = (struct record_frame){ .object = *object };
	return rc < 0 ? rc : 0;
}

static int declare(struct python *p, struct known_code *known)
{
	struct record_object record = { .kind = OBJECT_PYTHON, .line = known->code.first_line };

	int rc = capture_writer_string(p->writer, known->code.name, &record.name);
	if (rc >= 0)
		rc = capture_writer_string(p->writer, known->code.file, &record.path);
	if (rc >= 0)
		rc = capture_writer_object(p->writer, &record, &known->object);
	return rc < 0 ? rc : 0;
}

int python_frame(struct python *p, const struct python_entry *entry, struct record_frame *ret)
{
	uint64_t number = (entry->code >> 1) - 1;
	struct known_code *known = &p->codes.data[number < p->codes.len ? number : 0];

	if (!known->is_read) {
		int rc = missing_frame(p, "[python code gone]", &p->gone_object, ret);
		return rc < 0 ? rc : 1;
	}
	if (known->code.is_shim)
		return 0;
	int rc = known->object ? 0 : declare(p, known);
	*ret = (struct record_frame){
		.object = known->object,
		.offset = python_code_line(&known->code, &p->layouts.data[known->layout],
					   entry->instr),
	};
	return rc < 0 ? rc : 1;
}

int python_gap_frame(struct python *p, struct record_frame *ret)
{
	return missing_frame(p, "[truncated]", &p->gap_object, ret);
}
