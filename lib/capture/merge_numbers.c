/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of the captures that are merged, and what of them is the same. */
#include "capture/merge_internal.h"

#include <errno.h>
#include <string.h>

/* More than any accelerator's whole program; those that read captures take no more either. */
#define CODE_KEPT_MAX ((size_t)256 << 20)

/* ---- keys ---- */

/* What a key is of, so that equal bytes of different things stay apart. */
enum key_kind {
	KEY_THREAD = 1,
	KEY_DEVICE,
	KEY_CODE,
	KEY_OTHER,
};

static int find_key(struct merge *m, enum key_kind kind, const void *data, size_t size,
		    uint32_t *ret)
{
	uint8_t key[128] = { (uint8_t)kind };
	if (size >= sizeof(key))
		return -EINVAL;
	memcpy(key + 1, data, size);
	bool is_new;
	int rc = strtab_intern(&m->keys, key, size + 1, ret, &is_new);
	return rc < 0 ? rc : is_new;
}

int merge_is_new(struct merge *m, const void *key, size_t size)
{
	uint32_t number;
	return find_key(m, KEY_OTHER, key, size, &number);
}

/* The number of what has this key; a new one where it is new, or NULL to ask. 1, 0 or -ENOMEM. */
static int number_by_key(struct merge *m, enum key_kind kind, const void *data, size_t size,
			 enum field_kind field, uint32_t *ret)
{
	uint32_t key;
	int rc = find_key(m, kind, data, size, &key);
	if (rc < 0)
		return rc;
	const uint64_t *known = rc ? NULL : hash_get(&m->by_key, key);
	if (known) {
		*ret = (uint32_t)*known;
		return 0;
	}
	*ret = ++m->given[field];
	rc = hash_set(&m->by_key, key, *ret);
	return rc < 0 ? rc : 1;
}

/* ---- references ---- */

int merge_string(struct merge *m, uint32_t id, uint32_t *ret)
{
	struct hash *numbers = &m->now.numbers[FIELD_STRING];
	const uint64_t *known = hash_get(numbers, id);
	if (!id || known) {
		*ret = id ? (uint32_t)*known : 0;
		return 0;
	}
	struct span text = capture_reader_string(m->now.reader, id);
	int rc = capture_writer_bytes(m->writer, text.data, text.size, ret);
	return rc < 0 ? rc : hash_set(numbers, id, *ret);
}

static int merge_stack(struct merge *m, uint32_t id, uint32_t *ret)
{
	struct record_stack stack;
	/* The writer forgets stacks of old epochs. */
	if (m->now.epoch != capture_writer_epoch(m->writer)) {
		hash_release(&m->now.stacks);
		m->now.epoch = capture_writer_epoch(m->writer);
	}
	const uint64_t *known = hash_get(&m->now.stacks, id);
	if (!id || known) {
		*ret = id ? (uint32_t)*known : 0;
		return 0;
	}
	int rc = capture_reader_stack(m->now.reader, id, m->frames, &stack);
	for (uint32_t i = 0; i < stack.count && !rc; i++)
		rc = merge_number(m, FIELD_OBJECT, m->frames[i].object, &m->frames[i].object);
	rc = rc ? rc : capture_writer_stack(m->writer, m->frames, stack.count, stack.flags, ret);
	if (rc < 0)
		return rc;
	if (m->now.epoch != capture_writer_epoch(m->writer)) {
		hash_release(&m->now.stacks);
		m->now.epoch = capture_writer_epoch(m->writer);
	}
	return hash_set(&m->now.stacks, id, *ret);
}

int merge_number(struct merge *m, enum field_kind kind, uint32_t id, uint32_t *ret)
{
	if (kind == FIELD_STRING)
		return merge_string(m, id, ret);
	if (kind == FIELD_STACK)
		return merge_stack(m, id, ret);
	const uint64_t *known = hash_get(&m->now.numbers[kind], id);
	if (!id || known) {
		*ret = id ? (uint32_t)*known : 0;
		return 0;
	}
	/* Not defined, or only later. An object always is, by the reader. */
	if (kind == FIELD_OBJECT)
		return -EBADMSG;
	*ret = ++m->given[kind];
	return hash_set(&m->now.numbers[kind], id, *ret);
}

