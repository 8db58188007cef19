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
#include <string.h>

#define KERNEL_WORDS         24
#define NAME_SCAN_BYTES      256
#define POCL_NAME_WORD       12
#define KERNEL_FUNCTION_NAME 0x1190 /* CL_KERNEL_FUNCTION_NAME */
#define EM_INTELGT_          205    /* in <elf.h> since glibc 2.36 */
#define SPIRV_MAGIC          0x07230203

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

int opencl_kernel(struct opencl *o, struct opencl_process *p, uint64_t handle, struct kernel *ret)
{
	const struct kernel *known = kernel_table_get(&p->kernels, handle);
	struct kernel_facts facts = { .handle = handle };
	int rc;

	if (known || kernel_table_is_full(&p->kernels)) {
		*ret = known ? *known : (struct kernel){ 0 };
		return 0;
	}
	rc = find_name(o, p, handle, &facts.name);
	if (rc < 0)
		return rc;
	o->stats.unnamed += facts.name == 0;
	return kernel_table_add(&p->kernels, &facts, ret);
}

struct told_to {
	struct opencl *o;
	struct opencl_process *p;
};

static int told_device(void *data, uint64_t handle, uint32_t *ret)
{
	struct told_to *to = data;

	return opencl_device(to->o, to->p, handle, ret);
}

static int take_time(void *data, const struct inject_time *time, uint32_t tid)
{
	const struct told_to *to = data;

	return opencl_timed(to->o, to->p, time, tid);
}

int opencl_told(struct opencl *o, struct opencl_process *p, const struct accel_event *e)
{
	const struct told_taker taker = {
		.kernels = &p->kernels,
		.device = told_device,
		.time = take_time,
		.data = &(struct told_to){ o, p },
		.located = &o->stats.located,
	};

	int rc;

	p->is_told = true;
	rc = told_code_batch(&p->code, &taker, e);
	/* A thread introduces itself before it asks for work. */
	p->is_timed |= p->code.threads.len > 0;
	return rc;
}

/* The library inside has told of it before the call that made it returned. */
static bool was_told(const struct opencl_process *p, uint64_t handle)
{
	return p->is_told && kernel_table_get(&p->kernels, handle);
}

int opencl_kernel_created(struct opencl *o, struct opencl_process *p, const struct accel_event *e)
{
	struct kernel_facts facts = { .handle = e->value[2], .module = e->value[0] };
	struct kernel kernel;
	int rc;

	if (!facts.handle || was_told(p, facts.handle))
		return 0;
	if (e->text_size)
		rc = capture_writer_bytes(o->host.writer, e->text, e->text_size, &facts.name);
	else
		rc = find_name(o, p, facts.handle, &facts.name);
	if (rc < 0)
		return rc;
	if (e->text_size)
		learn_name_word(o, p, facts.handle, e->text, e->text_size);
	return kernel_table_add(&p->kernels, &facts, &kernel);
}

int opencl_kernels_created(struct opencl *o, struct opencl_process *p, const struct accel_event *e)
{
	int rc = 0;

	if (e->value[3] != 0) /* CL_SUCCESS: else nothing was filled in */
		return 0;
	/* The array may have more places than there are kernels; what is in those is no kernel and
	 * has no name. */
	for (size_t at = 0; at + 8 <= e->text_size && rc == 0; at += 8) {
		struct kernel_facts facts = { .module = e->value[0] };
		struct kernel kernel;
		memcpy(&facts.handle, e->text + at, sizeof(facts.handle));
		if (!facts.handle || was_told(p, facts.handle))
			continue;
		rc = find_name(o, p, facts.handle, &facts.name);
		if (rc == 0 && facts.name)
			rc = kernel_table_add(&p->kernels, &facts, &kernel);
	}
	return rc;
}

int opencl_kernel_cloned(struct opencl *o, struct opencl_process *p, const struct accel_event *e)
{
	struct kernel kernel;
	int rc;

	if (!e->value[1])
		return 0;
	rc = opencl_kernel(o, p, e->value[0], &kernel);
	return rc < 0 ? rc : kernel_table_set(&p->kernels, e->value[1], &kernel);
}

int opencl_kernel_told(struct opencl *o, struct opencl_process *p, const struct accel_event *e)
{
	const struct kernel *known = kernel_table_get(&p->kernels, e->value[0]);
	struct kernel_facts facts = { .handle = e->value[0] };
	struct kernel kernel;
	int rc;

	/* The library inside asks for them, too, to tell more. */
	if (p->is_told || (uint32_t)e->value[4] != 0 || e->value[1] != KERNEL_FUNCTION_NAME ||
	    !e->text_size || (known && known->name))
		return 0;
	rc = capture_writer_bytes(o->host.writer, e->text, e->text_size, &facts.name);
	return rc < 0 ? rc : kernel_table_add(&p->kernels, &facts, &kernel);
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

int opencl_program_created(struct opencl *o, struct opencl_process *p, const struct accel_event *e)
{
	uint64_t program = e->value[site_value_count(e->site) - 1];
	uint32_t kind = program_kind(e);

	if (!program)
		return 0;
	/* What is inside tells what becomes of it. */
	if (kind == CODE_OBJECT_ZEBIN && p->is_told)
		kind = 0;
	if (e->flags & ACCEL_EVENT_CUT)
		o->stats.cut++;
	/* A part of a source can still be read by people; a part of a binary is nothing. */
	if (!e->text_size || (e->flags & ACCEL_EVENT_CUT && kind != CODE_OBJECT_SOURCE))
		kind = 0;
	return kernel_table_module(&p->kernels, program, kind, span_of(e->text, e->text_size));
}
