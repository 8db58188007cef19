/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/filter.h"
#include "analyze/summary.h"

#include <errno.h>

static void count_host(const struct analysis *a, const struct filter *f, struct process_summary *p)
{
	for (size_t i = 1; i < a->threads.len; i++)
		p[a->threads.data[i].process].threads += f->thread_passes[i];
	vec_for_each(&a->samples, s) {
		uint32_t thread = a->sample_groups.data[s->group].thread;
		if (!f->thread_passes[thread] || !filter_time(f, s->time_ns))
			continue;
		if (!(s->flags & CPU_SAMPLE_SPAN))
			p[a->threads.data[thread].process].cpu_samples += s->weight;
	}
	vec_for_each(&a->launches, l) {
		if (filter_site(f, &a->sites.data[l->site]) && filter_time(f, l->time_ns))
			p[analysis_site_process(a, l->site)].launches++;
	}
}

static int count_device(struct analysis *a, const struct filter *f, struct process_summary *p)
{
	vec_for_each(&a->ops, op) {
		uint32_t site;
		if (!filter_on(f, op->device, op->queue) || !filter_time(f, op->start_ns))
			continue;
		if (analysis_op_site(a, op, &site) < 0)
			return -ENOMEM;
		if (filter_site(f, &a->sites.data[site]))
			p[analysis_site_process(a, site)].device_ns += op->end_ns - op->start_ns;
	}
	return 0;
}

static int compare_processes(const void *a, const void *b)
{
	const struct process_summary *x = a, *y = b;
	if (x->device_ns != y->device_ns)
		return x->device_ns > y->device_ns ? -1 : 1;
	if (x->cpu_samples != y->cpu_samples)
		return x->cpu_samples > y->cpu_samples ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

int analysis_processes(struct analysis *a, const struct analysis_filter *filter,
		       struct process_summary **ret, size_t *ret_count, struct err *err)
{
	CLEANUP_FREE struct process_summary *list = calloc(a->processes.len, sizeof(*list));
	struct filter f = { 0 };
	size_t count = 0;
	if (!list)
		return err_set(err, -ENOMEM, "cannot list processes");
	int rc = filter_init(&f, a, filter, err);
	if (rc < 0)
		return rc;

	count_host(a, &f, list);
	rc = count_device(a, &f, list);
	for (size_t i = 0; i < a->processes.len; i++) {
		const struct process *p = &a->processes.data[i];
		struct process_summary s = list[i];
		if (!f.process_passes[i] && !s.threads)
			continue;
		if (!i && !s.cpu_samples && !s.launches && !s.device_ns)
			continue; /* nothing of nobody's */
		s.pid = p->pid;
		s.rank = p->rank;
		s.comm = analysis_text(a, p->comm);
		list[count++] = s;
	}
	filter_release(&f);
	if (rc < 0)
		return err_set(err, rc, "cannot list processes");
	qsort(list, count, sizeof(*list), compare_processes);
	*ret = TAKE(list);
	*ret_count = count;
	return 0;
}
