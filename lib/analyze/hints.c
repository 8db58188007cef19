/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules. To add one: a function that writes its sentence and returns the time that could be
 * gained at most, 0 when it has nothing to say; a row in the table; in test/analyze/hints_test.c a
 * case where it speaks and one where it must not.
 */
#include "analyze/hints.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Less of the window than this is not worth a line. */
#define WORTH_PERCENT 5

static bool is_part(uint64_t part, uint64_t whole, unsigned percent)
{
	return whole && (double)part * 100 >= (double)whole * percent;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void add_time(struct strbuf *out, uint64_t ns)
{
	static const struct {
		uint64_t ns;
		const char *unit;
	} units[] = { { 1000000000, "s" }, { 1000000, "ms" }, { 1000, "us" }, { 1, "ns" } };
	size_t i = 0;
	while (i < 3 && ns < units[i].ns)
		i++;
	double value = (double)ns / (double)units[i].ns;
	strbuf_printf(out, "%.*f %s",
		      i == 3 || value >= 100 ? 0
		      : value >= 10          ? 1
					     : 2,
		      value, units[i].unit);
}

/* "1,234,567", as everywhere else in a report. */
static const char *count_text(uint64_t number, char ret[32])
{
	char digits[24];
	size_t size = (size_t)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);
	char *out = ret;
	for (size_t i = 0; i < size; i++) {
		if (i && (size - i) % 3 == 0)
			*out++ = ',';
		*out++ = digits[i];
	}
	*out = '\0';
	return ret;
}

#define COUNT(number) count_text(number, (char[32]){ 0 })

static const char *device_word(const struct hint_facts *f)
{
	return strcmp(f->runtime, "opencl") ? "GPU" : "device";
}

static void add_where(struct strbuf *out, const char *word, const struct hint_part *p)
{
	if (*p->where)
		strbuf_printf(out, " %s %s", word, p->where);
}

/* Device time as a share of the window: pieces that ran at once count once. */
static uint64_t in_window(const struct hint_facts *f, uint64_t device_ns)
{
	if (f->device_ns <= f->busy_ns)
		return device_ns < f->busy_ns ? device_ns : f->busy_ns;
	return (uint64_t)((double)device_ns * (double)f->busy_ns / (double)f->device_ns);
}

/* ---- the host is too slow ---- */

/* Work shorter than this takes no longer than launching it does. */
#define TINY_NS 25000
/* Fewer launches are no pattern. */
#define MANY_OPS 20

/* Gaps that launching alone explains: a launch call under a profiler takes up to so long; a
 * framework's way to one, or a queue that is slow to hand over what it holds; */
#define LAUNCH_GAP_NS 50000
#define QUEUE_GAP_NS  200000
#define OP_GAP_NS     1000000

static bool is_launching_bound(const struct hint_facts *f)
{
	bool is_host = f->verdict == VERDICT_HOST || f->verdict == VERDICT_LAUNCH;
	if (!f->is_idle_known || !is_host || f->ops < MANY_OPS ||
	    f->device_ns / f->ops >= TINY_NS || f->replayed * 2 >= f->ops)
		return false;
	uint64_t gap_ns = (f->window_ns - f->busy_ns) / f->ops;
	uint64_t most_ns = f->launched_idle * 2 > f->ops  ? OP_GAP_NS
			   : f->verdict == VERDICT_LAUNCH ? QUEUE_GAP_NS
							  : LAUNCH_GAP_NS;
	return gap_ns < most_ns &&
	       is_part(f->late_ns + f->flight_ns + f->sync_ns, f->window_ns, 50);
}

static uint64_t say_graph(const struct hint_facts *f, struct strbuf *out)
{
	if (!is_launching_bound(f))
		return 0;
	bool is_cuda = !strcmp(f->runtime, "cuda"), is_hip = !strcmp(f->runtime, "hip");
	if (is_cuda || is_hip)
		strbuf_printf(out, "%s graph", is_cuda ? "CUDA" : "HIP");
	else
		strbuf_puts(out, "Fewer, larger launches");
	if (f->has_torch)
		strbuf_puts(out, " or torch.compile(mode=\"reduce-overhead\")");
	strbuf_printf(out, ": %s ops of ", COUNT(f->ops));
	add_time(out, f->device_ns / f->ops);
	strbuf_puts(out, " each");
	if (f->launched_idle * 2 > f->ops)
		strbuf_printf(out, ", %.0f %% of them launched on an idle %s",
			      percent(f->launched_idle, f->ops), device_word(f));
	strbuf_putc(out, '.');
	if ((is_cuda || is_hip) && f->sync.count && f->is_sync_pure) {
		strbuf_printf(out, " Blocker: %s", f->sync.text);
		add_where(out, "in", &f->sync);
		strbuf_putc(out, '.');
	}
	return f->window_ns - f->busy_ns;
}

