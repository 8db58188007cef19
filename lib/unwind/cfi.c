/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/cfi.h"
#include "unwind/x86_64.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

/* DW_CFA_remember_state within each other: compilers use one, hand-written code two. */
#define CFI_REMEMBER_MAX 16
/* A CIE's augmentation: "zPLRSB" has all that is defined. */
#define CFI_LETTERS_MAX 16
/* Bytes of the smallest instruction; no machine has more than 16. */
#define CFI_ALIGN_MAX 256

/*
 * base/span.h's cursor with the bounds checks inlined and no error texts: a library has millions of
 * instructions, most of one byte. @failed sticks, and reads then give 0.
 */
struct reader {
	const uint8_t *p, *end;
	bool failed;
};

static inline struct reader reader_of(struct span s)
{
	return (struct reader){ .p = s.data, .end = s.data + s.size };
}

static inline const uint8_t *reader_take(struct reader *r, uint64_t size)
{
	const uint8_t *p = r->p;

	if (r->failed || size > (uint64_t)(r->end - r->p)) {
		r->failed = true;
		return NULL;
	}
	r->p += size;
	return p;
}

static inline uint64_t reader_uint(struct reader *r, unsigned size)
{
	const uint8_t *p = reader_take(r, size);
	uint64_t value = 0;

	if (p)
		memcpy(&value, p, size);
	return value;
}

static inline uint64_t reader_uleb(struct reader *r)
{
	uint64_t value = 0;
	unsigned shift = 0;

	if (r->p < r->end && !(*r->p & 0x80)) /* nearly always */
		return *r->p++;
	for (;;) {
		const uint8_t *p = reader_take(r, 1);
		if (!p)
			return 0;
		if (shift < 64)
			value |= (uint64_t)(*p & 0x7f) << shift;
		if (!(*p & 0x80))
			return value;
		shift += 7;
	}
}

static inline int64_t reader_sleb(struct reader *r)
{
	uint64_t value = 0;
	unsigned shift = 0;

	for (;;) {
		const uint8_t *p = reader_take(r, 1);
		if (!p)
			return 0;
		if (shift < 64)
			value |= (uint64_t)(*p & 0x7f) << shift;
		shift += 7;
		if (*p & 0x80)
			continue;
		if (shift < 64 && (*p & 0x40))
			value |= ~0ULL << shift;
		return (int64_t)value;
	}
}

static inline struct span reader_block(struct reader *r)
{
	uint64_t size = reader_uleb(r);
	const uint8_t *p = reader_take(r, size);

	return p ? span_of(p, (size_t)size) : span_of(r->p, 0);
}

static int reader_at(const struct cfi_section *s, uint64_t offset, struct reader *ret)
{
	if (!s->data.size || offset > s->data.size)
		return -EBADMSG;
	*ret = reader_of(span_of(s->data.data + offset, s->data.size - (size_t)offset));
	return 0;
}

static uint64_t reader_offset(const struct reader *r, const struct cfi_section *s)
{
	return (uint64_t)(r->p - s->data.data);
}

int cfi_entry_read(const struct cfi_section *s, uint64_t offset, struct cfi_entry *ret)
{
	struct reader r;
	uint64_t length, id, field;
	unsigned width = 4;

	if (reader_at(s, offset, &r) < 0)
		return -EBADMSG;
	length = reader_uint(&r, 4);
	if (length == 0xffffffff) { /* 64-bit DWARF */
		length = reader_uint(&r, 8);
		width = 8;
	}
	if (r.failed)
		return -EBADMSG;
	*ret = (struct cfi_entry){ .end = reader_offset(&r, s) + length };
	if (!length) {
		ret->is_terminator = true;
		return 0;
	}
	field = reader_offset(&r, s);
	if (length > (uint64_t)(r.end - r.p))
		return -EBADMSG;
	/* The LSB keeps the CIE pointer at 4 bytes where .eh_frame has a 64-bit length. */
	if (s->is_eh)
		width = 4;
	id = reader_uint(&r, width);
	if (r.failed || reader_offset(&r, s) > ret->end)
		return -EBADMSG;
	ret->body = reader_offset(&r, s);
	if (s->is_eh) {
		ret->is_cie = id == 0;
		if (id > field)
			return -EBADMSG;
		ret->cie = field - id; /* it counts backwards from itself */
	} else {
		ret->is_cie = id == (width == 8 ? UINT64_MAX : UINT32_MAX);
		ret->cie = id;
	}
	return 0;
}

