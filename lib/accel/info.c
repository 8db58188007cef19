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

int accel_device(const struct accel_host *host, struct record_device *device, const char *runtime,
		 const char *vendor)
{
	struct record record = { .type = RECORD_DEVICE };
	int rc = capture_writer_string(host->writer, runtime, &device->runtime);

	if (rc == 0 && vendor)
		rc = capture_writer_string(host->writer, vendor, &device->vendor);
	if (rc < 0)
		return rc;
	device->id = host->number(host->data);
	record.device = *device;
	return capture_writer_put(host->writer, &record);
}

int accel_queue(const struct accel_host *host, uint32_t process, uint32_t device, uint64_t handle,
		uint32_t *ret)
{
	struct record record = {
		.type = RECORD_QUEUE,
		.queue = {
			.id = host->number(host->data),
			.device = device,
			.process = process,
			.handle = handle,
		},
	};

	*ret = record.queue.id;
	return capture_writer_put(host->writer, &record);
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
