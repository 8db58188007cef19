/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/sampler.h"

#include "base/io.h"
#include "base/log.h"
#include "base/parse.h"
#include "collect/perf.h"
#include "collect/programs.h"

#include "recorder.skel.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

uint64_t sampler_max_frequency(void)
{
	CLEANUP_FREE char *text = NULL;
	size_t size;
	uint64_t value;

	if (io_read_file("/proc/sys/kernel/perf_event_max_sample_rate", 64, &text, &size) < 0)
		return 0;
	text[strcspn(text, "\n")] = '\0';
	return parse_u64(text, 10, &value) < 0 ? 0 : value;
}

static const struct event_kind {
	const char *name;
	uint32_t type;
	uint64_t config;
} event_kinds[] = {
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK },
};

static int open_kind(struct sampler *s, const struct event_kind *kind)
{
	struct perf_event_attr attr = {
		.type = kind->type,
		.size = sizeof(attr),
		.config = kind->config,
		.freq = 1,
		.sample_freq = s->frequency,
		.disabled = 1,
		.exclude_idle = 1,
		.exclude_guest = 1,
	};
	uint32_t cpus = perf_cpu_count();

	for (uint32_t cpu = 0; cpu < cpus; cpu++) {
		int fd = perf_open(&attr, cpu);
		if (fd == -ENODEV && s->fds.len) /* offline */
			continue;
		if (fd < 0)
			return fd;
		if (vec_push(&s->fds, fd) < 0) {
			close(fd);
			return -ENOMEM;
		}
	}
	s->event = kind->name;
	return s->fds.len ? 0 : -ENODEV;
}

static bool is_no_pmu(int code)
{
	return code == -ENOENT || code == -EOPNOTSUPP || code == -ENODEV;
}

int sampler_open(struct sampler *ret, const char *event, uint64_t frequency, struct err *err)
{
	CLEANUP(sampler_close) struct sampler s = { .frequency = frequency };
	uint64_t most = sampler_max_frequency();
	int rc = -EINVAL;

	if (most && frequency > most)
		return err_set(err, -EINVAL,
			       "cannot take %lu samples a second: the kernel allows %lu; lower -F "
			       "or raise /proc/sys/kernel/perf_event_max_sample_rate",
			       (unsigned long)frequency, (unsigned long)most);
	for (size_t i = 0; i < ARRAY_SIZE(event_kinds); i++) {
		if (event && strcmp(event, event_kinds[i].name) != 0)
			continue;
		rc = open_kind(&s, &event_kinds[i]);
		if (rc == 0 || event || !is_no_pmu(rc))
			break;
		s.has_no_pmu = true;
	}
	if (event && !s.event && is_no_pmu(rc))
		return err_set(err, rc, "this machine has no event '%s'; use -e cpu-clock", event);
	if (rc == -EINVAL && !s.event)
		return err_set(err, rc, "unknown event '%s': use cycles or cpu-clock",
			       event ? event : "?");
	if (rc < 0)
		return perf_explain(rc, "CPU samples", err);
	*ret = s;
	memset(&s, 0, sizeof(s));
	return 0;
}

int sampler_start(struct sampler *s, const struct programs *programs, struct err *err)
{
	vec_for_each(&s->fds, fd) {
		struct bpf_link *link =
			bpf_program__attach_perf_event(programs->skeleton->progs.on_sample, *fd);
		if (!link)
			return err_set(err, -errno, "cannot attach the sampler to its perf event");
		*fd = -1; /* the link's now */
		if (vec_push(&s->links, link) < 0) {
			bpf_link__destroy(link);
			return err_set(err, -ENOMEM, "no memory for the sampler");
		}
	}
	return 0;
}

void sampler_close(struct sampler *s)
{
	vec_for_each(&s->links, link)
		bpf_link__destroy(*link);
	vec_for_each(&s->fds, fd) {
		if (*fd >= 0)
			close(*fd);
	}
	vec_release(&s->links);
	vec_release(&s->fds);
}
