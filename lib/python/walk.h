/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way from CPython's runtime to the frames of one thread, step by step, so that bpf/ can take the
 * steps in loops of its own. Memory is read through a function that may fail, as what is read can
 * change meanwhile, or be anything: each step ends, and none trusts what it read.
 *
 * A thread is known by its thread register, which pthread_self() gives and PyThreadState keeps
 * (glibc, musl). `_Py_tss_tstate` would be simpler, but is NULL while a thread has let the GIL go,
 * as PyTorch does around each operator.
 */
#pragma once

#include "python/layout.h"

/* As python_read_fn(data, address, to, size): 0, or nonzero for failure. */
struct python_access {
	int (*read)(void *data, uint64_t address, void *to, uint32_t size);
	void *data;
};

/* Bits of a str's state behind its `kind`, which is the width of a character. */
#define PYTHON_STR_COMPACT 8u
#define PYTHON_STR_ASCII   16u

#define PYTHON_INLINE static inline __attribute__((always_inline))

/* What walking a thread's frames finds. */
struct python_entry {
	uint64_t code; /* the code object, 0: none in this run; PYTHON_ENTRY_END in it: see there */
	/* Where it is executing: the int that the frame has, or the low half of pointer - code. */
	uint32_t instr;
	uint32_t check; /* that it is the same code object as the last time it was there */
};

/* The entry is the outermost of its run. Code objects are aligned to 8. */
#define PYTHON_ENTRY_END 1u

/* A search through all interpreters and their threads. */
struct python_search {
	uint64_t interp, thread; /* 0: at the interpreter's end */
	uint64_t found;
};

enum python_step {
	PYTHON_STEP_ON,
	PYTHON_STEP_FOUND, /* @found is set; one can go on */
	PYTHON_STEP_END,
	PYTHON_STEP_FAILED, /* memory could not be read */
};

PYTHON_INLINE int python_read_u64(const struct python_access *access, uint64_t address,
				  uint64_t *ret)
{
	return access->read(access->data, address, ret, sizeof(*ret));
}

PYTHON_INLINE enum python_step python_search_begin(const struct python_access *access,
						   const struct python_layout *layout,
						   uint64_t runtime, struct python_search *s)
{
	s->thread = s->found = 0;
	if (python_read_u64(access, runtime + layout->interpreters_head, &s->interp) || !s->interp)
		return PYTHON_STEP_FAILED;
	if (python_read_u64(access, s->interp + layout->threads_head, &s->thread))
		return PYTHON_STEP_FAILED;
	return PYTHON_STEP_ON;
}

/* Look at one thread state, or go on to the next interpreter. */
PYTHON_INLINE enum python_step python_search_step(const struct python_access *access,
						  const struct python_layout *layout,
						  uint64_t thread_id, struct python_search *s)
{
	uint64_t thread = s->thread, id = 0;

	if (!thread) {
		if (python_read_u64(access, s->interp + layout->interp_next, &s->interp))
			return PYTHON_STEP_FAILED;
		if (!s->interp)
			return PYTHON_STEP_END;
		if (python_read_u64(access, s->interp + layout->threads_head, &s->thread))
			return PYTHON_STEP_FAILED;
		return PYTHON_STEP_ON;
	}
	if (python_read_u64(access, thread + layout->thread_id, &id) ||
	    python_read_u64(access, thread + layout->thread_next, &s->thread))
		return PYTHON_STEP_FAILED;
	if (id != thread_id)
		return PYTHON_STEP_ON;
	s->found = thread;
	return PYTHON_STEP_FOUND;
}

/* The innermost frame of a thread state, 0: none. It must be @thread_id's still. */
PYTHON_INLINE int python_thread_frame(const struct python_access *access,
				      const struct python_layout *layout, uint64_t thread,
				      uint64_t thread_id, uint64_t *ret)
{
	uint64_t id = 0, frame = 0;

	if (python_read_u64(access, thread + layout->thread_id, &id) || id != thread_id)
		return -1;
	if (python_read_u64(access, thread + layout->thread_frame, &frame))
		return -1;
	if (frame && layout->cframe_frame != PYTHON_ABSENT &&
	    python_read_u64(access, frame + layout->cframe_frame, &frame))
		return -1;
	*ret = frame;
	return 0;
}

/*
 * A frame and a code object are each read at once, as a read costs more than what is read: into words,
 * in which members are found by their offsets. The sizes are less than those of the structs. The caller
 * has the words, as the kernel's stack is small.
 */
