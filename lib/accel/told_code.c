/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/told_code.h"

#include "accel/info.h"
#include "elf/elf.h"
#include "inject/message.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Of a kernel whose size is told by nobody: drivers of the time when they could not be asked gave each the rest of its
 * 64 KiB. */
#define KERNEL_SPACING (64u << 10)
/* Kernels of one module. */
#define PARTS_MAX 65536

static void module_release(struct told_module *m)
{
	vec_release(&m->parts);
	m->record = 0;
}

static void forget_modules(struct told_code *c)
{
	vec_for_each(&c->modules, it)
		module_release(it);
	vec_release(&c->modules);
	hash_release(&c->index);
}

void told_code_release(struct told_code *c)
{
	forget_modules(c);
	hash_release(&c->names);
	told_image_release(&c->image);
}

static struct told_module *find_module(const struct told_code *c, uint64_t module)
{
	uint64_t *index = hash_get(&c->index, module);

	return index ? &c->modules.data[*index] : NULL;
}

static int add_module(struct told_code *c, uint64_t module, struct told_module **ret)
{
	*ret = find_module(c, module);
	if (*ret) {
		module_release(*ret);
		return 0;
	}
	if (c->modules.len >= TOLD_MODULES_MAX)
		forget_modules(c);
	if (vec_push(&c->modules, (struct told_module){ .module = module }) < 0)
		return -ENOMEM;
	*ret = vec_last(&c->modules);
	return hash_set(&c->index, module, c->modules.len - 1);
}

/* Executable sections with an address: kernels, and functions that they call. What is no ELF file has none. */
static int read_parts(struct told_module *m, const struct told_image *image)
{
	CLEANUP(elf_close) struct elf_file *elf = NULL;

	if (elf_open_memory(&elf, span_of(image->bytes, image->total), "module", NULL) < 0)
		return 0;
	for (size_t i = 0; i < elf_section_count(elf) && m->parts.len < PARTS_MAX; i++) {
		struct elf_section s = elf_section_get(elf, i);
		if (!(s.flags & SHF_EXECINSTR) || !s.addr || !s.size)
			continue;
		if (vec_push(&m->parts, (struct told_part){ s.addr, s.size }) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* A whole image, in the place of what was told of that module before. */
static int put_image(struct told_code *c, const struct told_taker *taker)
{
	struct record_code_object object = { .kind = CODE_OBJECT_ZEBIN, .process = taker->process };
	struct capture_writer *w = taker->host->writer;
	const struct told_image *image = &c->image;
	struct told_module *m;
	char name[64];
	int rc = add_module(c, image->module, &m);

	if (rc == 0)
		rc = read_parts(m, image);
	if (rc < 0)
		return rc;
	object.id = m->record = taker->host->number(taker->host->data);
	snprintf(name, sizeof(name), "%s 0x%" PRIx64, taker->title, image->module);
	rc = capture_writer_string(w, name, &object.name);
	if (rc == 0)
		rc = capture_writer_code_object(w, &object, image->bytes, image->total);
	if (rc == 0 && taker->modules->len >= taker->modules_max)
		hash_release(taker->modules);
	return rc < 0 ? rc : hash_set(taker->modules, image->module, object.id);
}

static int take_code(struct told_code *c, const struct told_taker *taker, struct cursor *m)
{
	int rc = told_image_part(&c->image, m);

	if (rc <= 0)
		return rc;
	rc = put_image(c, taker);
	told_image_release(&c->image);
	return rc;
}

/* How much code begins at @address of a module; 0: not known. */
static uint64_t size_at(const struct told_code *c, uint64_t module, uint64_t address)
{
	const struct told_module *m = find_module(c, module);

	if (m)
		vec_for_each(&m->parts, it)
			if (it->address == address)
				return it->size;
	return 0;
}

static int take_kernel(struct told_code *c, const struct told_taker *taker,
		       const struct accel_event *e, const struct inject_kernel *k)
{
	uint64_t *name = hash_get(&c->names, k->name);
	struct accel_code code = {
		.time_ns = e->time_ns,
		.process = taker->process,
		.pci = k->pci,
		.address = k->address,
		.size = size_at(c, k->module, k->address),
	};
	struct told_kernel kernel = {
		.handle = k->handle,
		.module = k->module,
		.device = k->device,
		.name = name ? (uint32_t)*name : 0,
	};
	int rc;

	if (!k->handle)
		return 0;
	if (!code.size)
		code.size = k->size;
	if (!code.size && k->address)
		code.size = KERNEL_SPACING - k->address % KERNEL_SPACING;
	kernel.size = code.size;
	kernel.address = k->address;
	rc = taker->kernel(taker->data, &kernel, &code.kernel, &code.device);
	if (rc < 0 || !k->address)
		return rc;
	++*taker->located;
	return accel_code_loaded(taker->host->accel, &code);
}

int told_kernel_metadata(const struct told_kernel *k, struct capture_writer *w, uint32_t *ret)
{
	char text[64];

	snprintf(text, sizeof(text), "address=0x%" PRIx64, k->address);
	*ret = 0;
	return k->address ? capture_writer_string(w, text, ret) : 0;
}

static int take_status(const struct told_taker *taker, struct span text)
{
	char copy[256];
	size_t size = text.size < sizeof(copy) - 1 ? text.size : sizeof(copy) - 1;

	memcpy(copy, text.data, size);
	copy[size] = '\0';
	return accel_info(taker->host->writer, "missing.code", copy);
}

static int take_message(struct told_code *c, const struct told_taker *taker,
			const struct accel_event *e, struct told_message *m)
{
	struct inject_kernel kernel;

	switch (m->type) {
	case INJECT_STATUS:
		return take_status(taker, m->body.span);
	case INJECT_NAME:
		return told_name(&c->names, taker->host->writer, &m->body);
	case INJECT_CODE:
		return take_code(c, taker, &m->body);
	case INJECT_KERNEL:
		if (m->whole.size < sizeof(kernel))
			return 0;
		memcpy(&kernel, m->whole.data, sizeof(kernel));
		return take_kernel(c, taker, e, &kernel);
	default: /* of a newer library */
		return 0;
	}
}

int told_code_batch(struct told_code *c, const struct told_taker *taker,
		    const struct accel_event *e)
{
	struct span batch = span_of(e->text, e->text_size);
	struct told_message message;
	int rc = 0;

	while (rc == 0 && told_next(&batch, &message))
		rc = take_message(c, taker, e, &message);
	return rc;
}

int told_code_gone(struct told_code *c, const struct accel_host *host, uint32_t process,
		   uint64_t module, uint64_t time_ns)
{
	struct told_module *m = find_module(c, module);
	int rc = 0;

	if (!m)
		return 0;
	vec_for_each(&m->parts, it) {
		struct accel_code code = {
			.time_ns = time_ns,
			.process = process,
			.address = it->address,
			.size = it->size,
		};
		rc = rc ? rc : accel_code_unloaded(host->accel, &code);
	}
	module_release(m);
	return rc;
}
