/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs and kernels. A kernel's name is told when it is made. One that was made before the
 * recording, or by clCreateKernelsInProgram, is looked at in the target's memory: runtimes keep a
 * pointer to the name in the struct behind the handle (POCL 3.1: word 12). Which word it is, is
 * learnt from kernels whose name is known.
 */
#include "accel/opencl.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define KERNEL_WORDS         24
#define NAME_SCAN_BYTES      256
#define POCL_NAME_WORD       12
#define KERNEL_FUNCTION_NAME 0x1190 /* CL_KERNEL_FUNCTION_NAME */
#define EM_INTELGT_          205    /* in <elf.h> since glibc 2.36 */
#define SPIRV_MAGIC          0x07230203

static int put_kernel(struct opencl *o, struct opencl_process *p, struct opencl_kernel *kernel,
		      uint64_t program, const struct told_kernel *told)
{
	uint64_t *code = hash_get(&p->programs, program);
	struct record record = {
		.type = RECORD_KERNEL,
		.kernel = {
			.id = o->host.number(o->host.data),
			.process = p->process,
			.code_object = code ? (uint32_t)*code : 0,
			.name = kernel->name,
			.handle = kernel->handle,
			.program = program,
			.size = told ? told->size : 0,
		},
	};
	int rc = told ? told_kernel_metadata(told, o->host.writer, &record.kernel.metadata) : 0;

	kernel->code = record.kernel.code_object;
	kernel->record = record.kernel.id;
	return rc < 0 ? rc : capture_writer_put(o->host.writer, &record);
}

static int set_kernel(struct opencl_process *p, const struct opencl_kernel *kernel)
{
	uint64_t *known = hash_get(&p->kernel_index, kernel->handle);

	if (known) {
		p->kernels.data[*known] = *kernel;
		return 0;
	}
	if (p->kernels.len >= OPENCL_KERNELS_MAX)
		return 0;
	if (vec_push(&p->kernels, *kernel) < 0)
		return -ENOMEM;
	return hash_set(&p->kernel_index, kernel->handle, p->kernels.len - 1);
}

/* The kernel @handle is the function @name of @program. Programs make kernels again and again, so
 * equal ones share one record. @program 0 and @name 0: not known. */
static int add_kernel(struct opencl *o, struct opencl_process *p, uint64_t handle, uint64_t program,
		      uint32_t name, struct opencl_kernel *ret)
{
	struct opencl_kernel kernel = { .handle = handle, .name = name };
	/* Where no name is known, kernels are told apart by their handles. */
	uint64_t key = hash_u64(program) ^ (name ? name : handle);
	uint64_t *known = hash_get(&p->kernel_names, key);
	int rc = 0;

	if (known) {
		kernel.record = (uint32_t)*known;
		kernel.code = (uint32_t)(*known >> 32);
	} else {
		rc = put_kernel(o, p, &kernel, program, NULL);
	}
	if (p->kernel_names.len >= OPENCL_NAMES_MAX)
		hash_release(&p->kernel_names);
	if (rc == 0 && !known)
		rc = hash_set(&p->kernel_names, key, hash_pair(kernel.code, kernel.record));
	if (rc == 0)
		rc = set_kernel(p, &kernel);
	if (rc == 0 && ret)
		*ret = kernel;
	return rc;
}

static int read_word(struct opencl *o, const struct opencl_process *p, uint64_t address,
		     uint64_t *ret)
{
	return o->host.read(o->host.data, p->pid, address, ret, sizeof(*ret));
}

/* A C identifier at @address of the target: its length; 0 when there is something else. */
static size_t read_identifier(struct opencl *o, const struct opencl_process *p, uint64_t address,
			      char *text)
{
	const size_t page = 4096;
	size_t size = NAME_SCAN_BYTES, length = 0;
	uint64_t pointer, word;

	if (address < page)
		return 0;
	/* Perhaps the next page is not there. */
	if (o->host.read(o->host.data, p->pid, address, text, size) < 0) {
		size = page - address % page;
		if (size >= NAME_SCAN_BYTES ||
		    o->host.read(o->host.data, p->pid, address, text, size) < 0)
			return 0;
	}
	while (length < size && (isalnum((unsigned char)text[length]) || text[length] == '_' ||
				 text[length] == '$' || text[length] == '.'))
		length++;
	if (length == 0 || length == size || text[length] != '\0' ||
	    isdigit((unsigned char)text[0]))
		return 0;
	/* Six characters and two NULs may be a pointer. */
	if (length == 6 && size >= sizeof(pointer)) {
		memcpy(&pointer, text, sizeof(pointer));
		if (read_word(o, p, pointer, &word) == 0)
			return 0;
	}
	return length;
}

