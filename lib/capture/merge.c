/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/merge_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Two looks at the clocks of one machine differ by what NTP mends meanwhile; two starts of it by more
 * than it takes to start. */
#define SAME_BOOT_NS (10 * 1000000000ull)
/* Numbers of launches beyond this are no counts but pointers or hashes; a recorder would take years
 * to come here. */
#define CORRELATION_COUNT_MAX (1ull << 40)
#define CORRELATION_HASHED    (1ull << 63)

static void current_release(struct merge_current *c)
{
	for (size_t i = 0; i < FIELD_KIND_COUNT; i++)
		hash_release(&c->numbers[i]);
	hash_release(&c->stacks);
	vec_release(&c->bytes);
}

int merge_new(struct merge **ret, struct capture_writer *w, const struct merge_options *opt,
	      struct err *err)
{
	CLEANUP(merge_free) struct merge *m = calloc(1, sizeof(*m));
	if (!m || !(m->frames = malloc(STACK_FRAMES_MAX * sizeof(*m->frames))) ||
	    !(m->lines = malloc(SYMBOL_LINES_MAX * sizeof(*m->lines))))
		return err_set(err, -ENOMEM, "cannot merge");
	m->writer = w;
	m->opt = *opt;
	m->end.exit_status = -1;
	*ret = TAKE(m);
	return 0;
}

void merge_free(struct merge *m)
{
	if (!m)
		return;
	current_release(&m->now);
	vec_release(&m->boots);
	vec_release(&m->processes);
	hash_release(&m->processes_by_pid);
	strtab_release(&m->keys);
	hash_release(&m->by_key);
	free(m->frames);
	free(m->lines);
	free(m);
}

int merge_header(struct capture_reader *r, struct record_header *ret, struct err *err)
{
	struct record rec;
	int rc;
	while ((rc = capture_reader_next(r, &rec, err)) > 0) {
		if (rec.type != RECORD_HEADER)
			continue;
		*ret = rec.header;
		return 0;
	}
	return rc < 0 ? rc : -ENODATA;
}

/* ---- the first record: which machine, which clock ---- */

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static bool is_same_boot(const struct merge_clock *a, const struct merge_clock *b)
{
	return a->host && a->host == b->host && a->kernel == b->kernel &&
	       distance(a->realtime_ns - a->time_ns, b->realtime_ns - b->time_ns) < SAME_BOOT_NS;
}

/* From 1; 0 for what does not say where it was. */
static int find_boot(struct merge *m)
{
	const struct merge_clock *c = &m->now.clock;
	if (!c->host || !c->realtime_ns)
		return 0;
	for (size_t i = 0; i < m->boots.len; i++) {
		if (is_same_boot(&m->boots.data[i], c)) {
			m->now.boot = (uint32_t)i + 1;
			return 0;
		}
	}
	m->now.boot = (uint32_t)m->boots.len + 1;
	return vec_push(&m->boots, *c);
}

/* How times move, and whether it is another run of the same. */
static void find_shift(struct merge *m)
{
	struct merge_current *c = &m->now;
	int64_t by_start = (int64_t)(m->first.time_ns - c->clock.time_ns);
	int64_t by_clock = 0;

	if (c->number == 1 || !m->has_timeline)
		return;
	if (c->clock.realtime_ns && m->first.realtime_ns && !is_same_boot(&m->first, &c->clock))
		by_clock = (int64_t)(c->clock.realtime_ns - c->clock.time_ns) -
			   (int64_t)(m->first.realtime_ns - m->first.time_ns);
	bool overlaps = (int64_t)c->clock.time_ns + by_clock < (int64_t)m->last_ns;
	if (m->opt.align == MERGE_ALIGN_START || (m->opt.align == MERGE_ALIGN_AUTO && !overlaps)) {
		c->shift_ns = by_start;
		c->run = ++m->runs + 1;
	} else {
		c->shift_ns = by_clock;
	}
}

static int put_info(struct merge *m, const char *key, const char *value)
{
	struct record rec = { .type = RECORD_INFO };
	int rc = capture_writer_string(m->writer, key, &rec.info.key);
	rc = rc ? rc : capture_writer_string(m->writer, value, &rec.info.value);
	return rc ? rc : capture_writer_put(m->writer, &rec);
}