static uint64_t say_sync(const struct hint_facts *f, struct strbuf *out)
{
	/* Without waiting, host and device would work at the same time: no more than either does. */
	uint64_t gain = f->sync.ns < f->busy_ns ? f->sync.ns : f->busy_ns;
	if (!f->is_idle_known || f->sync.count < 3 || is_launching_bound(f) ||
	    !is_part(gain, f->window_ns, WORTH_PERCENT))
		return 0;
	strbuf_printf(out, "Wait less often: %s", f->sync.text);
	add_where(out, "in", &f->sync);
	strbuf_printf(out, ", %s times, leaves the %s idle for ", COUNT(f->sync.count),
		      device_word(f));
	add_time(out, f->sync.ns);
	strbuf_printf(out, " (%.1f %%).", percent(f->sync.ns, f->window_ns));
	return gain;
}

static uint64_t say_function(const struct hint_facts *f, struct strbuf *out)
{
	const struct hint_part *p = &f->function;
	bool is_all = p->ns >= f->busy_ns - f->busy_ns / 20;
	if (!f->is_idle_known || !is_part(p->ns, f->window_ns, WORTH_PERCENT) ||
	    (!is_all && !is_part(p->ns, f->window_ns, 25)))
		return 0;
	strbuf_puts(out, p->text);
	add_where(out, "in", p);
	strbuf_puts(out, ": ");
	add_time(out, p->ns);
	if (is_all) {
		strbuf_printf(out, " of host time, %s all %s work (",
			      p->ns > f->busy_ns + f->busy_ns / 20 ? "more than" : "as much as",
			      device_word(f));
		add_time(out, f->busy_ns);
		strbuf_puts(out, ").");
	} else {
		strbuf_printf(out, " of host time while the %s is idle (%.1f %%).", device_word(f),
			      percent(p->ns, f->window_ns));
	}
	return p->ns;
}

static uint64_t say_loader(const struct hint_facts *f, struct strbuf *out)
{
	if (!f->is_idle_known || !is_part(f->loader.ns, f->window_ns, 10))
		return 0;
	strbuf_printf(out, "Load input ahead (num_workers, prefetch_factor): the %s waits ",
		      device_word(f));
	add_time(out, f->loader.ns);
	strbuf_printf(out, " (%.1f %%) for %s.", percent(f->loader.ns, f->window_ns),
		      f->loader.text);
	return f->loader.ns;
}

static uint64_t say_compile(const struct hint_facts *f, struct strbuf *out)
{
	const struct hint_part *p = &f->compile;
	if (p->count < 3 || !is_part(p->ns, f->window_ns, WORTH_PERCENT))
		return 0;
	strbuf_puts(out, p->text);
	add_where(out, "in", p);
	strbuf_puts(out, " again and again: ");
	add_time(out, p->ns);
	strbuf_printf(out, " (%.1f %%) at %s moments between launches",
		      percent(p->ns, f->window_ns), COUNT(p->count));
	if (f->has_torch)
		strbuf_puts(out, "; TORCH_LOGS=recompiles says why, dynamic=True may help");
	strbuf_putc(out, '.');
	return p->ns;
}

static uint64_t say_allocate(const struct hint_facts *f, struct strbuf *out)
{
	const struct hint_part *p = &f->allocate;
	if (p->count < 3 || !is_part(p->ns, f->window_ns, WORTH_PERCENT))
		return 0;
	strbuf_printf(out, "Keep memory: %s", p->text);
	add_where(out, "in", p);
	strbuf_puts(out, " takes ");
	add_time(out, p->ns);
	strbuf_printf(out, " (%.1f %%) while the %s is idle.", percent(p->ns, f->window_ns),
		      device_word(f));
	return p->ns;
}

