/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Walks the stack of the current thread by unwind tables, without frame pointers.
 *
 * A walk starts with the registers of the innermost frame. For each frame it finds the mapping that
 * the program counter is in, by binary search among those of the process, and in the table of that
 * file the row that says how the caller's registers are got; x86_64.h does the step. Frames follow
 * each other for as long as there are rows, up to the thread's first function, whose row says so.
 *
 * A walk is never spoiled by what user space changes meanwhile: it holds on to the map of mappings
 * that it began with, as the kernel frees a replaced map only when no program uses it any more, and
 * tables do not change once they are there.
 *
 * All loops are bpf_loop(): the verifier looks at their bodies once, however often they run.
 */
#include "bpf/maps.bpf.h"

#include "capture/record.h"

/*
 * Number of a table -> its cells (unwind_table.h). Written by lib/collect/unwind.c before any
 * mapping refers to the table; read here. Numbers are used again only when nothing refers to them.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, UNWIND_TABLES_MAX);
	__type(key, __u32);
	__array(
		values, struct {
			__uint(type, BPF_MAP_TYPE_ARRAY);
			__uint(map_flags, BPF_F_INNER_MAP | BPF_F_MMAPABLE);
			__uint(max_entries, 1);
			__uint(key_size, sizeof(__u32));
			__uint(value_size, sizeof(struct unwind_cell));
		});
} unwind_tables SEC(".maps");

/*
 * Number of an address space -> its executable mappings by address, behind one whose `pages` is how
 * many there are and whose `base` the time of CLOCK_MONOTONIC when they were looked at. Replaced as a
 * whole when a process maps something.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, UNWIND_SPACES_MAX);
	__type(key, __u32);
	__array(
		values, struct {
			__uint(type, BPF_MAP_TYPE_ARRAY);
			__uint(map_flags, BPF_F_INNER_MAP | BPF_F_MMAPABLE);
			__uint(max_entries, 1);
			__uint(key_size, sizeof(__u32));
			__uint(value_size, sizeof(struct unwind_mapping));
		});
} unwind_spaces SEC(".maps");

/* Most frames of a walk: --max-stack. Set by the recorder. */
const volatile __u32 unwind_frames_max = EVENT_USER_FRAMES;

static int access_read(void *data, uint64_t address, uint64_t *ret)
{
	return bpf_probe_read_user(ret, sizeof(*ret), (void *)address);
}

static int access_reg(void *data, uint32_t reg, uint64_t *ret)
{
	struct unwind_walk *walk = data;

	if (reg >= EVENT_REGS)
		return -1;
	*ret = walk->regs[reg];
	return 0;
}

/* A read costs as much for 8 words as for one. */
static int access_pair(void *data, uint64_t cfa, int8_t fp, uint64_t *ret_pc, uint64_t *ret_fp)
{
	struct unwind_walk *walk = data;

	if (fp < -UNWIND_WORDS || fp >= 0 ||
	    bpf_probe_read_user(walk->words, sizeof(walk->words),
				(void *)(cfa - sizeof(walk->words))))
		return access_read(data, cfa + (u64)(s64)UNWIND_RA_OFFSET, ret_pc) ||
		       access_read(data, cfa + 8 * (s64)fp, ret_fp);
	*ret_pc = walk->words[UNWIND_WORDS - 1];
	*ret_fp = walk->words[fp & (UNWIND_WORDS - 1)];
	return 0;
}

static const struct unwind_cell *table_cell(void *table, uint32_t index)
{
	return bpf_map_lookup_elem(table, &index);
}

static long row_search_step(u32 i, struct unwind_search *s)
{
	return unwind_search_step(s, table_cell, i);
}

/* The row that holds at @pc, which counts from the base of the walk's mapping. */
static __always_inline const struct unwind_row *find_row(struct unwind_walk *walk, u32 pc)
{
	u32 number = walk->mapping.table;
	void *table = number ? bpf_map_lookup_elem(&unwind_tables, &number) : NULL;
	struct unwind_search s;

	if (!table || unwind_search_begin(&s, table_cell, table, walk->mapping.pages, pc))
		return NULL;
	bpf_loop(UNWIND_SEARCH_STEPS, row_search_step, &s, 0);
	return unwind_search_end(&s, table_cell);
}

struct mapping_search {
	void *mappings;
	u64 pc;
	u32 found, count; /* how many start at or below pc, of how many */
	u32 steps;
};