static int put_header(struct merge *m, struct record *rec)
{
	int rc = 0;
	if (m->opt.drops_frequency)
		rec->header.frequency = 0;
	if (m->opt.drops_host)
		rec->header.host = rec->header.kernel = 0;
	if (m->opt.command)
		rc = capture_writer_string(m->writer, m->opt.command, &rec->header.command);
	return rc ? rc : capture_writer_put(m->writer, rec);
}

/* Its strings are those of the result already. */
static int take_header(struct merge *m, struct record *rec, const char *clock, struct err *err)
{
	struct merge_current *c = &m->now;
	const struct record_header *h = &rec->header;
	bool has_timeline = strncmp(clock, "none", 4) != 0;

	if (c->has_header)
		return 0;
	c->has_header = true;
	c->kind = h->source;
	c->clock = (struct merge_clock){ h->time_ns, h->realtime_ns, h->host, h->kernel };
	int rc = find_boot(m);
	if (rc < 0)
		return rc;
	if (c->number == 1) {
		m->first = c->clock;
		m->has_timeline = has_timeline;
		rc = put_header(m, rec);
	} else if (has_timeline != m->has_timeline) {
		rc = err_set(err, -EINVAL,
			     "'%s' has %s, and what comes before it has not: they cannot be "
			     "merged",
			     c->source->name, has_timeline ? "times" : "totals without times");
	}
	find_shift(m);
	return rc;
}

/* ---- the others ---- */

static uint64_t move_time(const struct merge *m, uint64_t time_ns)
{
	if (!time_ns)
		return 0;
	if (m->now.shift_ns < 0 && (uint64_t)-m->now.shift_ns >= time_ns)
		return 1; /* before the clock of the result began */
	return time_ns + (uint64_t)m->now.shift_ns;
}

/* Unique again: those of each capture lie behind those of the one before. */
static uint64_t move_correlation(struct merge *m, uint64_t correlation)
{
	if (!correlation)
		return 0;
	if (correlation > CORRELATION_COUNT_MAX)
		return hash_u64(correlation + m->now.number) | CORRELATION_HASHED;
	uint64_t moved = m->now.first_correlation + correlation;
	if (moved > m->correlations)
		m->correlations = moved;
	return moved;
}

static int move_lines(struct merge *m, struct record_symbol *s)
{
	int rc = 0;
	for (uint32_t i = 0; i < s->count && !rc; i++) {
		m->lines[i] = s->lines[i];
		rc = merge_string(m, s->lines[i].name, &m->lines[i].name);
		rc = rc ? rc : merge_string(m, s->lines[i].file, &m->lines[i].file);
	}
	s->lines = m->lines;
	return rc;
}

static int move_field(struct merge *m, const struct field *f, struct record *rec)
{
	uint8_t *body = record_body(rec);
	uint64_t value;
	uint32_t id;
	int rc;

	switch (f->kind) {
	case FIELD_STRING:
	case FIELD_OBJECT:
	case FIELD_STACK:
	case FIELD_PROCESS:
	case FIELD_THREAD:
	case FIELD_DEVICE:
	case FIELD_QUEUE:
	case FIELD_KERNEL:
	case FIELD_CODE_OBJECT:
		memcpy(&id, body + f->offset, sizeof(id));
		rc = merge_number(m, f->kind, id, &id);
		memcpy(body + f->offset, &id, sizeof(id));
		return rc;
	case FIELD_TIME:
	case FIELD_CORRELATION:
		memcpy(&value, body + f->offset, sizeof(value));
		value = f->kind == FIELD_TIME ? move_time(m, value) : move_correlation(m, value);
		memcpy(body + f->offset, &value, sizeof(value));
		if (f->kind == FIELD_TIME && rec->type != RECORD_HEADER && value > m->last_ns)
			m->last_ns = value;
		return 0;
	case FIELD_LINES:
		return move_lines(m, &rec->symbol);
	default:
		return 0;
	}
}

static void add_end(struct merge *m, const struct record_end *e)
{
	struct record_end *sum = &m->end;
	sum->samples += e->samples;
	sum->launches += e->launches;
	sum->lost += e->lost;
	sum->recorder_cpu_ns += e->recorder_cpu_ns;
	sum->probe_ns += e->probe_ns;
	/* The first that failed. */
	if (sum->exit_status <= 0)
		sum->exit_status = e->exit_status > 0     ? e->exit_status
				   : sum->exit_status < 0 ? e->exit_status
							  : 0;
}

