/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocprofiler-sdk's JSON, as `rocprofv3 --output-format json` writes it: one object per process with
 * lists of records by kind, names apart from what they name. Times are nanoseconds.
 *
 *	{ "rocprofiler-sdk-tool": [ {
 *	    "agents": [ { "id": { "handle": N }, "type": 2, "name": "gfx942", "cu_count": 304 } ],
 *	    "kernel_symbols": [ { "kernel_id": N, "formatted_kernel_name": "..." } ],
 *	    "strings": { "buffer_records": [ { "kind": "HIP_RUNTIME_API", "operations": [...] } ] },
 *	    "buffer_records": { "kernel_dispatch": [...], "hip_api": [...], "memory_copy": [...] } } ] }
 *
 * Its records become the same trace in memory as a Chrome trace's events.
 */
#include "import/decimal.h"
#include "import/document.h"
#include "import/process.h"
#include "import/session.h"
#include "import/trace.h"

#include <errno.h>
#include <string.h>

#define ROCPROF_DEPTH_MAX 16
#define ROCPROF_KEY_BYTES 48
/* ROCPROFILER_AGENT_TYPE_GPU of rocprofiler-sdk/agent.h. */
#define AGENT_IS_GPU 2

enum list {
	LIST_OTHER,
	LIST_AGENTS,
	LIST_SYMBOLS,
	LIST_STRINGS, /* names of operations, by kind */
	LIST_DISPATCHES,
	LIST_CALLS,
	LIST_COPIES,
};

static const struct {
	const char *outer, *inner; /* keys; inner NULL: the list is the process's own */
	enum list list;
} lists[] = {
	{ "agents", NULL, LIST_AGENTS },
	{ "kernel_symbols", NULL, LIST_SYMBOLS },
	{ "strings", "buffer_records", LIST_STRINGS },
	{ "buffer_records", "kernel_dispatch", LIST_DISPATCHES },
	{ "buffer_records", "memory_copy", LIST_COPIES },
	{ "buffer_records", "hip_api", LIST_CALLS },
	{ "buffer_records", "rccl_api", LIST_CALLS },
	{ "buffer_records", "marker_api", LIST_CALLS },
};

/* What records hold, by its path in them. */
enum value {
	VALUE_HANDLE, /* of an agent */
	VALUE_TYPE,
	VALUE_UNITS,
	VALUE_KERNEL,
	VALUE_KIND,
	VALUE_OPERATION,
	VALUE_THREAD,
	VALUE_CORRELATION,
	VALUE_START,
	VALUE_END,
	VALUE_AGENT,
	VALUE_QUEUE,
	VALUE_STREAM,
	VALUE_GRID_X,
	VALUE_GRID_Y,
	VALUE_GRID_Z,
	VALUE_BLOCK_X,
	VALUE_BLOCK_Y,
	VALUE_BLOCK_Z,
	VALUE_BYTES,
	VALUE_NUMBER_COUNT,
	VALUE_NAME = VALUE_NUMBER_COUNT, /* texts from here on; a later one is the better name */
	VALUE_PRODUCT,
	VALUE_COUNT
};

static const struct {
	const char *path;
	enum value value;
} values[] = {
	{ "id.handle", VALUE_HANDLE },
	{ "type", VALUE_TYPE },
	{ "cu_count", VALUE_UNITS },
	{ "kernel_id", VALUE_KERNEL },
	{ "dispatch_info.kernel_id", VALUE_KERNEL },
	{ "kind", VALUE_KIND },
	{ "operation", VALUE_OPERATION },
	{ "thread_id", VALUE_THREAD },
	{ "correlation_id.internal", VALUE_CORRELATION },
	{ "start_timestamp", VALUE_START },
	{ "end_timestamp", VALUE_END },
	{ "dispatch_info.agent_id.handle", VALUE_AGENT },
	{ "dst_agent_id.handle", VALUE_AGENT },
	{ "dispatch_info.queue_id.handle", VALUE_QUEUE },
	{ "stream_id.handle", VALUE_STREAM },
	{ "dispatch_info.grid_size.x", VALUE_GRID_X },
	{ "dispatch_info.grid_size.y", VALUE_GRID_Y },
	{ "dispatch_info.grid_size.z", VALUE_GRID_Z },
	{ "dispatch_info.workgroup_size.x", VALUE_BLOCK_X },
	{ "dispatch_info.workgroup_size.y", VALUE_BLOCK_Y },
	{ "dispatch_info.workgroup_size.z", VALUE_BLOCK_Z },
	{ "bytes", VALUE_BYTES },
	{ "name", VALUE_NAME },
	{ "kernel_name", VALUE_NAME },
	{ "formatted_kernel_name", VALUE_PRODUCT },
	{ "product_name", VALUE_PRODUCT },
};