/* Turns of a search among @count: 2^turns > count. */
static __always_inline u32 mapping_search_steps(u32 count)
{
	u32 steps = 0;

	for (u32 half = UNWIND_MAPPING_STEPS / 2; half; half /= 2) {
		if (!(count >> half))
			continue;
		count >>= half;
		steps += half;
	}
	return steps + count;
}

static long mapping_search_step(u32 i, struct mapping_search *s)
{
	const struct unwind_mapping *m;
	/* Not kept: the verifier would look at the loop once for each value that it knows. */
	u32 step = 1u << ((s->steps - 1 - i) & 31);
	u32 at = s->found + step;

	if (at <= s->count) {
		m = bpf_map_lookup_elem(s->mappings, &at);
		if (!m)
			return 1;
		if (m->start <= s->pc)
			s->found = at;
	}
	return 0;
}

struct change_search {
	const struct unwind_changes *changes;
	u64 pc, looked_ns;
	u32 found, news; /* whether pc is in one that is news; how many are */
};

static long change_search_step(u32 i, struct change_search *s)
{
	const struct unwind_range *range = &s->changes->last[i % UNWIND_CHANGES];

	if (range->time_ns > s->looked_ns) {
		s->news++;
		s->found |= s->pc >= range->start && s->pc < range->end;
	}
	return 0;
}

/* Is @pc in something that was mapped since the recorder looked? */
static __noinline bool is_changed(const struct unwind_walk *walk, u64 pc)
{
	u32 pid = walk->pid;
	const struct unwind_changes *changes = bpf_map_lookup_elem(&unwind_changes, &pid);

	if (!changes || changes->all.time_ns <= walk->looked_ns)
		return false;
	if (pc < changes->all.start || pc >= changes->all.end)
		return false;
	struct change_search s = { .changes = changes, .pc = pc, .looked_ns = walk->looked_ns };
	bpf_loop(UNWIND_CHANGES, change_search_step, &s, 0);
	/* When even the oldest is news, older ones may have been overwritten: anything in between. */
	return s.found || s.news == UNWIND_CHANGES;
}

/* The mapping that @pc is in, into @walk. */
static __always_inline int find_mapping(struct unwind_walk *walk, void *mappings, u64 pc)
{
	struct mapping_search s = {
		.mappings = mappings,
		.pc = pc,
		.count = walk->mappings,
		.steps = walk->mapping_steps,
	};
	const struct unwind_mapping *m;

	if (pc >= walk->mapping.start && pc < walk->mapping.end)
		return 0;
	bpf_loop(walk->mapping_steps, mapping_search_step, &s, 0);
	m = bpf_map_lookup_elem(mappings, &s.found);
	if (!s.found || !m || pc >= m->end || is_changed(walk, pc))
		return -1;
	walk->mapping = *m;
	return 0;
}

/* Where copies of probed instructions are executed; 0: nowhere in this process. */
static __always_inline u64 xol_address(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct xol_area *area;

	if (!mm || !bpf_core_field_exists(mm->uprobes_state))
		return 0;
	area = BPF_CORE_READ(mm, uprobes_state.xol_area);
	return area ? BPF_CORE_READ(area, vaddr) : 0;
}

struct return_search {
	struct return_instance *at;
	u64 stack; /* where the return address was */
	u64 pc;    /* what it was; 0: not found */
};

static long return_search_step(u32 i, struct return_search *s)
{
	struct return_instance *at = s->at;

	if (!at)
		return 1;
	if (BPF_CORE_READ(at, stack) == s->stack) {
		s->pc = BPF_CORE_READ(at, orig_ret_vaddr);
		return 1;
	}
	s->at = BPF_CORE_READ(at, next);
	return 0;
}

/* Return probes that can wait at once: MAX_URETPROBE_DEPTH of kernel/events/uprobes.c. */
#define RETURN_PROBES_MAX 64

/* What the function that had its return address at @stack returns to; 0: no return probe waits. Not
 * inlined, nor is is_changed(): before Linux 6.13 all frames from the program to the innermost loop
 * share 512 bytes, and these are seldom entered. Nor static: verified once. */
__noinline u64 probed_return(u64 utask, u64 stack)
{
	struct return_search s = {
		.at = BPF_CORE_READ((struct uprobe_task *)utask, return_instances),
		.stack = stack,
	};

	bpf_loop(RETURN_PROBES_MAX, return_search_step, &s, 0);
	return s.pc;
}

static __always_inline void leave_to(struct unwind_walk *walk, u64 pc, u64 sp)
{
	walk->state.pc = pc;
	walk->state.sp = sp;
	walk->state.is_return = 1;
	walk->state.is_leaf = 0;
}