#define PYTHON_WORDS           16u
#define PYTHON_OLD_FRAME_BYTES 112u /* PyFrameObject, to 3.10 */
#define PYTHON_FRAME_BYTES     80u  /* _PyInterpreterFrame */
#define PYTHON_CODE_BYTES      96u  /* of a code object, from the first line on */

PYTHON_INLINE uint64_t python_word(const uint64_t *words, uint32_t offset)
{
	return words[offset / 8 % PYTHON_WORDS] >> offset % 8 * 8;
}

PYTHON_INLINE uint32_t python_mix(uint32_t check, uint64_t value)
{
	value ^= value >> 32;
	return (check ^ (uint32_t)value) * 0x9e3779b1u;
}

/*
 * Of what makes a code object: first line, file, name, qualified name, line table. All of them are
 * pointers to what belongs to it, but for the line. Never 0.
 */
PYTHON_INLINE int python_code_check(const struct python_access *access,
				    const struct python_layout *layout, uint64_t code,
				    uint64_t words[PYTHON_WORDS], uint32_t *ret)
{
	uint32_t base = layout->code_first_line & ~7u, file = layout->code_filename - base, check;

	if (access->read(access->data, code + base, words, PYTHON_CODE_BYTES))
		return -1;
	check = (uint32_t)python_word(words, layout->code_first_line - base);
	check = python_mix(check, python_word(words, file));
	check = python_mix(check, python_word(words, file + 8));
	check = python_mix(check, python_word(words, file + 16));
	if (layout->code_qualname != PYTHON_ABSENT) /* else something else follows */
		check = python_mix(check, python_word(words, file + 24));
	*ret = check ? check : 1;
	return 0;
}

/* Where the byte code begins that the frame executes, less its offset in the code object. */
PYTHON_INLINE int python_bytecode(const struct python_access *access,
				  const struct python_layout *layout, const uint64_t *frame,
				  uint64_t code, uint64_t *ret)
{
	uint64_t array = 0, start = 0;
	uint32_t index;

	*ret = code;
	if (layout->frame_tlbc == PYTHON_ABSENT)
		return 0;
	index = (uint32_t)python_word(frame, layout->frame_tlbc);
	if (python_read_u64(access, code + layout->code_tlbc, &array))
		return -1;
	if (!index || !array)
		return 0;
	/* _PyCodeArray: a size, then pointers. */
	if (python_read_u64(access, array + 8 + 8ull * index, &start))
		return -1;
	*ret = start - layout->code_bytecode;
	return 0;
}

/* struct PyObject's reference may carry marks since 3.14 (_PyStackRef). */
#define PYTHON_REF_MARKS 3ull

/*
 * One frame: what it is into @ret, and @frame becomes its caller's, 0 behind the last one.
 * PYTHON_STEP_FOUND: @ret is an entry. PYTHON_STEP_ON: the frame is not Python's, and ends the run
 * that the entry before is in. PYTHON_STEP_END: there are no frames any more.
 */
PYTHON_INLINE enum python_step python_frame_step(const struct python_access *access,
						 const struct python_layout *layout,
						 uint64_t words[PYTHON_WORDS], uint64_t *frame,
						 struct python_entry *ret)
{
	uint64_t code, instr, start = 0;
	uint8_t mark = 0;

	if (!*frame)
		return PYTHON_STEP_END;
	if (layout->boundary == PYTHON_RUN_EACH
		    ? access->read(access->data, *frame, words, PYTHON_OLD_FRAME_BYTES)
		    : access->read(access->data, *frame, words, PYTHON_FRAME_BYTES))
		return PYTHON_STEP_FAILED;
	code = python_word(words, layout->frame_code);
	instr = python_word(words, layout->frame_instr);
	if (layout->frame_mark != PYTHON_ABSENT)
		mark = (uint8_t)python_word(words, layout->frame_mark);
	*frame = python_word(words, layout->frame_previous);
	if (layout->boundary == PYTHON_RUN_SHIM && mark >= 3)
		return PYTHON_STEP_ON;
	code &= ~PYTHON_REF_MARKS;
	ret->instr = (uint32_t)instr;
	if (layout->instr == PYTHON_INSTR_POINTER) {
		if (python_bytecode(access, layout, words, code, &start))
			return PYTHON_STEP_FAILED;
		ret->instr = (uint32_t)(instr - start);
	}
	if (python_code_check(access, layout, code, words, &ret->check))
		ret->check = 0; /* paged out, perhaps: the recorder can still read it */
	ret->code = code;
	if (layout->boundary == PYTHON_RUN_EACH ||
	    (layout->boundary == PYTHON_RUN_IS_ENTRY && mark))
		ret->code |= PYTHON_ENTRY_END;
	return PYTHON_STEP_FOUND;
}
