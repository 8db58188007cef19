/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/frames.h"

#include "analyze/class.h"
#include "analyze/code.h"
#include "analyze/kernel_name.h"
#include "analyze/names.h"

#include <errno.h>
#include <inttypes.h>

struct run_place {
	uint32_t first, count;
	bool is_known;
};

struct frames {
	struct analysis *a;
	struct profile *p;
	VEC(struct run_place) known; /* by number of a frame: its frames in `numbers` */
	VEC(uint32_t) numbers;
	bool long_names; /* of kernels */
	bool is_outermost_only;
	unsigned details;
	struct hash kernels;  /* name -> frame */
	struct strtab shorts; /* the kernels' short names */
	VEC(uint32_t) taken;  /* by their number: how many kernels have it */
	struct hash processes;
	VEC(uint32_t) place; /* the last answer of frames_place() */
	struct strbuf text;
};

int frames_new(struct frames **ret, struct analysis *a, struct profile *p, bool long_names)
{
	CLEANUP(frames_free) struct frames *f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->a = a;
	f->p = p;
	f->long_names = long_names;
	*ret = TAKE(f);
	return 0;
}

void frames_leave_out_inlined(struct frames *f)
{
	f->is_outermost_only = true;
}

void frames_detail(struct frames *f, unsigned details)
{
	f->details = details;
}

void frames_free(struct frames *f)
{
	if (!f)
		return;
	vec_release(&f->known);
	vec_release(&f->numbers);
	hash_release(&f->kernels);
	strtab_release(&f->shorts);
	vec_release(&f->taken);
	hash_release(&f->processes);
	vec_release(&f->place);
	strbuf_release(&f->text);
	free(f);
}

static const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static uint32_t line_of(const struct object *o, uint64_t offset)
{
	uint64_t line = offset ? offset : o->line;
	return line > UINT32_MAX ? 0 : (uint32_t)line;
}

/* py::name (file.py:line) */
static int python_frame(struct frames *f, const struct object *o, uint64_t offset, uint32_t *ret)
{
	const char *path = analysis_text(f->a, o->path);
	uint32_t line = line_of(o, offset);

	strbuf_reset(&f->text);
	strbuf_printf(&f->text, "py::%s", analysis_text(f->a, o->name));
	if (*path && line)
		strbuf_printf(&f->text, " (%s:%" PRIu32 ")", path_base(path), line);
	else if (*path)
		strbuf_printf(&f->text, " (%s)", path_base(path));
	if (strbuf_finish(&f->text) < 0)
		return -ENOMEM;
	return profile_frame(f->p,
			     &(struct frame){
				     .kind = FRAME_PYTHON,
				     .class = class_of_python(path),
				     .name = strbuf_text(&f->text),
				     .file = path,
				     .line = line,
			     },
			     ret);
}

/* What an import gives by name alone. */
static int named_frame(struct frames *f, const struct object *o, uint64_t offset, uint32_t *ret)
{
	struct frame frame = {
		.name = analysis_text(f->a, o->name),
		.file = analysis_text(f->a, o->path),
		.line = line_of(o, offset),
	};

	switch (o->kind) {
	case OBJECT_MODULE:
		/* What it stands for is the framework's call of it. */
		frame.class = FRAME_CLASS_FRAMEWORK;
		frame.kind = FRAME_SCOPE;
		break;
	case OBJECT_SCOPE:
		frame.kind = FRAME_SCOPE;
		break;
	case OBJECT_OP:
		frame.kind = FRAME_CXX;
		frame.class = FRAME_CLASS_FRAMEWORK;
		break;
	case OBJECT_CXX:
		frame.kind = FRAME_CXX;
		break;
	case OBJECT_FRAME:
		frame.kind = o->frame_kind > FRAME_ROOT && o->frame_kind < FRAME_KIND_COUNT
				     ? (enum frame_kind)o->frame_kind
				     : FRAME_NATIVE;
		break;
	case OBJECT_NATIVE:
		frame.kind = FRAME_NATIVE;
		frame.class = class_of_native(frame.name);
		break;
	default:
		frame.kind = FRAME_MISSING;
		break;
	}
	if (!*frame.name)
		frame.name = frame.kind == FRAME_MISSING ? "[damaged]" : "[unknown]";
	return profile_frame(f->p, &frame, ret);
}

