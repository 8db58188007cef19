/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks the stacks of a running program by our tables and by libunwind-ptrace, and compares frame by
 * frame. Then a copy of each stack, whole, and as if nothing were known of its innermost frame. The
 * program is stopped at random moments, one thread at a time.
 *
 *	compare [-n STACKS] [-r PERCENT] [-w MILLISECONDS] -- COMMAND...
 *
 * A difference is explained, counted and printed apart, where libunwind is known to be the one that
 * cannot: see explain(). Exit status 1 when any is not, or when a stack does not reach the root and
 * was not expected to (-r sets how many of those that can have to, see why_not()); -w lets the
 * program run first.
 */
#include "space.h"

#include "unwind/copy.h"

#include <errno.h>
#include <inttypes.h>
#include <libunwind-ptrace.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#define FRAMES_MAX 1024

struct target {
	pid_t pid;
	VEC(pid_t) threads;
	struct live_space space;
	unw_addr_space_t unw;
	bool exited;
};

struct stack {
	uint64_t ips[FRAMES_MAX];
	size_t count;
	enum unwind_result end; /* ours */
	int unw_end;            /* libunwind's */
};

struct totals {
	unsigned stacks, equal, rooted, unwalkable, explained, different;
	uint64_t frames;
	unsigned end[UNWIND_STUCK + 1];
	double ours_ms, theirs_ms, copy_ms;
	unsigned copies, copies_same, scans, scans_same, odd;
	struct reason {
		const char *why;
		unsigned count;
	} reasons[5];
};

static void explained_count(struct totals *totals, const char *why)
{
	struct reason *r = totals->reasons;

	while (r->why && r->why != why)
		r++;
	r->why = why;
	r->count++;
}

static double now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int read_word(void *data, uint64_t address, uint64_t *ret)
{
	const struct target *t = data;
	struct iovec local = { ret, 8 }, remote = { (void *)(uintptr_t)address, 8 };
	return process_vm_readv(t->pid, &local, 1, &remote, 1, 0) == 8 ? 0 : -1;
}

static int read_reg(void *data, uint32_t reg, uint64_t *ret)
{
	const struct user_regs_struct *r = data;
	const unsigned long long by_number[] = { r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi,
						 r->rbp, r->rsp, r->r8,  r->r9,  r->r10, r->r11,
						 r->r12, r->r13, r->r14, r->r15, r->rip };
	*ret = by_number[reg];
	return 0;
}

struct live {
	struct target *target;
	struct user_regs_struct regs;
};

static int live_read(void *data, uint64_t address, uint64_t *ret)
{
	return read_word(((struct live *)data)->target, address, ret);
}

static int live_reg(void *data, uint32_t reg, uint64_t *ret)
{
	return read_reg(&((struct live *)data)->regs, reg, ret);
}

static void walk_ours(struct live *live, struct stack *ret)
{
	const struct unwind_access access = { live_read, live_reg, live, NULL };
	struct unwind_state state = {
		.pc = live->regs.rip,
		.sp = live->regs.rsp,
		.fp = live->regs.rbp,
		.has_fp = 1,
		.is_leaf = 1,
	};

	ret->end = UNWIND_OK;
	for (ret->count = 0; ret->count < FRAMES_MAX && ret->end == UNWIND_OK;) {
		ret->ips[ret->count++] = state.pc;
		ret->end = unwind_space_step(&live->target->space.space, &access, &state);
	}
}

static int fast_mem(unw_addr_space_t as, unw_word_t address, unw_word_t *value, int write,
		    void *arg)
{
	pid_t pid = *(pid_t *)arg; /* struct UPT_info begins with it */
	struct iovec local = { value, 8 }, remote = { (void *)(uintptr_t)address, 8 };

	if (!write && process_vm_readv(pid, &local, 1, &remote, 1, 0) == 8)
		return 0;
	return _UPT_access_mem(as, address, value, write, arg);
}

