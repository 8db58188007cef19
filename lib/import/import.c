/* SPDX-License-Identifier: Apache-2.0 */
#include "import/import.h"

#include "capture/chunk.h"
#include "import/session.h"
#include "import/sort.h"
#include "import/trace.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

/* Enough to come past the metadata of most traces. */
#define HEAD_BYTES (64u << 10)
/* Files of one import; ranks of the largest jobs. */
#define FILES_MAX 65536

static const struct importer *const importers[] = {
	&chrome_importer,
	&hatchet_importer,
	&folded_importer,
	&rocprof_importer,
};

const char *import_format_name(size_t i)
{
	return i < ARRAY_SIZE(importers) ? importers[i]->name : NULL;
}

/* ---- session ---- */

static int session_init(struct session *s, struct capture_writer *w,
			const struct import_options *opt, struct import_trust *trust)
{
	*s = (struct session){ .writer = w, .options = opt, .trust = trust };
	return frames_init(&s->frames);
}

static void session_release(struct session *s)
{
	if (s->capture_trace)
		trace_release(s->capture_trace);
	free(s->capture_trace);
	frames_release(&s->frames);
	hash_release(&s->kernel_by_name);
}
DEFINE_CLEANUP_EMBEDDED(session_release, struct session)

int session_header(struct session *s, const char *source, const char *clock, const char *event,
		   uint64_t time_ns, uint64_t realtime_ns)
{
	struct record rec = {
		.type = RECORD_HEADER,
		.header = { .time_ns = time_ns, .realtime_ns = realtime_ns },
	};

	if (s->has_header)
		return 0;
	int rc = capture_writer_string(s->writer, source, &rec.header.source);
	if (!rc)
		rc = capture_writer_string(s->writer, clock, &rec.header.clock);
	if (!rc)
		rc = capture_writer_string(s->writer, event, &rec.header.event);
	if (!rc)
		rc = capture_writer_string(s->writer, "accel-prof", &rec.header.tool);
	if (!rc)
		rc = capture_writer_put(s->writer, &rec);
	s->has_header = !rc;
	return rc;
}

int session_info(struct session *s, const char *key, const char *value)
{
	struct record rec = { .type = RECORD_INFO };
	int rc = capture_writer_string(s->writer, key, &rec.info.key);
	if (!rc)
		rc = capture_writer_string(s->writer, value, &rec.info.value);
	return rc < 0 ? rc : capture_writer_put(s->writer, &rec);
}

int session_thread(struct session *s, uint32_t *ret)
{
	struct record process = { .type = RECORD_PROCESS };
	struct record thread = { .type = RECORD_THREAD };

	*ret = 0;
	if (!s->rank)
		return 0;
	process.process.id = ++s->processes;
	process.process.rank = s->rank;
	thread.thread.id = ++s->threads;
	thread.thread.process = process.process.id;
	int rc = capture_writer_put(s->writer, &process);
	if (!rc)
		rc = capture_writer_put(s->writer, &thread);
	*ret = thread.thread.id;
	return rc;
}

int session_kernel(struct session *s, uint32_t name, uint32_t facts, uint32_t *ret)
{
	const uint64_t *known = hash_get(&s->kernel_by_name, name);
	struct record rec = { .type = RECORD_KERNEL };

	if (known) {
		*ret = (uint32_t)*known;
		return 0;
	}
	rec.kernel.id = s->kernels + 1;
	int rc = frames_written(&s->frames, s->writer, name, &rec.kernel.name);
	if (!rc)
		rc = frames_written(&s->frames, s->writer, facts, &rec.kernel.metadata);
	if (!rc)
		rc = capture_writer_put(s->writer, &rec);
	if (!rc)
		rc = hash_set(&s->kernel_by_name, name, rec.kernel.id);
	if (rc < 0)
		return rc;
	*ret = ++s->kernels;
	return 0;
}

void session_dropped(struct session *s, uint64_t count, uint64_t offset, const char *why)
{
	struct import_trust *t = s->trust;

	if (!t->first_why[0]) {
		t->first_offset = offset;
		strncpy(t->first_why, why, sizeof(t->first_why) - 1);
	}
	t->dropped += count;
}