int cfi_pointer_read(const struct cfi_section *s, uint8_t encoding, uint64_t *offset, uint64_t *ret)
{
	struct reader r;
	uint64_t value, at = *offset;

	if (reader_at(s, at, &r) < 0)
		return -EBADMSG;
	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		value = reader_uint(&r, 8);
		break;
	case DW_EH_PE_udata2:
		value = reader_uint(&r, 2);
		break;
	case DW_EH_PE_sdata2:
		value = (uint64_t)(int64_t)(int16_t)reader_uint(&r, 2);
		break;
	case DW_EH_PE_udata4:
		value = reader_uint(&r, 4);
		break;
	case DW_EH_PE_sdata4:
		value = (uint64_t)(int64_t)(int32_t)reader_uint(&r, 4);
		break;
	case DW_EH_PE_uleb128:
		value = reader_uleb(&r);
		break;
	case DW_EH_PE_sleb128:
		value = (uint64_t)reader_sleb(&r);
		break;
	default:
		return -ENOTSUP;
	}
	if (r.failed)
		return -EBADMSG;
	switch (encoding & 0x70) {
	case DW_EH_PE_absptr:
		break;
	case DW_EH_PE_pcrel:
		value += s->address + at;
		break;
	case DW_EH_PE_datarel:
		value += s->data_base;
		break;
	case DW_EH_PE_textrel:
		value += s->text_base;
		break;
	default: /* relative to the function, aligned: nobody writes them for FDEs */
		return -ENOTSUP;
	}
	*offset = reader_offset(&r, s);
	*ret = value;
	return 0;
}

/* The letters of a CIE's "z..." augmentation. @r stands at the augmentation data. */
static int cie_augmentation(const struct cfi_section *s, struct span letters, struct reader *r,
			    struct cfi_cie *cie)
{
	uint64_t at, ignored;
	int rc;

	for (size_t i = 1; i < letters.size; i++) {
		switch (letters.data[i]) {
		case 'R':
			cie->pointer_encoding = (uint8_t)reader_uint(r, 1);
			break;
		case 'L':
			reader_uint(r, 1);
			break;
		case 'P':
			ignored = reader_uint(r, 1); /* the personality's encoding */
			at = reader_offset(r, s);
			rc = cfi_pointer_read(s, (uint8_t)(ignored & 0x0f), &at, &ignored);
			if (rc < 0)
				return rc;
			if (!reader_take(r, at - reader_offset(r, s)))
				return -EBADMSG;
			break;
		case 'S':
			cie->is_signal = true;
			break;
		case 'B': /* aarch64's key for pointer authentication, and memory tagging */
		case 'G':
			break;
		default: /* unknown letters end it; the data has its own length */
			return 0;
		}
	}
	return r->failed ? -EBADMSG : 0;
}

static int cie_initial(struct cfi_cie *cie);