struct level {
	bool is_array;
	char key[ROCPROF_KEY_BYTES]; /* of a map: the last one */
};

/* A call or copy, whose name may come later in the file: its kind and operation. */
struct unnamed {
	uint32_t event;
	uint64_t kind, operation;
	bool is_device;
};

struct rocprof {
	struct session *session;
	struct trace trace;
	struct level levels[ROCPROF_DEPTH_MAX + 1];
	int depth;
	int record_depth; /* of the map that is a record; 0: in none */
	enum list list;
	uint64_t numbers[VALUE_NUMBER_COUNT];
	uint32_t texts[VALUE_COUNT - VALUE_NUMBER_COUNT];
	uint64_t gpus;             /* agents so far */
	struct hash device_of;     /* handle of an agent -> its place among the GPUs */
	struct hash symbol_of;     /* kernel id -> name (string) */
	struct hash operations;    /* kind << 32 | operation -> name (string) */
	uint64_t kinds, operation; /* place in the list of names */
	VEC(struct unnamed) unnamed;
	VEC(uint64_t) kernel_ids; /* by device event; UINT64_MAX: not a kernel */
	struct document document;
};

static int fail(struct rocprof *r, int code)
{
	r->document.error = code;
	return 0;
}

static struct span name_of(struct rocprof *r, uint32_t string)
{
	return strtab_get(&r->session->frames.strings, string);
}

/* ---- records ---- */

static int take_agent(struct rocprof *r)
{
	uint32_t name = r->texts[VALUE_PRODUCT - VALUE_NAME], id;

	if (r->numbers[VALUE_TYPE] != AGENT_IS_GPU)
		return 0;
	uint64_t index = r->gpus++;
	int rc = trace_device(&r->trace, (uint32_t)index, &id);
	if (rc < 0)
		return rc;
	struct trace_device *d = &r->trace.devices.data[id];
	d->units = r->numbers[VALUE_UNITS];
	d->name = name ? name : r->texts[0];
	return hash_set(&r->device_of, r->numbers[VALUE_HANDLE], index);
}

static int take_symbol(struct rocprof *r)
{
	uint32_t name = r->texts[VALUE_PRODUCT - VALUE_NAME];
	return hash_set(&r->symbol_of, r->numbers[VALUE_KERNEL], name ? name : r->texts[0]);
}

static int decimal_text(char *text, size_t size, uint64_t number)
{
	return snprintf(text, size, "%llu", (unsigned long long)number);
}

/* Grids are given in work items here, in groups everywhere else. */
static int take_geometry(struct rocprof *r, uint32_t *ret)
{
	uint32_t geometry[6];

	for (int i = 0; i < 3; i++) {
		uint64_t items = r->numbers[VALUE_GRID_X + i],
			 group = r->numbers[VALUE_BLOCK_X + i];
		geometry[i] = group ? (uint32_t)((items + group - 1) / group) : 0;
		geometry[3 + i] = (uint32_t)group;
	}
	return frames_string(&r->session->frames, span_of(geometry, sizeof(geometry)), ret);
}

/* The times of a record, those that no clock gives set to nothing. */
static void take_times(struct rocprof *r, int64_t *ret_start_ns, int64_t *ret_end_ns)
{
	uint64_t start = r->numbers[VALUE_START], end = r->numbers[VALUE_END];

	if (start > INT64_MAX / 2 || end > INT64_MAX / 2 || end < start) {
		r->trace.bad_times++;
		start = start > INT64_MAX / 2 ? 0 : start;
		end = start;
	}
	*ret_start_ns = (int64_t)start;
	*ret_end_ns = (int64_t)end;
}

static int take_device(struct rocprof *r, enum device_kind kind)
{
	struct device_event d = {
		.correlation = r->numbers[VALUE_CORRELATION],
		.bytes = r->numbers[VALUE_BYTES],
		.kind = (uint8_t)kind,
		.launch = TRACE_NONE,
	};
	const uint64_t *index = hash_get(&r->device_of, r->numbers[VALUE_AGENT]);
	char queue[32];
	uint32_t device;
	uint64_t stream =
		r->numbers[VALUE_QUEUE] ? r->numbers[VALUE_QUEUE] : r->numbers[VALUE_STREAM];

	take_times(r, &d.start_ns, &d.end_ns);
	int n = decimal_text(queue, sizeof(queue), stream);
	int rc = trace_device(&r->trace, index ? (uint32_t)*index : 0, &device);
	if (!rc)
		rc = trace_queue(&r->trace, device, span_of(queue, (size_t)n), &d.queue);
	if (!rc && kind == DEVICE_KERNEL)
		rc = take_geometry(r, &d.geometry);
	if (!rc && kind == DEVICE_COPY)
		rc = vec_push(&r->unnamed, (struct unnamed){
						   .event = (uint32_t)r->trace.device.len,
						   .kind = r->numbers[VALUE_KIND],
						   .operation = r->numbers[VALUE_OPERATION],
						   .is_device = true,
					   });
	if (!rc)
		rc = vec_push(&r->kernel_ids,
			      kind == DEVICE_KERNEL ? r->numbers[VALUE_KERNEL] : UINT64_MAX);
	return rc < 0 ? rc : trace_add_device(&r->trace, &d);
}

