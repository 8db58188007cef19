/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/samples.h"

#include "inject/batch.h"
#include "inject/sums.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CONTEXTS_MAX 16
#define MODULES_MAX  16384
#define REASONS_MAX  128
/* Instructions that are taken at once, each with all its reasons. */
#define PCS_MAX 2048
/* More are not kept: of a library of NVIDIA's own, hundreds of megabytes, nobody reads the code. */
#define MODULE_BYTES_MAX (16u << 20)
#define IMAGES_BYTES_MAX (512u << 20)

#define REASON_PREFIX "smsp__pcsamp_warps_issue_stalled_"
/* Of each reason there is a second count, of those of its samples at which nothing was issued. */
#define REASON_SUFFIX "_not_issued"

struct context {
	void *context;
	uint32_t device;
	bool is_on, has_failed;
	uint64_t since_ns; /* the last time that it was asked */
};

struct module {
	uint64_t crc;
	void *image; /* NULL: told already, or too large */
	size_t size;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct context contexts[CONTEXTS_MAX];
static size_t context_count;
static struct module modules[MODULES_MAX];
static size_t module_count, image_bytes;

/* One set of buffers: contexts are asked one after the other. The first is CUPTI's own from the
 * moment that it is configured, the second is what is asked into. */
struct buffer {
	struct cupti_pc_data data;
	unsigned char pcs[PCS_MAX * CUPTI_PC_LONG];
	struct cupti_pc_stall stalls[PCS_MAX * REASONS_MAX];
};
static struct buffer *buffers[CONTEXTS_MAX + 1];
static uint32_t reason_names[REASONS_MAX]; /* 0: not one to count */

void samples_see_context(void *context)
{
	size_t count = __atomic_load_n(&context_count, __ATOMIC_ACQUIRE);

	for (size_t i = 0; i < count; i++)
		if (contexts[i].context == context)
			return;
	pthread_mutex_lock(&lock);
	size_t free_slot = context_count;
	for (size_t i = context_count; i-- > 0;) {
		if (contexts[i].context == context)
			context = NULL;
		else if (!contexts[i].context)
			free_slot = i;
	}
	if (context && free_slot < CONTEXTS_MAX) {
		contexts[free_slot] = (struct context){ .context = context };
		if (free_slot == context_count)
			__atomic_store_n(&context_count, context_count + 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
}

void samples_see_module(const struct cupti *c, const struct cupti_module *module)
{
	struct cupti_crc crc = { .size = sizeof(crc),
				 .cubin_size = module->size,
				 .cubin = module->cubin };

	if (!c->crc || !module->size || module->size > MODULE_BYTES_MAX || c->crc(&crc) != CUPTI_OK)
		return;
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < module_count; i++)
		if (modules[i].crc == crc.crc)
			goto out;
	if (module_count == MODULES_MAX || image_bytes + module->size > IMAGES_BYTES_MAX)
		goto out;
	void *image = malloc(module->size);
	if (!image)
		goto out;
	memcpy(image, module->cubin, module->size);
	modules[module_count++] = (struct module){ crc.crc, image, module->size };
	image_bytes += module->size;
out:
	pthread_mutex_unlock(&lock);
}

/* Its image, before what was hit in it is told. */
static void tell_module(uint64_t crc)
{
	struct module found = { 0, NULL, 0 };

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < module_count; i++) {
		if (modules[i].crc != crc || !modules[i].image)
			continue;
		found = modules[i];
		modules[i].image = NULL;
		image_bytes -= found.size;
	}
	pthread_mutex_unlock(&lock);
	if (found.image)
		batch_code(crc, found.image, found.size);
	free(found.image);
}

static struct buffer *buffer_make(const struct cupti *c, struct buffer *b, size_t reasons)
{
	size_t stride = c->version >= CUPTI_PC_LONG_SINCE ? CUPTI_PC_LONG : CUPTI_PC_SHORT;

