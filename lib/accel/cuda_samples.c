/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of instructions that the library inside a target tells, and the code that they hit. */
#include "accel/cuda.h"

int cuda_told_code(struct cuda_process *p, struct cursor *m)
{
	const struct told_image *image = &p->image;
	int rc = told_image_part(&p->image, m);

	if (rc <= 0)
		return rc;
	rc = kernel_table_module(&p->sampled, image->module, CODE_OBJECT_CUBIN,
				 span_of(image->bytes, image->total));
	told_image_release(&p->image);
	return rc;
}

int cuda_told_samples(struct cuda *c, struct cuda_process *p, struct cursor *m)
{
	struct record record = { .type = RECORD_PC_SAMPLE };
	struct record_pc_sample *s = &record.pc_sample;
	uint64_t end_ns, *function, *reason;
	uint32_t number[5]; /* function, reason, count, device, correlation */
	struct kernel_facts facts = { 0 };
	struct kernel kernel;
	int rc;

	if (cursor_u64(m, &facts.module, NULL) < 0 || cursor_u64(m, &s->time_ns, NULL) < 0 ||
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
	facts.name = (uint32_t)*function;
	if (rc == 0)
		rc = kernel_table_add(&p->sampled, &facts, &kernel);
	if (rc < 0)
		return rc;
	s->kernel = kernel.record;
	c->stats.samples += number[2];
	return capture_writer_put(c->host.writer, &record);
}