static int take_call(struct rocprof *r)
{
	struct host_event h = {
		.kind = HOST_CALL,
		.key = r->numbers[VALUE_CORRELATION],
	};
	char tid[32];
	uint32_t lane, id;
	int n = decimal_text(tid, sizeof(tid), r->numbers[VALUE_THREAD]);
	int rc = trace_lane(&r->trace, span_of("0", 1), span_of(tid, (size_t)n), &lane);

	if (rc < 0)
		return rc;
	h.lane = lane & 0x7ffffff;
	take_times(r, &h.start_ns, &h.end_ns);
	rc = trace_add_host(&r->trace, &h, &id);
	return rc < 0 ? rc
		      : vec_push(&r->unnamed, (struct unnamed){
						      .event = id,
						      .kind = r->numbers[VALUE_KIND],
						      .operation = r->numbers[VALUE_OPERATION],
					      });
}

static int take_record(struct rocprof *r)
{
	r->trace.events++;
	switch (r->list) {
	case LIST_AGENTS:
		return take_agent(r);
	case LIST_SYMBOLS:
		return take_symbol(r);
	case LIST_DISPATCHES:
		return take_device(r, DEVICE_KERNEL);
	case LIST_COPIES:
		return take_device(r, DEVICE_COPY);
	case LIST_CALLS:
		return take_call(r);
	default:
		return 0;
	}
}

/* ---- tokens ---- */

/* Which list a map that begins now is an element of. The process's object is at depth 3. */
static enum list list_at(const struct rocprof *r)
{
	bool is_nested = r->depth == 6;

	if ((r->depth != 5 && !is_nested) || !r->levels[r->depth - 1].is_array)
		return LIST_OTHER;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		if (strcmp(r->levels[3].key, lists[i].outer) != 0 ||
		    is_nested != (lists[i].inner != NULL))
			continue;
		if (!is_nested || !strcmp(r->levels[4].key, lists[i].inner))
			return lists[i].list;
	}
	return LIST_OTHER;
}

static int push(struct rocprof *r, bool is_array)
{
	if (r->depth == ROCPROF_DEPTH_MAX) {
		r->document.refusal = "nested deeper than such a file is";
		return 0;
	}
	r->levels[++r->depth] = (struct level){ .is_array = is_array };
	return 1;
}

static int on_map(void *data)
{
	struct rocprof *r = data;

	if (!push(r, false))
		return 0;
	if (r->record_depth)
		return 1;
	r->list = list_at(r);
	if (r->list == LIST_OTHER)
		return 1;
	r->record_depth = r->depth;
	r->operation = 0;
	memset(r->numbers, 0, sizeof(r->numbers));
	memset(r->texts, 0, sizeof(r->texts));
	return 1;
}

static int on_map_end(void *data)
{
	struct rocprof *r = data;

	if (r->depth-- != r->record_depth)
		return 1;
	r->record_depth = 0;
	if (r->list == LIST_STRINGS)
		r->kinds++;
	int rc = take_record(r);
	return rc < 0 ? fail(r, rc) : 1;
}

static int on_array(void *data)
{
	return push(data, true);
}

static int on_array_end(void *data)
{
	struct rocprof *r = data;
	r->depth--;
	return 1;
}

static int on_key(void *data, const unsigned char *text, size_t size)
{
	struct rocprof *r = data;
	char *key = r->levels[r->depth].key;

	if (size >= ROCPROF_KEY_BYTES)
		size = 0; /* none of ours */
	memcpy(key, text, size);
	key[size] = '\0';
	return 1;
}

static void record_path(const struct rocprof *r, char *ret, size_t size)
{
	size_t len = 0;

	ret[0] = '\0';
	for (int d = r->record_depth; d <= r->depth && len < size; d++)
		len += (size_t)snprintf(ret + len, size - len, "%s%s",
					d > r->record_depth ? "." : "", r->levels[d].key);
}

