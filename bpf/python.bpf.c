/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reads the interpreter's own chain of frames of the current thread, at the same moment as its stack
 * is walked, into the event behind it: lib/collect/python_merge.c puts them in the place of the
 * interpreter's C frames, run by run. That is done there and not here as a stack can have been cut
 * off and gone on with from a copy.
 *
 * Nothing is asked of user space per thread: the state of a thread is found here, by walking all
 * interpreters and their threads, and kept by thread id; each time it must still carry the thread's
 * own thread register.
 */
#include "bpf/stack.bpf.h"

/*
 * Thread id, as the kernel counts -> its state. Least recently used ones go, so that nobody needs to
 * tell of threads that end; 16,384 are more than run Python at once.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct python_thread);
} python_threads SEC(".maps");

/* Thread states and interpreters looked at in one search: 60 ns each. */
#define SEARCH_STEPS 4096
/*
 * A thread can get a state, or another one, at any time: it is searched for again after 50 times as
 * long as the search took, at 60 ns a step, and where it has one after this long at least. Until then
 * a second interpreter's frames are missing.
 */
#define SEARCH_AGAIN_NS     (10u * 1000000)
#define SEARCH_STEP_WAIT_NS (50 * 60)

static int access_read(void *data, uint64_t address, void *to, uint32_t size)
{
	return bpf_probe_read_user(to, size, (void *)address);
}

struct search_context {
	struct python_search *search; /* both in the slot */
	struct python_thread *thread;
	const struct python_layout *layout;
};

static long search_step(u32 i, struct search_context *c)
{
	const struct python_access access = { access_read, NULL };
	struct python_thread *thread = c->thread;
	enum python_step rc = python_search_step(&access, c->layout, thread->thread_id, c->search);

	if (rc == PYTHON_STEP_FOUND) {
		if (thread->state[0]) {
			thread->state[1] = c->search->found;
			return 1;
		}
		thread->state[0] = c->search->found;
		return 0;
	}
	thread->is_unreadable = rc == PYTHON_STEP_FAILED;
	return rc != PYTHON_STEP_ON;
}

static __always_inline void search_thread(struct slot_python *python,
					  const struct python_layout *layout, u64 now_ns)
{
	const struct python_access access = { access_read, NULL };
	struct python_thread *thread = &python->thread;
	struct search_context c = { &python->search, thread, layout };
	u32 tid = (u32)bpf_get_current_pid_tgid();
	long steps = 0;

	thread->state[0] = thread->state[1] = 0;
	thread->is_unreadable = 0;
	if (python_search_begin(&access, layout, thread->runtime, &python->search) ==
	    PYTHON_STEP_ON)
		steps = bpf_loop(SEARCH_STEPS, search_step, &c, 0);
	else
		thread->is_unreadable = 1;
	if (steps < 0)
		steps = 0;
	u64 wait_ns = (steps + 1) * SEARCH_STEP_WAIT_NS;
	if (thread->state[0] && wait_ns < SEARCH_AGAIN_NS)
		wait_ns = SEARCH_AGAIN_NS;
	thread->next_ns = now_ns + wait_ns;
	bpf_map_update_elem(&python_threads, &tid, thread, BPF_ANY);
}

/* The state of the current thread, from before or searched for now. */
static __always_inline void find_thread(struct slot_python *python,
					const struct python_layout *layout, u64 runtime, u64 now_ns)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	const struct python_access access = { access_read, NULL };
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct python_thread *known = bpf_map_lookup_elem(&python_threads, &tid);
	struct python_thread *thread = &python->thread;
	uint64_t frame;

	thread->runtime = runtime;
	thread->thread_id = BPF_CORE_READ(task, THREAD_REGISTER);
	if (known && known->runtime == runtime && known->thread_id == thread->thread_id &&
	    now_ns < known->next_ns) {
		thread->state[0] = known->state[0];
		thread->state[1] = known->state[1];
		thread->is_unreadable = 0;
		if (!thread->state[0] || !python_thread_frame(&access, layout, thread->state[0],
							      thread->thread_id, &frame))
			return;
	}
	search_thread(python, layout, now_ns);
}

/* What was sent of code objects. As many as PyTorch has; what is forgotten is sent again. */
struct sent_key {
	u64 code;
	u32 check, pid;
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 32768);
	__type(key, struct sent_key);
	__type(value, u8);
} python_sent SEC(".maps");

