/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Launch capture: one generic program for all probe sites of all runtimes. The attach cookie says
 * which entry of `probe_programs` tells what to take along; nothing here knows a runtime.
 *
 *	on_probe		a call: its values and its stack
 *	on_probe_entry		a call whose result is wanted: its values are put aside
 *	on_probe_return		and joined with the result and the text when it returns
 *	on_probe_return_plain	the same where the kernel has no sleepable uprobes (before 6.0)
 */
#include "bpf/stack.bpf.h"

#include "bpf/launch.bpf.h"
#include "bpf/pace.bpf.h"

/* The registers of a hit, as the kernel orders them: struct pt_regs. */
#define REGISTER_WORDS 32 /* a power of two, so that an index can be kept inside */

struct registers {
	u64 word[REGISTER_WORDS];
};
_Static_assert(sizeof(struct registers) == sizeof(((struct slot *)0)->registers), "a slot's");

/*
 * Copied because a context can be read at constant offsets only; each through a volatile read, see
 * stack_regs_load(). What no argument is ever in stays 0.
 */
#if defined(__TARGET_ARCH_x86)
#define REGISTER_STACK  19 /* sp */
#define REGISTER_RETURN 10 /* ax */
_Static_assert(offsetof(struct pt_regs, sp) == REGISTER_STACK * 8, "sp");
_Static_assert(offsetof(struct pt_regs, ax) == REGISTER_RETURN * 8, "ax");

static __always_inline void registers_load(struct registers *to, const struct pt_regs *ctx)
{
	__builtin_memset(&to->word[15], 0, (REGISTER_WORDS - 15) * 8);
	to->word[0] = *(volatile u64 *)&ctx->r15;
	to->word[1] = *(volatile u64 *)&ctx->r14;
	to->word[2] = *(volatile u64 *)&ctx->r13;
	to->word[3] = *(volatile u64 *)&ctx->r12;
	to->word[4] = *(volatile u64 *)&ctx->bp;
	to->word[5] = *(volatile u64 *)&ctx->bx;
	to->word[6] = *(volatile u64 *)&ctx->r11;
	to->word[7] = *(volatile u64 *)&ctx->r10;
	to->word[8] = *(volatile u64 *)&ctx->r9;
	to->word[9] = *(volatile u64 *)&ctx->r8;
	to->word[10] = *(volatile u64 *)&ctx->ax;
	to->word[11] = *(volatile u64 *)&ctx->cx;
	to->word[12] = *(volatile u64 *)&ctx->dx;
	to->word[13] = *(volatile u64 *)&ctx->si;
	to->word[14] = *(volatile u64 *)&ctx->di;
	to->word[19] = *(volatile u64 *)&ctx->sp;
}
#else
#define REGISTER_STACK  31
#define REGISTER_RETURN 0

static __always_inline void registers_load(struct registers *to, const struct pt_regs *ctx)
{
	__builtin_memset(to, 0, sizeof(*to));
	/* x0 to x7 hold arguments; a site that names others has no program here. */
	to->word[0] = *(volatile u64 *)&ctx->user_regs.regs[0];
	to->word[1] = *(volatile u64 *)&ctx->user_regs.regs[1];
	to->word[2] = *(volatile u64 *)&ctx->user_regs.regs[2];
	to->word[3] = *(volatile u64 *)&ctx->user_regs.regs[3];
	to->word[4] = *(volatile u64 *)&ctx->user_regs.regs[4];
	to->word[5] = *(volatile u64 *)&ctx->user_regs.regs[5];
	to->word[6] = *(volatile u64 *)&ctx->user_regs.regs[6];
	to->word[7] = *(volatile u64 *)&ctx->user_regs.regs[7];
	to->word[REGISTER_STACK] = *(volatile u64 *)&ctx->user_regs.sp;
}
#endif