static uint64_t say_lock(const struct hint_facts *f, struct strbuf *out)
{
	const struct hint_part *p = &f->lock;
	uint64_t ns = p->ns < f->window_ns - f->busy_ns ? p->ns : f->window_ns - f->busy_ns;
	if (!f->is_idle_known || !is_part(ns, f->window_ns, 10))
		return 0;
	strbuf_printf(out, "Lock contention: the launching thread waits ");
	add_time(out, ns);
	strbuf_printf(out, " (%.1f %%) in %s", percent(ns, f->window_ns), p->text);
	add_where(out, "of", p);
	strbuf_putc(out, '.');
	return ns;
}

/* ---- the device's work ---- */

static uint64_t say_pageable(const struct hint_facts *f, struct strbuf *out)
{
	const struct hint_part *p = &f->pageable;
	uint64_t ns = in_window(f, p->ns);
	if (p->count < 2 || !is_part(ns, f->window_ns, WORTH_PERCENT))
		return 0;
	strbuf_printf(out, "Pin host memory%s: %s copies of pageable memory take ",
		      f->has_torch ? " (pin_memory=True, non_blocking=True)" : "", COUNT(p->count));
	add_time(out, p->ns);
	strbuf_printf(out, " (%.1f %%)", percent(ns, f->window_ns));
	add_where(out, "in", p);
	strbuf_putc(out, '.');
	return ns;
}

static uint64_t say_serial(const struct hint_facts *f, struct strbuf *out)
{
	const struct hint_part *p = &f->serial;
	if (p->count < MANY_OPS || !is_part(p->ns, f->window_ns, 10))
		return 0;
	strbuf_printf(out,
		      "Streams take turns: %s kernels that do not fill the %s waited for another "
		      "stream's, ",
		      COUNT(p->count), device_word(f));
	add_time(out, p->ns);
	strbuf_printf(out, " in all (%.1f %%); look for work on the default stream.",
		      percent(p->ns, f->window_ns));
	return p->ns;
}

/* Of all device time, in percent: of two that are alike, neither does. */
#define KERNEL_DOMINATES 60

static uint64_t say_kernel(const struct hint_facts *f, struct strbuf *out)
{
	const struct hint_part *p = &f->kernel;
	if (f->verdict != VERDICT_KERNEL || !is_part(p->ns, f->device_ns, KERNEL_DOMINATES))
		return 0;
	strbuf_printf(out, "One kernel dominates: %s takes ", p->text);
	add_time(out, p->ns);
	strbuf_printf(out, ", %.1f %% of all device time", percent(p->ns, f->device_ns));
	add_where(out, "for", p);
	strbuf_putc(out, '.');
	return in_window(f, p->ns);
}

static uint64_t say_fp32(const struct hint_facts *f, struct strbuf *out)
{
	const struct hint_part *p = &f->gemm_fp32;
	if (!f->has_tensor_cores || !is_part(p->ns, f->device_ns, 10) ||
	    !is_part(in_window(f, p->ns), f->window_ns, WORTH_PERCENT))
		return 0;
	strbuf_printf(out, "fp32 off the %s: %s matrix products, ",
		      strncmp(f->arch, "gfx", 3) ? "tensor cores" : "matrix cores",
		      COUNT(p->count));
	add_time(out, p->ns);
	strbuf_printf(out, " (%.1f %% of device time); use ", percent(p->ns, f->device_ns));
	if (f->has_tf32 && f->has_torch)
		strbuf_puts(out, "torch.set_float32_matmul_precision(\"high\") or bf16.");
	else
		strbuf_puts(out, f->has_tf32 ? "TF32 or bf16." : "fp16.");
	return in_window(f, p->ns);
}

static uint64_t say_old_gemm(const struct hint_facts *f, struct strbuf *out)
{
	const struct hint_part *p = &f->gemm_old;
	if (!*f->arch || !is_part(p->ns, f->device_ns, 20) || !is_part(p->ns, f->gemm.ns, 50))
		return 0;
	strbuf_printf(out, "%s of %s GEMM launches (", COUNT(p->count), COUNT(f->gemm.count));
	add_time(out, p->ns);
	strbuf_puts(out, " of ");
	add_time(out, f->gemm.ns);
	strbuf_printf(out, ") are %s kernels on %s.", p->text, f->arch);
	return in_window(f, p->ns);
}

