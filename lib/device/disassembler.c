/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The prototypes are those of LLVM's llvm-c/Disassembler.h, unchanged from 14 to 19, and of IGA's
 * iga.h and kv.h, which no Debian package holds. Linking instead would make every start of the
 * program load 110 MB.
 */
#include "device/disassembler.h"

#include "base/cleanup.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct disassembler {
	void *library;
	bool is_llvm;
	void *context; /* LLVM's */
	size_t (*instruction)(void *context, uint8_t *bytes, uint64_t size, uint64_t pc, char *text,
			      size_t text_size);
	void (*dispose)(void *context);
	/* IGA's: a view of all the code, made for the first instruction asked for */
	uint32_t platform;
	void *view;
	const uint8_t *view_of;
	void *(*kv_create)(uint32_t platform, const void *bytes, size_t size, int *status,
			   char *error, size_t error_size, uint32_t swsb);
	void (*kv_delete)(const void *view);
	uint32_t (*kv_size)(const void *view, int32_t pc);
	size_t (*kv_syntax)(const void *view, int32_t pc, char *text, size_t size, uint32_t format,
			    const char *(*label)(int32_t, void *), void *data);
};

/* Newest first: an LLVM that does not know a processor ends the process. */
static const char *const llvm_names[] = {
	"libLLVM.so.21.1", "libLLVM.so.20.1", "libLLVM.so.19.1", "libLLVM.so.18.1",
	"libLLVM-17.so.1", "libLLVM-16.so.1", "libLLVM-15.so.1", "libLLVM-14.so.1",
};

#define LOAD(library, target, name) (*(void **)&(target) = dlsym((library), (name)))

/* Call PREFIX + KIND for the three registrations that disassembling needs. */
static bool llvm_register(void *library, const char *target)
{
	static const char *const kinds[] = { "TargetInfo", "TargetMC", "Disassembler" };
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		char name[64];
		void (*start)(void);
		snprintf(name, sizeof(name), "LLVMInitialize%s%s", target, kinds[i]);
		LOAD(library, start, name);
		if (!start)
			return false;
		start();
	}
	return true;
}

static const char *llvm_target(const char *triple)
{
	if (!strncmp(triple, "amdgcn", 6))
		return "AMDGPU";
	return !strncmp(triple, "aarch64", 7) ? "AArch64" : "X86";
}

static bool llvm_start(struct disassembler *d, const char *triple, const char *cpu)
{
	void *(*create)(const char *, const char *, void *, int, void *, void *);

	LOAD(d->library, create, "LLVMCreateDisasmCPU");
	LOAD(d->library, d->instruction, "LLVMDisasmInstruction");
	LOAD(d->library, d->dispose, "LLVMDisasmDispose");
	if (!create || !d->instruction || !d->dispose ||
	    !llvm_register(d->library, llvm_target(triple)))
		return false;
	d->context = create(triple, cpu, NULL, 0, NULL, NULL);
	return d->context;
}

struct disassembler *disassembler_llvm(const char *triple, const char *cpu)
{
	struct disassembler *d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	d->is_llvm = true;
	for (size_t i = 0; i < ARRAY_SIZE(llvm_names); i++) {
		d->library = dlopen(llvm_names[i], RTLD_LAZY | RTLD_LOCAL);
		if (d->library && llvm_start(d, triple, cpu))
			return d;
	}
	disassembler_free(d);
	return NULL;
}

struct disassembler *disassembler_iga(uint32_t platform)
{
	struct disassembler *d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	d->platform = platform;
	d->library = dlopen("libiga64.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!d->library)
		d->library = dlopen("libiga64.so.2", RTLD_NOW | RTLD_LOCAL);
	if (d->library) {
		LOAD(d->library, d->kv_create, "kv_create");
		LOAD(d->library, d->kv_delete, "kv_delete");
		LOAD(d->library, d->kv_size, "kv_get_inst_size");
		LOAD(d->library, d->kv_syntax, "kv_get_inst_syntax");
	}
	if (d->kv_create && d->kv_delete && d->kv_size && d->kv_syntax)
		return d;
	disassembler_free(d);
	return NULL;
}

void disassembler_free(struct disassembler *d)
{
	if (!d)
		return;
	if (d->context)
		d->dispose(d->context);
	if (d->view)
		d->kv_delete(d->view);
	/* The library stays: LLVM's registrations point into it, and the process ends soon. */
	free(d);
}

/* Tabs and runs of blanks become one blank; leading ones go. */
static void tidy(char *text)
{
	char *out = text;
	bool is_gap = true;
	for (const char *in = text; *in; in++) {
		bool is_blank = *in == ' ' || *in == '\t' || *in == '\n';
		if (is_blank && is_gap)
			continue;
		*out++ = is_blank ? ' ' : *in;
		is_gap = is_blank;
	}
	if (out > text && out[-1] == ' ')
		out--;
	*out = '\0';
}

/* Some way into a kernel, 32 bits of code are all that IGA takes. */
#define IGA_CODE_MAX ((size_t)INT32_MAX)
/* iga.h: SYNTAX_EXTS | PRINT_LDST, the latter where the library knows it */
#define IGA_FORMAT 0x42u

static size_t iga_at(struct disassembler *d, struct span code, size_t at, char *text, size_t size)
{
	if (d->view_of != code.data) {
		char error[256];
		int status = 0;
		if (d->view)
			d->kv_delete(d->view);
		d->view = code.size > IGA_CODE_MAX ? NULL
						   : d->kv_create(d->platform, code.data, code.size,
								  &status, error, sizeof(error), 0);
		d->view_of = code.data;
	}
	if (!d->view || at > IGA_CODE_MAX)
		return 0;
	size_t length = d->kv_size(d->view, (int32_t)at);
	if (length && !d->kv_syntax(d->view, (int32_t)at, text, size, IGA_FORMAT, NULL, NULL))
		text[0] = '\0';
	/* What was just said in words, in numbers. */
	char *numbers = strstr(text, "// ex_desc:");
	if (numbers)
		*numbers = '\0';
	return length;
}

size_t disassembler_at(struct disassembler *d, struct span code, size_t at, uint64_t address,
		       char *text, size_t size)
{
	size_t length;

	text[0] = '\0';
	if (d->is_llvm)
		length = d->instruction(d->context, (uint8_t *)(uintptr_t)code.data + at,
					code.size - at, address, text, size);
	else
		length = iga_at(d, code, at, text, size);
	text[size - 1] = '\0';
	tidy(text);
	return length <= code.size - at ? length : 0;
}
