/* SPDX-License-Identifier: Apache-2.0 */
#include "import/tree.h"

#include "base/cleanup.h"
#include "import/decimal.h"
#include "import/pyname.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Proton's scope around the kernels that its own launch hooks run; its viewer hides it as well. */
#define METADATA_SCOPE "__proton_launch_metadata"
#define STALL_PREFIX   "stalled_"

void tree_release(struct tree *t)
{
	vec_release(&t->nodes);
	vec_release(&t->metrics);
	vec_release(&t->devices);
}

int tree_device(struct tree *t, uint32_t type, uint32_t index, struct tree_device **ret)
{
	vec_for_each(&t->devices, d) {
		if (d->type == type && d->index == index) {
			*ret = d;
			return 0;
		}
	}
	if (vec_push(&t->devices, (struct tree_device){ .type = type, .index = index }) < 0)
		return -ENOMEM;
	*ret = vec_last(&t->devices);
	return 0;
}

const char *const tree_clock_keys[TREE_CLOCK_COUNT] = {
	[TREE_CLOCK_RATE] = "clock_rate",
	[TREE_MEMORY_RATE] = "memory_clock_rate",
	[TREE_BUS_WIDTH] = "bus_width",
};

struct tree_emit {
	struct session *session;
	struct tree *tree;
	uint32_t thread;
	uint64_t host_ns;           /* where the next host time is laid */
	VEC(uint64_t) correlations; /* by node: of the launch of a kernel */
	struct strbuf text;
};

/* What the metrics of one node say. */
struct node_totals {
	bool has_time, has_cycles;
	uint64_t time_ns, cycles, count, cpu_ns, flops, bytes, samples;
	uint32_t device_type; /* string */
	uint32_t device_index;
};

static struct span string_of(const struct tree_emit *e, uint32_t id)
{
	return strtab_get(&e->session->frames.strings, id);
}

static bool starts(struct span text, const char *word)
{
	return text.size >= strlen(word) && !memcmp(text.data, word, strlen(word));
}

static bool is_text(struct span text, const char *word)
{
	return text.size == strlen(word) && starts(text, word);
}

static int put(struct tree_emit *e, const struct record *rec)
{
	return capture_writer_put(e->session->writer, rec);
}

static int written(struct tree_emit *e, uint32_t string, uint32_t *ret)
{
	return frames_written(&e->session->frames, e->session->writer, string, ret);
}

/* Totals are written as 204800 and as 1e11; fractions of a nanosecond are of no interest. */
static uint64_t number(struct span text)
{
	int64_t value;
	double real;

	if (!decimal_parse(text, 0, &value))
		return value < 0 ? 0 : (uint64_t)value;
	if (decimal_double(text, &real) < 0 || !(real > 0))
		return 0;
	return real < 9e18 ? (uint64_t)real : (uint64_t)INT64_MAX;
}

/* A metric that this importer gives a place of its own: true when it is one. */
static bool take_metric(struct tree_emit *e, struct node_totals *t, const struct tree_metric *m)
{
	struct span key = string_of(e, m->key), value = string_of(e, m->value);
	uint64_t n = number(value);

	if (is_text(key, "time (ns)")) {
		t->has_time = true;
		t->time_ns = n;
	} else if (is_text(key, "count")) {
		t->count = n;
	} else if (is_text(key, "cycles")) {
		t->has_cycles = true;
		t->cycles = n;
	} else if (starts(key, "cpu_time (ns)")) {
		t->cpu_ns += n;
	} else if (starts(key, "flops")) {
		t->flops += n;
	} else if (is_text(key, "bytes")) {
		t->bytes = n;
	} else if (is_text(key, "num_samples")) {
		t->samples = n;
	} else if (is_text(key, "device_type")) {
		t->device_type = m->value;
	} else if (is_text(key, "device_id")) {
		t->device_index = (uint32_t)n;
	} else {
		return starts(key, STALL_PREFIX) || is_text(key, "num_stalled_samples") ||
		       is_text(key, "normalized_cycles");
	}
	return true;
}

static const struct tree_metric *metrics_of(const struct tree_emit *e, const struct tree_node *n)
{
	return &e->tree->metrics.data[n->first];
}

