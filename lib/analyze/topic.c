/* SPDX-License-Identifier: Apache-2.0 */
/* What host code is about, by the names of functions and files. */
#include "analyze/topic.h"

#include <errno.h>

/* Parts of the function's name, of its source file's path, or of the binary it is in. */
enum word_kind {
	IN_NAME,
	IN_FILE,
	IN_MODULE
};

static const struct word {
	enum topic topic;
	enum word_kind kind;
	const char *text;
} words[] = {
	{ TOPIC_LOADER, IN_NAME, "DataLoaderIter" },
	{ TOPIC_LOADER, IN_FILE, "torch/utils/data/" },
	{ TOPIC_COMPILE, IN_FILE, "torch/_dynamo/convert_frame.py" },
	{ TOPIC_COMPILE, IN_FILE, "torch/_inductor/compile_fx.py" },
	{ TOPIC_COMPILE, IN_FILE, "triton/compiler/compiler.py" },
	{ TOPIC_COMPILE, IN_NAME, "clBuildProgram" },
	{ TOPIC_COMPILE, IN_NAME, "nvrtcCompileProgram" },
	{ TOPIC_COMPILE, IN_NAME, "hiprtcCompileProgram" },
	{ TOPIC_COMPILE, IN_NAME, "zeModuleCreate" },
	/* Where they are called from is often lost in what calls them. */
	{ TOPIC_COMPILE, IN_MODULE, "libLLVM" },
	{ TOPIC_COMPILE, IN_MODULE, "libclang" },
	{ TOPIC_COMPILE, IN_MODULE, "libnvrtc" },
	{ TOPIC_COMPILE, IN_MODULE, "libnvidia-ptxjitcompiler" },
	{ TOPIC_COMPILE, IN_MODULE, "libamd_comgr" },
	{ TOPIC_COMPILE, IN_MODULE, "libigc" },
	{ TOPIC_ALLOCATE, IN_NAME, "cudaMalloc" },
	{ TOPIC_ALLOCATE, IN_NAME, "cudaFree" },
	{ TOPIC_ALLOCATE, IN_NAME, "cudaHostAlloc" },
	{ TOPIC_ALLOCATE, IN_NAME, "cuMemAlloc" },
	{ TOPIC_ALLOCATE, IN_NAME, "cuMemFree" },
	{ TOPIC_ALLOCATE, IN_NAME, "hipMalloc" },
	{ TOPIC_ALLOCATE, IN_NAME, "hipFree" },
	{ TOPIC_ALLOCATE, IN_NAME, "hipHostMalloc" },
	{ TOPIC_ALLOCATE, IN_NAME, "clCreateBuffer" },
	{ TOPIC_ALLOCATE, IN_NAME, "clReleaseMemObject" },
	{ TOPIC_ALLOCATE, IN_NAME, "zeMemAlloc" },
	{ TOPIC_ALLOCATE, IN_NAME, "zeMemFree" },
	{ TOPIC_LOCK, IN_NAME, "pthread_mutex_lock" },
	{ TOPIC_LOCK, IN_NAME, "__lll_lock_wait" },
	{ TOPIC_LOCK, IN_NAME, "take_gil" },
	{ TOPIC_LOCK, IN_NAME, "'acquire' of '_thread." },
	{ TOPIC_IMPORT, IN_FILE, "importlib" },
	{ TOPIC_IMPORT, IN_NAME, "_find_and_load" },
	{ TOPIC_IMPORT, IN_NAME, "PyImport_Import" },
	{ TOPIC_IMPORT, IN_NAME, "dlopen" },
	{ TOPIC_LOAD, IN_FILE, "torch/serialization.py" },
	{ TOPIC_LOAD, IN_FILE, "safetensors/" },
	{ TOPIC_LOAD, IN_NAME, "load_state_dict" },
	{ TOPIC_LOAD, IN_NAME, "from_pretrained" },
	{ TOPIC_LOAD, IN_NAME, "load_weights" },
	{ TOPIC_LOAD, IN_NAME, "load_checkpoint" },
};

enum topic topic_of(const char *name, const char *file, const char *module)
{
	const char *const in[] = { [IN_NAME] = name, [IN_FILE] = file, [IN_MODULE] = module };
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (in[words[i].kind] && strstr(in[words[i].kind], words[i].text))
			return words[i].topic;
	}
	return TOPIC_COUNT;
}

static enum topic ref_topic(struct analysis *a, const struct frame_ref *ref)
{
	const struct object *o = &a->objects.data[ref->object];
	const char *path = analysis_text(a, o->path);
	struct symbol_frames symbols;
	if (o->kind != OBJECT_ELF && o->kind != OBJECT_ANON)
		return topic_of(analysis_text(a, o->name), path, NULL);
	if (analysis_symbolize(a, ref->object, ref->offset, &symbols) < 0)
		return topic_of(NULL, NULL, path);
	for (size_t i = 0; i < symbols.count; i++) {
		enum topic topic = topic_of(symbols.frames[i].name, symbols.frames[i].file, path);
		if (topic != TOPIC_COUNT)
			return topic;
	}
	return topic_of(NULL, NULL, path);
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