static uint64_t say_memory(const struct hint_facts *f, struct strbuf *out)
{
	const struct hint_part *p = &f->memory;
	if (!is_part(p->ns, f->device_ns, 30) || !is_part(in_window(f, p->ns), f->window_ns, 10))
		return 0;
	strbuf_printf(out, "Memory-bound: %s", p->text);
	add_where(out, "for", p);
	if (p->count > 1)
		strbuf_printf(out, " and %llu more kernels", (unsigned long long)p->count - 1);
	strbuf_puts(out, p->count > 1 ? " take " : " takes ");
	add_time(out, p->ns);
	strbuf_printf(out, " (%.1f %% of device time) at %.0f %% of the memory's speed; fuse%s",
		      percent(p->ns, f->device_ns), percent(f->memory_roof_ns, p->ns),
		      f->has_torch ? " (torch.compile)" : " kernels");
	strbuf_puts(out, " or move fewer bytes.");
	return in_window(f, p->ns);
}

static uint64_t say_small(const struct hint_facts *f, struct strbuf *out)
{
	const struct hint_part *p = &f->small;
	if (!f->units || !p->count || p->count * 4 > f->units || !is_part(p->ns, f->device_ns, 10))
		return 0;
	strbuf_printf(out, "%s fills at most %llu of %u %s for ", p->text,
		      (unsigned long long)p->count, f->units,
		      strncmp(f->arch, "gfx", 3) ? "SMs" : "CUs");
	add_time(out, p->ns);
	strbuf_putc(out, '.');
	return in_window(f, p->ns);
}

static uint64_t say_rank(const struct hint_facts *f, struct strbuf *out)
{
	const struct hint_part *p = &f->slow_rank;
	if (p->count < 3 || !is_part(p->ns, f->window_ns, WORTH_PERCENT))
		return 0;
	strbuf_printf(out, "%s is last at %s collectives; the others wait ", p->text,
		      COUNT(p->count));
	add_time(out, p->ns);
	strbuf_printf(out, " for it (%.1f %%).", percent(p->ns, f->window_ns));
	return p->ns;
}

/* ---- no device ---- */

static uint64_t say_fp64(const struct hint_facts *f, struct strbuf *out)
{
	const struct hint_part *p = &f->fp64;
	if (!is_part(p->ns, f->cpu_ns, 10))
		return 0;
	strbuf_printf(out, "Double precision: %s takes ", p->text);
	add_time(out, p->ns);
	strbuf_printf(out, " (%.1f %%)", percent(p->ns, f->cpu_ns));
	add_where(out, "in", p);
	strbuf_puts(out, "; float32 takes half.");
	return p->ns / 2;
}

static uint64_t say_spin(const struct hint_facts *f, struct strbuf *out)
{
	if (!is_part(f->spin_ns, f->cpu_ns, 10))
		return 0;
	strbuf_puts(out, "Fewer threads (OMP_NUM_THREADS): ");
	add_time(out, f->spin_ns);
	strbuf_printf(out, " (%.1f %%) of CPU time goes into waiting for each other.",
		      percent(f->spin_ns, f->cpu_ns));
	return f->spin_ns;
}

static uint64_t say_gil(const struct hint_facts *f, struct strbuf *out)
{
	if (!is_part(f->gil.ns, f->elapsed_ns, 10))
		return 0;
	strbuf_puts(out, "Python's GIL: threads wait ");
	add_time(out, f->gil.ns);
	strbuf_puts(out, " of ");
	add_time(out, f->elapsed_ns);
	strbuf_puts(out, " for it");
	if (*f->gil.where)
		strbuf_printf(out, ", most in %s", f->gil.where);
	strbuf_puts(out, "; let other processes run what other threads do in Python.");
	return f->gil.ns;
}

static uint64_t say_waits(const struct hint_facts *f, struct strbuf *out)
{
	if (!f->cpu_ns || f->has_waits || f->cpu_ns >= f->elapsed_ns / 2)
		return 0;
	strbuf_puts(out, "On a CPU for ");
	add_time(out, f->cpu_ns);
	strbuf_puts(out, " of ");
	add_time(out, f->elapsed_ns);
	strbuf_puts(out, " only: 'record --off-cpu' shows what it waits for.");
	return f->elapsed_ns - f->cpu_ns;
}

