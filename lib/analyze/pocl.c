/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What POCL calls its compiled kernels. For kernel K it makes one shared object
 * .../K/<local size>/K.so with the functions _pocl_kernel_K, _pocl_kernel_K_workgroup (the one that
 * runs) and, before 4.0, _pocl_kernel_K_workgroup_fast. Seen with 3.1 and 6.0.
 */
#include "analyze/code.h"
#include "analyze/tables.h"

#include <errno.h>

#define POCL_PREFIX "_pocl_kernel_"

static const char *const pocl_suffixes[] = { "_workgroup_fast", "_workgroup", "" };

/* K of ".../K.so"; empty when the path is another. */
static struct span path_kernel(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	size_t size = strlen(base);
	if (size < 4 || memcmp(base + size - 3, ".so", 3))
		return span_of("", 0);
	return span_of(base, size - 3);
}

/* K of a function's name, empty when POCL did not make it. The file's name decides where a kernel
 * is itself called "..._workgroup". */
static struct span symbol_kernel(const char *symbol, struct span file)
{
	if (strncmp(symbol, POCL_PREFIX, strlen(POCL_PREFIX)))
		return span_of("", 0);
	const char *rest = symbol + strlen(POCL_PREFIX);
	size_t size = strlen(rest);

	for (size_t i = 0; i < ARRAY_SIZE(pocl_suffixes); i++) {
		size_t suffix = strlen(pocl_suffixes[i]);
		if (file.size && size == file.size + suffix &&
		    !memcmp(rest, file.data, file.size) &&
		    !memcmp(rest + file.size, pocl_suffixes[i], suffix))
			return file;
	}
	for (size_t i = 0; i < ARRAY_SIZE(pocl_suffixes); i++) {
		size_t suffix = strlen(pocl_suffixes[i]);
		if (size > suffix && !memcmp(rest + size - suffix, pocl_suffixes[i], suffix))
			return span_of(rest, size - suffix);
	}
	return span_of("", 0);
}

int analysis_pocl_kernel(struct analysis *a, const struct place *p, uint32_t *ret)
{
	const struct stack *stack = &a->stacks.data[p->stack];
	struct span file = path_kernel(analysis_text(a, a->objects.data[p->object].path));
	struct span kernel = span_of("", 0);
	const struct frame_ref *refs = analysis_stack(a, p->stack);
	if (!refs)
		return -ENOMEM;

	for (uint32_t i = stack->device_frame - 1; i < stack->count && !kernel.size; i++) {
		struct symbol_frames frames;
		if (refs[i].object != p->object)
			break;
		if (analysis_symbolize(a, p->object, refs[i].offset, &frames) < 0)
			return -ENOMEM;
		for (size_t k = 0; k < frames.count && !kernel.size; k++)
			kernel = symbol_kernel(frames.frames[k].name, file);
	}
	if (!kernel.size)
		kernel = file;
	return strtab_intern(&a->names, kernel.data, kernel.size, ret, NULL) < 0 ? -ENOMEM : 0;
}

const char *analysis_source_name(const char *file)
{
	const char *base = strstr(file, "/tempfile_");
	if (!base || strchr(base + 1, '/') || strlen(file) < 3 ||
	    strcmp(file + strlen(file) - 3, ".cl") != 0)
		return file;
	return "program.cl";
}