/*
 * On the innermost frame, in the trampoline that a function with a return probe has returned to. On
 * x86-64 since Linux 6.11 it is push ax, cx, r11; mov $uretprobe,ax; syscall; pop r11, cx; ret, where
 * the system call writes the real return address over ax; before, it was a breakpoint. Goes on with
 * the caller.
 */
static __always_inline void leave_trampoline(struct unwind_walk *walk, struct uprobe_task *utask)
{
	u64 offset = walk->state.pc - walk->xol, sp = walk->state.sp, pc;

	/* In the system call, when the kernel has taken the three registers off the stack already. */
	if (offset == 0xd) {
		pc = probed_return((u64)utask, sp + (u64)(s64)UNWIND_RA_OFFSET);
		if (pc) {
			leave_to(walk, pc, sp);
			return;
		}
	}
	if (offset >= 1 && offset <= 0x10)
		sp += offset < 2 ? 8 : offset < 4 || offset == 0xf ? 16 : offset < 0xf ? 24 : 8;
	pc = probed_return((u64)utask, sp + (u64)(s64)UNWIND_RA_OFFSET);
	if (!pc && offset == 1) {
		sp -= 8;
		pc = probed_return((u64)utask, sp + (u64)(s64)UNWIND_RA_OFFSET);
	}
	if (!pc && offset >= 0xd)
		bpf_probe_read_user(&pc, sizeof(pc), (void *)(sp + (u64)(s64)UNWIND_RA_OFFSET));
	if (pc)
		leave_to(walk, pc, sp);
}

/*
 * The program counter may be where uprobes put it: at the trampoline that stands in for a return
 * address which a return probe has taken off the stack, or in the copy of a probed instruction. Not
 * static: verified once, and not with each that calls it.
 */
__noinline int leave_uprobes(struct slot *slot)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct uprobe_task *utask = BPF_CORE_READ(task, utask);
	struct unwind_walk *walk;
	u64 pc, copy;

	if (!slot || !utask)
		return 0;
	walk = &slot->walk;
	pc = walk->state.pc;
	if (walk->state.is_return) {
		pc = probed_return((u64)utask, walk->state.sp + (u64)(s64)UNWIND_RA_OFFSET);
		if (pc)
			walk->state.pc = pc;
		return 0;
	}
	/* In or behind the copy: as far into or behind the original. Instructions have 15 bytes. */
	copy = BPF_CORE_READ(utask, xol_vaddr);
	if (copy > walk->xol && pc >= copy && pc - copy < 16)
		walk->state.pc = BPF_CORE_READ(utask, vaddr) + (pc - copy);
	else
		leave_trampoline(walk, utask);
	/* Whoever goes on with a copy begins there too. */
	walk->regs[UNWIND_REG_RA] = walk->state.pc;
	walk->regs[UNWIND_REG_SP] = walk->state.sp;
	return 0;
}

static __always_inline void fix_probed(struct slot *slot)
{
	u64 pc = slot->walk.state.pc, xol = slot->walk.xol;

	if (xol && pc >= xol && pc - xol < 4096)
		leave_uprobes(slot);
}

/* Stopped by a probe's breakpoint: the instruction there has not been executed, though the program
 * counter is behind the breakpoint until the kernel has found whose it is. */
static __always_inline void fix_breakpoint(struct unwind_walk *walk)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	u8 byte = 0;

	if (!walk->is_trap || !BPF_CORE_READ(task, utask) ||
	    bpf_probe_read_user(&byte, sizeof(byte), (void *)(walk->state.pc - 1)))
		return;
	if (byte == 0xcc) /* int3 */
		walk->state.pc--;
}

/* Walks known, by thread and start: memo.bpf.h. Written and read here. Least recently used: threads
 * and the places that they launch from; a program with more pays for whole walks. 4 MB. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct unwind_memo_key);
	__type(value, struct unwind_memo);
} unwind_memos SEC(".maps");

static __always_inline void memo_key(struct unwind_memo_key *key, const struct unwind_state *start)
{
	key->pc = start->pc;
	key->sp = start->sp;
	key->tid = (u32)bpf_get_current_pid_tgid();
	key->reserved = 0;
}

/* Has a place where code was changed since the recorder looked? Then tables may not hold. */
static __always_inline bool has_changes(const struct unwind_walk *walk)
{
	u32 pid = walk->pid;
	const struct unwind_changes *changes = bpf_map_lookup_elem(&unwind_changes, &pid);

	return changes && changes->all.time_ns > walk->looked_ns;
}