static int walk_theirs(struct target *t, pid_t tid, struct stack *ret)
{
	void *upt = _UPT_create(tid);
	unw_cursor_t cursor;

	ret->count = 0;
	if (!upt || unw_init_remote(&cursor, t->unw, upt) < 0) {
		if (upt)
			_UPT_destroy(upt);
		return -1;
	}
	do {
		unw_word_t ip = 0;
		unw_get_reg(&cursor, UNW_REG_IP, &ip);
		if (!ip)
			break;
		ret->ips[ret->count++] = ip;
	} while (ret->count < FRAMES_MAX && (ret->unw_end = unw_step(&cursor)) > 0);
	_UPT_destroy(upt);
	return 0;
}

/* Why libunwind goes another way after the first @n frames, or NULL. */
static const char *explain(const struct target *t, pid_t tid, const struct stack *ours,
			   const struct stack *theirs, size_t n)
{
	unw_proc_info_t info;
	void *upt = _UPT_create(tid);
	int found = 0;

	/* It does not see the vDSO, which is in no file; and where there is no unwind information,
	 * as in glibc's clone3 behind the system call, it looks for what might be a frame pointer. A
	 * stack pointer guessed there shows a frame later. */
	for (size_t i = 0; upt && i < n && found == 0; i++)
		found = unw_get_proc_info_by_ip(t->unw, ours->ips[i] - (i > 0), &info, upt);
	if (upt)
		_UPT_destroy(upt);
	if (found < 0)
		return "libunwind finds no unwind information for the frame";
	/* It does not know an undefined return address for the end. */
	if (ours->end == UNWIND_ROOT && n == ours->count && theirs->count > n)
		return "libunwind goes on behind the outermost frame";
	return NULL;
}

/* Does the function at @pc end in __builtin_eh_return()? Then the return address is in a register there. */
static bool has_eh_return(const struct target *t, uint64_t pc)
{
	const struct unwind_mapping *mapping = unwind_space_find(&t->space.space, pc);
	const struct unwind_object *object = unwind_space_object(&t->space.space, mapping);
	void *upt = _UPT_create(t->pid);
	unw_proc_info_t info = { 0 };
	bool found = false;

	if (object && upt && unw_get_proc_info_by_ip(t->unw, pc, &info, upt) == 0) {
		uint64_t start = unwind_object_address(object, mapping, info.start_ip);
		for (uint64_t at = start; !found && at < start + (info.end_ip - info.start_ip);
		     at++) {
			const struct unwind_row *row = unwind_table_find(object->table, at);
			found = row && unwind_row_cfa(row) == UNWIND_CFA_RA_REG;
		}
	}
	if (upt)
		_UPT_destroy(upt);
	return found;
}

/*
 * A stack that nobody can walk: libgcc's uw_install_context_1() copies the registers of the handler of
 * an exception over those that the innermost function with __builtin_eh_return() has saved, the return
 * address with them, while it or that function still runs. Until the jump there they are of two frames.
 */
static bool is_installing(const struct target *t, const struct stack *s)
{
	for (size_t i = 0; i < 2 && i < s->count; i++) {
		if (has_eh_return(t, s->ips[i] - (i > 0)))
			return true;
	}
	return false;
}

/* Why nobody can walk a stack to its root, or NULL. */
static const char *why_not(const struct target *t, const struct stack *s)
{
	if (s->end == UNWIND_ROOT)
		return NULL;
	if (is_installing(t, s))
		return "libgcc was installing a handler's context";
	if (s->end == UNWIND_NO_ROW &&
	    live_space_is_anonymous(&t->space, s->ips[s->count - 1] - (s->count > 1)))
		return "code made at run time has no unwind information";
	return NULL;
}

static void print_stack(const struct target *t, const char *title, const struct stack *s)
{
	char name[256];

	printf("  %s: %zu frames, end %d %d\n", title, s->count, s->end, s->unw_end);
	for (size_t i = 0; i < s->count && i < 60; i++)
		printf("    %2zu %#" PRIx64 " %s\n", i, s->ips[i],
		       live_space_name(&t->space, s->ips[i], name));
}