int cfi_cie_read(const struct cfi_section *s, uint64_t offset, struct cfi_cie *ret)
{
	struct cfi_cie cie = { .address_size = 8 };
	struct cfi_entry e;
	struct reader r, data;
	struct span letters;
	const uint8_t *nul;
	uint64_t version;
	int rc = cfi_entry_read(s, offset, &e);

	if (rc < 0)
		return rc;
	if (e.is_terminator || !e.is_cie)
		return -EBADMSG;
	if (reader_at(s, e.body, &r) < 0)
		return -EBADMSG;
	r.end = s->data.data + e.end;

	version = reader_uint(&r, 1);
	nul = memchr(r.p, 0,
		     r.end - r.p < CFI_LETTERS_MAX ? (size_t)(r.end - r.p) : CFI_LETTERS_MAX);
	if (r.failed || !nul)
		return -EBADMSG;
	letters = span_of(r.p, (size_t)(nul - r.p));
	reader_take(&r, letters.size + 1);
	if (version != 1 && version != 3 && version != 4)
		return -ENOTSUP;
	/* "eh" is of gcc 2 and has data of another shape. */
	if (letters.size && letters.data[0] != 'z')
		return -ENOTSUP;
	if (version == 4) {
		cie.address_size = (uint8_t)reader_uint(&r, 1);
		cie.segment_size = (uint8_t)reader_uint(&r, 1);
		if (cie.address_size != 8 || cie.segment_size)
			return -ENOTSUP;
	}
	cie.code_align = reader_uleb(&r);
	cie.data_align = reader_sleb(&r);
	if (cie.code_align > CFI_ALIGN_MAX)
		return -ENOTSUP;
	cie.ra_reg = version == 1 ? reader_uint(&r, 1) : reader_uleb(&r);
	if (letters.size) {
		cie.has_augmentation = true;
		data = reader_of(reader_block(&r));
		if (r.failed)
			return -EBADMSG;
		rc = cie_augmentation(s, letters, &data, &cie);
		if (rc < 0)
			return rc;
	}
	if (r.failed)
		return -EBADMSG;
	if (cie.ra_reg != UNWIND_REG_RA)
		return -ENOTSUP;
	cie.instructions = span_of(r.p, (size_t)(r.end - r.p));
	rc = cie_initial(&cie);
	if (rc < 0)
		return rc;
	*ret = cie;
	return 0;
}

int cfi_fde_read(const struct cfi_section *s, const struct cfi_entry *e, const struct cfi_cie *cie,
		 struct cfi_fde *ret)
{
	struct cfi_fde fde;
	struct reader r;
	uint64_t at = e->body;
	int rc;

	rc = cfi_pointer_read(s, cie->pointer_encoding, &at, &fde.start);
	if (rc < 0)
		return rc;
	/* The size has the pointer's format and counts from nothing. */
	rc = cfi_pointer_read(s, cie->pointer_encoding & 0x0f, &at, &fde.size);
	if (rc < 0)
		return rc;
	if (at > e->end || reader_at(s, at, &r) < 0)
		return -EBADMSG;
	r.end = s->data.data + e->end;
	if (cie->has_augmentation)
		reader_block(&r);
	if (r.failed)
		return -EBADMSG;
	fde.instructions = span_of(r.p, (size_t)(r.end - r.p));
	*ret = fde;
	return 0;
}

/* A run of instructions. */
struct machine {
	const struct cfi_cie *cie;
	struct reader r;
	struct cfi_state state;
	struct cfi_state kept[CFI_REMEMBER_MAX];
	unsigned kept_count;
	uint64_t pc, end;
	bool is_dirty; /* the state has changed since it was emitted */
	cfi_emit_fn emit;
	void *data;
};

static struct cfi_rule *machine_rule(struct machine *m, uint64_t reg)
{
	switch (reg) {
	case UNWIND_REG_FP:
		return &m->state.fp;
	case UNWIND_REG_SP:
		return &m->state.sp;
	case UNWIND_REG_RA:
		return &m->state.ra;
	default:
		return NULL;
	}
}

static void machine_set(struct machine *m, uint64_t reg, enum cfi_rule_kind kind, uint64_t offset)
{
	struct cfi_rule *rule = machine_rule(m, reg);

	if (!rule)
		return;
	*rule = (struct cfi_rule){ .kind = kind, .offset = (int64_t)offset };
	m->is_dirty = true;
}

static void machine_set_expression(struct machine *m, enum cfi_rule_kind kind)
{
	uint64_t reg = reader_uleb(&m->r);
	struct span expression = reader_block(&m->r);
	struct cfi_rule *rule = machine_rule(m, reg);

	if (!rule)
		return;
	*rule = (struct cfi_rule){ .kind = kind, .expression = expression };
	m->is_dirty = true;
}