static int on_value(struct rocprof *r, struct span value)
{
	char path[3 * ROCPROF_KEY_BYTES];
	uint32_t string;

	if (!r->record_depth)
		return 1;
	if (r->levels[r->depth].is_array) {
		/* The names of a kind's operations, by number. */
		if (r->list != LIST_STRINGS || strcmp(r->levels[r->record_depth].key, "operations"))
			return 1;
		int rc = frames_string(&r->session->frames, value, &string);
		if (!rc)
			rc = hash_set(&r->operations, r->kinds << 32 | r->operation++, string);
		return rc < 0 ? fail(r, rc) : 1;
	}
	record_path(r, path, sizeof(path));
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		if (strcmp(values[i].path, path) != 0)
			continue;
		if (values[i].value < VALUE_NUMBER_COUNT) {
			(void)decimal_u64(value, &r->numbers[values[i].value]);
			return 1;
		}
		int rc = frames_string(&r->session->frames, value,
				       &r->texts[values[i].value - VALUE_NAME]);
		return rc < 0 ? fail(r, rc) : 1;
	}
	return 1;
}

static int on_number(void *data, const char *text, size_t size)
{
	return on_value(data, span_of(text, size));
}

static int on_string(void *data, const unsigned char *text, size_t size)
{
	return on_value(data, span_of(text, size));
}

static const yajl_callbacks callbacks = {
	.yajl_number = on_number,
	.yajl_string = on_string,
	.yajl_start_map = on_map,
	.yajl_map_key = on_key,
	.yajl_end_map = on_map_end,
	.yajl_start_array = on_array,
	.yajl_end_array = on_array_end,
};

/* ---- names, once all are known ---- */

static int name_kernels(struct rocprof *r)
{
	static const char unknown[] = "[unknown kernel]";

	for (size_t i = 0; i < r->trace.device.len; i++) {
		struct device_event *d = &r->trace.device.data[i];
		const uint64_t *name = hash_get(&r->symbol_of, r->kernel_ids.data[i]);
		if (r->kernel_ids.data[i] == UINT64_MAX)
			continue;
		if (name)
			d->name = (uint32_t)*name;
		else if (frames_string(&r->session->frames, span_of(unknown, sizeof(unknown) - 1),
				       &d->name) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int name_calls(struct rocprof *r)
{
	vec_for_each(&r->unnamed, u) {
		const uint64_t *known = hash_get(&r->operations, u->kind << 32 | u->operation);
		struct span name = known ? name_of(r, (uint32_t)*known) : span_of("[unnamed]", 9);
		struct frames *f = &r->session->frames;
		int rc = u->is_device ? frames_string(f, name, &r->trace.device.data[u->event].name)
				      : frames_add(f, OBJECT_NATIVE, name,
						   &r->trace.host.data[u->event].frame);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* ---- reading ---- */

static bool has_read(const void *data)
{
	const struct rocprof *r = data;

	return r->trace.events != 0;
}

static void rocprof_release(struct rocprof *r)
{
	trace_release(&r->trace);
	hash_release(&r->device_of);
	hash_release(&r->symbol_of);
	hash_release(&r->operations);
	vec_release(&r->unnamed);
	vec_release(&r->kernel_ids);
}
DEFINE_CLEANUP_EMBEDDED(rocprof_release, struct rocprof)

static int rocprof_import(struct session *s, struct stream *in, struct err *err)
{
	CLEANUP(rocprof_release)
	struct rocprof r = {
		.session = s,
		.document = { .callbacks = callbacks, .data = &r, .has_read = has_read },
	};

	trace_init(&r.trace, &s->frames);
	r.trace.is_exact = true;
	int rc = document_read(&r.document, s, in, err);
	if (rc < 0)
		return rc;
	s->trust->is_trace = true;
	s->trust->events += r.trace.events;
	rc = name_kernels(&r);
	if (!rc)
		rc = name_calls(&r);
	if (!rc)
		rc = trace_fact(&r.trace, "trace.hip_runtime", span_of("rocprofiler-sdk", 15));
	if (!rc)
		rc = trace_finish(&r.trace);
	return rc < 0 ? err_set(err, rc, "cannot import '%s'", stream_name(in))
		      : process_trace(s, &r.trace, stream_name(in), err);
}

static int rocprof_recognise(struct span head)
{
	static const char key[] = "\"rocprofiler-sdk-tool\"";
	return memmem(head.data, head.size, key, sizeof(key) - 1) ? 95 : 0;
}

const struct importer rocprof_importer = {
	.name = "rocprof",
	.recognise = rocprof_recognise,
	.import = rocprof_import,
};
