/* SPDX-License-Identifier: Apache-2.0 */
#include "import/frames.h"

#include "base/strbuf.h"
#include "import/pyname.h"

#include <errno.h>
#include <string.h>

/* Deeper paths are cut at the leaf; the deepest trace seen has 82 frames. */
#define PATH_DEPTH_MAX 4096

int frames_init(struct frames *f)
{
	*f = (struct frames){ 0 };
	/* Frame 0 stands for none, node 0 for the empty path. */
	if (vec_push(&f->infos, (struct frame_info){ 0 }) < 0 ||
	    vec_push(&f->nodes, (struct path_node){ 0 }) < 0) {
		frames_release(f);
		return -ENOMEM;
	}
	return 0;
}

void frames_release(struct frames *f)
{
	strtab_release(&f->strings);
	vec_release(&f->written);
	vec_release(&f->infos);
	vec_release(&f->nodes);
	hash_release(&f->by_text);
	pairtab_release(&f->paths);
	vec_release(&f->stack);
}

int frames_string(struct frames *f, struct span text, uint32_t *ret)
{
	return strtab_intern(&f->strings, text.data, text.size, ret, NULL);
}

int frames_written(struct frames *f, struct capture_writer *w, uint32_t string, uint32_t *ret)
{
	while (f->written.len <= string) {
		if (vec_push(&f->written, 0) < 0)
			return -ENOMEM;
	}
	if (!f->written.data[string]) {
		struct span text = strtab_get(&f->strings, string);
		uint32_t id;
		int rc = capture_writer_bytes(w, text.data, text.size, &id);
		if (rc < 0)
			return rc;
		f->written.data[string] = id + 1;
	}
	*ret = f->written.data[string] - 1;
	return 0;
}

static bool has(struct span text, const char *word)
{
	return memmem(text.data, text.size, word, strlen(word)) != NULL;
}

static bool starts(struct span text, const char *word)
{
	return text.size >= strlen(word) && !memcmp(text.data, word, strlen(word));
}

/* cudaGraphLaunch, hipModuleLaunchKernel, urEnqueueKernelLaunch, cuStreamSynchronize, ... */
static uint32_t call_traits(struct span name)
{
	uint32_t traits = FRAME_IS_CALL_LIKE;

	if (has(name, "GraphLaunch") || has(name, "LaunchGraph"))
		traits |= FRAME_LAUNCHES_GRAPH;
	else if (has(name, "Launch"))
		traits |= FRAME_LAUNCHES;
	if (has(name, "Memcpy") || has(name, "MemoryCopy"))
		traits |= FRAME_COPIES;
	if (has(name, "Memset") || has(name, "MemoryFill"))
		traits |= FRAME_FILLS;
	if (has(name, "ynchronize"))
		traits |= FRAME_SYNCS;
	if (has(name, "BeginCapture"))
		traits |= FRAME_BEGINS_CAPTURE;
	if (has(name, "EndCapture"))
		traits |= FRAME_ENDS_CAPTURE;
	return traits;
}

static uint32_t op_traits(struct span name)
{
	uint32_t traits = FRAME_IS_CALL_LIKE;

	/* PyTorch's own words: torch/csrc/autograd/engine.cpp, ProcessGroup's record_param_comms. */
	if (starts(name, "autograd::engine::evaluate_function"))
		traits |= FRAME_IS_BACKWARD;
	if (starts(name, "record_param_comms"))
		traits |= FRAME_IS_COLLECTIVE;
	return traits;
}

/* "nccl:all_reduce", "gloo:broadcast", "xccl:...": what ProcessGroup annotates collectives with; and
 * what people write around loss.backward(), where there is no Python to show it. */
static uint32_t scope_traits(struct span name)
{
	if (has(name, "backward"))
		return FRAME_RUNS_BACKWARD;
	const char *colon = memchr(name.data, ':', name.size);
	size_t size = colon ? (size_t)(colon - (const char *)name.data) : 0;

	if (size < 3 || size > 8 || size + 1 == name.size)
		return 0;
	bool is_library = !memcmp(colon - 3, "ccl", 3) || (size == 4 && starts(name, "gloo")) ||
			  (size == 3 && starts(name, "mpi"));
	return is_library ? FRAME_IS_COLLECTIVE : 0;
}