/*
 * The same for a first look, by some bits of a hash of the key -> all of it, as looking into an array
 * costs next to nothing. What two have the same place for is found in python_sent.
 */
#define SENT_TAGS 65536
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SENT_TAGS);
	__type(key, __u32);
	__type(value, u64);
} python_sent_tags SEC(".maps");

/* A str's characters. */
static __always_inline int read_text(const struct python_layout *layout, u64 address, char *to,
				     struct event_python_text *ret)
{
	/* 64 bits wide: older verifiers lose what they know of halves when these are multiplied. */
	u64 length = 0, data, width, bytes;
	u32 state = 0;

	if (bpf_probe_read_user(&length, 8, (void *)(address + layout->str_length)) ||
	    bpf_probe_read_user(&state, 4, (void *)(address + layout->str_state)))
		return -1;
	state >>= layout->str_shift & 31;
	width = state & 7;
	if (!(state & PYTHON_STR_COMPACT) || (width != 1 && width != 2 && width != 4) ||
	    length > EVENT_PYTHON_TEXT_BYTES)
		return -1;
	data = address + (state & PYTHON_STR_ASCII ? layout->ascii_bytes : layout->compact_bytes);
	bytes = length * width;
	ret->chars = (u16)length;
	ret->width = width;
	if (bytes > EVENT_PYTHON_TEXT_BYTES)
		return -1;
	return bytes && bpf_probe_read_user(to, bytes, (void *)data) ? -1 : 0;
}

static __always_inline int read_lines(const struct python_layout *layout, u64 address,
				      struct event_python_code *event)
{
	u64 size = 0;

	if (bpf_probe_read_user(&size, 8, (void *)(address + layout->bytes_size)) ||
	    size > EVENT_PYTHON_LINES_BYTES)
		return -1;
	event->lines_bytes = (u32)size;
	return size && bpf_probe_read_user(event->lines, (u32)size,
					   (void *)(address + layout->bytes_data))
		       ? -1
		       : 0;
}

static __always_inline int read_code(const struct python_layout *layout, u64 code,
				     struct event_python_code *event)
{
	u32 name =
		layout->code_qualname == PYTHON_ABSENT ? layout->code_name : layout->code_qualname;
	u64 lines = 0;

	if (bpf_probe_read_user(&event->first_line, 4, (void *)(code + layout->code_first_line)) ||
	    bpf_probe_read_user(&event->file_address, 8, (void *)(code + layout->code_filename)) ||
	    bpf_probe_read_user(&event->name_address, 8, (void *)(code + name)) ||
	    bpf_probe_read_user(&lines, 8, (void *)(code + layout->code_lines)))
		return -1;
	if (read_text(layout, event->file_address, event->file, &event->file_text) ||
	    read_text(layout, event->name_address, event->name, &event->name_text))
		return -1;
	return read_lines(layout, lines, event);
}

/* Send what a code object says, if it was not sent before. Whether it was: what cannot be read here the
 * recorder tries to read itself. Not static: verified once, and not in every state that it is called in,
 * for half of the time of loading. */
__noinline int send_new_code(const struct python_layout *layout, u64 code, u32 check, u32 pid)
{
	struct sent_key key = { code, check, pid };
	struct event_python_code *event;
	struct slot *slot;
	int is_sent = 0;
	u8 one = 1;
	u32 size;

	if (!layout || !check)
		return 0;
	if (bpf_map_lookup_elem(&python_sent, &key))
		return 1;
	slot = slot_claim();
	if (!slot)
		return 0;
	event = (struct event_python_code *)slot->words;
	event_begin(&event->header, EVENT_PYTHON_CODE);
	event->code = code;
	event->check = check;
	event->reserved = 0;
	if (read_code(layout, code, event) == 0 && event->lines_bytes <= EVENT_PYTHON_LINES_BYTES) {
		size = offsetof(struct event_python_code, lines) + event->lines_bytes;
		size = (size + 7) & ~7u;
		event->header.size = size;
		is_sent = size <= sizeof(*event) &&
			  bpf_ringbuf_output(&events, event, size, BPF_RB_NO_WAKEUP) == 0 &&
			  bpf_map_update_elem(&python_sent, &key, &one, BPF_ANY) == 0;
	}
	slot_free(slot);
	return is_sent;
}