/* The number that a read starts from. Returns whether that failed. */
static __always_inline bool read_start(const struct registers *registers,
				       const struct probe_read *read, const u64 *value, u64 *ret)
{
	u32 from = read->from;

	if (from >= PROBE_READ_VALUE) {
		*ret = value[from & 15];
		return false;
	}
	if (from == PROBE_READ_STACK) {
		u64 address = registers->word[REGISTER_STACK] + (s64)read->stack;
		return bpf_probe_read_user(ret, sizeof(*ret), (void *)address) != 0;
	}
	if (from == PROBE_READ_RETURN)
		from = REGISTER_RETURN;
	*ret = registers->word[from & (REGISTER_WORDS - 1)];
	return false;
}

/* The dereferences of one accessor up to the last. A null pointer ends them, and is no failure. */
static __always_inline bool read_follow(const struct probe_read *read, u64 *number)
{
	bool failed = false;

	for (u32 i = 0; i < EVENT_PROBE_DEREFS - 1; i++) {
		u64 next = 0;
		if (i + 1 >= read->derefs || !*number)
			break;
		if (bpf_probe_read_user(&next, 8, (void *)(*number + (s64)read->step[i])))
			failed = true;
		*number = next;
	}
	return failed;
}

/*
 * One accessor. What it writes stays within the slot whatever is in the map: @value has at most
 * 16 + EVENT_PROBE_WORDS words, and behind it is room for a stack, which is written later.
 */
static __always_inline bool read_value(const struct registers *registers,
				       const struct probe_read *read, u64 *value)
{
	u64 *to = &value[read->to & 15];
	u32 bytes = read->bytes;
	u64 number = 0;
	bool failed = read_start(registers, read, value, &number);

	if (read->derefs == 0) {
		if (bytes < 8)
			number &= (1ull << (bytes * 8)) - 1;
		*to = number;
		return failed;
	}
	failed |= read_follow(read, &number);
	if (bytes > EVENT_PROBE_WORDS * 8)
		bytes = EVENT_PROBE_WORDS * 8;
	*to = 0;
	if (!number) {
		__builtin_memset(to, 0, EVENT_PROBE_WORDS * 8);
		return failed;
	}
	number += (s64)read->last;
	/* On failure it leaves zeros. */
	if (bpf_probe_read_user(to, bytes, (void *)number) == 0)
		return failed;
	/* An array whose end is not mapped, because it is shorter than the longest. */
	if (bytes <= 8 || bpf_probe_read_user(to, 8, (void *)number))
		return true;
	bpf_probe_read_user(to + 1, 8, (void *)(number + 8));
	return failed;
}

struct values_context {
	const struct probe_program *program;
	const struct registers *registers;
	u64 *value;
	u32 at_return;
	u32 flags; /* enum event_probe_flag */
};

static long values_step(u32 i, struct values_context *c)
{
	const struct probe_read *read;

	if (i >= EVENT_PROBE_VALUES || i >= c->program->reads)
		return 1;
	read = &c->program->read[i];
	bool is_late = read->from == PROBE_READ_RETURN || read->from >= PROBE_READ_LATER;
	if (is_late == c->at_return && read_value(c->registers, read, c->value))
		c->flags |= EVENT_PROBE_FAILED;
	return 0;
}

/* Those of the entry, or those of the return. Returns flags of enum event_probe_flag. A plain loop
 * would be verified once for each turn, for 10 ms of every start. */
static __always_inline u32 read_values(struct pt_regs *ctx, struct slot *slot,
				       const struct probe_program *program, u64 *value,
				       bool at_return)
{
	struct values_context c = {
		.program = program,
		/* Not on the stack: 256 bytes of the 512 that a program has with all it calls. */
		.registers = (struct registers *)slot->registers,
		.value = value,
		.at_return = at_return,
	};

	registers_load((struct registers *)slot->registers, ctx);
	bpf_loop(EVENT_PROBE_VALUES, values_step, &c, 0);
	return c.flags;
}

static __always_inline const struct probe_program *program_get(u32 index)
{
	return bpf_map_lookup_elem(&probe_programs, &index);
}

static __always_inline u32 probe_fill(struct pt_regs *ctx, const struct probe_program *program,
				      struct slot *slot)
{
	struct event_probe *event = (struct event_probe *)slot->words;

