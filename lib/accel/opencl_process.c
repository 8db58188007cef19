/* SPDX-License-Identifier: Apache-2.0 */
/* Processes, threads, queues and devices. */
#include "accel/opencl.h"

#include "accel/info.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define QUEUE_OUT_OF_ORDER (1u << 0) /* CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE */
#define QUEUE_PROPERTIES   0x1093    /* CL_QUEUE_PROPERTIES: the key in a list of pairs */
#define DEVICE_NAME_MAX    256
#define DEVICE_SCAN_WORDS  192 /* POCL 3.1's device struct is some 1,100 bytes up to its name */
/* Words of POCL's queue among which is its device: 72 in 3.1, 8 or 16 later in other builds. */
#define QUEUE_DEVICE_FIRST 64
#define QUEUE_DEVICE_WORDS 5

struct opencl_process *opencl_process(struct opencl *o, const struct accel_event *e)
{
	struct opencl_process *p = process_index_get(&o->processes, e->process);

	if (p)
		return p;
	p = process_index_add(&o->processes, e->process, sizeof(*p));
	if (!p)
		return NULL;
	p->process = e->process;
	p->pid = e->pid;
	kernel_table_init(&p->kernels, &o->host, p->process, "OpenCL program");
	p->name_word = -1;
	p->window_word = -1;
	return p;
}

void opencl_process_free(void *state)
{
	struct opencl_process *p = state;

	if (!p)
		return;
	vec_for_each(&p->queues, it)
		vec_release(&it->launches);
	kernel_table_release(&p->kernels);
	vec_release(&p->queues);
	vec_release(&p->devices);
	vec_release(&p->threads);
	vec_release(&p->waits);
	vec_release(&p->commands);
	vec_release(&p->free_commands);
	hash_release(&p->queue_index);
	hash_release(&p->device_index);
	hash_release(&p->thread_index);
	hash_release(&p->command_index);
	told_code_release(&p->code);
	free(p);
}

int opencl_thread(struct opencl_process *p, uint32_t tid, struct opencl_thread **ret)
{
	uint64_t *index = hash_get(&p->thread_index, tid);

	if (!index) {
		if (p->threads.len >= OPENCL_THREADS_MAX) {
			hash_release(&p->thread_index);
			p->threads.len = 0;
		}
		if (vec_push(&p->threads, (struct opencl_thread){ .tid = tid }) < 0 ||
		    hash_set(&p->thread_index, tid, p->threads.len - 1) < 0)
			return -ENOMEM;
		*ret = vec_last(&p->threads);
		return 0;
	}
	*ret = &p->threads.data[*index];
	return 0;
}

static bool starts_like_device(const char *text)
{
	return strncmp(text, "pthread-", 8) == 0 || strncmp(text, "cpu-", 4) == 0 ||
	       strncmp(text, "basic-", 6) == 0;
}

/*
 * A CPU device of POCL is called after its driver and the processor ("pthread-skylake-avx512-AMD
 * EPYC", later "cpu-..."); the struct behind its handle has a pointer to that text.
 */
static bool find_device_name(struct opencl *o, const struct opencl_process *p, uint64_t handle,
			     char *name)
{
	uint64_t words[DEVICE_SCAN_WORDS];
	char text[DEVICE_NAME_MAX];

	if (!handle || o->host.read(o->host.data, p->pid, handle, words, sizeof(words)) < 0)
		return false;
	name[0] = '\0';
	for (size_t i = 0; i < DEVICE_SCAN_WORDS; i++) {
		if (words[i] < 4096 || o->host.read(o->host.data, p->pid, words[i], text, 8) < 0 ||
		    !starts_like_device(text) ||
		    o->host.read(o->host.data, p->pid, words[i], text, sizeof(text)) < 0 ||
		    !memchr(text, '\0', sizeof(text)) || strlen(text) <= strlen(name))
			continue;
		memcpy(name, text, sizeof(text));
	}
	return name[0];
}

/* The DEVICE record: one for all processes that see a device of this name at this place. */
static int device_record(struct opencl *o, struct opencl_process *p, uint64_t handle,
			 uint32_t index, uint32_t *ret)
{
	struct record_device device = { .index = index };
	char name[DEVICE_NAME_MAX] = "OpenCL device";
	bool is_pocl = find_device_name(o, p, handle, name);
	int rc;

	if (!is_pocl)
		snprintf(name, sizeof(name), "OpenCL device");
	rc = capture_writer_string(o->host.writer, name, &device.name);
	if (rc < 0)
		return rc;
	uint64_t *known = hash_get(&o->device_names, hash_pair(device.name, index));
	if (known) {
		*ret = (uint32_t)*known;
		return 0;
	}
	if (is_pocl) {
		long cpus = sysconf(_SC_NPROCESSORS_ONLN);
		device.units = cpus > 0 ? (uint64_t)cpus : 0;
	}
	rc = accel_device(&o->host, &device, "opencl", is_pocl ? "POCL" : NULL);
	if (rc == 0)
		rc = hash_set(&o->device_names, hash_pair(device.name, index), device.id);
	if (rc == 0)
		*ret = device.id;
	return rc;
}