static __always_inline void memo_begin(struct unwind_walk *walk, u32 left)
{
	walk->has_memo = left;
	walk->memo.fp = walk->state.fp;
	walk->memo.looked_ns = walk->looked_ns;
	walk->memo.count = 0;
	walk->memo.span = 0;
}

/* The walk has gone from the frame with @row to its caller, in walk->state. @sp is where it began. */
static __always_inline void memo_note(struct unwind_walk *walk, const struct unwind_row *row,
				      u64 sp)
{
	u64 words = (walk->state.sp - sp) / 8;
	u32 i = walk->memo.count;
	u32 cfa = unwind_row_cfa(row), fp = unwind_row_fp(row);

	walk->memo.count = i + 1;
	if ((cfa != UNWIND_CFA_SP && cfa != UNWIND_CFA_FP && cfa != UNWIND_CFA_PLT) ||
	    (fp != UNWIND_FP_SAME && fp != UNWIND_FP_CFA && fp != UNWIND_FP_UNKNOWN) ||
	    i >= UNWIND_MEMO_FRAMES - 1 || !words || words > UNWIND_MEMO_SPAN / 8 ||
	    walk->state.sp & 7 ||
	    (fp == UNWIND_FP_CFA && (row->fp >= 0 || (s64)words < -row->fp))) {
		walk->has_memo = 0;
		return;
	}
	i &= UNWIND_MEMO_FRAMES - 1;
	walk->memo.ip_at[i] = words - 1;
	walk->memo.fp_at[i] = fp == UNWIND_FP_CFA ? words + row->fp + 1 : 0;
	walk->memo.fps[i] = walk->state.fp;
	walk->memo.span = words * 8;
}

/* Keep a walk that has reached the thread's first function. */
static __always_inline void memo_keep(struct unwind_walk *walk, const struct event_stack *stack,
				      const struct unwind_memo_key *key)
{
	if (!walk->has_memo || !(stack->flags & EVENT_STACK_ROOTED) ||
	    stack->user_count != walk->memo.count + 2)
		return;
	walk->memo.count++;
	bpf_probe_read_kernel(walk->memo.ips, sizeof(walk->memo.ips), &stack->ips[1]);
	bpf_map_update_elem(&unwind_memos, key, &walk->memo, BPF_ANY);
}

/* Where a stack may begin in a slot's words. */
#define UNWIND_STACK_AT_MAX                                               \
	(sizeof(((struct slot *)0)->words) - sizeof(struct event_stack) - \
	 (EVENT_USER_FRAMES + EVENT_KERNEL_FRAMES) * 8)

/* Room behind any stack, in the slot. */
#define MEMO_WORDS ((EVENT_MAX_BYTES - UNWIND_MEMO_SPAN) / 8)

struct memo_check {
	const struct unwind_memo *memo;
	const u64 *words;
	u64 *ips; /* of the stack, from the second frame on */
	u32 count;
	u32 differs;
};

static long memo_step(u32 i, struct memo_check *c)
{
	const struct unwind_memo *memo = c->memo;

	i &= UNWIND_MEMO_FRAMES - 1;
	if (i + 1 >= UNWIND_MEMO_FRAMES || i + 1 >= c->count)
		return 1;
	u32 at = memo->ip_at[i], fp_at = memo->fp_at[i];
	u64 ip = memo->ips[i + 1];
	if (c->words[at & (UNWIND_MEMO_SPAN / 8 - 1)] != ip ||
	    (fp_at && c->words[(fp_at - 1) & (UNWIND_MEMO_SPAN / 8 - 1)] != memo->fps[i])) {
		c->differs = 1;
		return 1;
	}
	c->ips[i + 1] = ip;
	return 0;
}

/*
 * Does the walk that begins in walk->state go as one that is known? Then its frames follow the one that
 * is in the stack, at byte @at of the slot's words. Not static: verified once, and not once more with all
 * that follows.
 */
__noinline int memo_find(__u32 number, __u32 at)
{
	struct slot *slot = bpf_map_lookup_elem(&slots, &number);
	const struct unwind_memo *memo;
	const struct unwind_state *state;
	struct event_stack *stack;
	u64 *words;
	u32 span;

	if (!slot || at > UNWIND_STACK_AT_MAX)
		return 0;
	stack = (void *)slot->words + at;
	state = &slot->walk.state;
	words = &slot->words[MEMO_WORDS];
	memo = bpf_map_lookup_elem(&unwind_memos, &slot->walk.key);

	if (!memo || memo->fp != state->fp || memo->looked_ns != slot->walk.looked_ns)
		return 0;
	span = memo->span;
	if (span > UNWIND_MEMO_SPAN || bpf_probe_read_user(words, span, (void *)state->sp))
		return 0;
	stack->ips[1] = memo->ips[0];
	struct memo_check c = { memo, words, (u64 *)&stack->ips[1], memo->count, 0 };
	bpf_loop(UNWIND_MEMO_FRAMES, memo_step, &c, 0);
	if (c.differs)
		return 0;
	stack->user_count = memo->count + 1;
	stack->flags |= EVENT_STACK_ROOTED;
	return 1;
}