/* ---- objects ---- */

int merge_object(struct merge *m, const struct record_object *object)
{
	struct record_object copy = *object;
	uint32_t id;
	int rc = merge_string(m, object->name, &copy.name);
	rc = rc ? rc : merge_string(m, object->path, &copy.path);
	rc = rc ? rc : merge_number(m, FIELD_PROCESS, object->process, &copy.process);
	rc = rc ? rc : merge_number(m, FIELD_CODE_OBJECT, object->code_object, &copy.code_object);
	/* Equal offsets mean the same only on the same machine, unless there is a build-id. */
	bool is_local = object->kind == OBJECT_KERNEL || object->kind == OBJECT_VDSO ||
			object->kind == OBJECT_ELF;
	if (is_local && (!object->build_id.size || object->kind == OBJECT_KERNEL))
		copy.generation = m->now.boot;
	rc = rc ? rc : capture_writer_object(m->writer, &copy, &id);
	return rc < 0 ? rc : hash_set(&m->now.numbers[FIELD_OBJECT], object->id, id);
}

/* ---- processes, threads, devices ---- */

static bool may_be(uint64_t a, uint64_t b)
{
	return !a || !b || a == b;
}

/* The same process seen twice: by sessions of different tools, or by two of ours at once. Two traces
 * of one format are of different processes, whose numbers may be equal in containers. */
static bool is_same_process(const struct merge *m, const struct merge_process *known,
			    const struct record_process *p)
{
	return known->source != m->now.number && p->pid && known->run == m->now.run &&
	       may_be(known->start_ns, p->start_ns) && may_be(known->host, p->host) &&
	       may_be(known->rank, p->rank) && (known->kind != m->now.kind || m->now.is_ours);
}

static int process_number(struct merge *m, struct record_process *p)
{
	const uint64_t *first = hash_get(&m->processes_by_pid, p->pid);
	uint64_t chain = first ? *first : 0;

	for (uint64_t i = chain; i; i = m->processes.data[i - 1].next) {
		struct merge_process *known = &m->processes.data[i - 1];
		if (!is_same_process(m, known, p))
			continue;
		p->id = known->id;
		known->source = m->now.number;
		return 0;
	}
	p->id = ++m->given[FIELD_PROCESS];
	struct merge_process added = {
		.id = p->id,
		.pid = p->pid,
		.start_ns = p->start_ns,
		.host = p->host,
		.run = m->now.run,
		.rank = p->rank,
		.source = m->now.number,
		.kind = m->now.kind,
		.next = (uint32_t)chain,
	};
	if (vec_push(&m->processes, added) < 0)
		return -ENOMEM;
	int rc = hash_set(&m->processes_by_pid, p->pid, m->processes.len);
	return rc < 0 ? rc : 1;
}

static int define_process(struct merge *m, struct record_process *p)
{
	if (!p->rank)
		p->rank = m->now.source->rank;
	if (m->opt.drops_host)
		p->host = p->host ? p->host : m->now.clock.host;
	p->run = p->run ? p->run : m->now.run;
	int rc = process_number(m, p);
	if (rc >= 0 && p->rank && !m->now.ranked)
		m->now.ranked = p->id;
	return rc;
}

static int define_thread(struct merge *m, struct record_thread *t)
{
	const uint32_t key[] = { t->process, t->tid, t->tid ? 0 : m->now.number,
				 t->tid ? 0 : t->id };
	return number_by_key(m, KEY_THREAD, key, sizeof(key), FIELD_THREAD, &t->id);
}

/* Ranks count their own devices from 0, and repeated runs each have theirs to themselves. */
static int define_device(struct merge *m, struct record_device *d)
{
	if (!d->process && !m->opt.is_copy)
		d->process = m->now.ranked;
	const uint32_t key[] = { d->process,
				 d->runtime,
				 d->name,
				 d->index,
				 m->now.run,
				 m->now.boot,
				 m->now.boot ? 0 : m->now.number };
	return number_by_key(m, KEY_DEVICE, key, sizeof(key), FIELD_DEVICE, &d->id);
}

