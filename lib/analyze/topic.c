/* SPDX-License-Identifier: Apache-2.0 */
/* What host code is about, by the names of functions and files. */
#include "analyze/topic.h"

#include <errno.h>

static const struct word {
	enum topic topic;
	bool is_file; /* a part of the source file's path, else of the name */
	const char *text;
} words[] = {
	{ TOPIC_LOADER, false, "DataLoaderIter" },
	{ TOPIC_LOADER, true, "torch/utils/data/" },
	{ TOPIC_COMPILE, true, "torch/_dynamo/convert_frame.py" },
	{ TOPIC_COMPILE, true, "torch/_inductor/compile_fx.py" },
	{ TOPIC_COMPILE, true, "triton/compiler/compiler.py" },
	{ TOPIC_COMPILE, false, "clBuildProgram" },
	{ TOPIC_COMPILE, false, "nvrtcCompileProgram" },
	{ TOPIC_COMPILE, false, "hiprtcCompileProgram" },
	{ TOPIC_COMPILE, false, "zeModuleCreate" },
	{ TOPIC_ALLOCATE, false, "cudaMalloc" },
	{ TOPIC_ALLOCATE, false, "cudaFree" },
	{ TOPIC_ALLOCATE, false, "cudaHostAlloc" },
	{ TOPIC_ALLOCATE, false, "cuMemAlloc" },
	{ TOPIC_ALLOCATE, false, "cuMemFree" },
	{ TOPIC_ALLOCATE, false, "hipMalloc" },
	{ TOPIC_ALLOCATE, false, "hipFree" },
	{ TOPIC_ALLOCATE, false, "hipHostMalloc" },
	{ TOPIC_ALLOCATE, false, "clCreateBuffer" },
	{ TOPIC_ALLOCATE, false, "clReleaseMemObject" },
	{ TOPIC_ALLOCATE, false, "zeMemAlloc" },
	{ TOPIC_ALLOCATE, false, "zeMemFree" },
	{ TOPIC_LOCK, false, "pthread_mutex_lock" },
	{ TOPIC_LOCK, false, "__lll_lock_wait" },
	{ TOPIC_LOCK, false, "take_gil" },
	{ TOPIC_LOCK, false, "'acquire' of '_thread." },
	{ TOPIC_IMPORT, true, "importlib" },
	{ TOPIC_IMPORT, false, "_find_and_load" },
	{ TOPIC_IMPORT, false, "PyImport_Import" },
	{ TOPIC_IMPORT, false, "dlopen" },
	{ TOPIC_LOAD, true, "torch/serialization.py" },
	{ TOPIC_LOAD, true, "safetensors/" },
	{ TOPIC_LOAD, false, "load_state_dict" },
	{ TOPIC_LOAD, false, "from_pretrained" },
	{ TOPIC_LOAD, false, "load_weights" },
	{ TOPIC_LOAD, false, "load_checkpoint" },
};

enum topic topic_of(const char *name, const char *file)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		const char *in = words[i].is_file ? file : name;
		if (in && strstr(in, words[i].text))
			return words[i].topic;
	}
	return TOPIC_COUNT;
}

static enum topic ref_topic(struct analysis *a, const struct frame_ref *ref)
{
	const struct object *o = &a->objects.data[ref->object];
	struct symbol_frames symbols;
	if (o->kind != OBJECT_ELF && o->kind != OBJECT_ANON)
		return topic_of(analysis_text(a, o->name), analysis_text(a, o->path));
	if (analysis_symbolize(a, ref->object, ref->offset, &symbols) < 0)
		return TOPIC_COUNT;
	for (size_t i = 0; i < symbols.count; i++) {
		enum topic topic = topic_of(symbols.frames[i].name, symbols.frames[i].file);
		if (topic != TOPIC_COUNT)
			return topic;
	}
	return TOPIC_COUNT;
}

uint8_t *topics_of_stacks(struct analysis *a)
{
	uint32_t node_count = pairtab_count(&a->stack_nodes);
	uint32_t frame_count = (uint32_t)a->frames.len;
	CLEANUP_FREE uint8_t *frames = calloc(frame_count + 1, 1);
	CLEANUP_FREE uint8_t *nodes = calloc(node_count + 1, 1);
	CLEANUP_FREE uint8_t *sets = calloc(a->stacks.len + 1, 1);
	if (!frames || !nodes || !sets)
		return NULL;
	/* Number 0 is no frame. */
	for (uint32_t i = 1; i < frame_count; i++) {
		struct frame_ref ref = analysis_frame(a, i);
		enum topic topic = ref_topic(a, &ref);
		if (topic != TOPIC_COUNT)
			frames[i] = (uint8_t)(1u << topic);
	}
	/* A caller's node comes before those that it called. */
	for (uint32_t i = 1; i < node_count; i++) {
		struct pair step = pairtab_get(&a->stack_nodes, i);
		nodes[i] = (uint8_t)(nodes[step.first] | frames[step.second]);
	}
	for (size_t i = 0; i < a->stacks.len; i++)
		sets[i] = nodes[a->stacks.data[i].leaf];
	return TAKE(sets);
}
