/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of one instruction by a disassembler library of the system, loaded when first needed: libLLVM
 * (x86-64, AArch64, AMDGPU) and libiga64 (Intel). Each may end the process on what it does not like:
 * only for the helper (helper.h).
 */
#pragma once

#include "base/span.h"

struct disassembler;

/* NULL when no library is here, or none knows @triple. @cpu "": any. */
struct disassembler *disassembler_llvm(const char *triple, const char *cpu);
/* @platform as in iga.h's iga_gen_t: major << 24 | minor. */
struct disassembler *disassembler_iga(uint32_t platform);
void disassembler_free(struct disassembler *d);

/* The length of the instruction at @at in @code, which lies at @address; 0: not one. @text gets it,
 * one line, possibly cut. */
size_t disassembler_at(struct disassembler *d, struct span code, size_t at, uint64_t address,
		       char *text, size_t size);
