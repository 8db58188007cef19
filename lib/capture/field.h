/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one table of what each record consists of: encoder, decoder, dump and the tests of FORMAT.md
 * all walk it, so that they cannot disagree. The order of fields is the order of their bytes.
 */
#pragma once

#include "capture/record.h"

#include <stddef.h>

enum field_kind {
	FIELD_UNSIGNED,    /* LEB128 */
	FIELD_HEX,         /* the same, shown in base 16: addresses, handles */
	FIELD_ENUM,        /* the same, a value of `words` */
	FIELD_FLAGS,       /* the same, bits of `words` */
	FIELD_STACK_FLAGS, /* the same, and enum stack_cause above them */
	FIELD_SIGNED,      /* LEB128 of the zigzag */
	FIELD_TIME,        /* zigzag difference to a time before, see encoder.c */
	FIELD_CORRELATION, /* zigzag difference to that of the record of this type before */
	FIELD_F64,         /* IEEE 754, 8 bytes */
	FIELD_TRIPLE,      /* three FIELD_UNSIGNED of 32 bits */
	FIELD_BYTES,       /* size, then as many bytes */
	FIELD_FRAMES,      /* of record_stack: a struct stack_delta, see encoder.h */
	FIELD_LINES,       /* of record_symbol: count, then (name, file, line) each */
	FIELD_ID,          /* the number this record defines; as FIELD_CORRELATION */
	FIELD_STRING,      /* as FIELD_UNSIGNED, and all below */
	FIELD_OBJECT,
	FIELD_STACK,
	FIELD_PROCESS,
	FIELD_THREAD,
	FIELD_DEVICE,
	FIELD_QUEUE,
	FIELD_KERNEL,
	FIELD_CODE_OBJECT,
	FIELD_KIND_COUNT
};

/* Most fields of a type; more is a decision, not an accident. */
#define RECORD_FIELDS_MAX 24

struct field {
	const char *name;
	enum field_kind kind;
	uint16_t offset, size;    /* in the record's struct */
	const char *const *words; /* ENUM: by value, NULL where none; FLAGS: by bit */
	size_t word_count;
};

struct record_layout {
	const char *name; /* "CPU_SAMPLE" */
	const struct field *fields;
	size_t count;
	size_t size; /* of the struct */
};

/* NULL for a type that this version does not know. */
const struct record_layout *record_layout(unsigned type);

/* "no-table" for an enum stack_cause; NULL for one that this version does not know. */
const char *stack_cause_name(uint32_t cause);

/* The struct inside a record, whatever its type is. */
static inline void *record_body(struct record *rec)
{
	return (uint8_t *)rec + offsetof(struct record, header);
}

static inline const void *record_body_const(const struct record *rec)
{
	return (const uint8_t *)rec + offsetof(struct record, header);
}