static void machine_restore(struct machine *m, uint64_t reg)
{
	struct cfi_rule *rule = machine_rule(m, reg);

	if (!rule)
		return;
	*rule = reg == UNWIND_REG_FP   ? m->cie->initial.fp
		: reg == UNWIND_REG_SP ? m->cie->initial.sp
				       : m->cie->initial.ra;
	m->is_dirty = true;
}

static inline int machine_flush(struct machine *m)
{
	if (!m->is_dirty || !m->emit)
		return 0;
	m->is_dirty = false;
	return m->emit(m->data, m->pc, &m->state);
}

static inline int machine_advance(struct machine *m, uint64_t delta)
{
	uint64_t bytes = delta * m->cie->code_align; /* at most 2^32 * CFI_ALIGN_MAX */
	int rc = delta ? machine_flush(m) : 0;

	/* Beyond the function's end there is nothing to say. */
	m->pc += bytes < m->end - m->pc ? bytes : m->end - m->pc;
	return rc;
}

static void machine_cfa(struct machine *m, uint64_t reg, uint64_t offset)
{
	m->state.cfa = CFI_OFFSET;
	m->state.cfa_reg = reg;
	m->state.cfa_offset = (int64_t)offset;
	m->is_dirty = true;
}

static void machine_cfa_offset(struct machine *m, uint64_t offset)
{
	/* Only legal where the CFA is a register and an offset. */
	if (m->state.cfa != CFI_OFFSET)
		m->state.cfa = CFI_OTHER;
	m->state.cfa_offset = (int64_t)offset;
	m->is_dirty = true;
}

/* An offset in units of the data alignment; wraps on nonsense, which the row then cannot say. */
static uint64_t machine_factored(const struct machine *m, uint64_t offset)
{
	return offset * (uint64_t)m->cie->data_align;
}

/* Instructions that define the CFA. 0, or 1 for what is none. */
static int machine_define(struct machine *m, uint8_t op)
{
	struct reader *r = &m->r;
	uint64_t reg;

	switch (op) {
	case DW_CFA_def_cfa:
		reg = reader_uleb(r);
		machine_cfa(m, reg, reader_uleb(r));
		return 0;
	case DW_CFA_def_cfa_sf:
		reg = reader_uleb(r);
		machine_cfa(m, reg, machine_factored(m, (uint64_t)reader_sleb(r)));
		return 0;
	case DW_CFA_def_cfa_register:
		machine_cfa(m, reader_uleb(r), (uint64_t)m->state.cfa_offset);
		return 0;
	case DW_CFA_def_cfa_offset_sf:
		machine_cfa_offset(m, machine_factored(m, (uint64_t)reader_sleb(r)));
		return 0;
	case DW_CFA_def_cfa_expression:
		m->state.cfa_expression = reader_block(r);
		m->state.cfa = CFI_EXPRESSION;
		m->is_dirty = true;
		return 0;
	default: /* DW_CFA_set_loc, and what is not known: where it ends is not known either */
		return 1;
	}
}

