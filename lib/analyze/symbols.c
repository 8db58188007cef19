/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/tables.h"

int analysis_symbolize(struct analysis *a, uint32_t object, uint64_t offset,
		       struct symbol_frames *ret)
{
	const struct object *o = &a->objects.data[object];
	struct symbolize_query query = {
		.object = object,
		.kind = o->kind == OBJECT_KERNEL ? SYMBOLIZE_KERNEL
			: o->kind == OBJECT_VDSO ? SYMBOLIZE_VDSO
			: o->kind == OBJECT_ANON ? SYMBOLIZE_ANON
						 : SYMBOLIZE_ELF,
		.offset = offset,
		.module = analysis_text(a, o->name ? o->name : o->path),
	};
	return symbolize_frame(a->symbolizer, &query, ret);
}