	if (!b)
		b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	b->data = (struct cupti_pc_data){ .size = sizeof(b->data),
					  .capacity = PCS_MAX,
					  .pcs = b->pcs };
	for (size_t i = 0; i < PCS_MAX; i++) {
		struct cupti_pc pc = { .size = stride, .stalls = &b->stalls[i * reasons] };
		memcpy(b->pcs + i * stride, &pc, stride);
	}
	return b;
}

/* The reasons' names, as readers know them: "long_scoreboard". */
static size_t learn_reasons(const struct cupti *c, void *context, uint32_t *index)
{
	static char text[REASONS_MAX][CUPTI_PC_REASON_BYTES];
	char *names[REASONS_MAX];
	size_t count = 0;
	struct cupti_pc_request request = { .size = 32, .context = context };

	request.reason_count = &count;
	if (c->pc_reason_count(&request) != CUPTI_OK || count > REASONS_MAX)
		return 0;
	for (size_t i = 0; i < count; i++)
		names[i] = text[i];
	request.size = 48;
	request.reasons.count = count;
	request.reasons.index = index;
	request.reasons.names = names;
	if (c->pc_reasons(&request) != CUPTI_OK)
		return 0;
	memset(reason_names, 0, sizeof(reason_names));
	for (size_t i = 0; i < count; i++) {
		const char *name = text[i];
		size_t length = strnlen(name, CUPTI_PC_REASON_BYTES - 1),
		       suffix = strlen(REASON_SUFFIX);
		text[i][length] = '\0';
		if (index[i] >= REASONS_MAX ||
		    (length > suffix && strcmp(name + length - suffix, REASON_SUFFIX) == 0))
			continue;
		if (strncmp(name, REASON_PREFIX, strlen(REASON_PREFIX)) == 0)
			name += strlen(REASON_PREFIX);
		reason_names[index[i]] = batch_name(name);
	}
	return count;
}

/* What was asked for by the environment (INJECT_CUDA_SETTINGS). */
static struct {
	bool is_known, has_devices;
	uint32_t period;
	uint64_t devices; /* a bit for each of the first 64 */
} wanted;

static void learn_wanted(void)
{
	const char *text = getenv(INJECT_CUDA_SETTINGS);
	char *end;

	if (wanted.is_known)
		return;
	wanted.is_known = true;
	if (!text)
		return;
	wanted.period = (uint32_t)strtoul(text, &end, 10);
	while (*end == ':' || *end == ',') {
		const char *number = end + 1;
		unsigned long device = strtoul(number, &end, 10);
		wanted.has_devices |= end != number;
		if (end != number && device < 64)
			wanted.devices |= 1ull << device;
	}
}

static bool is_wanted(uint32_t device)
{
	return !wanted.has_devices || (device < 64 && wanted.devices >> device & 1);
}

static cupti_result configure(const struct cupti *c, void *context,
			      struct cupti_pc_setting *settings, size_t count)
{
	struct cupti_pc_request request = { .size = 40, .context = context };
	cupti_result rc;