static int python_frame(struct frames *f, struct span text, struct frame_info *info)
{
	static const char module[] = "nn.Module: ";
	struct pyname name;
	int rc;

	if (starts(text, module)) {
		info->kind = OBJECT_MODULE;
		info->traits = FRAME_IS_CALL_LIKE | FRAME_IS_PYTHON;
		return frames_string(
			f,
			span_of(text.data + sizeof(module) - 1, text.size - (sizeof(module) - 1)),
			&info->name);
	}
	if (!pyname_parse(text, &name)) {
		info->kind = OBJECT_NATIVE;
		info->traits = FRAME_IS_CALL_LIKE;
		/* torch._C._EngineBase.run_backward: this thread waits while others work for it. */
		if (has(text, "run_backward"))
			info->traits |= FRAME_RUNS_BACKWARD;
		return frames_string(f, text, &info->name);
	}
	info->traits = FRAME_IS_CALL_LIKE | FRAME_IS_PYTHON;
	info->line = name.line;
	rc = frames_string(f, name.function, &info->name);
	return rc < 0 ? rc : frames_string(f, name.file, &info->path);
}

int frames_add(struct frames *f, enum object_kind kind, struct span text, uint32_t *ret)
{
	char kept[512];
	size_t before, behind;
	uint32_t string;

	/* An address would make every call a frame of its own. */
	if (text.size && text.data[0] == '<' && text.size < sizeof(kept) &&
	    pyname_address(text, &before, &behind)) {
		memcpy(kept, text.data, before);
		memcpy(kept + before, text.data + behind, text.size - behind);
		text = span_of(kept, before + text.size - behind);
	}
	int rc = frames_string(f, text, &string);
	if (rc < 0)
		return rc;
	const uint64_t *known = hash_get(&f->by_text, hash_pair(kind, string));
	if (known) {
		*ret = (uint32_t)*known;
		return 0;
	}

	struct frame_info info = { .kind = kind, .name = string };
	switch (kind) {
	case OBJECT_PYTHON:
		rc = python_frame(f, text, &info);
		if (rc < 0)
			return rc;
		break;
	case OBJECT_NATIVE:
		info.traits = call_traits(text);
		break;
	case OBJECT_OP:
		info.traits = op_traits(text);
		break;
	case OBJECT_SCOPE:
		info.traits = scope_traits(text);
		break;
	default:
		break;
	}
	uint32_t frame = (uint32_t)f->infos.len;
	if (vec_push(&f->infos, info) < 0 ||
	    hash_set(&f->by_text, hash_pair(kind, string), frame) < 0)
		return -ENOMEM;
	*ret = frame;
	return 0;
}

int frames_add_foreign(struct frames *f, uint32_t kind, struct span text, uint32_t *ret)
{
	struct frame_info info = { .kind = OBJECT_FRAME, .frame_kind = kind };
	int rc = frames_string(f, text, &info.name);
	if (rc < 0)
		return rc;
	/* Beside the kinds of objects. */
	uint64_t key = hash_pair(0x100 + kind, info.name);
	const uint64_t *known = hash_get(&f->by_text, key);
	if (known) {
		*ret = (uint32_t)*known;
		return 0;
	}
	uint32_t frame = (uint32_t)f->infos.len;
	if (vec_push(&f->infos, info) < 0 || hash_set(&f->by_text, key, frame) < 0)
		return -ENOMEM;
	*ret = frame;
	return 0;
}

int frames_path(struct frames *f, uint32_t parent, uint32_t frame, uint32_t *ret)
{
	uint32_t id;
	int rc = pairtab_intern(&f->paths, parent, frame, &id);
	if (rc > 0) {
		const struct path_node *above = &f->nodes.data[parent];
		struct path_node node = {
			.traits = above->traits | f->infos.data[frame].traits,
			.depth = above->depth + 1,
		};
		if (vec_push(&f->nodes, node) < 0)
			return -ENOMEM;
	}
	if (rc < 0)
		return rc;
	*ret = id;
	return 0;
}