/* Find out which word of a kernel points to its name, from one whose name is known. */
static void learn_name_word(struct opencl *o, struct opencl_process *p, uint64_t handle,
			    const char *name, size_t size)
{
	uint64_t words[KERNEL_WORDS];
	char text[NAME_SCAN_BYTES];

	if (p->name_word >= 0 || size >= sizeof(text) ||
	    o->host.read(o->host.data, p->pid, handle, words, sizeof(words)) < 0)
		return;
	for (int i = 0; i < KERNEL_WORDS; i++)
		if (words[i] > 4096 &&
		    o->host.read(o->host.data, p->pid, words[i], text, size + 1) == 0 &&
		    memcmp(text, name, size) == 0 && text[size] == '\0') {
			p->name_word = i;
			return;
		}
}

/* The name of a kernel that is in the target's memory: a string's number, 0: not found. */
static int find_name(struct opencl *o, struct opencl_process *p, uint64_t handle, uint32_t *ret)
{
	int first = p->name_word >= 0 ? p->name_word : POCL_NAME_WORD;
	uint64_t words[KERNEL_WORDS];
	char text[NAME_SCAN_BYTES];
	size_t length = 0;

	*ret = 0;
	if (o->host.read(o->host.data, p->pid, handle, words, sizeof(words)) < 0)
		return 0;
	length = read_identifier(o, p, words[first], text);
	/* Where the word is known, another would be a guess. */
	for (int i = 0; i < KERNEL_WORDS && length == 0 && p->name_word < 0; i++)
		length = read_identifier(o, p, words[i], text);
	if (length == 0)
		return 0;
	return capture_writer_bytes(o->host.writer, text, length, ret);
}

int opencl_kernel(struct opencl *o, struct opencl_process *p, uint64_t handle,
		  struct opencl_kernel *ret)
{
	uint64_t *known = hash_get(&p->kernel_index, handle);
	uint32_t name;
	int rc;

	if (!known && p->kernels.len >= OPENCL_KERNELS_MAX) {
		*ret = (struct opencl_kernel){ .handle = handle };
		return 0;
	}
	if (known) {
		*ret = p->kernels.data[*known];
		return 0;
	}
	rc = find_name(o, p, handle, &name);
	if (rc < 0)
		return rc;
	o->stats.unnamed += name == 0;
	return add_kernel(o, p, handle, 0, name, ret);
}

struct told_to {
	struct opencl *o;
	struct opencl_process *p;
};

/* A kernel of which the library inside has told where it is. */
static int take_told(void *data, const struct told_kernel *k, uint32_t *ret_kernel,
		     uint32_t *ret_device)
{
	struct told_to *to = data;
	struct opencl_process *p = to->p;
	uint64_t key = hash_u64(k->module) ^ (k->name ? k->name : k->handle);
	uint64_t *known = hash_get(&p->kernel_names, key),
		 *code = hash_get(&p->programs, k->module);
	struct opencl_kernel kernel = {
		.handle = k->handle,
		.name = k->name,
		.code = code ? (uint32_t)*code : 0,
	};
	int rc = opencl_device(to->o, p, k->device, ret_device);

	if (rc < 0)
		return rc;
	/* Of the same code: programs make kernels again and again. */
	if (known && *known >> 32 == kernel.code)
		kernel.record = (uint32_t)*known;
	else
		rc = put_kernel(to->o, p, &kernel, k->module, k);
	if (p->kernel_names.len >= OPENCL_NAMES_MAX)
		hash_release(&p->kernel_names);
	if (rc == 0)
		rc = hash_set(&p->kernel_names, key, hash_pair(kernel.code, kernel.record));
	*ret_kernel = kernel.record;
	return rc < 0 ? rc : set_kernel(p, &kernel);
}

int opencl_told(struct opencl *o, struct opencl_process *p, const struct accel_event *e)
{
	struct told_to to = { o, p };
	const struct told_taker taker = {
		.host = &o->host,
		.process = p->process,
		.title = "OpenCL program",
		.modules = &p->programs,
		.modules_max = OPENCL_PROGRAMS_MAX,
		.located = &o->stats.located,
		.kernel = take_told,
		.data = &to,
	};

	p->is_told = true;
	return told_code_batch(&p->code, &taker, e);
}

/* The library inside has told of it before the call that made it returned. */
static bool was_told(const struct opencl_process *p, uint64_t handle)
{
	return p->is_told && hash_get(&p->kernel_index, handle);
}

