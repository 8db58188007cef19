/* SPDX-License-Identifier: Apache-2.0 */
#include "import/process.h"

#include "base/cleanup.h"
#include "import/backward.h"
#include "import/emit.h"
#include "import/graph.h"
#include "import/link.h"
#include "import/nest.h"

#include <errno.h>
#include <string.h>

DEFINE_CLEANUP_EMBEDDED(nest_release, struct nest)

/* 2001-09-09 in nanoseconds: times beyond it are taken for those of a calendar. */
#define EPOCH_LEAST_NS UINT64_C(1000000000000000000)

static bool has_fact(const struct trace *t, const char *key)
{
	vec_for_each(&t->facts, fact) {
		if (!strcmp(strtab_text(&t->frames->strings, fact->key), key))
			return true;
	}
	return false;
}

/* The runtime by what the trace says, else by how its calls are named: cudaLaunchKernel, zeXxx. */
static int find_runtime(struct trace *t)
{
	static const struct {
		const char *fact, *runtime;
	} known[] = {
		{ "trace.cuda_runtime_version", "cuda" }, { "trace.cupti_version", "cuda" },
		{ "trace.hip_runtime_version", "hip" },   { "trace.roctracer_version", "hip" },
		{ "trace.xpu_driver_version", "xpu" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (has_fact(t, known[i].fact))
			return frames_string(t->frames,
					     span_of(known[i].runtime, strlen(known[i].runtime)),
					     &t->runtime);
	}
	vec_for_each(&t->host, e) {
		if (e->kind != HOST_CALL)
			continue;
		struct span name =
			strtab_get(&t->frames->strings, frames_info(t->frames, e->frame)->name);
		size_t size = 0;
		while (size < name.size && name.data[size] >= 'a' && name.data[size] <= 'z')
			size++;
		if (size == 2 && !memcmp(name.data, "cu", 2))
			return frames_string(t->frames, span_of("cuda", 4), &t->runtime);
		if (size >= 2 && size <= 8 && size < name.size)
			return frames_string(t->frames, span_of(name.data, size), &t->runtime);
	}
	return 0;
}

static const char *source_name(const struct trace *t)
{
	if (has_fact(t, "trace.hip_runtime"))
		return "rocprof";
	if (has_fact(t, "trace.schemaVersion") || t->sequences.len)
		return "kineto";
	vec_for_each(&t->device, d) {
		if (d->link == LINK_STACK)
			return "proton";
	}
	return "chrome";
}

/* Times before zero move all of them: a capture's are unsigned. */
static void fix_base(struct trace *t)
{
	int64_t first;
	if (__builtin_add_overflow((int64_t)t->base_ns, t->first_ns, &first))
		t->base_ns = 0;
	first = (int64_t)t->base_ns + t->first_ns;
	if (first < 0)
		t->base_ns += (uint64_t)-first;
}

static int write_head(struct session *s, const struct trace *t)
{
	uint64_t first = t->base_ns + (uint64_t)t->first_ns;
	uint64_t last = t->base_ns + (uint64_t)t->last_ns;
	bool is_calendar = first >= EPOCH_LEAST_NS;
	int rc = session_header(s, source_name(t), is_calendar ? "CLOCK_REALTIME" : "trace",
				t->host.len ? "host-time" : "", first, is_calendar ? first : 0);
	if (last > s->last_ns)
		s->last_ns = last;
	for (size_t i = 0; i < t->facts.len && !rc; i++)
		rc = session_info(s, strtab_text(&t->frames->strings, t->facts.data[i].key),
				  strtab_text(&t->frames->strings, t->facts.data[i].value));
	return rc;
}

static void count(uint64_t *ops, uint64_t *ns, bool applies, uint64_t duration)
{
	*ops += applies;
	*ns += applies ? duration : 0;
}

static void count_one(const struct trace *t, const struct device_event *d, struct import_trust *c)
{
	uint64_t ns = (uint64_t)(d->end_ns - d->start_ns);
	uint32_t traits = frames_traits(t->frames, d->path);
	bool is_before = d->flags & LAUNCH_BEFORE_WINDOW;

	count(&c->device_ops, &c->device_ns, true, ns);
	count(&c->kernel_ops, &c->kernel_ns, d->kind != DEVICE_COPY && d->kind != DEVICE_FILL, ns);
	count(&c->linked_ops, &c->linked_ns, d->link != LINK_NONE, ns);
	count(&c->python_ops, &c->python_ns, traits & FRAME_IS_PYTHON, ns);
	count(&c->backward_ops, &c->backward_ns, traits & (PATH_UNDER_FORWARD | PATH_UNDER_ENGINE),
	      ns);
	count(&c->graph_ops, &c->graph_ns, d->flags & LAUNCH_REPLAY, ns);
	count(&c->captured_ops, &c->captured_ns, d->flags & LAUNCH_AT_CAPTURE, ns);
	count(&c->before_ops, &c->before_ns, is_before, ns);
	count(&c->unknown_ops, &c->unknown_ns, d->link == LINK_NONE && !is_before, ns);
}

static void count_trust(const struct trace *t, struct import_trust *c)
{
	vec_for_each(&t->device, d)
		count_one(t, d, c);
	c->clipped += t->clipped;
	c->overlapping += t->overlapping;
	c->unpaired += t->unpaired;
	c->bad_times += t->bad_times;
	c->skipped += t->skipped;
}

static int missing_path(struct frames *f, const char *text, uint32_t *ret)
{
	uint32_t frame;
	int rc = frames_add(f, OBJECT_MISSING, span_of(text, strlen(text)), &frame);
	return rc < 0 ? rc : frames_path(f, PATH_EMPTY, frame, ret);
}

static int link_all(struct session *s, struct trace *t, struct nest *n)
{
	int rc = backward_link(t);
	if (!rc)
		rc = nest_init(n, t);
	if (!rc)
		rc = nest_all(n);
	if (!rc)
		rc = link_devices(t);
	if (!rc)
		rc = link_before_window(t);
	return rc < 0 ? rc : graph_match(t, s->capture_trace);
}

int process_trace(struct session *s, struct trace *t, const char *name, struct err *err)
{
	CLEANUP(nest_release) struct nest nest = { 0 };
	struct emit_paths paths;
	int rc;

	fix_base(t);
	rc = link_all(s, t, &nest);
	if (!rc)
		rc = find_runtime(t);
	if (!rc)
		rc = missing_path(&s->frames, "[launched before recording]", &paths.before_window);
	if (!rc)
		rc = missing_path(&s->frames, "[unattributed]", &paths.unknown);
	if (rc < 0)
		return err_set(err, rc, "cannot import '%s'", name);
	count_trust(t, s->trust);
	rc = write_head(s, t);
	if (!rc)
		rc = emit_trace(s, t, &nest, &paths);
	if (rc < 0)
		return err_set(err, rc, "cannot write what '%s' holds", name);
	return 0;
}
