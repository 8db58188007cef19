/* SPDX-License-Identifier: Apache-2.0 */
#include "export/formats.h"

#include "base/cleanup.h"

#include <errno.h>
#include <string.h>

static uint32_t next_behind(const struct profile *p, struct profile_node n)
{
	while (n.next == PROFILE_NONE && n.parent != PROFILE_NONE)
		n = profile_node(p, n.parent);
	return n.next;
}

uint32_t export_next(const struct profile *p, uint32_t node)
{
	struct profile_node n = profile_node(p, node);
	return n.first_child != PROFILE_NONE ? n.first_child : next_behind(p, n);
}

uint32_t export_next_with(const struct profile *p, uint32_t node, int metric)
{
	struct profile_node n = profile_node(p, node);
	uint32_t next = n.first_child != PROFILE_NONE ? n.first_child : next_behind(p, n);
	while (next != PROFILE_NONE && !profile_total(p, next, metric))
		next = next_behind(p, profile_node(p, next));
	return next;
}

const char *export_kind(enum frame_kind kind)
{
	static const char *const words[] = {
		[FRAME_ROOT] = "root",       [FRAME_PROCESS] = "process",
		[FRAME_SCOPE] = "scope",     [FRAME_PYTHON] = "python",
		[FRAME_CXX] = "c++",         [FRAME_NATIVE] = "native",
		[FRAME_OS] = "os",           [FRAME_BOUNDARY] = "boundary",
		[FRAME_KERNEL] = "kernel",   [FRAME_FUNCTION] = "function",
		[FRAME_SOURCE] = "source",   [FRAME_INSTRUCTION] = "instruction",
		[FRAME_STALL] = "stall",     [FRAME_IDLE] = "idle",
		[FRAME_MISSING] = "missing",
	};
	return (size_t)kind < ARRAY_SIZE(words) ? words[kind] : "";
}

const char *export_python_name(const char *name, size_t *ret_size)
{
	const char *start = strncmp(name, "py::", 4) ? name : name + 4;
	size_t size = strlen(start);
	/* The place is the last thing in it; "<lambda> (a (b).py:3)" has an earlier parenthesis. */
	for (const char *open = start; (open = strstr(open, " (")); open++) {
		if (size && start[size - 1] == ')' && open != start) {
			size = (size_t)(open - start);
			break;
		}
	}
	*ret_size = size;
	return start;
}

int export_metrics(const struct profile *p, int ret[PROFILE_METRICS_MAX])
{
	int count = 0;
	for (int m = 0; m < profile_metric_count(p); m++) {
		if (profile_total(p, PROFILE_ROOT, m))
			ret[count++] = m;
	}
	return count;
}

int export_metric(const struct profile *p, const struct export_options *opt, struct err *err)
{
	int known[PROFILE_METRICS_MAX];
	int count = export_metrics(p, known);
	int metric = opt->metric ? profile_metric_find(p, opt->metric) : -ENOENT;

	if (!count)
		return err_set(err, -EINVAL, "nothing to export: no sample and no launch is left");
	if (metric >= 0 && profile_total(p, PROFILE_ROOT, metric))
		return metric;
	return known[0];
}

/* printf is what an output of millions of numbers would spend its time in. */
void export_number(struct strbuf *out, uint64_t number, unsigned least_digits)
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324"
				    "25262728293031323334353637383940414243444546474849"
				    "50515253545556575859606162636465666768697071727374"
				    "75767778798081828384858687888990919293949596979899";
	char digits[20];
	size_t i = sizeof(digits);
	while (number >= 100) {
		i -= 2;
		memcpy(digits + i, pairs + 2 * (number % 100), 2);
		number /= 100;
	}
	do {
		digits[--i] = (char)('0' + number % 10);
		number /= 10;
	} while (number || sizeof(digits) - i < least_digits);
	strbuf_add(out, digits + i, sizeof(digits) - i);
}