/*
 * Rows that were found before, by return address: programs go through the same few thousand calls all
 * the time, and to find the mapping and then the row takes most of a frame's time, of memory that is
 * not in the cache mostly. Two words for each: the row, and the row mixed with what it is for, so that
 * an entry that is half written, as a sample can interrupt a probe here, is seen to be none.
 */
#define ROWS_KNOWN_SHIFT 11 /* 32 KiB, the most that a map has for each CPU */
struct row_known {
	u64 row;
	u64 check;
};
struct rows_known {
	struct row_known entry[1 << ROWS_KNOWN_SHIFT];
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rows_known);
} unwind_rows_known SEC(".maps");

struct walk_context {
	struct slot *slot;
	struct event_stack *stack; /* in the slot */
	void *mappings;            /* of the address space */
	struct rows_known *known;
};

/* Odd, so that no two numbers have the same product: 2^64 / golden ratio, and a prime of its size. */
#define MIX_PC       0x9e3779b97f4a7c15ull
#define MIX_MAPPINGS 0xc2b2ae3d27d4eb4full

static __always_inline u32 cause_of(enum unwind_result rc)
{
	if (rc == UNWIND_NO_ROW)
		return STACK_CAUSE_NO_TABLE;
	return rc == UNWIND_UNREADABLE ? STACK_CAUSE_UNREADABLE : STACK_CAUSE_UNSUPPORTED;
}

static __always_inline bool is_awaited(const struct unwind_mapping *mapping)
{
	return !mapping->table && mapping->pages == UNWIND_NO_TABLE_YET;
}

/* Why the walk ends in code without a table. */
static __always_inline u32 cause_without_table(const struct unwind_mapping *mapping)
{
	if (!mapping->table && mapping->pages == UNWIND_NO_TABLE_JIT)
		return STACK_CAUSE_JIT;
	/* One frame is all there is to a sample of accelerator code; no copy is wanted for more. */
	if (!mapping->table && mapping->pages == UNWIND_NO_TABLE_DEVICE)
		return STACK_CAUSE_NONE;
	return STACK_CAUSE_NO_TABLE;
}

/* The row that holds at @pc. Negative: there is none, and the stack says why. */
static __always_inline int row_at(struct walk_context *c, u64 pc, struct unwind_row *ret)
{
	u64 mix = pc * MIX_PC;
	struct row_known *known = &c->known->entry[mix >> (64 - ROWS_KNOWN_SHIFT)];
	struct unwind_walk *walk = &c->slot->walk;
	const struct unwind_row *row;
	u64 bits = *(volatile u64 *)&known->row;

	mix ^= walk->known_for;
	if (walk->known_for && (*(volatile u64 *)&known->check ^ bits) == mix) {
		*(u64 *)ret = bits;
		return 0;
	}
	if (find_mapping(walk, c->mappings, pc)) {
		c->stack->status = STACK_CAUSE_NO_TABLE;
		return -1;
	}
	row = find_row(walk, (u32)(pc - walk->mapping.base));
	if (!row) {
		c->stack->status = cause_without_table(&walk->mapping);
		walk->copying.is_awaited = is_awaited(&walk->mapping);
		return -1;
	}
	bits = *(const u64 *)row;
	*(u64 *)ret = bits;
	if (walk->known_for) {
		*(volatile u64 *)&known->row = bits;
		*(volatile u64 *)&known->check = bits ^ mix;
	}
	return 0;
}

static __always_inline enum unwind_result walk_frame(struct walk_context *c)
{
	struct unwind_walk *walk = &c->slot->walk;
	struct event_stack *stack = c->stack;
	const struct unwind_access access = { access_read, access_reg, walk, access_pair };
	struct unwind_row row;

	if (row_at(c, walk->state.pc - walk->state.is_return, &row))
		return UNWIND_NO_ROW;
	/* A handler "returns" to the first instruction of the stub that ends it: not to a call. */
	u32 last = stack->user_count - 1;
	if (unwind_row_cfa(&row) == UNWIND_CFA_SIGNAL && walk->state.is_return &&
	    last < EVENT_USER_FRAMES)
		stack->ips[last]++;
	enum unwind_result rc = unwind_step(&access, &walk->state, &row);
	if (rc == UNWIND_ROOT)
		stack->flags |= EVENT_STACK_ROOTED;
	else if (rc != UNWIND_OK)
		stack->status = cause_of(rc);
	else if (walk->has_memo)
		memo_note(walk, &row, walk->start_sp);
	return rc;
}