	event->site = program->site;
	event->text_size = 0;
	event->text_start = 0;
	event->flags = read_values(ctx, slot, program, event->value, false);
	event->values = program->values;
	u32 plain = offsetof(struct event_probe, value) + program->values * 8;
	if (!(program->flags & PROBE_PROGRAM_STACK))
		return plain;
	u64 start_ns = event->header.time_ns;
	struct launch_pace *pace = pace_get(event->header.tid, start_ns);
	if (!pace_wants(pace)) {
		event->flags |= EVENT_PROBE_UNSTACKED;
		return plain;
	}

	struct event_stack *stack = (struct event_stack *)(event + 1);
	struct stack_regs regs;
	event->header.stack_offset = sizeof(*event);
	stack_regs_load(&regs, slot, (const bpf_user_pt_regs_t *)ctx);
	regs.entry = program->return_address + 1;
	stack->kernel_count = 0;
	stack_walk_user(ctx, slot, &regs, stack);
	u32 size = stack_finish(slot, stack);
	pace_pay(pace, start_ns);
	return size;
}

/* Whether a library of ours inside the target says what this site would; takes note of one. */
static __always_inline bool is_passed_over(const struct probe_program *program)
{
	u32 pid = current_ids() >> 32;
	u32 *flags;

	if (!(program->flags & (PROBE_PROGRAM_TELLS | PROBE_PROGRAM_UNLESS_TOLD)))
		return false;
	flags = bpf_map_lookup_elem(&targets, &pid);
	if (!flags)
		return true;
	if (program->flags & PROBE_PROGRAM_UNLESS_TOLD)
		return *flags & TARGET_TOLD;
	if (!(*flags & TARGET_TOLD))
		*flags |= TARGET_TOLD;
	return false;
}

/*
 * Linux since 6.13 gives programs of this type a stack for each CPU, on which nothing but the program
 * on that CPU's behalf is thought to run (kernel/bpf/verifier.c, bpf_enable_private_stack()). One of a
 * uprobe may be preempted though, or sleep, and the next task's hit then writes over what it has there:
 * two tasks filled one slot, so that launches had each other's kernels. A program with a tail call
 * keeps the task's own stack; this one is in a branch that the verifier knows never to be taken.
 */
static const volatile u32 has_tail_call;

static __always_inline void keep_own_stack(void *ctx)
{
	if (has_tail_call)
		bpf_tail_call(ctx, NULL, 0);
}

SEC("uprobe")
int on_probe(struct pt_regs *ctx)
{
	keep_own_stack(ctx);
	if (!is_launching_target(current_ids()))
		return 0;
	const struct probe_program *program = program_get(bpf_get_attach_cookie(ctx));
	if (!program || is_passed_over(program))
		return 0;
	struct slot *slot = slot_claim();
	if (!slot) {
		loss_add(LOSS_PROBE_NO_SLOT);
		return 0;
	}
	struct event_probe *event = (struct event_probe *)slot->words;
	event_begin(&event->header, EVENT_PROBE);
	u64 start_ns = event->header.time_ns;
	u32 size = probe_fill(ctx, program, slot);
	event_submit(&event->header, size, LOSS_PROBE_RING_FULL);
	slot_free(slot);
	cost_add_sampled(COST_PROBE, start_ns);
	return 0;
}

SEC("uprobe")
int on_probe_entry(struct pt_regs *ctx)
{
	u64 id = current_ids();
	struct call_key key = { .tid = (u32)id, .program = bpf_get_attach_cookie(ctx) };

	keep_own_stack(ctx);
	if (!is_target(id))
		return 0;
	const struct probe_program *program = program_get(key.program);
	if (!program)
		return 0;
	struct slot *slot = slot_claim();
	if (!slot) {
		loss_add(LOSS_PROBE_NO_SLOT);
		return 0;
	}
	struct call *call = (struct call *)slot->words;
	u32 flags = read_values(ctx, slot, program, call->value, false);
	call->flags = flags;
	bpf_map_update_elem(&probe_calls, &key, call, BPF_ANY);
	slot_free(slot);
	return 0;
}

