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