/* One frame: note it and go to its caller. */
static long walk_step(u32 i, struct walk_context *c)
{
	struct unwind_walk *walk = &c->slot->walk;
	struct event_stack *stack = c->stack;
	u32 count = stack->user_count;

	if (count >= unwind_frames_max || count >= EVENT_USER_FRAMES) {
		stack->status = STACK_CAUSE_TOO_DEEP;
		return 1;
	}
	u64 pc = walk->state.pc;
	fix_probed(c->slot);
	if (walk->state.pc != pc) /* a word of the stack says something else */
		walk->has_memo = 0;
	/* Readers look one byte before: in the call, where it is a return address. */
	stack->ips[count] = walk->state.pc + (count && !walk->state.is_return);
	stack->user_count = count + 1;
	return walk_frame(c) != UNWIND_OK;
}

/*
 * CPU -> when the next copy is due at an even rate. A program whose stacks all need one (a language with a compiler of
 * its own, hundreds of thousands of launches a second) must not fill the ring with them.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} unwind_copied SEC(".maps");

/* Four thousand a second and CPU, the most that anybody samples at. */
#define COPY_PAUSE_NS 250000
/* So many may come at once: several threads that begin to wait in a new process. 2 MiB. */
#define COPY_BURST 64

/* Not when the ring is half full either: a copy takes the place of a hundred stacks. */
static __always_inline bool wants_copy(const struct event_stack *stack, u64 now_ns)
{
	u32 cause = stack->status, zero = 0;
	u64 *due;

	if (cause != STACK_CAUSE_NO_TABLE && cause != STACK_CAUSE_JIT &&
	    cause != STACK_CAUSE_UNSUPPORTED)
		return false;
	due = bpf_map_lookup_elem(&unwind_copied, &zero);
	if (!due || *due > now_ns + COPY_BURST * COPY_PAUSE_NS ||
	    bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) >=
		    bpf_ringbuf_query(&events, BPF_RB_RING_SIZE) / 2)
		return false;
	*due = (*due > now_ns ? *due : now_ns) + COPY_PAUSE_NS;
	return true;
}

struct copy_context {
	struct unwind_copying *state; /* in the slot whose stack it is */
	struct slot *slot;            /* the part's own */
	u64 returns;                  /* the first struct return_instance of the task; 0: none */
};

struct return_restore {
	struct event_copy *copy;
	struct return_instance *at;
};

static long return_restore_step(u32 i, struct return_restore *r)
{
	struct return_instance *at = r->at;

	if (!at)
		return 1;
	u64 offset = BPF_CORE_READ(at, stack) - r->copy->stack_address;
	if (!(offset & 7) && offset < r->copy->stack_size) {
		offset &= EVENT_COPY_BYTES - 8;
		*(u64 *)(r->copy->stack + offset) = BPF_CORE_READ(at, orig_ret_vaddr);
	}
	r->at = BPF_CORE_READ(at, next);
	return 0;
}

/* What return probes have taken off the stack, put back where the copy has it: who goes on with that can
 * ask the kernel for nothing. */
static __noinline void restore_returns(struct copy_context *c)
{
	struct return_restore r = {
		.copy = (struct event_copy *)c->slot->words,
		.at = (struct return_instance *)c->returns,
	};

	bpf_loop(RETURN_PROBES_MAX, return_restore_step, &r, 0);
}

static long read_piece(u32 i, struct copy_context *c)
{
	struct event_copy *copy = (struct event_copy *)c->slot->words;
	struct unwind_copying *state = c->state;
	u64 address = state->address + i * EVENT_COPY_PIECE;

	if (i >= EVENT_COPY_PIECES)
		return 1;
	if (address >= state->hole) {
		if (!bpf_probe_read_user(copy->stack + i * EVENT_COPY_PIECE, EVENT_COPY_PIECE,
					 (void *)address)) {
			state->holes = 0;
			copy->stack_size = (i + 1) * EVENT_COPY_PIECE;
			return 0;
		}
		state->hole = (address | 4095) + 1;
		state->holes++;
	}
	copy->missing |= 1u << (i & 31);
	return state->holes > EVENT_COPY_HOLE;
}