static int frames_push(struct frames *f, const struct frame *frame)
{
	uint32_t number;
	if (profile_frame(f->p, frame, &number) < 0)
		return -ENOMEM;
	return vec_push(&f->numbers, number);
}

/* Compiled code, by the symbols that the capture brings. */
static int binary_frames(struct frames *f, const struct frame_ref *ref)
{
	const struct object *o = &f->a->objects.data[ref->object];
	const char *path = analysis_text(f->a, o->path);
	struct symbol_frames symbols;
	if (analysis_symbolize(f->a, ref->object, ref->offset, &symbols) < 0)
		return -ENOMEM;

	size_t count = f->is_outermost_only && symbols.count ? 1 : symbols.count;
	for (size_t i = 0; i < count; i++) {
		struct frame frame = symbols.frames[i];
		frame.is_inlined = i && f->details & ANALYSIS_DETAIL_INLINED;
		frame.line = 0; /* a function is one frame, whichever of its lines runs */
		if (frame.class == FRAME_CLASS_NONE && o->kind == OBJECT_ELF)
			frame.class = class_of_function(frame.name, path);
		if (frames_push(f, &frame) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int frames_make(struct frames *f, const struct frame_ref *ref)
{
	const struct object *o = &f->a->objects.data[ref->object];
	uint32_t number;
	int rc;

	switch (o->kind) {
	case OBJECT_ELF:
	case OBJECT_KERNEL:
	case OBJECT_VDSO:
	case OBJECT_ANON:
		return binary_frames(f, ref);
	case OBJECT_PYTHON:
		rc = python_frame(f, o, ref->offset, &number);
		break;
	default:
		rc = named_frame(f, o, ref->offset, &number);
		break;
	}
	return rc < 0 ? rc : vec_push(&f->numbers, number);
}

int frames_host(struct frames *f, uint32_t frame, struct frame_run *ret)
{
	while (f->known.len <= frame) {
		if (vec_push(&f->known, (struct run_place){ 0 }) < 0)
			return -ENOMEM;
	}
	struct run_place *run = &f->known.data[frame];
	if (!run->is_known) {
		struct frame_ref ref = analysis_frame(f->a, frame);
		uint32_t first = (uint32_t)f->numbers.len;
		if (frames_make(f, &ref) < 0)
			return -ENOMEM;
		*run = (struct run_place){ first, (uint32_t)f->numbers.len - first, true };
	}
	*ret = (struct frame_run){ f->numbers.data + run->first, run->count };
	return 0;
}

int frames_text(struct frames *f, enum frame_kind kind, const char *text, uint32_t *ret)
{
	return profile_frame(f->p, &(struct frame){ .kind = kind, .name = text }, ret);
}

/* Whether what tells the processes of a merged capture apart shows in their frames. */
static bool shows(const struct frames *f, const char *what)
{
	const char *list = analysis_info(f->a, "merge.frames");
	return !list || strstr(list, what);
}

int frames_process(struct frames *f, uint32_t process, uint32_t *ret)
{
	const struct process *p = &f->a->processes.data[process];
	const uint64_t *known = hash_get(&f->processes, process);
	if (known) {
		*ret = (uint32_t)*known;
		return 0;
	}
	strbuf_reset(&f->text);
	strbuf_puts(&f->text, analysis_text(f->a, p->comm));
	if (!f->text.len && p->pid)
		strbuf_printf(&f->text, "pid %" PRIu32, p->pid);
	if (p->host && shows(f, "host"))
		strbuf_printf(&f->text, " on %s", analysis_text(f->a, p->host));
	if (f->a->has_runs && shows(f, "run"))
		strbuf_printf(&f->text, " run %" PRIu32, p->run ? p->run : 1);
	if (p->rank && shows(f, "rank"))
		strbuf_printf(&f->text, "%srank %" PRIu32, f->text.len ? " " : "", p->rank - 1);
	struct frame frame = { .kind = FRAME_PROCESS, .name = strbuf_text(&f->text) };
	if (f->details & ANALYSIS_DETAIL_PROCESS) {
		frame.module = analysis_text(f->a, p->host ? p->host : f->a->header.host);
		frame.line = p->rank;
	}
	if (strbuf_finish(&f->text) < 0 || profile_frame(f->p, &frame, ret) < 0)
		return -ENOMEM;
	return hash_set(&f->processes, process, *ret);
}

int frames_boundary(struct frames *f, uint32_t device, uint32_t queue, uint32_t *ret)
{
	const struct device *d = &f->a->devices.data[device];
	const struct queue *q = &f->a->queues.data[queue];
	struct frame frame = { .kind = FRAME_BOUNDARY, .name = "-" };
	char stream[24];

	if (device && f->details & ANALYSIS_DETAIL_DEVICE) {
		frame.module = analysis_text(f->a, d->text);
		frame.module = *frame.module ? frame.module : analysis_text(f->a, d->runtime);
		frame.line = d->index + 1;
	}
	if (queue && f->details & ANALYSIS_DETAIL_STREAM) {
		/* Streams have small numbers, queues are pointers. */
		snprintf(stream, sizeof(stream), q->handle < 1000000 ? "%" PRIu64 : "%#" PRIx64,
			 q->handle);
		frame.full = stream;
	}
	return profile_frame(f->p, &frame, ret);
}

/* Two kernels with the same short name are told apart: the second is "gemm sm80 64x64 #2". */
static int append_number(struct frames *f, struct strbuf *name)
{
	uint32_t number;
	if (strbuf_finish(name) < 0 || strtab_add(&f->shorts, strbuf_text(name), &number) < 0)
		return -ENOMEM;
	while (f->taken.len <= number) {
		if (vec_push(&f->taken, 0) < 0)
			return -ENOMEM;
	}
	if (++f->taken.data[number] > 1)
		strbuf_printf(name, " #%" PRIu32, f->taken.data[number]);
	return strbuf_finish(name);
}

static int kernel_frame(struct frames *f, const char *name, struct strbuf *plain,
			struct strbuf *brief, uint32_t *ret)
{
	bool is_mangled = kernel_name_full(plain, name);
	struct frame frame = { .kind = FRAME_KERNEL, .name = "[unknown kernel]" };

	if (strbuf_finish(plain) < 0)
		return -ENOMEM;
	if (!f->long_names && kernel_name_short(brief, strbuf_text(plain))) {
		if (append_number(f, brief) < 0)
			return -ENOMEM;
		frame.name = strbuf_text(brief);
		frame.full = name;
	} else if (*name) {
		frame.name = strbuf_text(plain);
		frame.full = is_mangled ? name : NULL;
	}
	return profile_frame(f->p, &frame, ret);
}

int frames_kernel(struct frames *f, uint32_t name, uint32_t *ret)
{
	const uint64_t *known = hash_get(&f->kernels, name);
	struct strbuf plain = { 0 }, brief = { 0 };
	if (known) {
		*ret = (uint32_t)*known;
		return 0;
	}
	int rc = kernel_frame(f, strtab_text(&f->a->names, name), &plain, &brief, ret);
	strbuf_release(&plain);
	strbuf_release(&brief);
	return rc < 0 ? rc : hash_set(&f->kernels, name, *ret);
}

static int place_push(struct frames *f, enum frame_kind kind, const char *text, const char *file,
		      uint32_t line)
{
	struct frame frame = { .kind = kind, .name = text, .file = file, .line = line };
	uint32_t number;
	if (profile_frame(f->p, &frame, &number) < 0)
		return -ENOMEM;
	return vec_push(&f->place, number);
}

/* A source line, "jit" where there is none. */
static int place_source(struct frames *f, const char *file, uint32_t line)
{
	if (!file || !*file)
		return place_push(f, FRAME_SOURCE, "jit", NULL, 0);
	strbuf_reset(&f->text);
	strbuf_printf(&f->text, "%s:%" PRIu32, path_base(file), line);
	if (strbuf_finish(&f->text) < 0)
		return -ENOMEM;
	return place_push(f, FRAME_SOURCE, strbuf_text(&f->text), file, line);
}

/* Is this what POCL wraps a kernel in? Its name says no more than the kernel's frame does. */
static bool is_kernel_wrapper(const char *name)
{
	return !strncmp(name, "_pocl_kernel_", 13);
}

/*
 * The functions and lines of one symbolized place. The kernel's own frame stands above; so from
 * the functions below it only those with another name are shown, and of the lines, when functions
 * are shown, each call's; else only the line that was executed.
 */
static int place_lines(struct frames *f, const struct symbol_frames *symbols, bool is_kernel,
		       bool functions, bool sources, bool is_last)
{
	for (size_t i = 0; i < symbols->count; i++) {
		const struct frame *s = &symbols->frames[i];
		bool is_leaf = is_last && i + 1 == symbols->count;
		int rc = 0;
		if (functions && !is_kernel_wrapper(s->name) && (i || !is_kernel))
			rc = place_push(f, FRAME_FUNCTION, s->name, s->file, 0);
		if (!rc && sources && (is_leaf || (functions && s->file && *s->file && s->line)))
			rc = place_source(f, s->line ? s->file : NULL, s->line);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* The same from the code object that the capture holds. */
static int place_device_lines(struct frames *f, const struct device_place *d, bool functions,
			      bool sources, bool is_last)
{
	struct frame frames[SYMBOL_LINES_MAX] = { 0 };
	struct symbol_frames all = { .frames = frames };
	char *names[SYMBOL_LINES_MAX];
	size_t first = d->line_count > SYMBOL_LINES_MAX ? d->line_count - SYMBOL_LINES_MAX : 0;

	for (size_t i = first; i < d->line_count; i++) {
		const struct device_line *line = &d->lines[i];
		names[all.count] = names_demangle(line->name);
		frames[all.count++] = (struct frame){
			.name = names[i - first] ? names[i - first]
				: *line->name    ? line->name
						 : "[unknown]",
			.file = analysis_source_name(line->file),
			.line = line->line,
		};
	}
	/* A function of its own, without lines; the kernel's own frame stands above. */
	if (!all.count) {
		names[all.count] = names_demangle(d->function->name);
		frames[all.count].name = names[0] ? names[0] : d->function->name;
		all.count++;
	}
	bool is_kernel = d->function->is_kernel;
	int rc = place_lines(f, &all, is_kernel, functions, sources, is_last);
	for (size_t i = 0; i < all.count; i++)
		free(names[i]);
	return rc;
}

/* From the stack of a CPU sample: all frames of the kernel's object, down to the leaf. */
static int place_stack(struct frames *f, const struct place *place, bool functions, bool sources)
{
	const struct stack *stack = &f->a->stacks.data[place->stack];
	const struct frame_ref *frames = analysis_stack(f->a, place->stack);
	if (!frames)
		return -ENOMEM;
	uint32_t outer = stack->device_frame - 1;
	while (outer + 1 < stack->count && frames[outer + 1].object == place->object)
		outer++;
	uint32_t leaf = stack->device_frame - 1;
	for (uint32_t i = outer + 1; i-- > leaf;) {
		struct symbol_frames symbols;
		struct device_place d;
		struct place at = *place;
		at.offset = frames[i].offset;
		if (analysis_place_resolve(f->a, &at, &d) == 0) {
			int rc = place_device_lines(f, &d, functions, sources, i == leaf);
			if (rc < 0)
				return rc;
			continue;
		}
		int rc = analysis_symbolize(f->a, place->object, at.offset, &symbols);
		if (rc < 0)
			return rc;
		/* "K.so+0x1234" says no more than the kernel's name and the instruction do. */
		rc = place_lines(f, &symbols, false, functions && rc > 0, sources, i == leaf);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* From a record: by its code object, or what an import knows by name. */
static int place_record(struct frames *f, const struct place *place, bool functions, bool sources)
{
	const char *function = analysis_text(f->a, place->function);
	const char *kernel = strtab_text(&f->a->names, place->name);
	struct device_place d;
	int rc = 0;
	if (!place->line && analysis_place_resolve(f->a, place, &d) == 0)
		return place_device_lines(f, &d, functions, sources, true);
	if (functions && *function && strcmp(function, kernel))
		rc = place_push(f, FRAME_FUNCTION, function, NULL, 0);
	if (!rc && sources)
		rc = place_source(f, place->line ? analysis_text(f->a, place->file) : NULL,
				  place->line);
	return rc;
}

/* "0x1a0: mad (16|M0) r4 ...", or one of the two: counted from the start of the function where that is
 * known. */
static int place_instruction(struct frames *f, const struct place *place, bool wants_offset,
			     bool wants_text)
{
	struct device_place d = { .function = NULL };
	uint64_t offset = place->offset;
	if (analysis_place_resolve(f->a, place, &d) == 0)
		offset = d.offset - d.function->offset;
	strbuf_reset(&f->text);
	if (wants_offset || !d.text)
		strbuf_printf(&f->text, "0x%" PRIx64, offset);
	if (wants_text && d.text)
		strbuf_printf(&f->text, "%s%s", f->text.len ? ": " : "", d.text);
	if (strbuf_finish(&f->text) < 0)
		return -ENOMEM;
	return place_push(f, FRAME_INSTRUCTION, strbuf_text(&f->text), NULL, 0);
}

static int place_layer(struct frames *f, const struct place *place, enum analysis_leaf layer,
		       const bool wanted[ANALYSIS_LEAF_COUNT])
{
	switch (layer) {
	case ANALYSIS_LEAF_FUNCTION:
	case ANALYSIS_LEAF_SOURCE: {
		/* Lines and functions alternate, so both come where the first of them is asked for. */
		bool functions = wanted[ANALYSIS_LEAF_FUNCTION];
		bool sources = wanted[ANALYSIS_LEAF_SOURCE];
		return place->stack ? place_stack(f, place, functions, sources)
				    : place_record(f, place, functions, sources);
	}
	case ANALYSIS_LEAF_INSTRUCTION:
	case ANALYSIS_LEAF_INSN:
	case ANALYSIS_LEAF_OFFSET:
		if (!place->stack && !place->code_object && !place->offset)
			return 0; /* an import that knows lines only */
		return place_instruction(f, place, layer != ANALYSIS_LEAF_INSN,
					 layer != ANALYSIS_LEAF_OFFSET);
	case ANALYSIS_LEAF_STALL:
		if (!place->reason)
			return 0;
		return place_push(f, FRAME_STALL, analysis_text(f->a, place->reason), NULL, 0);
	case ANALYSIS_LEAF_NONE:
	case ANALYSIS_LEAF_COUNT:
		break;
	}
	return 0;
}

int frames_place(struct frames *f, const struct place *place, const enum analysis_leaf *order,
		 struct frame_run *ret)
{
	static const enum analysis_leaf usual[ANALYSIS_LEAF_COUNT] = {
		ANALYSIS_LEAF_FUNCTION,
		ANALYSIS_LEAF_SOURCE,
		ANALYSIS_LEAF_INSTRUCTION,
		ANALYSIS_LEAF_STALL,
	};
	bool wanted[ANALYSIS_LEAF_COUNT] = { false };
	bool lines_done = false;

	if (order[0] == ANALYSIS_LEAF_NONE)
		order = usual;
	for (int i = 0; i < ANALYSIS_LEAF_COUNT && order[i]; i++)
		wanted[order[i]] = true;
	f->place.len = 0;
	for (int i = 0; i < ANALYSIS_LEAF_COUNT && order[i]; i++) {
		bool is_lines =
			order[i] == ANALYSIS_LEAF_FUNCTION || order[i] == ANALYSIS_LEAF_SOURCE;
		if (is_lines && lines_done)
			continue;
		lines_done |= is_lines;
		if (place_layer(f, place, order[i], wanted) < 0)
			return -ENOMEM;
	}
	*ret = (struct frame_run){ f->place.data, f->place.len };
	return 0;
}