static int session_trust(struct session *s)
{
	const struct import_trust *t = s->trust;
	const struct {
		const char *key;
		uint64_t value;
	} numbers[] = {
		{ "import.files", t->files },
		{ "import.events", t->events },
		{ "import.device-ops", t->device_ops },
		{ "import.device-ns", t->device_ns },
		{ "import.kernel-ops", t->kernel_ops },
		{ "import.kernel-ns", t->kernel_ns },
		{ "import.linked-ops", t->linked_ops },
		{ "import.linked-ns", t->linked_ns },
		{ "import.under-python-ops", t->python_ops },
		{ "import.under-python-ns", t->python_ns },
		{ "import.backward-ops", t->backward_ops },
		{ "import.backward-ns", t->backward_ns },
		{ "import.graph-ops", t->graph_ops },
		{ "import.graph-ns", t->graph_ns },
		{ "import.graph-captured-ops", t->captured_ops },
		{ "import.graph-captured-ns", t->captured_ns },
		{ "import.before-window-ops", t->before_ops },
		{ "import.before-window-ns", t->before_ns },
		{ "import.unknown-launch-ops", t->unknown_ops },
		{ "import.unknown-launch-ns", t->unknown_ns },
		{ "import.clipped", t->clipped },
		{ "import.overlapping", t->overlapping },
		{ "import.unpaired", t->unpaired },
		{ "import.bad-times", t->bad_times },
		{ "import.skipped", t->skipped },
		{ "import.dropped", t->dropped },
		{ "import.repaired", t->repaired },
	};
	struct strbuf text = { 0 };
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(numbers) && !rc; i++) {
		char value[32];
		snprintf(value, sizeof(value), "%" PRIu64, numbers[i].value);
		rc = session_info(s, numbers[i].key, value);
	}
	if (!rc && t->first_why[0]) {
		strbuf_printf(&text, "byte %" PRIu64 " of '%s': %s", t->first_offset, t->first_file,
			      t->first_why);
		rc = session_info(s, "import.first-malformed", strbuf_text(&text));
	}
	if (!rc && t->is_cut)
		rc = session_info(s, "import.cut", "the input ends before its events do");
	strbuf_reset(&text);
	import_trust_text(t, &text);
	if (!rc)
		rc = session_info(s, "import.trust", strbuf_text(&text));
	strbuf_release(&text);
	return rc;
}

static int session_end(struct session *s)
{
	struct record rec = {
		.type = RECORD_END,
		.end = {
			.time_ns = s->last_ns,
			.samples = s->trust->host_spans,
			.launches = s->trust->device_ops,
			.lost = s->trust->dropped,
			.exit_status = -1,
		},
	};
	int rc = session_trust(s);
	return rc < 0 ? rc : capture_writer_put(s->writer, &rec);
}

/* ---- files ---- */

static const struct importer *by_content(struct span head)
{
	const struct importer *best = NULL;
	int most = 0;

	for (size_t i = 0; i < ARRAY_SIZE(importers); i++) {
		int sure = importers[i]->recognise(head);
		if (sure <= most)
			continue;
		most = sure;
		best = importers[i];
	}
	return best;
}

/* -ENODATA, without its words, which would add nothing. */
static int no_data(struct err *err, const char *before, const char *name, const char *behind)
{
	err_set(err, -EINVAL, "%s'%s'%s", before, name, behind);
	return -ENODATA;
}

static int find_importer(const struct session *s, struct stream *in, const struct importer **ret,
			 struct err *err)
{
	const char *format = s->options->format;
	struct span head;

	for (size_t i = 0; format && i < ARRAY_SIZE(importers); i++) {
		if (!strcmp(importers[i]->name, format)) {
			*ret = importers[i];
			return 0;
		}
	}
	if (format)
		return err_set(err, -EINVAL, "unknown format '%s'", format);
	int rc = stream_peek(in, HEAD_BYTES, &head, err);
	if (rc < 0)
		return rc;
	if (!head.size)
		return no_data(err, "", stream_name(in), " is empty");
	*ret = by_content(head);
	if (!*ret && head.size >= CHUNK_MAGIC_BYTES &&
	    !memcmp(head.data, chunk_magic, CHUNK_MAGIC_BYTES))
		return err_set(err, -EBADMSG, "'%s' is a capture already", stream_name(in));
	if (!*ret)
		return err_set(err, -EBADMSG,
			       "'%s' is neither a capture nor a trace of a known format",
			       stream_name(in));
	return 0;
}