#define COPY_BYTES (256u << 10)
/* What is hidden around the innermost frame's program counter. */
#define HIDDEN_BYTES 12u

/* Callers from a copy against the stack; interrupted frames are one more there. */
static bool is_same(const uint64_t *ips, const struct stack *ours, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (ips[i] - ours->ips[i + 1] > 1)
			return false;
	}
	return true;
}

/* Again, as if there were no unwind information for the code around the program counter: the
 * caller has to be found on the stack. */
static void walk_hidden(const struct unwind_space *known, const struct unwind_copy *copy,
			const struct stack *ours, struct totals *totals)
{
	static struct unwind_mapping mappings[4096];
	static uint64_t ips[FRAMES_MAX];
	struct unwind_space space = *known;
	const struct unwind_mapping *leaf = unwind_space_find(known, ours->ips[0]);
	struct unwind_walked walked;
	size_t count = 0;

	if (!leaf || known->mapping_count + 2 > ARRAY_SIZE(mappings))
		return;
	for (size_t i = 0; i < known->mapping_count; i++) {
		const struct unwind_mapping *m = &known->mappings[i];
		mappings[count++] = *m;
		if (m != leaf)
			continue;
		uint64_t from = ours->ips[0] - HIDDEN_BYTES, to = ours->ips[0] + HIDDEN_BYTES;
		from = from < m->start ? m->start : from;
		to = to > m->end ? m->end : to;
		mappings[count - 1].end = from;
		mappings[count++] = (struct unwind_mapping){ .start = from, .end = to };
		mappings[count] = *m;
		mappings[count++].start = to;
	}
	space.mappings = mappings;
	space.mapping_count = count;
	const struct unwind_copy_walk walk = { ips, FRAMES_MAX - 1, NULL, NULL };
	unwind_copy_walk(&space, copy, &walk, &walked);
	totals->scans++;
	totals->scans_same += walked.end == UNWIND_ROOT && walked.count == ours->count - 1 &&
			      is_same(ips, ours, walked.count);
}

/* @ours, got from the memory of the process, again from a copy of its stack. What tables alone cannot
 * say goes on with it. */
static void walk_copy(struct live *live, struct stack *ours, struct totals *totals)
{
	static uint8_t bytes[COPY_BYTES];
	static uint64_t ips[FRAMES_MAX];
	uint64_t regs[UNWIND_REG_COUNT], at = live->regs.rsp & ~(uint64_t)4095;
	struct unwind_space space = live->target->space.space;
	struct unwind_walked walked;
	size_t size = 0;

	for (uint32_t i = 0; i < UNWIND_REG_COUNT; i++)
		read_reg(&live->regs, i, &regs[i]);
	for (; size < COPY_BYTES; size += 4096) {
		struct iovec local = { bytes + size, 4096 };
		struct iovec remote = { (void *)(uintptr_t)(at + size), 4096 };
		if (process_vm_readv(live->target->pid, &local, 1, &remote, 1, 0) != 4096)
			break;
	}
	struct unwind_copy copy = {
		.state = { .pc = regs[16],
			   .sp = regs[7],
			   .fp = regs[6],
			   .has_fp = 1,
			   .is_leaf = 1 },
		.regs = regs,
		.stack_address = at,
		.stack = span_of(bytes, size),
	};
	double start = now_ms();
	const struct unwind_copy_walk walk = { ips, FRAMES_MAX - 1, unwind_libunwind_walk, NULL };
	unwind_copy_walk(&space, &copy, &walk, &walked);
	totals->copy_ms += now_ms() - start;
	totals->copies++;
	totals->odd += walked.used_libunwind;
	if (walked.end == UNWIND_UNREADABLE) /* on two stacks: the copy is of one */
		totals->copies--;
	else
		totals->copies_same +=
			walked.count + 1 >= ours->count && is_same(ips, ours, ours->count - 1) &&
			(walked.end == ours->end || walked.used_libunwind || walked.used_scan);
	if (ours->end == UNWIND_UNSUPPORTED && walked.used_libunwind) {
		ours->end = walked.end;
		ours->count = walked.count + 1;
		memcpy(ours->ips + 1, ips, walked.count * sizeof(*ips));
	}
	if (ours->end == UNWIND_ROOT && ours->count > 1)
		walk_hidden(&space, &copy, ours, totals);
}