static struct node_totals totals_of(struct tree_emit *e, const struct tree_node *n)
{
	struct node_totals t = { 0 };
	for (uint32_t i = 0; i < n->count; i++)
		(void)take_metric(e, &t, &metrics_of(e, n)[i]);
	return t;
}

/* ---- paths ---- */

static int node_path(struct tree_emit *e, struct tree_node *n, uint32_t parent_path)
{
	struct frames *f = &e->session->frames;
	struct span name = string_of(e, n->name);
	struct pyname parsed;
	uint32_t frame;
	enum object_kind kind = pyname_parse(name, &parsed) ? OBJECT_PYTHON : OBJECT_SCOPE;
	int rc = frames_add(f, kind, name, &frame);
	return rc < 0 ? rc : frames_path(f, parent_path, frame, &n->path);
}

static int find_paths(struct tree_emit *e)
{
	struct tree *t = e->tree;

	for (size_t i = 0; i < t->nodes.len; i++) {
		struct tree_node *n = &t->nodes.data[i];
		const struct tree_node *parent = &t->nodes.data[n->parent];
		if (n->parent == i) /* the root is no frame, and names all metrics with 0 */
			continue;
		n->is_hidden = parent->is_hidden || starts(string_of(e, n->name), METADATA_SCOPE);
		struct node_totals totals = totals_of(e, parent);
		n->kernel = parent->kernel;
		if (!n->kernel && (totals.has_time || totals.device_type) &&
		    parent->parent != n->parent)
			n->kernel = n->parent + 1;
		int rc = node_path(e, n, parent->path);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* ---- records ---- */

/* As "device.cuda.0.clock_rate". */
static int emit_clocks(struct tree_emit *e, const struct tree_device *d, const char *runtime)
{
	char key[128], value[32];
	int rc = 0;
	for (int i = 0; i < TREE_CLOCK_COUNT && !rc; i++) {
		if (!d->clocks[i])
			continue;
		snprintf(key, sizeof(key), "device.%.64s.%u.%s", runtime, d->index,
			 tree_clock_keys[i]);
		snprintf(value, sizeof(value), "%llu", (unsigned long long)d->clocks[i]);
		rc = session_info(e->session, key, value);
	}
	return rc;
}

static int emit_device(struct tree_emit *e, struct tree_device *d)
{
	struct record rec = { .type = RECORD_DEVICE };
	struct span type = string_of(e, d->type), arch = string_of(e, d->arch);

	rec.device.id = d->id = ++e->session->devices;
	rec.device.index = d->index;
	rec.device.units = d->units;
	strbuf_reset(&e->text);
	for (size_t i = 0; i < type.size; i++)
		strbuf_putc(&e->text, (char)(type.data[i] >= 'A' && type.data[i] <= 'Z'
						     ? type.data[i] + ('a' - 'A')
						     : type.data[i]));
	int rc = capture_writer_string(e->session->writer, strbuf_text(&e->text),
				       &rec.device.runtime);
	if (!rc)
		rc = emit_clocks(e, d, strbuf_text(&e->text));
	strbuf_reset(&e->text);
	strbuf_add(&e->text, type.data, type.size);
	if (arch.size)
		strbuf_printf(&e->text, " %.*s", (int)arch.size, (const char *)arch.data);
	if (!rc)
		rc = capture_writer_string(e->session->writer, strbuf_text(&e->text),
					   &rec.device.name);
	return rc < 0 ? rc : put(e, &rec);
}

static int device_of(struct tree_emit *e, const struct node_totals *t, struct tree_device **ret)
{
	int rc = tree_device(e->tree, t->device_type, t->device_index, ret);
	if (!rc && !(*ret)->id)
		rc = emit_device(e, *ret);
	return rc;
}

/* Metrics without a place of their own, as "key=value;...". */
static int other_metrics(struct tree_emit *e, const struct tree_node *n, uint32_t *ret)
{
	struct node_totals unused = { 0 };

	strbuf_reset(&e->text);
	for (uint32_t i = 0; i < n->count; i++) {
		const struct tree_metric *m = &metrics_of(e, n)[i];
		struct span key = string_of(e, m->key), value = string_of(e, m->value);
		bool is_flops = starts(key, "flops");
		if (take_metric(e, &unused, m) && !is_flops)
			continue;
		strbuf_printf(&e->text, "%s%.*s=%.*s", e->text.len ? ";" : "", (int)key.size,
			      (const char *)key.data, (int)value.size, (const char *)value.data);
	}
	if (strbuf_finish(&e->text) < 0)
		return -ENOMEM;
	return capture_writer_string(e->session->writer, strbuf_text(&e->text), ret);
}

static int emit_kernel(struct tree_emit *e, size_t id, const struct node_totals *t)
{
	const struct tree_node *n = &e->tree->nodes.data[id];
	struct import_trust *trust = e->session->trust;
	uint32_t parent = e->tree->nodes.data[n->parent].path;
	uint64_t duration = t->has_time ? t->time_ns : t->cycles, count = t->count ? t->count : 1;
	struct tree_device *d;
	int rc = device_of(e, t, &d);
	if (rc < 0)
		return rc;
	struct record rec = {
		.type = RECORD_LAUNCH,
		.launch = {
			.time_ns = d->now_ns,
			.kind = LAUNCH_KERNEL,
			.thread = e->thread,
			.correlation = ++e->session->correlations,
			.flops = t->flops,
			.bytes = t->bytes,
			.count = count,
		},
	};
	rc = session_kernel(e->session, n->name, 0, &rec.launch.kernel);
	if (!rc)
		rc = other_metrics(e, n, &rec.launch.metadata);
	if (!rc)
		rc = frames_stack(&e->session->frames, e->session->writer, parent,
				  &rec.launch.stack);
	if (!rc)
		rc = put(e, &rec);
	struct record work = {
		.type = RECORD_DISPATCH,
		.dispatch = {
			.correlation = rec.launch.correlation,
			.device = d->id,
			.kernel = rec.launch.kernel,
			.kind = LAUNCH_KERNEL,
			.start_ns = d->now_ns,
			.end_ns = d->now_ns + duration,
			.count = count,
		},
	};
	if (!rc)
		rc = put(e, &work);
	d->now_ns += duration;
	e->correlations.data[id] = rec.launch.correlation;

	bool is_python = frames_traits(&e->session->frames, parent) & FRAME_IS_PYTHON;
	trust->device_ops += count;
	trust->device_ns += duration;
	trust->kernel_ops += count;
	trust->kernel_ns += duration;
	trust->linked_ops += count;
	trust->linked_ns += duration;
	trust->python_ops += is_python ? count : 0;
	trust->python_ns += is_python ? duration : 0;
	return rc;
}

static int emit_sample(struct tree_emit *e, const struct tree_node *n, struct span reason,
		       uint64_t count)
{
	const struct tree_node *kernel = n->kernel ? &e->tree->nodes.data[n->kernel - 1] : n;
	struct pyname place;
	struct record rec = { .type = RECORD_PC_SAMPLE, .pc_sample = { .count = count } };
	struct capture_writer *w = e->session->writer;

	if (!count)
		return 0;
	rec.pc_sample.correlation = e->correlations.data[kernel - e->tree->nodes.data];
	int rc = session_kernel(e->session, kernel->name, 0, &rec.pc_sample.kernel);
	if (!rc)
		rc = capture_writer_bytes(w, reason.data, reason.size, &rec.pc_sample.reason);
	if (!rc && n != kernel && pyname_parse(string_of(e, n->name), &place)) {
		rec.pc_sample.line = place.line;
		rc = capture_writer_bytes(w, place.file.data, place.file.size, &rec.pc_sample.file);
		if (!rc)
			rc = capture_writer_bytes(w, place.function.data, place.function.size,
						  &rec.pc_sample.function);
	}
	return rc < 0 ? rc : put(e, &rec);
}

/* One record for each stall reason, and one for the samples that have none. */
static int emit_samples(struct tree_emit *e, const struct tree_node *n, uint64_t samples)
{
	uint64_t explained = 0;

	for (uint32_t i = 0; i < n->count; i++) {
		const struct tree_metric *m = &metrics_of(e, n)[i];
		struct span key = string_of(e, m->key);
		if (!starts(key, STALL_PREFIX))
			continue;
		size_t size = strlen(STALL_PREFIX);
		uint64_t count = number(string_of(e, m->value));
		explained += count;
		int rc = emit_sample(e, n, span_of(key.data + size, key.size - size), count);
		if (rc < 0)
			return rc;
	}
	uint64_t rest = samples > explained ? samples - explained : 0;
	return emit_sample(e, n, span_of("", 0), rest);
}

/* Time of the host on a scope's own account. */
static int emit_host_time(struct tree_emit *e, const struct tree_node *n, uint64_t ns)
{
	struct record rec = {
		.type = RECORD_CPU_SAMPLE,
		.cpu_sample = {
			.time_ns = e->host_ns,
			.thread = e->thread,
			.flags = CPU_SAMPLE_SPAN,
			.weight = ns,
		},
	};
	int rc = frames_stack(&e->session->frames, e->session->writer, n->path,
			      &rec.cpu_sample.stack);
	e->host_ns += ns;
	e->session->trust->host_spans++;
	return rc < 0 ? rc : put(e, &rec);
}

static int emit_mark(struct tree_emit *e, enum mark_kind kind, uint32_t name, double value)
{
	struct record rec = {
		.type = RECORD_MARK,
		.mark = {
			.time_ns = e->host_ns,
			.thread = e->thread,
			.kind = kind,
			.value = value,
		},
	};
	int rc = written(e, name, &rec.mark.name);
	return rc < 0 ? rc : put(e, &rec);
}

static int emit_scopes(struct tree_emit *e, const struct tree_node *n, enum mark_kind kind)
{
	const struct tree_node *parent = &e->tree->nodes.data[n->parent];
	int rc = 0;

	if (parent == n)
		return 0;
	if (kind == MARK_PUSH)
		rc = emit_scopes(e, parent, kind);
	if (!rc)
		rc = emit_mark(e, kind, n->name, 0);
	if (!rc && kind == MARK_POP)
		rc = emit_scopes(e, parent, kind);
	return rc;
}

/* A scope's own metrics, inside of the scope and those around it. */
static int emit_scope_metrics(struct tree_emit *e, const struct tree_node *n)
{
	struct node_totals unused = { 0 };
	bool is_open = false;
	int rc = 0;

	for (uint32_t i = 0; i < n->count && !rc; i++) {
		const struct tree_metric *m = &metrics_of(e, n)[i];
		double value;
		if (take_metric(e, &unused, m) ||
		    decimal_double(string_of(e, m->value), &value) < 0)
			continue;
		if (!is_open)
			rc = emit_scopes(e, n, MARK_PUSH);
		is_open = true;
		if (!rc)
			rc = emit_mark(e, MARK_METRIC, m->key, value);
	}
	return !rc && is_open ? emit_scopes(e, n, MARK_POP) : rc;
}

static int emit_node(struct tree_emit *e, size_t id)
{
	const struct tree_node *n = &e->tree->nodes.data[id];
	struct node_totals t = totals_of(e, n);
	bool is_kernel = !n->kernel && (t.has_time || (t.has_cycles && !t.samples));
	int rc = 0;

	if (n->is_hidden) {
		e->session->trust->skipped++;
		return 0;
	}
	if (is_kernel)
		rc = emit_kernel(e, id, &t);
	if (!rc && t.samples && (is_kernel || n->kernel))
		rc = emit_samples(e, n, t.samples);
	if (!rc && t.cpu_ns)
		rc = emit_host_time(e, n, t.cpu_ns);
	if (!rc && !is_kernel && !n->kernel)
		rc = emit_scope_metrics(e, n);
	return rc;
}

int tree_emit(struct session *s, struct tree *t)
{
	struct tree_emit e = { .session = s, .tree = t };
	int rc = session_header(s, "hatchet", "none: totals, laid end to end", "", 0, 0);

	if (!rc)
		rc = session_thread(s, &e.thread);
	for (size_t i = 0; i < t->nodes.len && !rc; i++)
		rc = vec_push(&e.correlations, 0);
	if (!rc)
		rc = find_paths(&e);
	for (size_t i = 1; i < t->nodes.len && !rc; i++)
		rc = emit_node(&e, i);
	vec_for_each(&t->devices, d) {
		if (d->now_ns > s->last_ns)
			s->last_ns = d->now_ns;
	}
	if (e.host_ns > s->last_ns)
		s->last_ns = e.host_ns;
	vec_release(&e.correlations);
	strbuf_release(&e.text);
	return rc;
}
