/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/cuda.h"

#include "accel/info.h"
#include "accel/runtimes.h"
#include "base/parse.h"
#include "inject/message.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int cuda_open(void **ret, const struct accel_host *host, struct err *err)
{
	struct cuda *c = calloc(1, sizeof(*c));

	if (!c)
		return err_set(err, -ENOMEM, "no memory");
	c->host = *host;
	*ret = c;
	return 0;
}

static void process_free(void *state)
{
	struct cuda_process *p = state;

	if (!p)
		return;
	kernel_table_release(&p->functions);
	kernel_table_release(&p->sampled);
	hash_release(&p->queue_index);
	hash_release(&p->contexts);
	hash_release(&p->thread_index);
	hash_release(&p->names);
	hash_release(&p->capturing);
	hash_release(&p->graphs);
	hash_release(&p->nodes);
	told_image_release(&p->image);
	free(p->told);
	vec_release(&p->queues);
	vec_release(&p->threads);
	host_waits_release(&p->waits);
	free(p);
}

static void cuda_close(void *runtime)
{
	struct cuda *c = runtime;

	process_index_release(&c->processes, process_free);
	hash_release(&c->devices);
	hash_release(&c->device_names);
	free(c->gpus);
	free(c);
}

static struct cuda_process *cuda_process(struct cuda *c, const struct accel_event *e)
{
	struct cuda_process *p = process_index_get(&c->processes, e->process);

	if (p)
		return p;
	p = process_index_add(&c->processes, e->process, sizeof(*p));
	if (!p)
		return NULL;
	p->process = e->process;
	p->pid = e->pid;
	kernel_table_init(&p->functions, &c->host, p->process, "CUDA module");
	kernel_table_init(&p->sampled, &c->host, p->process, "CUDA module with checksum");
	return p;
}

int cuda_thread(struct cuda_process *p, uint32_t tid, struct cuda_thread **ret)
{
	uint64_t *index = hash_get(&p->thread_index, tid);

	if (!index) {
		if (p->threads.len >= CUDA_THREADS_MAX) {
			hash_release(&p->thread_index);
			p->threads.len = 0;
		}
		if (vec_push(&p->threads, (struct cuda_thread){ 0 }) < 0 ||
		    hash_set(&p->thread_index, tid, p->threads.len - 1) < 0)
			return -ENOMEM;
		*ret = vec_last(&p->threads);
		return 0;
	}
	*ret = &p->threads.data[*index];
	return 0;
}

/* The DEVICE record of an ordinal + 1. 0: a device that we could not see; all of those are one. */
int cuda_device(struct cuda *c, uint32_t device, uint32_t *ret)
{
	uint64_t *known = hash_get(&c->devices, device), *name = hash_get(&c->device_names, device);
	struct record_device record = { .index = device ? device - 1 : 0 };
	int rc;

	if (known) {
		*ret = (uint32_t)*known;
		return 0;
	}
	if (name)
		record.name = (uint32_t)*name;
	rc = name ? 0 : capture_writer_string(c->host.writer, "CUDA device", &record.name);
	if (rc == 0)
		rc = accel_device(&c->host, &record, "cuda", "NVIDIA");
	if (rc == 0)
		rc = hash_set(&c->devices, device, record.id);
	if (rc == 0)
		*ret = record.id;
	return rc;
}

int cuda_queue(struct cuda *c, struct cuda_process *p, uint32_t device, uint64_t stream,
	       struct cuda_queue *ret)
{
	uint64_t key = hash_u64(stream) ^ device;
	uint64_t *known = hash_get(&p->queue_index, key);
	struct cuda_queue queue;
	int rc;

	if (!known && p->queues.len >= CUDA_QUEUES_MAX)
		key = 0;
	if (!known && key == 0)
		known = hash_get(&p->queue_index, 0);
	if (known) {
		*ret = p->queues.data[*known];
		return 0;
	}
	rc = cuda_device(c, device, &queue.device);
	if (rc == 0)
		rc = accel_queue(&c->host, p->process, queue.device, key ? stream : 0,
				 &queue.record);
	if (rc < 0)
		return rc;
	if (vec_push(&p->queues, queue) < 0 ||
	    hash_set(&p->queue_index, key, p->queues.len - 1) < 0)
		return -ENOMEM;
	*ret = queue;
	return 0;
}

