/* SPDX-License-Identifier: Apache-2.0 */
#include "device/object.h"

#include "base/bisect.h"
#include "device/disassembler.h"
#include "device/helper.h"
#include "device/source_table.h"
#include "dwarf/debug_info.h"

#include <errno.h>
#include <string.h>

static const struct device_ops *const formats[] = {
	&device_pocl,
	&device_amdgpu,
	&device_cubin,
	&device_zebin,
};

void device_close(struct device_object *o)
{
	if (!o)
		return;
	helper_stop(o->helper);
	if (o->ops && o->ops->close)
		o->ops->close(o);
	disassembler_free(o->disassembler);
	source_table_release(o->sources);
	debug_info_close(o->debug);
	vec_for_each(&o->functions, f)
		vec_release(&f->rows);
	vec_release(&o->functions);
	free(o->by_name);
	strtab_release(&o->strings);
	strtab_release(&o->chain_blobs);
	vec_release(&o->chains);
	arena_release(&o->arena);
	elf_close(o->elf);
	free(o->name);
	free(o);
}

static int compare_functions(const void *va, const void *vb)
{
	const struct function *a = va, *b = vb;
	if (a->pub.offset != b->pub.offset)
		return a->pub.offset < b->pub.offset ? -1 : 1;
	/* The larger first, so that an inner one is found before what surrounds it. */
	if (a->pub.size != b->pub.size)
		return a->pub.size > b->pub.size ? -1 : 1;
	return strcmp(a->pub.name, b->pub.name);
}

static uint64_t end_of(const struct device_object *o, uint32_t index)
{
	const struct device_function *f = &o->functions.data[index].pub;
	return f->offset + f->size;
}

static void sort_functions(struct device_object *o)
{
	if (o->functions.len)
		qsort(o->functions.data, o->functions.len, sizeof(*o->functions.data),
		      compare_functions);
	for (uint32_t i = 1; i < o->functions.len; i++) {
		uint32_t around = i;
		while (around && end_of(o, around - 1) <= end_of(o, i))
			around = o->functions.data[around - 1].around;
		o->functions.data[i].around = around;
	}
}