uint32_t frames_common(const struct frames *f, uint32_t a, uint32_t b)
{
	uint32_t a_depth = f->nodes.data[a].depth, b_depth = f->nodes.data[b].depth;

	for (; a_depth > b_depth; a_depth--)
		a = pairtab_get(&f->paths, a).first;
	for (; b_depth > a_depth; b_depth--)
		b = pairtab_get(&f->paths, b).first;
	while (a != b) {
		a = pairtab_get(&f->paths, a).first;
		b = pairtab_get(&f->paths, b).first;
	}
	return a;
}

int frames_join(struct frames *f, uint32_t path, uint32_t tail, uint32_t from, uint32_t *ret)
{
	VEC(uint32_t) frames = { 0 };
	int rc = 0;

	for (uint32_t n = tail; n && n != from && rc >= 0; n = pairtab_get(&f->paths, n).first)
		rc = vec_push(&frames, pairtab_get(&f->paths, n).second);
	for (size_t i = frames.len; i-- && rc >= 0;)
		rc = frames_path(f, path, frames.data[i], &path);
	vec_release(&frames);
	if (rc < 0)
		return rc;
	*ret = path;
	return 0;
}

int frames_object(struct frames *f, struct capture_writer *w, uint32_t frame,
		  struct record_frame *ret)
{
	struct frame_info *info = &f->infos.data[frame];

	if (!info->object) {
		struct record_object object = {
			.kind = info->kind,
			.line = info->line,
			.frame_kind = info->frame_kind,
		};
		uint32_t id;
		if (info->kind == OBJECT_PYTHON)
			object.flags = OBJECT_LINE_IS_DEF;
		int rc = frames_written(f, w, info->name, &object.name);
		if (!rc)
			rc = frames_written(f, w, info->path, &object.path);
		if (!rc)
			rc = capture_writer_object(w, &object, &id);
		if (rc < 0)
			return rc;
		info->object = id + 1;
	}
	*ret = (struct record_frame){ .object = info->object - 1, .offset = info->line };
	return 0;
}

/* The frames of @path beyond @base, leaf first, into f->stack. */
static int collect_frames(struct frames *f, struct capture_writer *w, uint32_t path, uint32_t base)
{
	f->stack.len = 0;
	while (path != base && f->stack.len < PATH_DEPTH_MAX) {
		struct pair step = pairtab_get(&f->paths, path);
		struct record_frame frame;
		int rc = frames_object(f, w, step.second, &frame);
		if (rc < 0)
			return rc;
		if (vec_push(&f->stack, frame) < 0)
			return -ENOMEM;
		path = step.first;
	}
	return 0;
}

int frames_stack(struct frames *f, struct capture_writer *w, uint32_t path, uint32_t *ret)
{
	struct path_node *node = &f->nodes.data[path];
	uint32_t epoch = capture_writer_epoch(w), base = 0, stack, known;

	if (node->epoch == epoch && node->is_itself) {
		*ret = node->stack;
		return 0;
	}
	/* Most paths begin as one does that has been written. */
	if (node->depth <= PATH_DEPTH_MAX) {
		for (base = path; base && f->nodes.data[base].epoch != epoch;)
			base = pairtab_get(&f->paths, base).first;
	}
	int rc = collect_frames(f, w, path, base);
	if (rc < 0)
		return rc;
	const struct path_node *shared = &f->nodes.data[base];
	rc = capture_writer_stack_like(
		w,
		&(struct record_stack){ .parent = base ? shared->stack : 0,
					.kept = shared->depth,
					.frames = f->stack.data,
					.count = shared->depth + (uint32_t)f->stack.len,
					.flags = STACK_ROOTED },
		&stack, &known);
	if (rc < 0)
		return rc;
	/* Writing it may have begun an epoch. */
	epoch = capture_writer_epoch(w);
	for (uint32_t n = path;
	     n && node->depth <= PATH_DEPTH_MAX && f->nodes.data[n].epoch != epoch;
	     n = pairtab_get(&f->paths, n).first) {
		f->nodes.data[n].stack = stack;
		f->nodes.data[n].epoch = epoch;
		f->nodes.data[n].is_itself = false;
	}
	node->stack = stack;
	node->epoch = epoch;
	node->is_itself = true;
	*ret = stack;
	return 0;
}