static __always_inline void fill_copy(struct event_copy *copy, const struct slot *of)
{
	const struct unwind_walk *walk = &of->walk;

	copy->header = *(const struct event_header *)of->words;
	copy->header.type = EVENT_COPY;
	copy->header.stack_offset = 0;
	copy->pc = walk->state.pc;
	copy->sp = walk->state.sp;
	copy->fp = walk->state.fp;
	copy->has_fp = walk->state.has_fp;
	copy->is_return = walk->state.is_return;
	copy->is_leaf = walk->state.is_leaf && !walk->state.signal_regs;
	for (u32 i = 0; i < EVENT_REGS; i++)
		copy->regs[i] = walk->regs[i];
}

static long send_part(u32 part, struct copy_context *c)
{
	struct event_copy *copy = (struct event_copy *)c->slot->words;
	struct unwind_copying *state = c->state;
	u32 size;

	copy->part = part;
	copy->missing = 0;
	copy->stack_address = state->address;
	copy->stack_size = 0;
	bpf_loop(EVENT_COPY_PIECES, read_piece, c, 0);
	if (c->returns)
		restore_returns(c);
	state->address += EVENT_COPY_BYTES;
	size = copy->stack_size;
	if (size > EVENT_COPY_BYTES)
		return 1;
	size += sizeof(*copy);
	copy->header.size = size;
	if (bpf_ringbuf_output(&events, copy, size,
			       state->is_awaited ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP))
		return 1;
	state->sent++;
	return state->holes > EVENT_COPY_HOLE || state->sent >= state->parts;
}

/* Not inlined, for the sake of its caller's stack. */
static __noinline void send_copy(struct slot *slot, struct event_stack *stack)
{
	u64 first = slot->walk.regs[UNWIND_REG_SP], sp = slot->walk.state.sp;
	struct copy_context c = { .state = &slot->walk.copying, .slot = slot_claim() };
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct uprobe_task *utask = BPF_CORE_READ(task, utask);

	if (!c.slot)
		return;
	/* From the innermost frame on, if that is near: libunwind has to begin there. */
	if (sp - first < EVENT_COPY_BYTES)
		sp = first;
	if (slot->walk.xol && utask)
		c.returns = (u64)BPF_CORE_READ(utask, return_instances);
	c.state->address = sp & ~(u64)(EVENT_COPY_PIECE - 1);
	c.state->hole = 0;
	c.state->holes = 0;
	c.state->sent = 0;
	c.state->parts =
		stack->status == STACK_CAUSE_NO_TABLE ? EVENT_COPY_PARTS : EVENT_COPY_PARTS_USUAL;
	fill_copy((struct event_copy *)c.slot->words, slot);
	bpf_loop(EVENT_COPY_PARTS, send_part, &c, 0);
	slot_free(c.slot);
	if (c.state->sent)
		stack->flags |= EVENT_STACK_COPIED;
}

static __always_inline void begin_walk(struct unwind_walk *walk)
{
	walk->state.pc = walk->regs[UNWIND_REG_RA];
	walk->state.sp = walk->regs[UNWIND_REG_SP];
	walk->state.fp = walk->regs[UNWIND_REG_FP];
	walk->state.signal_regs = 0;
	walk->state.is_return = 0;
	walk->state.has_fp = 1;
	walk->state.is_leaf = 1;
	walk->mapping.start = walk->mapping.end = 0;
	walk->copying.is_awaited = 0;
	walk->xol = xol_address();
	fix_breakpoint(walk);
}

/* From a function's entry to its caller. Returns how many frames that was: 0 or 1. */
static __always_inline u32 leave_entry(struct slot *slot, struct event_stack *stack)
{
	struct unwind_walk *walk = &slot->walk;
	u64 place = walk->state.sp + walk->entry - 1, caller = 0;

	if (!walk->entry || bpf_probe_read_user(&caller, sizeof(caller), (void *)place) || !caller)
		return 0;
	fix_probed(slot);
	stack->ips[0] = walk->state.pc;
	walk->state.pc = caller;
	walk->state.sp = place + sizeof(caller);
	walk->state.is_return = 1;
	walk->state.is_leaf = 0;
	return 1;
}

