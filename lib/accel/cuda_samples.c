/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of instructions that the library inside a target tells, and the code that they hit. */
#include "accel/cuda.h"

#include "inject/message.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int put_image(struct cuda *c, struct cuda_process *p)
{
	struct told_image *image = &p->image;
	struct record_code_object object = {
		.id = c->host.number(c->host.data),
		.kind = CODE_OBJECT_CUBIN,
		.process = p->process,
	};
	char name[64];
	int rc;

	snprintf(name, sizeof(name), "CUDA module %016" PRIx64, image->module);
	rc = capture_writer_string(c->host.writer, name, &object.name);
	if (rc == 0)
		rc = capture_writer_code_object(c->host.writer, &object, image->bytes,
						image->total);
	return rc < 0 ? rc : hash_set(&p->images, image->module, object.id);
}

int cuda_told_code(struct cuda *c, struct cuda_process *p, struct cursor *m)
{
	int rc = told_image_part(&p->image, m);

	if (rc <= 0 || p->images.len >= CUDA_FUNCTIONS_MAX)
		return rc < 0 ? rc : 0;
	rc = put_image(c, p);
	told_image_release(&p->image);
	return rc;
}

/* The KERNEL record of a function of a module. */
static int sampled_kernel(struct cuda *c, struct cuda_process *p, uint64_t module, uint32_t name,
			  uint32_t *ret)
{
	uint64_t key = hash_u64(module) ^ name;
	uint64_t *known = hash_get(&p->sampled, key), *code = hash_get(&p->images, module);
	struct record record = { .type = RECORD_KERNEL };
	int rc;

	if (known) {
		*ret = (uint32_t)*known;
		return 0;
	}
	record.kernel = (struct record_kernel){
		.id = c->host.number(c->host.data),
		.process = p->process,
		.code_object = code ? (uint32_t)*code : 0,
		.name = name,
	};
	if (p->sampled.len >= CUDA_FUNCTIONS_MAX)
		hash_release(&p->sampled);
	*ret = record.kernel.id;
	rc = capture_writer_put(c->host.writer, &record);
	return rc < 0 ? rc : hash_set(&p->sampled, key, record.kernel.id);
}

int cuda_told_samples(struct cuda *c, struct cuda_process *p, struct cursor *m)
{
	struct record record = { .type = RECORD_PC_SAMPLE };
	struct record_pc_sample *s = &record.pc_sample;
	uint64_t module, end_ns, *function, *reason;
	uint32_t number[5]; /* function, reason, count, device, correlation */
	int rc;

	if (cursor_u64(m, &module, NULL) < 0 || cursor_u64(m, &s->time_ns, NULL) < 0 ||
	    cursor_u64(m, &end_ns, NULL) < 0 || cursor_u64(m, &s->offset, NULL) < 0)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(number); i++)
		if (cursor_u32(m, &number[i], NULL) < 0)
			return 0;
	function = hash_get(&p->names, number[0]);
	reason = hash_get(&p->names, number[1]);
	if (!function || end_ns < s->time_ns || number[3] == UINT32_MAX)
		return 0;
	s->interval_ns = end_ns - s->time_ns;
	s->reason = reason ? (uint32_t)*reason : 0;
	s->count = number[2];
	s->correlation = cuda_told_correlation(p, number[4]);
	rc = cuda_device(c, number[3] + 1, &s->device);
	if (rc == 0)
		rc = sampled_kernel(c, p, module, (uint32_t)*function, &s->kernel);
	c->stats.samples += number[2];
	return rc < 0 ? rc : capture_writer_put(c->host.writer, &record);
}