/* The way through a text. */
struct text {
	struct event_probe *event;
	const struct probe_program *program;
	struct slot_text *at;
};

/* One step takes at most the rest of a page, so that missing memory costs one page of text. */
#define TEXT_STEP_BYTES 4096
/* Steps: two for each page, two for each string; some programs give each line as a string. */
#define TEXT_STEPS (1 << 16)

/* Memory that may have to be paged in, where @can_sleep. Returns whether that failed. */
static __always_inline bool text_read(void *to, u32 size, u64 address, bool can_sleep)
{
	if (can_sleep)
		return bpf_copy_from_user(to, size, (void *)address) != 0;
	return bpf_probe_read_user(to, size, (void *)address) != 0;
}

static __always_inline u64 text_value(const struct text *t, u32 number)
{
	return t->event->value[number & 7];
}

/* Begin with the next string. Returns whether its place could not be read. */
static __always_inline bool text_open(struct text *t, bool can_sleep)
{
	const struct probe_program *program = t->program;
	u64 pointer = text_value(t, program->text_pointer);
	u64 lengths = 0, number = t->at->string++;

	t->at->is_counted = 0;
	t->at->left = 0;
	t->at->address = pointer;
	if (program->text == PROBE_PROGRAM_BYTES) {
		t->at->left = text_value(t, program->text_count) * program->text_scale;
		t->at->is_counted = 1;
	}
	if (program->text == PROBE_PROGRAM_WINDOW) {
		t->at->left = program->text_max;
		t->at->is_counted = 1;
	}
	if (program->text != PROBE_PROGRAM_STRINGS)
		return false;
	t->at->address = 0;
	if (text_read(&t->at->address, 8, pointer + number * 8, can_sleep))
		return true;
	lengths = text_value(t, program->text_lengths);
	if (!lengths)
		return false;
	if (text_read(&t->at->left, 8, lengths + number * 8, can_sleep))
		return true;
	t->at->is_counted = t->at->left != 0;
	return false;
}

/* Take along up to @size bytes, at most the rest of the page. Returns how many; 0: the string has
 * ended or cannot be read. */
static __always_inline u32 text_take(struct text *t, char *to, u32 size, bool can_sleep)
{
	u8 first = 0;

	if (size > TEXT_STEP_BYTES)
		size = TEXT_STEP_BYTES;
	if (t->at->is_counted) {
		u64 left = t->at->left;
		if (left < size)
			size = left;
		/* The verifier has to see the bound on what is passed on, not on what it was made of. */
		barrier_var(size);
		if (size == 0 || size > TEXT_STEP_BYTES)
			return 0;
		if (text_read(to, size, t->at->address, can_sleep)) {
			t->at->flags |= EVENT_PROBE_FAILED;
			return 0;
		}
		t->at->left = left - size;
		return size;
	}
	/* This pages it in: the function that knows strings cannot. */
	if (text_read(&first, 1, t->at->address, can_sleep)) {
		t->at->flags |= EVENT_PROBE_FAILED;
		return 0;
	}
	if (!first || size == 0)
		return 0;
	if (size == 1) {
		*to = first;
		return 1;
	}
	long got = bpf_probe_read_user_str(to, size, (void *)t->at->address);
	if (got < 0) {
		t->at->flags |= EVENT_PROBE_FAILED;
		return 0;
	}
	/* Its NUL counts, be it the string's or the one that cuts it off; then the next step finds
	 * out which. */
	return (u32)got - 1;
}

/* Send what is there, when another step might not fit. */
static __always_inline void text_flush(struct text *t)
{
	struct event_probe *event = t->event;

	if (t->at->filled + TEXT_STEP_BYTES <= EVENT_PROBE_TEXT_BYTES)
		return;
	event->flags = t->at->flags | EVENT_PROBE_MORE;
	event->text_size = t->at->filled;
	event_submit(&event->header, sizeof(*event) + EVENT_PROBE_TEXT_BYTES, LOSS_PROBE_RING_FULL);
	event->text_start = t->at->total;
	t->at->filled = 0;
}