static __always_inline void send_code(const struct python_layout *layout, u64 code, u32 check,
				      u32 pid)
{
	u64 tag = (code ^ (u64)check << 32 ^ pid) * 0x9e3779b97f4a7c15ull, *known;
	u32 at = tag >> 48;

	known = bpf_map_lookup_elem(&python_sent_tags, &at);
	if (!known || *known == tag)
		return;
	if (send_new_code(layout, code, check, pid))
		*known = tag;
}

struct frames_context {
	struct slot *slot;
	const struct python_layout *layout;
	struct slot_python *state; /* in the slot */
	struct event_stack *stack; /* there, too; kept here as the verifier forgets how far it is */
	u32 first;                 /* byte of the slot's words where the entries begin */
	u32 pid;
};

static __always_inline struct python_entry *entry_at(struct frames_context *c, u32 index)
{
	u32 at = c->first + index * sizeof(struct python_entry);

	if (at > sizeof(c->slot->words) - sizeof(struct python_entry))
		return NULL;
	return (void *)c->slot->words + at;
}

/* What ends a run is seen behind it; a run that has no frames yet, or no more, has an entry too. */
static __always_inline void end_run(struct frames_context *c)
{
	struct python_entry *entry = c->state->count ? entry_at(c, c->state->count - 1) : NULL;

	if (entry && !(entry->code & PYTHON_ENTRY_END)) {
		entry->code |= PYTHON_ENTRY_END;
		return;
	}
	entry = entry_at(c, c->state->count);
	if (!entry)
		return;
	entry->code = PYTHON_ENTRY_END;
	entry->instr = entry->check = 0;
	c->state->count++;
}

static long frame_step(u32 i, struct frames_context *c)
{
	const struct python_access access = { access_read, NULL };
	struct python_entry *to;

	if (c->state->count >= EVENT_PYTHON_FRAMES) {
		c->state->flags |= EVENT_PYTHON_CUT;
		return 1;
	}
	to = entry_at(c, c->state->count);
	if (!to)
		return 1;
	switch (python_frame_step(&access, c->layout, c->state->words, &c->state->frame, to)) {
	case PYTHON_STEP_FOUND:
		c->state->count++;
		send_code(c->layout, to->code & ~(u64)PYTHON_ENTRY_END, to->check, c->pid);
		return 0;
	case PYTHON_STEP_ON:
		end_run(c);
		return 0;
	case PYTHON_STEP_FAILED:
		c->state->flags |= EVENT_PYTHON_CUT;
		return 1;
	default:
		return 1;
	}
}

/* The frames of one thread state, innermost first. */
static __always_inline void walk_state(struct frames_context *c, u64 state, u64 thread_id)
{
	const struct python_access access = { access_read, NULL };
	uint64_t frame = 0;

	if (!state || python_thread_frame(&access, c->layout, state, thread_id, &frame))
		return;
	c->state->frame = frame;
	/* One more than can be kept, to notice. */
	bpf_loop(2 * EVENT_PYTHON_FRAMES, frame_step, c, 0);
}

int __noinline python_append(__u32 number, __u32 at, __u32 size)
{
	struct slot *slot = bpf_map_lookup_elem(&slots, &number);
	struct python_thread *thread;
	struct frames_context c = { 0 };
	const struct python_process *process;
	struct event_header *header;
	u32 pid;

	if (!slot || at > EVENT_MAX_BYTES - sizeof(struct event_stack) ||
	    size > EVENT_MAX_BYTES - sizeof(struct python_entry))
		return size;
	c.stack = (void *)slot->words + at;
	header = (struct event_header *)slot->words;
	pid = header->pid;
	process = bpf_map_lookup_elem(&python_processes, &pid);
	c.layout = process ? bpf_map_lookup_elem(&python_layouts, &process->layout) : NULL;
	if (!c.layout)
		return size;
	thread = &slot->python.thread;
	find_thread(&slot->python, c.layout, process->runtime, header->time_ns);
	c.slot = slot;
	c.state = &slot->python;
	c.first = size;
	c.pid = pid;
	c.state->count = 0;
	c.state->flags = EVENT_PYTHON_KNOWN;
	/* A page that is being copied after a fork, say. */
	if (thread->is_unreadable)
		c.state->flags |= EVENT_PYTHON_CUT;
	walk_state(&c, thread->state[0], thread->thread_id);
	walk_state(&c, thread->state[1], thread->thread_id);
	u32 count = c.state->count;
	c.stack->python_count = count;
	c.stack->python_flags = c.state->flags;
	return count > EVENT_PYTHON_FRAMES ? size : size + count * sizeof(struct python_entry);
}