static int context_made(struct cuda_process *p, const struct accel_event *e)
{
	struct cuda_thread *thread;
	uint32_t device = (uint32_t)e->value[1] + 1;
	int rc;

	if ((uint32_t)e->value[3] != 0 || !e->value[2])
		return 0;
	if (p->contexts.len >= CUDA_CONTEXTS_MAX)
		hash_release(&p->contexts);
	rc = hash_set(&p->contexts, e->value[2], device);
	/* A context that is made is the current one; a primary one is made so right after. */
	if (rc == 0)
		rc = cuda_thread(p, e->tid, &thread);
	if (rc == 0)
		thread->device = device;
	return rc;
}

static int context_set(struct cuda_process *p, const struct accel_event *e)
{
	uint64_t *device = hash_get(&p->contexts, e->value[0]);
	struct cuda_thread *thread;
	int rc = cuda_thread(p, e->tid, &thread);

	if (rc == 0)
		thread->device = device ? (uint32_t)*device : 0;
	return rc;
}

static int device_named(struct cuda *c, const struct accel_event *e)
{
	uint32_t name, device = (uint32_t)e->value[1] + 1;
	int rc;

	if (!e->text_size || (uint32_t)e->value[2] != 0 || hash_get(&c->device_names, device))
		return 0;
	rc = capture_writer_bytes(c->host.writer, e->text, e->text_size, &name);
	return rc < 0 ? rc : hash_set(&c->device_names, device, name);
}

static int cuda_event(void *runtime, const struct accel_event *e)
{
	struct cuda *c = runtime;
	struct cuda_process *p = cuda_process(c, e);

	if (!p)
		return -ENOMEM;
	switch (e->site->id & SITE_MASK) {
	case SITE_RUNTIME_LAUNCH:
	case SITE_RUNTIME_LAUNCH_CONFIG:
	case SITE_RUNTIME_GRAPH:
		return cuda_runtime_launched(c, p, e);
	case SITE_RUNTIME_REGISTER:
	case SITE_FUNCTION_NAME:
		return cuda_function_told(c, p, e);
	case SITE_RUNTIME_KERNEL:
	case SITE_KERNEL_FUNCTION:
		return (uint32_t)e->value[3] ? 0 : cuda_function_alias(p, e->value[2], e->value[1]);
	case SITE_LIBRARY_MODULE:
		return (uint32_t)e->value[3]
			       ? 0
			       : kernel_table_alias(&p->functions, e->value[2], e->value[1]);
	case SITE_MODULE:
		return cuda_module_loaded(c, p, e);
	case SITE_FUNCTION:
		return cuda_function_found(c, p, e);
	case SITE_UNLOAD:
		return kernel_table_module(&p->functions, e->value[0], 0, (struct span){ 0 });
	case SITE_CONTEXT:
		return context_made(p, e);
	case SITE_CONTEXT_SET:
		return context_set(p, e);
	case SITE_DEVICE_NAME:
		return device_named(c, e);
	case SITE_TOLD_SAMPLES:
	case SITE_TOLD_SERIAL:
		return 0;
	case SITE_CAPTURE:
		return cuda_capture_begins(c, p, e);
	case SITE_CAPTURE_END:
		return cuda_capture_ends(p, e);
	case SITE_GRAPH_COPY:
		return cuda_graph_copied(p, e);
	case SITE_GRAPH_NODE:
	case SITE_GRAPH_NODE_ANY:
		return cuda_node_added(c, p, e);
	case SITE_TOLD_LAUNCH:
		return cuda_told_launch(c, p, e);
	case SITE_TOLD_BATCH:
		return cuda_told_batch(c, p, e);
	case SITE_SYNC:
		return cuda_waiting(c, p, e);
	case SITE_SYNC_END:
		return host_waits_end(&p->waits, c->host.writer, e);
	default:
		return cuda_launched(c, p, e);
	}
}

static int cuda_exited(void *runtime, uint32_t process, uint64_t time_ns)
{
	struct cuda *c = runtime;

	(void)time_ns;
	process_free(process_index_take(&c->processes, process));
	return 0;
}

/* CUPTI samples each 2^5 to 2^31 cycles. */
#define PERIOD_LOG2_MIN 5
#define PERIOD_LOG2_MAX 31

static int set_period(struct cuda *c, const char *value, struct err *err)
{
	uint64_t cycles;

	if (parse_u64(value, 10, &cycles) < 0 || !cycles)
		return err_set(err, -EINVAL, "'%s' is no number of GPU cycles", value);
	for (c->period_log2 = 0; cycles >> 1 >> c->period_log2; c->period_log2++)
		;
	if (c->period_log2 < PERIOD_LOG2_MIN)
		c->period_log2 = PERIOD_LOG2_MIN;
	if (c->period_log2 > PERIOD_LOG2_MAX)
		c->period_log2 = PERIOD_LOG2_MAX;
	return 0;
}