/* Instructions whose low six bits are not an operand: 1 to stop, or what the callback returned. */
static int machine_extended(struct machine *m, uint8_t op)
{
	struct reader *r = &m->r;
	uint64_t reg;

	switch (op) {
	case DW_CFA_nop:
		return 0;
	case DW_CFA_advance_loc1:
		return machine_advance(m, reader_uint(r, 1));
	case DW_CFA_advance_loc2:
		return machine_advance(m, reader_uint(r, 2));
	case DW_CFA_advance_loc4:
		return machine_advance(m, reader_uint(r, 4));
	case DW_CFA_offset_extended:
		reg = reader_uleb(r);
		machine_set(m, reg, CFI_OFFSET, machine_factored(m, reader_uleb(r)));
		return 0;
	case DW_CFA_offset_extended_sf:
		reg = reader_uleb(r);
		machine_set(m, reg, CFI_OFFSET, machine_factored(m, (uint64_t)reader_sleb(r)));
		return 0;
	case DW_CFA_GNU_negative_offset_extended:
		reg = reader_uleb(r);
		machine_set(m, reg, CFI_OFFSET, -machine_factored(m, reader_uleb(r)));
		return 0;
	case DW_CFA_restore_extended:
		machine_restore(m, reader_uleb(r));
		return 0;
	case DW_CFA_undefined:
		machine_set(m, reader_uleb(r), CFI_UNDEFINED, 0);
		return 0;
	case DW_CFA_same_value:
		machine_set(m, reader_uleb(r), CFI_SAME, 0);
		return 0;
	case DW_CFA_register:
		reg = reader_uleb(r);
		machine_set(m, reg, CFI_REGISTER, reader_uleb(r));
		return 0;
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		machine_set(m, reader_uleb(r), CFI_OTHER, 0);
		reader_uleb(r); /* signed ones have the same length */
		return 0;
	case DW_CFA_expression:
		machine_set_expression(m, CFI_EXPRESSION);
		return 0;
	case DW_CFA_val_expression:
		machine_set_expression(m, CFI_OTHER);
		return 0;
	case DW_CFA_remember_state:
		if (m->kept_count == CFI_REMEMBER_MAX)
			return 1;
		m->kept[m->kept_count++] = m->state;
		return 0;
	case DW_CFA_restore_state:
		if (!m->kept_count)
			return 1;
		m->state = m->kept[--m->kept_count];
		m->is_dirty = true;
		return 0;
	case DW_CFA_GNU_args_size: /* pushed arguments: the CFA rule allows for them */
		reader_uleb(r);
		return 0;
	default:
		return machine_define(m, op);
	}
}

/* 0, or 1 when it cannot be followed, or what the callback returned. */
static int machine_run(struct machine *m)
{
	while (m->r.p < m->r.end && !m->r.failed) {
		uint8_t byte = *m->r.p++;
		uint8_t low = byte & 0x3f;
		uint64_t offset;
		int rc;

		/* These two and advances are nearly all. */
		if (byte == DW_CFA_def_cfa_offset) {
			machine_cfa_offset(m, reader_uleb(&m->r));
			continue;
		}
		switch (byte & 0xc0) {
		case DW_CFA_offset:
			offset = reader_uleb(&m->r);
			if (machine_rule(m, low))
				machine_set(m, low, CFI_OFFSET, machine_factored(m, offset));
			continue;
		case DW_CFA_restore:
			machine_restore(m, low);
			continue;
		case DW_CFA_advance_loc:
			rc = machine_advance(m, low);
			break;
		default:
			rc = machine_extended(m, byte);
			break;
		}
		if (rc || m->pc == m->end)
			return rc;
	}
	return m->r.failed ? 1 : 0;
}

static int cie_initial(struct cfi_cie *cie)
{
	struct machine m = { .cie = cie, .r = reader_of(cie->instructions), .end = 1 };
	int rc;

	m.state.cfa = CFI_OTHER;
	rc = machine_run(&m);
	if (rc)
		return -EBADMSG;
	cie->initial = m.state;
	return 0;
}

int cfi_run(const struct cfi_cie *cie, const struct cfi_fde *fde, cfi_emit_fn emit, void *data)
{
	struct machine m;
	int rc;

	if (!fde->size || fde->start + fde->size < fde->start)
		return 0;
	/* Not initialised as a whole: @kept is large, and read only where written. */
	m.cie = cie;
	m.r = reader_of(fde->instructions);
	m.state = cie->initial;
	m.kept_count = 0;
	m.pc = fde->start;
	m.end = fde->start + fde->size;
	m.is_dirty = true;
	m.emit = emit;
	m.data = data;
	rc = machine_run(&m);
	if (rc == 1) {
		m.state.cfa = CFI_OTHER;
		m.is_dirty = true;
	} else if (rc) {
		return rc;
	}
	return m.pc < m.end ? machine_flush(&m) : 0;
}