static int import_stream(struct session *s, struct stream *in, struct err *err)
{
	const struct importer *importer = NULL;
	bool was_fine = !s->trust->first_why[0];
	int rc = find_importer(s, in, &importer, err);
	if (rc < 0)
		return rc;
	snprintf(s->trust->last_file, sizeof(s->trust->last_file), "%s", stream_name(in));
	stream_watch(in, s->options->progress, s->options->progress_data);
	rc = importer->import(s, in, err);
	s->trust->files++;
	if (stream_damage(in)[0]) {
		if (s->options->is_strict && rc >= 0)
			rc = err_set(err, -EBADMSG, "'%s': %s", stream_name(in), stream_damage(in));
		if (!s->trust->first_why[0])
			strncpy(s->trust->first_why, stream_damage(in),
				sizeof(s->trust->first_why) - 1);
		s->trust->is_cut = true;
	}
	if (was_fine && s->trust->first_why[0])
		strncpy(s->trust->first_file, stream_name(in), sizeof(s->trust->first_file) - 1);
	return rc;
}

static int nothing_to_show(const struct import_trust *t, struct err *err)
{
	if (!t->dropped)
		return no_data(err, "nothing to show: ", t->last_file,
			       " has neither device work nor host spans");
	err_set(err, -EINVAL,
		"nothing to show: '%s' has neither device work nor host spans, and %" PRIu64
		" events are malformed (first: byte %" PRIu64 ", %s)",
		t->last_file, t->dropped, t->first_offset, t->first_why);
	return -ENODATA;
}

static int import_finish(struct session *s, struct err *err)
{
	const struct import_trust *t = s->trust;

	if (!t->device_ops && !t->host_spans)
		return nothing_to_show(t, err);
	int rc = session_end(s);
	return rc < 0 ? err_set(err, rc, "cannot write the capture") : 0;
}

int import_memory(struct capture_writer *w, const void *data, size_t size,
		  const struct import_options *opt, struct import_trust *ret, struct err *err)
{
	CLEANUP(session_release) struct session s = { 0 };
	CLEANUP(stream_free) struct stream *in = NULL;

	*ret = (struct import_trust){ 0 };
	int rc = session_init(&s, w, opt, ret);
	if (rc < 0)
		return err_set(err, rc, "cannot import");
	rc = stream_open_memory(&in, span_of(data, size), err);
	if (!rc)
		rc = import_stream(&s, in, err);
	return rc < 0 ? rc : import_finish(&s, err);
}

struct paths {
	VEC(char *) list;
};

static void paths_release(struct paths *p)
{
	vec_for_each(&p->list, it)
		free(*it);
	vec_release(&p->list);
}
DEFINE_CLEANUP_EMBEDDED(paths_release, struct paths)

static int paths_add(struct paths *p, const char *path)
{
	char *copy = p->list.len < FILES_MAX ? strdup(path) : NULL;
	if (!copy)
		return -ENOMEM;
	if (vec_push(&p->list, copy) == 0)
		return 0;
	free(copy);
	return -ENOMEM;
}