/* What is no number may be another vendor's: then it is none of ours. */
static int add_gpu(struct cuda *c, const char *value, struct err *err)
{
	CLEANUP_FREE char *before = c->gpus;
	uint32_t number;

	c->gpus = NULL;
	if (parse_u32(value, 10, &number) < 0) {
		if (c->host.is_named)
			return err_set(err, -EINVAL, "'%s' is no number of a GPU", value);
		number = UINT32_MAX;
	}
	if (asprintf(&c->gpus, "%s%s%u", before ? before : "", before ? "," : "", number) < 0) {
		c->gpus = NULL;
		return err_set(err, -ENOMEM, "no memory");
	}
	return 0;
}

static int cuda_set(void *runtime, const char *key, const char *value, struct err *err)
{
	struct cuda *c = runtime;

	if (!strcmp(key, "period"))
		return set_period(c, value, err);
	if (!strcmp(key, "device"))
		return add_gpu(c, value, err);
	c->is_serial = true;
	return 0;
}

static bool cuda_wants(void *runtime, const struct probe_site *site, bool samples)
{
	const struct cuda *c = runtime;

	return c->is_serial || (samples && (site->id & SITE_MASK) == SITE_TOLD_SAMPLES);
}

/* What a count of probes cannot say. */
static int cuda_environment(void *runtime, char **ret)
{
	const struct cuda *c = runtime;

	if (!c->period_log2 && !c->gpus)
		return 0;
	if (asprintf(ret, INJECT_CUDA_SETTINGS "=%u:%s", c->period_log2, c->gpus ? c->gpus : "") <
	    0) {
		*ret = NULL;
		return -ENOMEM;
	}
	return 0;
}

static int describe_serial(struct cuda *c)
{
	return accel_info(
		c->host.writer, "missing.concurrency",
		"cuda:serialize ran kernels one at a time: their times are those of kernels "
		"alone, and graphs have no samples");
}

static int cuda_describe(void *runtime)
{
	struct cuda *c = runtime;
	struct capture_writer *w = c->host.writer;
	char text[256];
	int rc = 0;

	/* A few before the library inside was awake are no reason to say that there are no times. */
	if (c->stats.untimed && c->stats.untimed * 2 > c->stats.launches) {
		snprintf(text, sizeof(text),
			 "%" PRIu64 " CUDA launches were seen from outside the process, which does "
			 "not tell when the device works on them",
			 c->stats.untimed);
		rc = accel_info(w, "missing.device-time", text);
	}
	if (rc == 0 && c->is_serial && c->stats.samples)
		rc = describe_serial(c);
	rc = rc ? rc : accel_info_number(w, "cuda.launches", c->stats.launches);
	rc = rc ? rc : accel_info_number(w, "cuda.untimed", c->stats.untimed);
	rc = rc ? rc : accel_info_number(w, "cuda.graph-launches", c->stats.graphs);
	rc = rc ? rc : accel_info_number(w, "cuda.captured", c->stats.captured);
	rc = rc ? rc : accel_info_number(w, "cuda.launched-before", c->stats.before);
	rc = rc ? rc : accel_info_number(w, "cuda.dropped", c->stats.dropped);
	rc = rc ? rc : accel_info_number(w, "cuda.samples", c->stats.samples);
	return rc ? rc : accel_info_number(w, "cuda.unnamed-kernels", c->stats.unnamed);
}

static const struct accel_option options[] = {
	{ "serialize", NULL },
	{ "period", "CYCLES" },
	{ "device", "NUMBER" },
	{ 0 },
};

const struct accel_ops cuda_ops = {
	.name = "cuda",
	.sites = cuda_sites,
	.libraries = cuda_libraries,
	.door = { .variable = "CUDA_INJECTION64_PATH",
		  .library = INJECT_CUDA_FILE,
		  .runtime = "libcuda",
		  .function = "InitializeInjection" },
	.options = options,
	.open = cuda_open,
	.set = cuda_set,
	.wants = cuda_wants,
	.environment = cuda_environment,
	.event = cuda_event,
	.exited = cuda_exited,
	.describe = cuda_describe,
	.close = cuda_close,
};