static const struct rule {
	const char *name;
	uint64_t (*say)(const struct hint_facts *f, struct strbuf *out);
	bool is_of_kernels; /* of little use while the host is what limits */
} rules[] = {
	{ "graph", say_graph, false },       { "sync", say_sync, false },
	{ "function", say_function, false }, { "loader", say_loader, false },
	{ "compile", say_compile, false },   { "allocate", say_allocate, false },
	{ "lock", say_lock, false },         { "rank", say_rank, false },
	{ "pageable", say_pageable, false }, { "serial", say_serial, false },
	{ "kernel", say_kernel, true },      { "fp32", say_fp32, true },
	{ "old-gemm", say_old_gemm, true },  { "small", say_small, true },
	{ "memory", say_memory, true },      { "fp64", say_fp64, false },
	{ "spin", say_spin, false },         { "gil", say_gil, false },
	{ "waits", say_waits, false },
};

const char *hints_rule(size_t i)
{
	return i < ARRAY_SIZE(rules) ? rules[i].name : NULL;
}

void hints_release(struct hints *h)
{
	for (size_t i = 0; i < h->count; i++)
		free(h->list[i].text);
	h->count = 0;
}

struct said {
	const struct rule *rule;
	uint64_t gain_ns;
	struct strbuf text;
	bool is_later;
};

static int compare_said(const void *va, const void *vb)
{
	const struct said *a = va, *b = vb;
	if (a->is_later != b->is_later)
		return a->is_later ? 1 : -1;
	if (a->gain_ns != b->gain_ns)
		return a->gain_ns > b->gain_ns ? -1 : 1;
	return a->rule < b->rule ? -1 : a->rule > b->rule;
}

/* What can only help once the host is faster shares one line. */
static int hints_add(const struct hint_facts *f, struct hints *ret, const struct said *s)
{
	struct hint *last = ret->count ? &ret->list[ret->count - 1] : NULL;
	bool is_joined = s->is_later && last && !strncmp(last->text, "Later: ", 7);
	if (!is_joined && ret->count == HINTS_MAX)
		return 0;
	char *text;
	if (asprintf(&text, "%s%s%s",
		     is_joined     ? last->text
		     : s->is_later ? "Later: "
				   : "",
		     is_joined ? " " : "", strbuf_text(&s->text)) < 0)
		return -ENOMEM;
	if (is_joined) {
		free(last->text);
		last->text = text;
		return 0;
	}
	struct hint *h = &ret->list[ret->count++];
	*h = (struct hint){ .rule = s->rule->name, .text = text, .gain_ns = s->gain_ns };
	/* Waits are not part of the CPU time that the others are. */
	if (!s->is_later && s->gain_ns < f->window_ns && s->rule->say != say_gil)
		h->ceiling = (double)f->window_ns / (double)(f->window_ns - s->gain_ns);
	return 0;
}

int hints_choose(const struct hint_facts *f, struct hints *ret)
{
	struct said said[ARRAY_SIZE(rules)] = { 0 };
	bool is_host = f->verdict == VERDICT_HOST || f->verdict == VERDICT_LAUNCH;
	size_t count = 0;
	int rc = 0;

	*ret = (struct hints){ .count = 0 };
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		struct said *s = &said[count];
		s->rule = &rules[i];
		s->is_later = is_host && rules[i].is_of_kernels;
		strbuf_reset(&s->text);
		s->gain_ns = rules[i].say(f, &s->text);
		/* Several threads may have lost the same time. */
		s->gain_ns = s->gain_ns < f->window_ns ? s->gain_ns : f->window_ns;
		count += s->gain_ns > 0;
	}
	qsort(said, count, sizeof(*said), compare_said);
	for (size_t i = 0; i < ARRAY_SIZE(said); i++) {
		if (i < count && !rc)
			rc = strbuf_finish(&said[i].text) < 0 ? -ENOMEM
							      : hints_add(f, ret, &said[i]);
		strbuf_release(&said[i].text);
	}
	if (rc < 0)
		hints_release(ret);
	return rc;
}