static int compare_paths(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

/* The importable files of a folder, by name: rank2 comes before rank10. */
static int paths_add_folder(struct paths *p, const char *folder, struct err *err)
{
	size_t first = p->list.len;
	DIR *dir = opendir(folder);
	if (!dir)
		return err_set(err, -errno, "cannot open '%s'", folder);

	int rc = 0;
	for (struct dirent *e; !rc && (e = readdir(dir));) {
		CLEANUP_FREE char *path = NULL;
		struct stat st;
		CLEANUP(stream_free) struct stream *in = NULL;
		struct span head;
		if (e->d_name[0] == '.' || asprintf(&path, "%s/%s", folder, e->d_name) < 0)
			continue;
		if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
			continue;
		if (!stream_open(&in, path, NULL) && !stream_peek(in, HEAD_BYTES, &head, NULL) &&
		    by_content(head))
			rc = paths_add(p, path);
	}
	closedir(dir);
	if (rc < 0)
		return err_set(err, rc, "cannot list '%s'", folder);
	if (p->list.len == first)
		return no_data(err, "no file in ", folder, " can be imported");
	qsort(p->list.data + first, p->list.len - first, sizeof(*p->list.data), compare_paths);
	return 0;
}

static int paths_expand(struct paths *p, const char *const *paths, size_t count, struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		struct stat st;
		int rc;
		if (!stat(paths[i], &st) && S_ISDIR(st.st_mode))
			rc = paths_add_folder(p, paths[i], err);
		else if ((rc = paths_add(p, paths[i])) < 0)
			err_set(err, rc, "too many files");
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int load_capture_trace(struct session *s, struct err *err)
{
	CLEANUP(stream_free) struct stream *in = NULL;

	if (!s->options->capture_trace)
		return 0;
	int rc = stream_open(&in, s->options->capture_trace, err);
	if (rc < 0)
		return rc;
	s->capture_trace = calloc(1, sizeof(*s->capture_trace));
	if (!s->capture_trace)
		return err_set(err, -ENOMEM, "cannot import '%s'", stream_name(in));
	trace_init(s->capture_trace, &s->frames);
	return chrome_load(s, in, s->capture_trace, err);
}

int import_files(struct capture_writer *w, const char *const *paths, size_t count,
		 const struct import_options *opt, struct import_trust *ret, struct err *err)
{
	CLEANUP(session_release) struct session s = { 0 };
	CLEANUP(paths_release) struct paths all = { 0 };

	*ret = (struct import_trust){ 0 };
	int rc = session_init(&s, w, opt, ret);
	if (rc < 0)
		return err_set(err, rc, "cannot import");
	rc = paths_expand(&all, paths, count, err);
	if (!rc)
		rc = load_capture_trace(&s, err);
	for (size_t i = 0; i < all.list.len && !rc; i++) {
		CLEANUP(stream_free) struct stream *in = NULL;
		s.rank = all.list.len > 1 ? (uint32_t)i + 1 : 0;
		rc = stream_open(&in, all.list.data[i], err);
		if (!rc)
			rc = import_stream(&s, in, err);
	}
	return rc < 0 ? rc : import_finish(&s, err);
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

bool import_is_flawed(const struct import_trust *t)
{
	return t->dropped || t->repaired || t->is_cut || t->bad_times || t->unpaired ||
	       (t->is_trace && !t->device_ops);
}

void import_trust_text(const struct import_trust *t, struct strbuf *out)
{
	if (!t->device_ops) {
		strbuf_puts(out, t->is_trace ? "no device work in the trace: host time only"
					     : "host time only");
	} else {
		strbuf_printf(out,
			      "linked %" PRIu64 "/%" PRIu64 " (%.1f %% of device time), "
			      "under Python %.1f %%, graph replay %.1f %%",
			      t->linked_ops, t->device_ops, share(t->linked_ns, t->device_ns),
			      share(t->python_ns, t->device_ns), share(t->graph_ns, t->device_ns));
		if (t->graph_ops)
			strbuf_printf(out, " (%.1f %% with its capture)",
				      share(t->captured_ns, t->graph_ns));
		strbuf_printf(out, ", before window %.1f %%", share(t->before_ns, t->device_ns));
		if (t->unknown_ops)
			strbuf_printf(out, ", launch unknown %.1f %%",
				      share(t->unknown_ns, t->device_ns));
	}
	if (t->clipped)
		strbuf_printf(out, ", %" PRIu64 " spans clipped", t->clipped);
	if (t->bad_times)
		strbuf_printf(out, ", %" PRIu64 " impossible durations set to 0", t->bad_times);
	if (t->unpaired)
		strbuf_printf(out, ", %" PRIu64 " begin or end events without the other",
			      t->unpaired);
	if (t->repaired)
		strbuf_printf(out, ", %" PRIu64 " malformed events mended", t->repaired);
	if (t->dropped)
		strbuf_printf(out, ", %" PRIu64 " events dropped", t->dropped);
	if (t->first_why[0])
		strbuf_printf(out, " (first: byte %" PRIu64 ", %s)", t->first_offset, t->first_why);
	if (t->is_cut)
		strbuf_puts(out, ", input cut short");
}
