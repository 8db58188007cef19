/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/info.h"

#include <inttypes.h>
#include <stdio.h>

int accel_info(struct capture_writer *w, const char *key, const char *value)
{
	struct record record = { .type = RECORD_INFO };
	int rc;

	rc = capture_writer_string(w, key, &record.info.key);
	if (rc == 0)
		rc = capture_writer_string(w, value, &record.info.value);
	return rc < 0 ? rc : capture_writer_put(w, &record);
}

int accel_info_number(struct capture_writer *w, const char *key, uint64_t number)
{
	char text[32];

	if (number == 0)
		return 0;
	snprintf(text, sizeof(text), "%" PRIu64, number);
	return accel_info(w, key, text);
}

int accel_done(struct capture_writer *w, const struct accel_done *done)
{
	bool is_copy = done->kind == LAUNCH_COPY || done->kind == LAUNCH_FILL;
	struct record record = { .type = is_copy ? RECORD_COPY : RECORD_DISPATCH };

	if (is_copy)
		record.copy = (struct record_copy){
			.correlation = done->correlation,
			.device = done->device,
			.queue = done->queue,
			.name = done->name,
			.kind = done->kind,
			.bytes = done->bytes,
			.start_ns = done->start_ns,
			.end_ns = done->end_ns,
			.captured = done->captured,
		};
	else
		record.dispatch = (struct record_dispatch){
			.correlation = done->correlation,
			.device = done->device,
			.queue = done->queue,
			.kernel = done->kernel,
			.name = done->name,
			.kind = done->kind,
			.start_ns = done->start_ns,
			.end_ns = done->end_ns,
			.captured = done->captured,
		};
	return capture_writer_put(w, &record);
}