int merge_define(struct merge *m, struct record *rec)
{
	static const enum field_kind kinds[RECORD_TYPE_COUNT] = {
		[RECORD_PROCESS] = FIELD_PROCESS, [RECORD_THREAD] = FIELD_THREAD,
		[RECORD_DEVICE] = FIELD_DEVICE,   [RECORD_QUEUE] = FIELD_QUEUE,
		[RECORD_KERNEL] = FIELD_KERNEL,
	};
	enum field_kind kind = kinds[rec->type];
	uint32_t *id = record_body(rec); /* the first field of each */
	uint32_t number = *id;
	const uint64_t *known = hash_get(&m->now.numbers[kind], number);
	int rc;

	/* Used before it is defined, or defined twice. */
	if (known) {
		*id = (uint32_t)*known;
		return 1;
	}
	if (rec->type == RECORD_PROCESS) {
		rc = define_process(m, &rec->process);
	} else if (rec->type == RECORD_THREAD) {
		rc = define_thread(m, &rec->thread);
	} else if (rec->type == RECORD_DEVICE) {
		rc = define_device(m, &rec->device);
	} else {
		*id = ++m->given[kind];
		rc = 1;
	}
	if (rc < 0)
		return rc;
	return hash_set(&m->now.numbers[kind], number, *id) < 0 ? -ENOMEM : rc;
}

/* ---- code objects ---- */

/* Equal code, loaded at the same place, is there once; 64 bits of hash and the size tell. */
static int code_finish(struct merge *m)
{
	struct record_code_object *code = &m->now.code;
	struct hash *numbers = &m->now.numbers[FIELD_CODE_OBJECT];
	uint32_t id = code->id;

	if (!id)
		return 0;
	code->id = 0;
	const uint64_t *used = hash_get(numbers, id);
	struct {
		uint64_t load_address, size, hash;
		uint32_t kind, name, device, zero;
	} key = {
		.load_address = code->load_address,
		.size = m->now.bytes.len,
		.hash = hash_bytes(m->now.bytes.data, m->now.bytes.len),
		.kind = code->kind,
		.name = code->name,
		.device = code->device,
	};
	uint32_t number = used ? (uint32_t)*used : 0;
	int rc = number ? 1
			: number_by_key(m, KEY_CODE, &key, sizeof(key), FIELD_CODE_OBJECT, &number);
	if (rc < 0 || hash_set(numbers, id, number) < 0)
		return -ENOMEM;
	code->id = number;
	if (rc > 0)
		rc = capture_writer_code_object(m->writer, code, m->now.bytes.data,
						m->now.bytes.len);
	code->id = 0;
	m->now.bytes.len = 0;
	return rc < 0 ? rc : 0;
}

int merge_code(struct merge *m, const struct record_code_object *part)
{
	struct record_code_object *code = &m->now.code;
	int rc = 0;

	if (!part->part_offset) {
		m->now.bytes.len = 0; /* what there may be never became whole */
		*code = *part;
		rc = rc ? rc : merge_string(m, part->name, &code->name);
		rc = rc ? rc : merge_number(m, FIELD_PROCESS, part->process, &code->process);
		rc = rc ? rc : merge_number(m, FIELD_DEVICE, part->device, &code->device);
	}
	/* What does not go on where the last part ended is of no use to a reader either. */
	if (rc < 0 || part->id != code->id || part->part_offset != m->now.bytes.len ||
	    part->total_bytes > CODE_KEPT_MAX)
		return rc;
	if (part->part.size) {
		if (vec_reserve(&m->now.bytes, m->now.bytes.len + part->part.size) < 0)
			return -ENOMEM;
		memcpy(m->now.bytes.data + m->now.bytes.len, part->part.data, part->part.size);
		m->now.bytes.len += part->part.size;
	}
	return m->now.bytes.len == part->total_bytes ? code_finish(m) : 0;
}