/* By name, a kernel before others of its name. */
static int compare_names(const void *va, const void *vb, void *functions)
{
	const struct function *a = (struct function *)functions + *(const uint32_t *)va;
	const struct function *b = (struct function *)functions + *(const uint32_t *)vb;
	int rc = strcmp(a->pub.name, b->pub.name);
	if (rc)
		return rc;
	if (a->pub.is_kernel != b->pub.is_kernel)
		return a->pub.is_kernel ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* Which kernel each function that lies inside one belongs to. */
static void name_kernels(struct device_object *o)
{
	const struct function *around = NULL;
	vec_for_each(&o->functions, f) {
		if (f->pub.is_kernel) {
			if (!f->pub.kernel)
				f->pub.kernel = f->pub.name;
			around = f;
		} else if (!f->pub.kernel && around &&
			   f->pub.offset - around->pub.offset < around->pub.size) {
			f->pub.kernel = around->pub.name;
		}
	}
}

static int sort_names(struct device_object *o)
{
	o->by_name = calloc(o->functions.len + 1, sizeof(*o->by_name));
	if (!o->by_name)
		return -ENOMEM;
	for (size_t i = 0; i < o->functions.len; i++)
		o->by_name[i] = (uint32_t)i;
	qsort_r(o->by_name, o->functions.len, sizeof(*o->by_name), compare_names,
		o->functions.data);
	return 0;
}

/* "CTNI" begins a program's binary; ELF type 0xff04 is the container around it that ocloc writes. */
static bool is_patch_tokens(struct span s)
{
	uint16_t type = 0;
	if (s.size >= 4 && !memcmp(s.data, "CTNI", 4))
		return true;
	if (s.size < 18 || memcmp(s.data, "\177ELF", 4) != 0)
		return false;
	memcpy(&type, s.data + 16, sizeof(type));
	return type == 0xff04;
}

/* The text says all, without the number's words. */
static int not_supported(struct err *err, const char *why, const char *name)
{
	err_set(err, -EINVAL, "'%s' %s", name, why);
	return -ENOTSUP;
}

int device_open(struct device_object **ret, struct span bytes, const char *name, unsigned flags,
		struct err *err)
{
	CLEANUP(device_close) struct device_object *o = calloc(1, sizeof(*o));
	if (!o)
		return err_set(err, -ENOMEM, "'%s'", name);
	o->bytes = bytes;
	o->flags = flags | (flags & DEVICE_NO_CHILD ? DEVICE_NO_TEXT : 0);
	o->name = strdup(name);
	if (!o->name || vec_push(&o->chains, (struct chain){ 0 }) < 0)
		return err_set(err, -ENOMEM, "'%s'", name);
	if (is_patch_tokens(bytes))
		return not_supported(
			err,
			"is made of patch tokens, Intel's format before zebin, which is not "
			"read; compile with 'ocloc --format zebin' or a newer driver",
			name);
	int rc = elf_open_memory(&o->elf, bytes, name, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < ARRAY_SIZE(formats) && !o->ops; i++) {
		if (formats[i]->is_mine(o->elf))
			o->ops = formats[i];
	}
	if (!o->ops)
		return not_supported(err, "holds no accelerator code that is known here", name);
	rc = o->ops->open(o, err);
	if (rc < 0)
		return rc;
	sort_functions(o);
	name_kernels(o);
	if (sort_names(o) < 0)
		return err_set(err, -ENOMEM, "'%s'", name);
	*ret = TAKE(o);
	return 0;
}

void device_use_nvdisasm(struct device_object *o)
{
	o->uses_nvdisasm = !(o->flags & (DEVICE_NO_TEXT | DEVICE_NO_CHILD));
}

enum device_format device_format(const struct device_object *o)
{
	return o->ops->format;
}

const char *device_arch(const struct device_object *o)
{
	return o->arch;
}

size_t device_function_count(const struct device_object *o)
{
	return o->functions.len;
}

const struct device_function *device_function_get(const struct device_object *o, size_t index)
{
	return &o->functions.data[index].pub;
}

int device_function_find(const struct device_object *o, const char *name, size_t *ret)
{
	size_t at = bisect(o->functions.len, i,
			   strcmp(o->functions.data[o->by_name[i]].pub.name, name) < 0);

	if (at == o->functions.len || strcmp(o->functions.data[o->by_name[at]].pub.name, name) != 0)
		return -ENOENT;
	*ret = o->by_name[at];
	return 0;
}

/* For file offsets: 0 bytes where they are not in the file. */
static struct span bytes_at(const struct device_object *o, uint64_t file_pos, uint64_t size)
{
	if (file_pos > o->bytes.size)
		return span_of("", 0);
	uint64_t left = o->bytes.size - file_pos;
	return span_of(o->bytes.data + file_pos, size < left ? size : left);
}

int object_add_function(struct device_object *o, const struct device_function *f, uint64_t file_pos,
			uint64_t tag)
{
	if (!f->size || f->size > UINT64_MAX - f->offset ||
	    o->functions.len >= DEVICE_FUNCTIONS_MAX)
		return 0;
	struct function own = { .pub = *f, .tag = tag };
	own.code = bytes_at(o, file_pos, f->size);
	own.pub.name = arena_copy(&o->arena, f->name, strlen(f->name));
	if (!own.pub.name)
		return -ENOMEM;
	if (f->kernel) {
		own.pub.kernel = strcmp(f->kernel, f->name) == 0
					 ? own.pub.name
					 : arena_copy(&o->arena, f->kernel, strlen(f->kernel));
		if (!own.pub.kernel)
			return -ENOMEM;
	}
	return vec_push(&o->functions, own);
}

/* Functions inside each other; compilers make two. */
#define DEPTH_MAX 256

int object_function_at(const struct device_object *o, uint64_t offset, size_t *ret)
{
	size_t below = bisect(o->functions.len, i, o->functions.data[i].pub.offset <= offset);

	for (unsigned depth = 0; below && depth < DEPTH_MAX; depth++) {
		const struct device_function *f = &o->functions.data[below - 1].pub;
		if (offset - f->offset < f->size) {
			*ret = below - 1;
			return 0;
		}
		below = o->functions.data[below - 1].around;
	}
	return -ENOENT;
}

int object_string(struct device_object *o, const char *text, uint32_t *ret)
{
	return strtab_intern(&o->strings, text, strlen(text), ret, NULL);
}

/* What the caller gets to see of a new chain. */
static int publish_chain(struct device_object *o, const struct chain_line *lines, size_t count)
{
	struct device_line *out = arena_alloc(&o->arena, count * sizeof(*out));
	if (!out)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		out[i] = (struct device_line){
			.name = strtab_text(&o->strings, lines[i].name),
			.file = strtab_text(&o->strings, lines[i].file),
			.line = lines[i].line,
			.column = lines[i].column,
		};
	o->chain_total += count;
	return vec_push(&o->chains, (struct chain){ .lines = out, .count = count });
}

int object_chain(struct device_object *o, const struct chain_line *lines, size_t count,
		 uint32_t *ret)
{
	uint32_t id;
	bool is_fresh;

	if (count > CHAIN_LINES_MAX) {
		lines += count - CHAIN_LINES_MAX;
		count = CHAIN_LINES_MAX;
	}
	if (!count) {
		*ret = 0;
		return 0;
	}
	if (o->chain_total + count > CHAIN_TOTAL_MAX) {
		lines += count - 1;
		count = 1;
	}
	if (strtab_intern(&o->chain_blobs, lines, count * sizeof(*lines), &id, &is_fresh) < 0 ||
	    (is_fresh && publish_chain(o, lines, count) < 0))
		return -ENOMEM;
	*ret = id;
	return 0;
}

/* Is the place a part of a function inside this one, which lists it? Of aliases each does. */
static bool is_of_inner(const struct device_object *o, size_t function, uint64_t offset)
{
	size_t at;
	return object_function_at(o, offset, &at) == 0 &&
	       o->functions.data[at].pub.size < o->functions.data[function].pub.size;
}

int object_add_row(struct device_object *o, size_t function, const struct row *row)
{
	struct function *f = &o->functions.data[function];

	if (is_of_inner(o, function, row->offset))
		return 0;

	/* Functions that overlap, which no compiler makes, cannot make a small file large. */
	if (o->row_count >= DEVICE_ROWS_MAX || o->row_count >= o->bytes.size)
		return 1;
	/* A stretch of nothing but the same line is one row. */
	if (!row->length && f->rows.len) {
		const struct row *last = vec_last(&f->rows);
		if (!last->length && last->chain == row->chain)
			return 0;
	}
	o->row_count++;
	return vec_push(&f->rows, *row);
}

/* Rows are asked for once; where they cannot be had the function has none. */
static int list_function(struct device_object *o, size_t index)
{
	struct function *f = &o->functions.data[index];
	int rc;

	if (f->is_listed)
		return 0;
	f->is_listed = true;
	if (o->ops->needs_helper && !(o->flags & DEVICE_NO_CHILD))
		rc = helper_list(o, index);
	else
		rc = o->ops->list(o, index);
	return rc == -ENOMEM ? rc : 0;
}

static void fill_place(const struct device_object *o, const struct function *f,
		       const struct row *row, struct device_place *ret)
{
	const struct chain *chain = &o->chains.data[row->chain];
	*ret = (struct device_place){
		.function = &f->pub,
		.offset = row->offset,
		.length = row->length,
		.text = row->text ? strtab_text(&o->strings, row->text) : NULL,
		.assembly = row->assembly ? strtab_text(&o->strings, row->assembly) : NULL,
		.lines = chain->lines,
		.line_count = chain->count,
	};
	uint64_t at = row->offset - f->pub.offset;
	if (row->length && span_contains(f->code, at, row->length))
		ret->bytes = span_of(f->code.data + at, row->length);
}

int device_resolve(struct device_object *o, uint64_t offset, struct device_place *ret)
{
	size_t index;
	int rc = object_function_at(o, offset, &index);
	if (rc == 0)
		rc = list_function(o, index);
	if (rc < 0)
		return rc;
	const struct function *f = &o->functions.data[index];
	size_t below = bisect(f->rows.len, i, f->rows.data[i].offset <= offset);
	if (!below) {
		*ret = (struct device_place){ .function = &f->pub, .offset = offset };
		return 0;
	}
	fill_place(o, f, &f->rows.data[below - 1], ret);
	if (!ret->length)
		ret->offset = offset;
	return 0;
}

int64_t device_place_count(struct device_object *o, size_t function)
{
	int rc = list_function(o, function);
	return rc < 0 ? rc : (int64_t)o->functions.data[function].rows.len;
}

void device_place_get(struct device_object *o, size_t function, size_t index,
		      struct device_place *ret)
{
	const struct function *f = &o->functions.data[function];
	fill_place(o, f, &f->rows.data[index], ret);
}
