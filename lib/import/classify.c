/* SPDX-License-Identifier: Apache-2.0 */
#include "import/classify.h"

#include "base/cleanup.h"

#include <string.h>
#include <strings.h>

enum match {
	MATCH_WHOLE,
	MATCH_END,
	MATCH_PART,
};

/*
 * Kineto's ActivityType names (libkineto/src/ActivityType.cpp) of 2021 to 2026, Proton's and
 * FlagTree's. The first that fits counts; case does not, as it changed in 2022.
 */
static const struct {
	const char *word;
	enum match match;
	enum event_class class;
} words[] = {
	{ "python_function", MATCH_WHOLE, CLASS_PYTHON },
	{ "cpu_op", MATCH_WHOLE, CLASS_OP },
	{ "operator", MATCH_WHOLE, CLASS_OP },
	{ "hpu_op", MATCH_WHOLE, CLASS_OP },
	{ "user_annotation", MATCH_WHOLE, CLASS_SCOPE },
	{ "scope", MATCH_WHOLE, CLASS_SCOPE },
	{ "metric", MATCH_WHOLE, CLASS_SKIP },
	/* The same annotations again, put around the device work of each stream. */
	{ "gpu_user_annotation", MATCH_WHOLE, CLASS_SKIP },
	{ "external_correlation", MATCH_WHOLE, CLASS_SKIP },
	{ "trace", MATCH_WHOLE, CLASS_SKIP },
	/* What a device waited for, as our own export writes it; it is found out again. */
	{ "idle", MATCH_WHOLE, CLASS_SKIP },
	{ "overhead", MATCH_WHOLE, CLASS_OVERHEAD },
	{ "kernel", MATCH_WHOLE, CLASS_KERNEL },
	{ "concurrent_kernel", MATCH_WHOLE, CLASS_KERNEL },
	{ "_ccp_events", MATCH_END, CLASS_KERNEL }, /* MTIA's command processor */
	{ "memcpy", MATCH_END, CLASS_COPY },
	{ "memset", MATCH_END, CLASS_FILL },
	{ "collective_comm", MATCH_WHOLE, CLASS_COLLECTIVE },
	{ "runtime", MATCH_END, CLASS_CALL },
	{ "driver", MATCH_END, CLASS_CALL },
	{ "_runtime:", MATCH_PART, CLASS_CALL }, /* FlagTree: cann_runtime:<source> */
	/* Waits and events as the device saw them; the calls that made them are there as well. */
	{ "_sync", MATCH_END, CLASS_SKIP },
	{ "cuda_event", MATCH_WHOLE, CLASS_SKIP },
	{ "_profiler_range", MATCH_END, CLASS_SKIP },
	{ "_scope_profiler", MATCH_END, CLASS_SKIP },
	{ "_insight", MATCH_END, CLASS_SKIP },
	/* Inside of a kernel, whose own event is there as well. */
	{ "flagtree.kernel_internal", MATCH_WHOLE, CLASS_SKIP },
	{ "flagtree.ir_kernel", MATCH_WHOLE, CLASS_SKIP },
};

static bool fits(struct span text, const char *word, enum match match)
{
	const char *p = (const char *)text.data;
	size_t size = strlen(word);

	if (text.size < size)
		return false;
	switch (match) {
	case MATCH_WHOLE:
		return text.size == size && !strncasecmp(p, word, size);
	case MATCH_END:
		return !strncasecmp(p + text.size - size, word, size);
	case MATCH_PART:
		return memmem(p, text.size, word, size) != NULL;
	}
	return false;
}

enum event_class classify_category(struct span category)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (fits(category, words[i].word, words[i].match))
			return words[i].class;
	}
	return CLASS_UNKNOWN;
}

/*
 * IBM's Flex runtime has no categories; what carries the device's clock (TS1..TS5) is work of the
 * device or its preparation, and the name ends in the phase.
 */
static enum event_class classify_flex(const struct event *e)
{
	struct span name = event_text(e, EVENT_NAME);

	if (fits(name, " Cmpt Exec", MATCH_END))
		return CLASS_KERNEL;
	if (fits(name, " DmaI", MATCH_END) || fits(name, " DmaO", MATCH_END))
		return CLASS_COPY;
	return CLASS_HOST;
}

/* PyTorch's exporter without Kineto (torch/autograd/profiler_util.py) has no categories, but two
 * processes. */
static enum event_class classify_process(struct span pid)
{
	if (fits(pid, "CPU functions", MATCH_WHOLE))
		return CLASS_OP;
	return fits(pid, "CUDA functions", MATCH_WHOLE) ? CLASS_KERNEL : CLASS_UNKNOWN;
}

enum event_class classify_event(const struct event *e, bool is_device_lane)
{
	enum event_class class = classify_process(event_text(e, EVENT_PID));
	if (class != CLASS_UNKNOWN)
		return class;
	if (event_text(e, EVENT_TS5).size)
		return classify_flex(e);
	if (event_has(e, EVENT_INIT_TIME))
		return CLASS_INSIDE;
	bool has_queue = event_text(e, EVENT_STREAM).size || event_has(e, EVENT_CORRELATION);
	if (event_has(e, EVENT_DEVICE) && has_queue)
		return CLASS_KERNEL;
	return is_device_lane ? CLASS_KERNEL : CLASS_HOST;
}
