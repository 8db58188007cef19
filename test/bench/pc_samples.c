/* SPDX-License-Identifier: Apache-2.0 */
/* usage: bench_pc_samples: records of CUPTI's PC sampling that the library inside a CUDA program takes in
 * a second of a core, and the messages that come of them: 2,048 records a call, of 20,000 instructions,
 * told each 100 ms. The aim is 5 million a second. */
#include "inject/batch.h"
#include "inject/samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ALL          20000000u
#define A_DRAIN      500000u /* 5 million a second, each 100 ms */
#define INSTRUCTIONS 20000u
#define FUNCTIONS    50u

static uint64_t messages, counted, given, left;
static char functions[FUNCTIONS][200];

void batch_samples(const struct inject_samples *samples)
{
	messages++;
	counted += samples->count;
}
void batch_status(enum inject_status about, const char *format, ...)
{
	(void)about, (void)format;
}
void batch_dropped(uint64_t work, uint64_t samples)
{
	(void)work, (void)samples;
}
void batch_code(uint64_t module, const void *image, size_t size)
{
	(void)module, (void)image, (void)size;
}
uint32_t batch_name(const char *text)
{
	return (uint32_t)strlen(text) + (uint32_t)(uintptr_t)text;
}

static cupti_result ok(struct cupti_pc_request *request)
{
	(void)request;
	return CUPTI_OK;
}

static cupti_result count_reasons(struct cupti_pc_request *request)
{
	*request->reason_count = 20;
	return CUPTI_OK;
}

static cupti_result name_reasons(struct cupti_pc_request *request)
{
	for (uint32_t i = 0; i < 20; i++) {
		request->reasons.index[i] = i;
		snprintf(request->reasons.names[i], CUPTI_PC_REASON_BYTES, "reason_%u", i);
	}
	return CUPTI_OK;
}

static cupti_result device_of(void *context, uint32_t *device)
{
	(void)context;
	*device = 0;
	return CUPTI_OK;
}

static cupti_result get(struct cupti_pc_request *request)
{
	struct cupti_pc_data *data = request->data;
	size_t count = left < data->capacity ? left : data->capacity;

	for (size_t i = 0; i < count; i++, given++) {
		struct cupti_pc *pc = (struct cupti_pc *)((char *)data->pcs + i * CUPTI_PC_LONG);
		uint32_t number = (uint32_t)(given * 2654435761u >> 7) % INSTRUCTIONS;
		pc->crc = number % 7;
		pc->offset = number * 16;
		pc->function = functions[number % FUNCTIONS];
		pc->stall_count = 1;
		pc->stalls[0] = (struct cupti_pc_stall){ number % 20, 1 };
	}
	left -= count;
	data->count = count;
	data->left = left;
	return CUPTI_OK;
}

int main(void)
{
	struct cupti cupti = { .version = 130001,
			       .device_of = device_of,
			       .pc_enable = ok,
			       .pc_disable = ok,
			       .pc_reason_count = count_reasons,
			       .pc_reasons = name_reasons,
			       .pc_set = ok,
			       .pc_get = get };
	struct timespec begin, end;

	for (size_t i = 0; i < FUNCTIONS; i++)
		memset(functions[i], 'a' + (char)(i % 26), sizeof(functions[i]) - 1);
	samples_see_context(&cupti);
	samples_drain(&cupti, 1, false);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	for (uint64_t now_ns = 2; given < ALL; now_ns++) {
		left = A_DRAIN;
		samples_drain(&cupti, now_ns, false);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	double seconds =
		(double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
	printf("%.1f million records/s, %.0f ns each; %.1f records a message\n",
	       (double)given / seconds / 1e6, seconds / (double)given * 1e9,
	       (double)given / (double)messages);
	if (counted != given)
		printf("%llu samples of %llu told\n", (unsigned long long)counted,
		       (unsigned long long)given);
	return counted != given;
}