__noinline int unwind_user(__u32 number, __u32 at)
{
	u32 pid, zero = number; /* the stack is tight: one word for both keys */
	struct slot *slot = bpf_map_lookup_elem(&slots, &zero);
	const struct unwind_mapping *head;
	struct walk_context c;
	u32 *space;

	if (!slot || at > UNWIND_STACK_AT_MAX)
		return 0;
	zero = 0;
	pid = ((struct event_header *)slot->words)->pid;
	c.slot = slot;
	c.stack = (void *)slot->words + at;
	c.stack->flags = EVENT_STACK_BY_TABLE;
	c.stack->user_count = 0;
	c.stack->skip = 0;
	c.stack->status = STACK_CAUSE_NONE;
	begin_walk(&slot->walk);
	u32 left = leave_entry(slot, c.stack);
	c.stack->user_count = left;

	c.known = bpf_map_lookup_elem(&unwind_rows_known, &zero);
	if (!c.known)
		return 0;
	space = bpf_map_lookup_elem(&unwind_processes, &pid);
	c.mappings = space ? bpf_map_lookup_elem(&unwind_spaces, space) : NULL;
	head = c.mappings ? bpf_map_lookup_elem(c.mappings, &zero) : NULL;
	slot->walk.pid = pid;
	if (head) {
		slot->walk.mappings = head->pages;
		slot->walk.mapping_steps = mapping_search_steps(head->pages);
		slot->walk.looked_ns = head->base;
		bool is_settled = !has_changes(&slot->walk);
		slot->walk.known_for = is_settled ? head->base * MIX_MAPPINGS : 0;
		memo_begin(&slot->walk, left && is_settled);
		memo_key(&slot->walk.key, &slot->walk.state);
		if (slot->walk.has_memo && memo_find(slot->number, at))
			return 0;
		slot->walk.start_sp = slot->walk.state.sp;
		bpf_loop(EVENT_USER_FRAMES + 1, walk_step, &c, 0);
		memo_keep(&slot->walk, c.stack, &slot->walk.key);
	} else {
		fix_probed(slot);
		c.stack->ips[left & 1] = slot->walk.state.pc;
		c.stack->user_count = left + 1;
		c.stack->status = STACK_CAUSE_NO_TABLE;
	}
	if (wants_copy(c.stack, ((struct event_header *)slot->words)->time_ns))
		send_copy(slot, c.stack);
	return 0;
}

/* Note that [@start, @end) is something else now, if the mappings published say that it is code. */
static __always_inline void note_change(u32 pid, u64 start, u64 end)
{
	u32 *space = bpf_map_lookup_elem(&unwind_processes, &pid), zero = 0;
	void *mappings = space ? bpf_map_lookup_elem(&unwind_spaces, space) : NULL;
	const struct unwind_mapping *head, *m;

	head = mappings ? bpf_map_lookup_elem(mappings, &zero) : NULL;
	if (!head)
		return;
	u64 looked_ns = head->base;
	struct mapping_search s = {
		.mappings = mappings,
		.pc = end - 1,
		.count = head->pages,
		.steps = mapping_search_steps(head->pages),
	};
	bpf_loop(s.steps, mapping_search_step, &s, 0);
	m = bpf_map_lookup_elem(mappings, &s.found);
	if (!s.found || !m || m->end <= start)
		return;

	struct unwind_changes *changes = bpf_map_lookup_elem(&unwind_changes, &pid);
	if (!changes) {
		static const struct unwind_changes none;
		bpf_map_update_elem(&unwind_changes, &pid, &none, BPF_NOEXIST);
		changes = bpf_map_lookup_elem(&unwind_changes, &pid);
		if (!changes)
			return;
	}
	if (changes->all.time_ns <= looked_ns) {
		changes->all.start = start;
		changes->all.end = end;
	}
	if (start < changes->all.start)
		changes->all.start = start;
	if (end > changes->all.end)
		changes->all.end = end;
	changes->all.time_ns = bpf_ktime_get_ns();
	/* The lock of the address space is held: nobody else of this process is here. */
	struct unwind_range *last = &changes->last[changes->count++ % UNWIND_CHANGES];
	last->start = start;
	last->end = end;
	last->time_ns = changes->all.time_ns;
}

/*
 * TP_PROTO(unsigned long addr, struct vm_unmapped_area_info *info): the kernel has found a place for a
 * new mapping, before mmap() returns. The dynamic linker asks for one place for all of a library. The
 * side-band tells the recorder of the mapping milliseconds later.
 */
SEC("raw_tp/vm_unmapped_area")
int on_place(struct bpf_raw_tracepoint_args *ctx)
{
	struct vm_unmapped_area_info *info = (struct vm_unmapped_area_info *)ctx->args[1];
	u64 ids = current_ids(), start = ctx->args[0];

	if (start & 4095 || !is_target(ids)) /* an error is no address of a page */
		return 0;
	note_change(ids >> 32, start, start + BPF_CORE_READ(info, length));
	return 0;
}