/* What one has said already need not be said again. */
static int is_told(struct merge *m, const struct record *rec)
{
	if (rec->type == RECORD_INFO) {
		const uint32_t key[] = { RECORD_INFO, rec->info.key, rec->info.value };
		return merge_is_new(m, key, sizeof(key));
	}
	if (rec->type == RECORD_FILE) {
		const uint64_t key[] = { RECORD_FILE, rec->file.kind, rec->file.path,
					 rec->file.object, rec->file.part_offset };
		return merge_is_new(m, key, sizeof(key));
	}
	const struct record_symbol *s = &rec->symbol;
	const uint64_t key[] = { RECORD_SYMBOL, s->object, s->offset };
	return merge_is_new(m, key, sizeof(key));
}

static int copy_record(struct merge *m, struct record *rec, struct err *err)
{
	const struct record_layout *layout = record_layout(rec->type);
	const char *clock = rec->type == RECORD_HEADER
				    ? capture_reader_text(m->now.reader, rec->header.clock)
				    : NULL;
	int rc = 0;

	for (size_t i = 0; i < layout->count && !rc; i++)
		rc = move_field(m, &layout->fields[i], rec);
	if (rc < 0)
		return rc;
	switch (rec->type) {
	case RECORD_HEADER:
		return take_header(m, rec, clock, err);
	case RECORD_PROCESS:
	case RECORD_THREAD:
	case RECORD_DEVICE:
	case RECORD_QUEUE:
	case RECORD_KERNEL:
		rc = merge_define(m, rec);
		break;
	case RECORD_INFO:
	case RECORD_SYMBOL:
	case RECORD_FILE:
		rc = is_told(m, rec);
		break;
	case RECORD_CLOCK: /* of another run it would say what is not so */
		rc = !m->now.run;
		break;
	case RECORD_END:
		add_end(m, &rec->end);
		return 0;
	default:
		rc = 1;
		break;
	}
	return rc > 0 ? capture_writer_put(m->writer, rec) : rc;
}

static int take_record(struct merge *m, struct record *rec, struct err *err)
{
	switch (rec->type) {
	case RECORD_STRING: /* the reader keeps them, and stacks; they come when they are used */
	case RECORD_STACK:
		return 0;
	case RECORD_OBJECT:
		return merge_object(m, &rec->object);
	case RECORD_CODE_OBJECT:
		return merge_code(m, &rec->code_object);
	default:
		return copy_record(m, rec, err);
	}
}

/* Which it was, and what was wrong with it. */
static int put_source(struct merge *m)
{
	struct capture_damage damage = capture_reader_damage(m->now.reader);
	char key[64];

	if (m->opt.is_copy)
		return 0;
	snprintf(key, sizeof(key), "merge.file.%u", m->now.number);
	int rc = put_info(m, key, m->now.source->name);
	if (rc < 0 || !damage.text[0])
		return rc;
	snprintf(key, sizeof(key), "missing.merged-%u", m->now.number);
	return put_info(m, key, damage.text);
}

int merge_add(struct merge *m, struct capture_reader *r, const struct merge_source *source,
	      struct err *err)
{
	struct err why = { .text = "" };
	struct record rec;
	int rc;

	current_release(&m->now);
	m->now = (struct merge_current){
		.reader = r,
		.source = source,
		.number = ++m->sources,
		.first_correlation = m->correlations,
	};
	while ((rc = capture_reader_next(r, &rec, &why)) > 0) {
		rc = take_record(m, &rec, &why);
		if (rc < 0)
			break;
	}
	if (rc == 0 && !m->now.has_header)
		rc = err_set(&why, -EINVAL, "'%s' has no beginning", source->name);
	rc = rc ? rc : put_source(m);
	if (rc < 0 && !*why.text)
		err_set(&why, rc, "cannot merge '%s'", source->name);
	if (rc < 0 && err)
		*err = why;
	return rc < 0 ? rc : 0;
}

int merge_end(struct merge *m, struct err *err)
{
	struct record rec = { .type = RECORD_END, .end = m->end };
	char count[16];

	rec.end.time_ns = m->last_ns;
	snprintf(count, sizeof(count), "%u", m->sources);
	int rc = m->opt.is_copy ? 0 : put_info(m, "merge.files", count);
	rc = rc ? rc : capture_writer_put(m->writer, &rec);
	rc = rc ? rc : capture_writer_flush(m->writer);
	return rc < 0 ? err_set(err, rc, "cannot merge") : 0;
}
