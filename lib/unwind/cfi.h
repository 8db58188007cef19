/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame information, as DWARF 5 section 6.4 and the LSB's .eh_frame have it: CIEs, FDEs and the
 * state that their instructions build up. Only the rules for the CFA, the frame pointer, the stack
 * pointer and the return address are kept. Knows no machine; x86_64.h has the register numbers.
 */
#pragma once

#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

/* A section of call frame information. */
struct cfi_section {
	struct span data;
	uint64_t address;              /* of its first byte, as pc-relative pointers count */
	bool is_eh;                    /* .eh_frame, not .debug_frame */
	uint64_t data_base, text_base; /* what data- and text-relative pointers count from */
};

enum cfi_rule_kind {
	CFI_SAME, /* or not mentioned */
	CFI_UNDEFINED,
	CFI_OFFSET,     /* at CFA + offset */
	CFI_REGISTER,   /* in register @offset */
	CFI_EXPRESSION, /* at the address that @expression gives */
	CFI_OTHER,
};

struct cfi_rule {
	enum cfi_rule_kind kind;
	int64_t offset;
	struct span expression;
};

struct cfi_state {
	enum cfi_rule_kind cfa; /* CFI_OFFSET from @cfa_reg, CFI_EXPRESSION or CFI_OTHER */
	uint64_t cfa_reg;
	int64_t cfa_offset;
	struct span cfa_expression;
	struct cfi_rule fp, sp, ra;
};

struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_reg;
	uint8_t pointer_encoding;
	uint8_t address_size, segment_size; /* .debug_frame */
	bool has_augmentation;              /* FDEs carry augmentation data */
	bool is_signal;
	struct span instructions;
	struct cfi_state initial;
};

struct cfi_fde {
	uint64_t start, size; /* addresses it describes */
	struct span instructions;
};

/* One entry of a section, taken apart as far as both kinds are alike. */
struct cfi_entry {
	bool is_cie;
	uint64_t cie;       /* an FDE's: offset of its CIE in the section */
	uint64_t body;      /* offset of what follows the CIE pointer */
	uint64_t end;       /* offset behind the entry */
	bool is_terminator; /* length 0 */
};

/* The entry at @offset; -EBADMSG when it does not lie wholly inside. */
int cfi_entry_read(const struct cfi_section *s, uint64_t offset, struct cfi_entry *ret);
/* The CIE at @offset with its initial state, or -EBADMSG, or -ENOTSUP for versions and
 * augmentations that are not known. */
int cfi_cie_read(const struct cfi_section *s, uint64_t offset, struct cfi_cie *ret);
/* The FDE @e. */
int cfi_fde_read(const struct cfi_section *s, const struct cfi_entry *e, const struct cfi_cie *cie,
		 struct cfi_fde *ret);
/* A pointer encoded as the LSB says (DW_EH_PE_*), at *@offset, which moves behind it. */
int cfi_pointer_read(const struct cfi_section *s, uint8_t encoding, uint64_t *offset,
		     uint64_t *ret);

/* Called for each state, with the first address it holds at. Nonzero stops and is returned. */
typedef int (*cfi_emit_fn)(void *data, uint64_t pc, const struct cfi_state *state);

/*
 * Run an FDE's instructions. Where they cannot be followed any further, a last state with a CFA rule
 * of CFI_OTHER is emitted; that is no error, other functions' rules are still good.
 */
int cfi_run(const struct cfi_cie *cie, const struct cfi_fde *fde, cfi_emit_fn emit, void *data);