static void compare(struct target *t, pid_t tid, struct totals *totals)
{
	static struct stack ours, theirs;
	struct live live = { .target = t };
	struct iovec iov = { &live.regs, sizeof(live.regs) };
	size_t n = 0;

	if (ptrace(PTRACE_GETREGSET, tid, 1 /* NT_PRSTATUS */, &iov) < 0)
		return;
	int changed = live_space_update(&t->space, t->pid);
	if (changed < 0)
		return;
	if (changed)
		unw_flush_cache(t->unw, 0, 0);
	memset(&ours, 0, sizeof(ours));
	memset(&theirs, 0, sizeof(theirs));
	double start = now_ms();
	walk_ours(&live, &ours);
	double middle = now_ms();
	if (walk_theirs(t, tid, &theirs) < 0)
		return;
	totals->theirs_ms += now_ms() - middle;
	totals->ours_ms += middle - start;
	totals->stacks++;
	totals->frames += ours.count;
	totals->end[ours.end]++;
	walk_copy(&live, &ours, totals);
	totals->rooted += ours.end == UNWIND_ROOT;
	const char *why = why_not(t, &ours);
	if (why) {
		totals->unwalkable++;
		explained_count(totals, why);
	}
	if (ours.end != UNWIND_ROOT && !why && totals->end[ours.end] <= 2)
		print_stack(t, "not rooted", &ours);
	while (n < ours.count && n < theirs.count && ours.ips[n] == theirs.ips[n])
		n++;
	if (n == ours.count && n == theirs.count) {
		totals->equal++;
		return;
	}
	why = explain(t, tid, &ours, &theirs, n);
	if (why) {
		totals->explained++;
		explained_count(totals, why);
		return;
	}
	if (totals->different++ < 3) {
		printf("different after %zu frames:\n", n);
		print_stack(t, "ours", &ours);
		print_stack(t, "libunwind", &theirs);
	}
}

static void forget(struct target *t, pid_t tid)
{
	for (size_t i = 0; i < t->threads.len; i++) {
		if (t->threads.data[i] != tid)
			continue;
		t->threads.data[i] = t->threads.data[--t->threads.len];
		break;
	}
	t->exited = !t->threads.len;
}

/* What happened to a thread; lets it go on. */
static void on_status(struct target *t, pid_t tid, int status)
{
	int signal = 0;

	if (WIFEXITED(status) || WIFSIGNALED(status)) {
		forget(t, tid);
		return;
	}
	if (!WIFSTOPPED(status))
		return;
	if (status >> 16 == 0) /* stopped by a signal that it has to get */
		signal = WSTOPSIG(status);
	bool known = false;
	vec_for_each(&t->threads, it)
		known |= *it == tid;
	if (!known && vec_push(&t->threads, tid) < 0)
		abort();
	ptrace(PTRACE_CONT, tid, NULL, (void *)(intptr_t)signal);
}

static void pump(struct target *t)
{
	int status;
	pid_t tid;

	while ((tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0)
		on_status(t, tid, status);
	if (tid < 0 && errno == ECHILD)
		t->exited = true;
}

static void sample(struct target *t, struct totals *totals)
{
	pid_t tid = t->threads.data[(size_t)rand() % t->threads.len];
	int status;

	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0 || waitpid(tid, &status, __WALL) != tid)
		return;
	if (WIFSTOPPED(status))
		compare(t, tid, totals);
	on_status(t, tid, status);
}