int opencl_device(struct opencl *o, struct opencl_process *p, uint64_t handle, uint32_t *ret)
{
	uint64_t *known = hash_get(&p->device_index, handle);
	struct opencl_device device = { .handle = handle };
	int rc;

	/* What could not be seen is what was told. */
	if (!handle && p->is_told && p->devices.len == 1)
		known = hash_get(&p->device_index, p->devices.data[0].handle);
	if (!known && p->devices.len >= OPENCL_DEVICES_MAX)
		known = hash_get(&p->device_index, p->devices.data[0].handle);
	if (known) {
		*ret = p->devices.data[*known].record;
		return 0;
	}
	rc = device_record(o, p, handle, (uint32_t)p->devices.len, &device.record);
	if (rc < 0)
		return rc;
	if (vec_push(&p->devices, device) < 0 ||
	    hash_set(&p->device_index, handle, p->devices.len - 1) < 0)
		return -ENOMEM;
	*ret = device.record;
	return 0;
}

/* A queue at a handle that was not used before. */
static int add_queue(struct opencl *o, struct opencl_process *p, struct opencl_queue *queue)
{
	int rc = accel_queue(&o->host, p->process, queue->device, queue->handle, &queue->record);

	if (rc < 0)
		return rc;
	if (vec_push(&p->queues, *queue) < 0 ||
	    hash_set(&p->queue_index, queue->handle, p->queues.len - 1) < 0)
		return -ENOMEM;
	return 0;
}

/* The device of a queue that was made before the recording; 0: not found. */
static uint64_t find_device(struct opencl *o, struct opencl_process *p, uint64_t queue)
{
	uint64_t words[QUEUE_DEVICE_WORDS];
	char name[DEVICE_NAME_MAX];

	/* So many queues are those of one device. */
	if (p->device_searches++ >= OPENCL_DEVICE_SEARCHES)
		return p->devices.data[0].handle;

	if (o->host.read(o->host.data, p->pid, queue + QUEUE_DEVICE_FIRST, words, sizeof(words)) <
	    0)
		return 0;
	for (size_t i = 0; i < QUEUE_DEVICE_WORDS; i++)
		if (hash_get(&p->device_index, words[i]) || find_device_name(o, p, words[i], name))
			return words[i];
	return 0;
}

int opencl_queue(struct opencl *o, struct opencl_process *p, uint64_t handle, size_t *ret)
{
	uint64_t *known = hash_get(&p->queue_index, handle);
	struct opencl_queue queue = { .handle = handle };
	int rc;

	if (!known && p->queues.len >= OPENCL_QUEUES_MAX) {
		queue.handle = 0;
		known = hash_get(&p->queue_index, 0);
	}
	if (!known) {
		rc = opencl_device(o, p, find_device(o, p, handle), &queue.device);
		if (rc == 0)
			rc = add_queue(o, p, &queue);
		if (rc < 0)
			return rc;
		*ret = p->queues.len - 1;
		return 0;
	}
	*ret = *known;
	return 0;
}

/* The properties of either way to make a queue. */
static uint64_t queue_properties(const struct accel_event *e)
{
	if (e->site->id == SITE_QUEUE)
		return e->value[1];
	for (size_t i = 1; i + 1 < 7 && e->value[i]; i += 2)
		if (e->value[i] == QUEUE_PROPERTIES)
			return e->value[i + 1];
	return 0;
}

int opencl_queue_created(struct opencl *o, struct opencl_process *p, const struct accel_event *e)
{
	struct opencl_queue queue = {
		.handle = e->value[site_value_count(e->site) - 1],
		.out_of_order = queue_properties(e) & QUEUE_OUT_OF_ORDER,
		/* Of launches in another file only the commands will be seen. */
		.is_synced = !(e->flags & ACCEL_EVENT_EARLIER),
	};
	uint64_t *known = hash_get(&p->queue_index, queue.handle);
	int rc;

	if (!queue.handle || (!known && p->queues.len >= OPENCL_QUEUES_MAX))
		return 0;
	rc = opencl_device(o, p, e->value[0], &queue.device);
	if (rc < 0 || !known)
		return rc < 0 ? rc : add_queue(o, p, &queue);
	/* The address of one that was released: the same queue to whoever reads the capture. */
	p->queues.data[*known].out_of_order = queue.out_of_order;
	p->queues.data[*known].is_synced = queue.is_synced;
	return 0;
}