int opencl_kernel_created(struct opencl *o, struct opencl_process *p, const struct accel_event *e)
{
	uint64_t handle = e->value[2];
	uint32_t name = 0;
	int rc = 0;

	if (!handle || was_told(p, handle))
		return 0;
	if (e->text_size)
		rc = capture_writer_bytes(o->host.writer, e->text, e->text_size, &name);
	else
		rc = find_name(o, p, handle, &name);
	if (rc < 0)
		return rc;
	if (e->text_size)
		learn_name_word(o, p, handle, e->text, e->text_size);
	return add_kernel(o, p, handle, e->value[0], name, NULL);
}

int opencl_kernels_created(struct opencl *o, struct opencl_process *p, const struct accel_event *e)
{
	int rc = 0;

	if (e->value[3] != 0) /* CL_SUCCESS: else nothing was filled in */
		return 0;
	/* The array may have more places than there are kernels; what is in those is no kernel and
	 * has no name. */
	for (size_t at = 0; at + 8 <= e->text_size && rc == 0; at += 8) {
		uint64_t handle;
		uint32_t name;
		memcpy(&handle, e->text + at, sizeof(handle));
		if (!handle || was_told(p, handle))
			continue;
		rc = find_name(o, p, handle, &name);
		if (rc == 0 && name)
			rc = add_kernel(o, p, handle, e->value[0], name, NULL);
	}
	return rc;
}

int opencl_kernel_cloned(struct opencl *o, struct opencl_process *p, const struct accel_event *e)
{
	struct opencl_kernel kernel;
	int rc;

	if (!e->value[1])
		return 0;
	rc = opencl_kernel(o, p, e->value[0], &kernel);
	if (rc < 0)
		return rc;
	kernel.handle = e->value[1];
	return set_kernel(p, &kernel);
}

int opencl_kernel_told(struct opencl *o, struct opencl_process *p, const struct accel_event *e)
{
	uint64_t *known = hash_get(&p->kernel_index, e->value[0]);
	uint32_t name;
	int rc;

	/* The library inside asks for them, too, to tell more. */
	if (p->is_told || (uint32_t)e->value[4] != 0 || e->value[1] != KERNEL_FUNCTION_NAME ||
	    !e->text_size || (known && p->kernels.data[*known].name))
		return 0;
	rc = capture_writer_bytes(o->host.writer, e->text, e->text_size, &name);
	return rc < 0 ? rc : add_kernel(o, p, e->value[0], 0, name, NULL);
}

/* What a program was made from, or 0 for what is not worth keeping: POCL's own binaries hold no
 * code object of a kind we know. */
static uint32_t program_kind(const struct accel_event *e)
{
	Elf64_Ehdr header;
	uint32_t magic;

	if (e->site->id == SITE_SOURCE)
		return CODE_OBJECT_SOURCE;
	if (e->text_size < sizeof(header))
		return 0;
	memcpy(&magic, e->text, sizeof(magic));
	if (magic == SPIRV_MAGIC)
		return CODE_OBJECT_SPIRV;
	memcpy(&header, e->text, sizeof(header));
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
		return 0;
	return header.e_machine == EM_INTELGT_ ? CODE_OBJECT_ZEBIN : 0;
}

/* A new program may have the address of one that is gone; its kernels are new, too. */
static void forget_program(struct opencl_process *p, uint64_t program)
{
	hash_remove(&p->programs, program);
	vec_for_each(&p->kernels, it)
		hash_remove(&p->kernel_names, hash_u64(program) ^ it->name);
}

int opencl_program_created(struct opencl *o, struct opencl_process *p, const struct accel_event *e)
{
	struct record_code_object object = { .process = p->process };
	uint64_t program = e->value[site_value_count(e->site) - 1];
	char name[64];
	int rc;

	if (!program)
		return 0;
	forget_program(p, program);
	object.kind = program_kind(e);
	/* What is inside tells what becomes of it. */
	if (object.kind == CODE_OBJECT_ZEBIN && p->is_told)
		object.kind = 0;
	if (e->flags & ACCEL_EVENT_CUT)
		o->stats.cut++;
	/* A part of a source can still be read by people; a part of a binary is nothing. */
	if (!object.kind || !e->text_size ||
	    (e->flags & ACCEL_EVENT_CUT && object.kind != CODE_OBJECT_SOURCE))
		return 0;
	object.id = o->host.number(o->host.data);
	snprintf(name, sizeof(name), "OpenCL program 0x%" PRIx64, program);
	rc = capture_writer_string(o->host.writer, name, &object.name);
	if (rc == 0)
		rc = capture_writer_code_object(o->host.writer, &object, e->text, e->text_size);
	if (p->programs.len >= OPENCL_PROGRAMS_MAX)
		hash_release(&p->programs);
	return rc < 0 ? rc : hash_set(&p->programs, program, object.id);
}