static int start(struct target *t, char **command)
{
	int status;

	t->pid = fork();
	if (t->pid < 0)
		return -1;
	if (!t->pid) {
		raise(SIGSTOP);
		execvp(command[0], command);
		_exit(127);
	}
	waitpid(t->pid, &status, WUNTRACED);
	if (ptrace(PTRACE_SEIZE, t->pid, NULL,
		   (void *)(intptr_t)(PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC |
				      PTRACE_O_EXITKILL)) < 0)
		return -1;
	if (vec_push(&t->threads, t->pid) < 0)
		return -1;
	kill(t->pid, SIGCONT);
	return 0;
}

int main(int argc, char **argv)
{
	static unw_accessors_t accessors;
	struct target t = { 0 };
	struct totals totals = { 0 };
	unsigned wanted = 2000, warm_ms = 0;
	double rooted = 99.9;
	int opt;

	while ((opt = getopt(argc, argv, "+n:r:w:")) != -1) {
		if (opt == 'n')
			wanted = (unsigned)strtoul(optarg, NULL, 10);
		else if (opt == 'r')
			rooted = strtod(optarg, NULL);
		else if (opt == 'w')
			warm_ms = (unsigned)strtoul(optarg, NULL, 10);
		else
			return 2;
	}
	srand(1);
	accessors = _UPT_accessors;
	accessors.access_mem = fast_mem;
	t.unw = unw_create_addr_space(&accessors, 0);
	unw_set_caching_policy(t.unw, UNW_CACHE_GLOBAL);
	if (optind == argc || start(&t, argv + optind) < 0) {
		perror("compare");
		return 2;
	}
	for (double begin = now_ms(); now_ms() - begin < warm_ms && !t.exited;) {
		const struct timespec pause = { 0, 1000000 };
		nanosleep(&pause, NULL);
		pump(&t);
	}
	while (totals.stacks < wanted && !t.exited) {
		struct timespec pause = { 0, rand() % 1000000 };
		nanosleep(&pause, NULL);
		pump(&t);
		if (!t.exited)
			sample(&t, &totals);
	}
	if (!t.exited)
		kill(t.pid, SIGKILL);
	unsigned can = totals.stacks - totals.unwalkable;
	printf("%u stacks, %" PRIu64
	       " frames: %u equal, %u explained, %u different; %u of %u rooted "
	       "(%.2f %%); ours %.1f us a frame, libunwind %.1f\n",
	       totals.stacks, totals.frames, totals.equal, totals.explained, totals.different,
	       totals.rooted, can, 100.0 * totals.rooted / (can ? can : 1),
	       totals.ours_ms * 1e3 / (double)(totals.frames ? totals.frames : 1),
	       totals.theirs_ms * 1e3 / (double)(totals.frames ? totals.frames : 1));
	printf("copies: %u of %u the same, %u with libunwind, %.1f us each; with the innermost frame "
	       "hidden: %u of %u the same\n",
	       totals.copies_same, totals.copies, totals.odd,
	       totals.copy_ms * 1e3 / (totals.copies ? totals.copies : 1), totals.scans_same,
	       totals.scans);
	printf("ends: root %u, no row %u, unsupported %u, unreadable %u, stuck %u\n",
	       totals.end[UNWIND_ROOT], totals.end[UNWIND_NO_ROW], totals.end[UNWIND_UNSUPPORTED],
	       totals.end[UNWIND_UNREADABLE], totals.end[UNWIND_STUCK]);
	for (struct reason *r = totals.reasons; r->why; r++)
		printf("explained: %u x %s\n", r->count, r->why);
	live_space_release(&t.space);
	unw_destroy_addr_space(t.unw);
	if (!totals.stacks)
		return 2;
	return totals.different || 100.0 * totals.rooted < rooted * can;
}