	request.settings.count = count;
	request.settings.settings = settings;
	rc = c->pc_set(&request);
	/* A mode that was refused would silently be the one that serializes. */
	for (size_t i = 0; i < count && rc == CUPTI_OK; i++)
		rc = settings[i].status;
	return rc;
}

/* As it is, whatever was asked for. */
static void tell_period(const struct cupti *c, const struct context *x, bool is_serial)
{
	struct cupti_pc_setting period = { .type = CUPTI_PC_PERIOD };
	struct cupti_pc_request request = { .size = 40, .context = x->context };

	request.settings.count = 1;
	request.settings.settings = &period;
	if (c->pc_ask && c->pc_ask(&request) == CUPTI_OK && period.status == CUPTI_OK)
		batch_status(INJECT_STATUS_SAMPLING, "GPU %u: each 2^%u cycles%s", x->device,
			     period.number, is_serial ? ", kernels one at a time" : "");
}

/* In this order: whatever else CUPTI's documentation says, enabling comes first. The period and the
 * hardware's buffer stay as CUPTI chooses: on some GPUs other values give nothing. */
static bool begin(const struct cupti *c, size_t number, bool is_serial)
{
	struct context *x = &contexts[number];
	struct cupti_pc_request request = { .size = 24, .context = x->context };
	uint32_t index[REASONS_MAX];
	cupti_result rc = c->device_of(x->context, &x->device);
	size_t reasons;

	learn_wanted();
	if (!c->crc || !c->pc_enable || !c->pc_disable || !c->pc_reason_count || !c->pc_reasons ||
	    !c->pc_set || !c->pc_get) {
		batch_status(INJECT_STATUS_SAMPLES,
			     "no samples of instructions: libcupti is older than CUDA 11.3");
		return false;
	}
	if (rc == CUPTI_OK && !is_wanted(x->device))
		return false;
	if (rc == CUPTI_OK)
		rc = c->pc_enable(&request);
	if (rc != CUPTI_OK) {
		batch_status(INJECT_STATUS_SAMPLES, "no samples of instructions: %s",
			     cupti_error(c, rc));
		return false;
	}
	reasons = learn_reasons(c, x->context, index);
	buffers[number] = reasons ? buffer_make(c, buffers[number], reasons) : NULL;
	buffers[CONTEXTS_MAX] = buffer_make(c, buffers[CONTEXTS_MAX], REASONS_MAX);
	if (!reasons || !buffers[number] || !buffers[CONTEXTS_MAX]) {
		c->pc_disable(&request);
		return false;
	}
	rc = configure(c, x->context,
		       (struct cupti_pc_setting[]){
			       { .type = CUPTI_PC_REASONS, .reasons = { reasons, index } },
			       { .type = CUPTI_PC_MODE,
				 .number = is_serial ? CUPTI_PC_SERIALIZED : CUPTI_PC_CONTINUOUS },
			       { .type = CUPTI_PC_BUFFER, .pointer = &buffers[number]->data },
			       { .type = CUPTI_PC_PERIOD, .number = wanted.period },
		       },
		       wanted.period ? 4 : 3);
	if (rc != CUPTI_OK) {
		request.size = 24;
		c->pc_disable(&request);
		batch_status(INJECT_STATUS_SAMPLES, "no samples of instructions: %s",
			     cupti_error(c, rc));
	}
	if (rc == CUPTI_OK)
		tell_period(c, x, is_serial);
	return rc == CUPTI_OK;
}

/* Names that were met lately, by where CUPTI keeps them: it never frees one. */
#define NAMES_SEEN 1024
static struct {
	const char *text;
	uint32_t id;
} names_seen[NAMES_SEEN];

static uint32_t name_of(const char *text)
{
	size_t slot = (uintptr_t)text / 16 % NAMES_SEEN;

	if (names_seen[slot].text != text) {
		names_seen[slot].text = text;
		names_seen[slot].id = batch_name(text);
	}
	return names_seen[slot].id;
}

/* When those were taken that are told. */
struct interval {
	uint64_t start_ns, end_ns, module;
};

static void tell_sum(void *data, const struct sums_key *key, uint32_t count)
{
	struct interval *when = data;

	if (key->module != when->module)
		tell_module(key->module);
	when->module = key->module;
	batch_samples(&(struct inject_samples){
		.module = key->module,
		.start_ns = when->start_ns,
		.end_ns = when->end_ns,
		.offset = key->offset,
		.function = key->function,
		.reason = key->reason,
		.count = count,
		.device = key->device,
		.correlation = key->correlation,
	});
}

static void tell_sums(const struct context *x, uint64_t now_ns)
{
	struct interval when = { x->since_ns, now_ns, 0 };

	sums_tell(tell_sum, &when);
}

static void take_pc(const struct context *x, const struct cupti_pc *pc, uint64_t now_ns)
{
	struct sums_key key = {
		.module = pc->crc,
		.offset = pc->offset,
		.function = name_of(pc->function),
		.device = x->device,
		.correlation = pc->correlation,
	};

	for (size_t i = 0; i < pc->stall_count && i < REASONS_MAX; i++) {
		uint32_t reason = pc->stalls[i].reason;
		if (reason >= REASONS_MAX || !reason_names[reason])
			continue;
		key.reason = reason_names[reason];
		if (sums_add(&key, pc->stalls[i].samples) == 0)
			continue;
		tell_sums(x, now_ns);
		sums_add(&key, pc->stalls[i].samples);
	}
}

static void drain_context(const struct cupti *c, size_t number, uint64_t now_ns)
{
	size_t stride = c->version >= CUPTI_PC_LONG_SINCE ? CUPTI_PC_LONG : CUPTI_PC_SHORT;
	struct buffer *b = buffers[CONTEXTS_MAX];
	struct context *x = &contexts[number];
	struct cupti_pc_request request = { .size = 32, .context = x->context };
	cupti_result rc;

	request.data = &b->data;
	do {
		b->data.count = b->data.left = 0;
		b->data.dropped_samples = 0;
		rc = c->pc_get(&request);
		for (size_t i = 0; rc == CUPTI_OK && i < b->data.count && i < PCS_MAX; i++) {
			struct cupti_pc pc = { 0 };
			memcpy(&pc, b->pcs + i * stride, stride);
			take_pc(x, &pc, now_ns);
		}
		if (b->data.dropped_samples)
			batch_dropped(0, b->data.dropped_samples);
	} while (rc == CUPTI_OK && b->data.left);
	tell_sums(x, now_ns);
	x->since_ns = now_ns;
	if (rc == CUPTI_OK)
		return;
	/* Full, or otherwise at an end: nothing comes any more until it is begun again. */
	request.size = 24;
	c->pc_disable(&request);
	x->is_on = false;
	if (rc == CUPTI_OUT_OF_MEMORY)
		batch_status(INJECT_STATUS_SAMPLES,
			     "the GPU's buffer for samples was full: some are missing");
	else
		x->has_failed = true;
}

void samples_drain(const struct cupti *c, uint64_t now_ns, bool is_serial)
{
	size_t count = __atomic_load_n(&context_count, __ATOMIC_ACQUIRE);

	for (size_t i = 0; i < count; i++) {
		struct context *x = &contexts[i];
		if (x->is_on)
			drain_context(c, i, now_ns);
		if (!x->context || x->is_on || x->has_failed)
			continue;
		x->is_on = begin(c, i, is_serial);
		x->has_failed = !x->is_on;
		x->since_ns = now_ns;
	}
}

void samples_forget_context(const struct cupti *c, void *context)
{
	struct cupti_pc_request request = { .size = 24, .context = context };

	for (size_t i = 0; i < context_count; i++) {
		/* Another of the same GPU may have waited for its end. */
		contexts[i].has_failed = false;
		if (contexts[i].context != context)
			continue;
		if (contexts[i].is_on)
			c->pc_disable(&request);
		contexts[i] = (struct context){ .context = NULL };
	}
}

void samples_end(const struct cupti *c)
{
	memset(names_seen, 0, sizeof(names_seen));
	for (size_t i = 0; i < context_count; i++) {
		struct cupti_pc_request request = { .size = 24, .context = contexts[i].context };
		if (contexts[i].is_on)
			c->pc_disable(&request);
		contexts[i].is_on = contexts[i].has_failed = false;
	}
}