/* 1: the text is complete. */
static __always_inline long text_step(struct text *t, bool can_sleep)
{
	if (!t->at->address) {
		if (t->at->string >= t->at->strings)
			return 1;
		if (text_open(t, can_sleep)) {
			t->at->flags |= EVENT_PROBE_FAILED;
			return 1;
		}
		return 0;
	}
	if (t->at->total >= t->program->text_max) {
		t->at->flags |= EVENT_PROBE_CUT;
		return 1;
	}
	text_flush(t);
	u32 page_left = TEXT_STEP_BYTES - (t->at->address & (TEXT_STEP_BYTES - 1));
	u32 room = t->program->text_max - t->at->total;
	u32 filled = t->at->filled & (EVENT_PROBE_TEXT_BYTES - 1);
	char *to = (char *)(t->event + 1) + filled;
	u32 taken = text_take(t, to, page_left < room ? page_left : room, can_sleep);
	t->at->address = taken ? t->at->address + taken : 0;
	t->at->filled += taken;
	t->at->total += taken;
	return 0;
}

static long text_step_sleepable(u32 index, struct text *t)
{
	return text_step(t, true);
}

static long text_step_plain(u32 index, struct text *t)
{
	return text_step(t, false);
}

/* Returns the size of the event with the last part of the text. */
static __always_inline u32 text_fill(struct slot *slot, const struct probe_program *program,
				     bool can_sleep)
{
	struct event_probe *event = (struct event_probe *)slot->words;
	struct text text = { .event = event, .program = program, .at = &slot->text };

	__builtin_memset(text.at, 0, sizeof(*text.at));
	text.at->flags = event->flags;
	text.at->strings = 1;
	if (program->text == PROBE_PROGRAM_STRINGS)
		text.at->strings = event->value[program->text_count & 7];
	long steps = can_sleep ? bpf_loop(TEXT_STEPS, text_step_sleepable, &text, 0)
			       : bpf_loop(TEXT_STEPS, text_step_plain, &text, 0);
	if (steps == TEXT_STEPS)
		text.at->flags |= EVENT_PROBE_CUT;
	u32 filled = text.at->filled;
	if (filled > EVENT_PROBE_TEXT_BYTES)
		filled = EVENT_PROBE_TEXT_BYTES;
	event->flags = text.at->flags;
	event->text_size = filled;
	return sizeof(*event) + filled;
}

static __always_inline int probe_return(struct pt_regs *ctx, bool can_sleep)
{
	u64 id = current_ids();
	struct call_key key = { .tid = (u32)id, .program = bpf_get_attach_cookie(ctx) };
	const struct probe_program *program = program_get(key.program);
	struct call *call = bpf_map_lookup_elem(&probe_calls, &key);

	keep_own_stack(ctx);
	if (!program || !call)
		return 0;
	struct slot *slot = slot_claim();
	if (!slot) {
		loss_add(LOSS_PROBE_NO_SLOT);
		return 0;
	}
	struct event_probe *event = (struct event_probe *)slot->words;
	event_begin(&event->header, EVENT_PROBE);
	event->site = program->site;
	event->text_size = 0;
	event->text_start = 0;
	event->values = program->values;
	__builtin_memcpy(event->value, call->value, sizeof(event->value));
	event->flags = call->flags | read_values(ctx, slot, program, event->value, true);
	bpf_map_delete_elem(&probe_calls, &key);
	u32 size = program->text == PROBE_PROGRAM_NO_TEXT
			   ? offsetof(struct event_probe, value) + program->values * 8
			   : text_fill(slot, program, can_sleep);
	event_submit(&event->header, size, LOSS_PROBE_RING_FULL);
	slot_free(slot);
	return 0;
}

SEC("uprobe.s")
int on_probe_return(struct pt_regs *ctx)
{
	return probe_return(ctx, true);
}

SEC("uprobe")
int on_probe_return_plain(struct pt_regs *ctx)
{
	return probe_return(ctx, false);
}
