/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks: "frame;frame;frame COUNT", root first, one a line. The suffixes of flamegraph.pl's
 * annotations (_[k]: OS kernel) and of AI flame graphs (_[G], _[g]: accelerator) give frames their
 * kind, and a frame "-" is the boundary between the two.
 */
#include "base/cleanup.h"
#include "base/frame.h"
#include "capture/limits.h"
#include "import/decimal.h"
#include "import/prefixes.h"
#include "import/pyname.h"
#include "import/session.h"

#include <errno.h>
#include <string.h>

/* What is read at once stays in a core's second-level cache while its lines are taken apart. */
#define READ_BYTES (256u << 10)
/* A line that is longer is not a stack: megabytes are what the name of one C++ template can have. */
#define FOLDED_LINE_MAX (64u << 20)
/* Less of one line than this is not taken for a stack on trust. */
#define LONG_LINE (32u << 10)

/* A beginning is worth keeping when it has so many frames more than the one that was found: to look
 * up fewer takes less time than to compare the text of all, which for many is not in the cache. */
#define PREFIX_GAIN 4

struct buffer {
	char *data;
	size_t len, cap;
};

/* Texts that were seen lately, by a few of their bytes: one look at a text instead of the four or five
 * in different places that the table of all texts takes. */
#define MEMOS (1u << 17)

struct memo {
	struct span text;  /* in the table of texts */
	uint32_t frame[2]; /* + 1, as in folded.known; 0: not known */
};

/* The end of a frame. */
struct place {
	uint32_t end; /* in its line: where the next frame begins */
	bool is_device, had_kernel;
};

struct folded {
	struct session *session;
	struct memo *memos;
	struct buffer buffer; /* what was read, from the start of a line on */
	struct prefixes prefixes;
	uint32_t epoch; /* of the stacks in @prefixes */
	/* By number of a text as it is written: its frame + 1; behind an accelerator kernel, and not. */
	VEC(uint32_t) known[2];
	/* Of the line at hand, what no known beginning has. */
	VEC(struct record_frame) frames;
	VEC(struct place) places;
	uint32_t thread;
	uint64_t now;    /* samples so far: their places in time, as folded stacks have none */
	uint64_t offset; /* of the line in the input */
	uint64_t lines, dropped;
};

static bool ends(struct span text, const char *word)
{
	size_t size = strlen(word);
	return text.size > size && !memcmp(text.data + text.size - size, word, size);
}

static bool is_offset(struct span text)
{
	return text.size > 2 && text.data[0] == '0' && text.data[1] == 'x';
}

/* "func (file.py:12)" of py-spy, "py::func (file.py:12)" of ours; and what other tools write. */
static bool is_python(struct span text)
{
	struct pyname parsed;
	return (text.size > 4 && !memcmp(text.data, "py::", 4)) || ends(text, ".py)") ||
	       memmem(text.data, text.size, ".py:", 4) || pyname_parse(text, &parsed);
}

/* What a frame is; @text loses a suffix that says it. @behind: inside of an accelerator kernel. */
static enum frame_kind kind_of(struct span *text, bool behind)
{
	if (ends(*text, "_[k]")) {
		text->size -= 4;
		return FRAME_OS;
	}
	if (ends(*text, "_[i]") || ends(*text, "_[j]")) {
		text->size -= 4;
		return FRAME_NATIVE;
	}
	if (ends(*text, "_[G]")) {
		text->size -= 4;
		return behind ? FRAME_FUNCTION : FRAME_KERNEL;
	}
	if (ends(*text, "_[g]")) {
		text->size -= 4;
		/* An instruction shows its place and operands, a stall reason is one word. */
		return is_offset(*text) || memchr(text->data, ' ', text->size) ||
				       memchr(text->data, '.', text->size)
			       ? FRAME_INSTRUCTION
			       : FRAME_STALL;
	}
	if (text->size == 1 && text->data[0] == '-')
		return FRAME_BOUNDARY;
	if (text->size > 2 && text->data[0] == '[' && text->data[text->size - 1] == ']')
		return text->size > 7 && !memcmp(text->data, "[idle: ", 7) ? FRAME_IDLE
									   : FRAME_MISSING;
	return is_python(*text) ? FRAME_PYTHON : FRAME_NATIVE;
}

static struct memo *memo_of(const struct folded *f, struct span text)
{
	const uint8_t *p = text.data;
	uint64_t first = 0, middle, last, hash = text.size;

	if (text.size < sizeof(first)) {
		memcpy(&first, p, text.size);
		hash ^= first;
	} else {
		memcpy(&first, p, sizeof(first));
		memcpy(&middle, p + (text.size - sizeof(middle)) / 2, sizeof(middle));
		memcpy(&last, p + text.size - sizeof(last), sizeof(last));
		hash ^= first ^ (middle << 21 | middle >> 43) ^ (last << 42 | last >> 22);
	}
	return &f->memos[hash_u64(hash) % MEMOS];
}

static int frame_make(struct folded *f, struct span text, bool behind, struct memo *memo,
		      uint32_t *ret)
{
	struct frames *frames = &f->session->frames;
	uint32_t string;
	int rc = frames_string(frames, text, &string);

	while (rc >= 0 && f->known[behind].len <= string)
		rc = vec_push(&f->known[behind], 0);
	if (rc < 0)
		return rc;
	uint32_t *known = &f->known[behind].data[string];
	if (!*known) {
		enum frame_kind kind = kind_of(&text, behind);
		rc = frames_add_foreign(frames, kind, text, known);
		if (rc < 0)
			return rc;
		++*known;
	}
	*memo = (struct memo){ .text = strtab_get(&frames->strings, string) };
	memo->frame[behind] = *known;
	*ret = *known - 1;
	return 0;
}

/* The frame of a text. */
static int frame_of(struct folded *f, struct span text, bool behind, uint32_t *ret)
{
	struct memo *memo = memo_of(f, text);

	if (memo->frame[behind] && memo->text.size == text.size &&
	    !memcmp(memo->text.data, text.data, text.size)) {
		*ret = memo->frame[behind] - 1;
		return 0;
	}
	return frame_make(f, text, behind, memo, ret);
}

/* Take the frames of @stack apart from where its known beginning @at ends. */
static int line_frames(struct folded *f, struct span stack, size_t from, const struct prefix *at)
{
	struct frames *frames = &f->session->frames;
	struct place place = { .is_device = at->is_device, .had_kernel = at->had_kernel };
	const char *start = (const char *)stack.data, *end = start + stack.size;

	f->frames.len = f->places.len = 0;
	for (const char *p = start + from, *stop; p < end; p = stop + 1) {
		struct record_frame object;
		uint32_t frame;
		stop = memchr(p, ';', (size_t)(end - p));
		stop = stop ? stop : end;
		if (stop == p)
			continue;
		int rc = frame_of(f, span_of(p, (size_t)(stop - p)),
				  place.is_device && place.had_kernel, &frame);
		if (rc >= 0)
			rc = frames_object(frames, f->session->writer, frame, &object);
		if (rc < 0)
			return rc;
		uint32_t kind = frames_info(frames, frame)->frame_kind;
		place.is_device |= kind == FRAME_BOUNDARY;
		place.had_kernel |= kind == FRAME_KERNEL;
		place.end = (uint32_t)(stop + 1 - start);
		if (vec_push(&f->frames, object) < 0 || vec_push(&f->places, place) < 0)
			return -ENOMEM;
	}
	/* The writer has the leaf first. */
	for (size_t i = 0, k = f->frames.len; i + 1 < k; i++) {
		struct record_frame swapped = f->frames.data[i];
		f->frames.data[i] = f->frames.data[--k];
		f->frames.data[k] = swapped;
	}
	return 0;
}

/* Beginnings are stacks of the writer's, which forgets its own from epoch to epoch. */
static void expect_epoch(struct folded *f)
{
	uint32_t epoch = capture_writer_epoch(f->session->writer);
	if (f->epoch != epoch)
		prefixes_release(&f->prefixes);
	f->epoch = epoch;
}

/* A line of more frames than a stack can have: the writer says what it left out. */
static int line_deep(struct folded *f, struct span line, uint32_t *ret)
{
	int rc = line_frames(f, line, 0, &(struct prefix){ 0 });
	return rc < 0 ? rc
		      : capture_writer_stack(f->session->writer, f->frames.data,
					     (uint32_t)f->frames.len, STACK_ROOTED, ret);
}

/* The writer's number of a line's stack; 0: it has no frames. */
static int line_stack(struct folded *f, struct span line, uint32_t *ret)
{
	struct capture_writer *w = f->session->writer;
	struct prefix at = { 0 };
	uint32_t known;

	expect_epoch(f);
	int rc = line_frames(f, line, prefixes_find(&f->prefixes, line, &at), &at);
	if (rc >= 0 && at.depth + f->frames.len > STACK_FRAMES_MAX)
		return line_deep(f, line, ret);
	if (rc < 0)
		return rc;
	*ret = at.stack;
	if (!f->frames.len)
		return 0;
	rc = capture_writer_stack_like(
		w,
		&(struct record_stack){ .parent = at.stack,
					.kept = at.depth,
					.frames = f->frames.data,
					.count = at.depth + (uint32_t)f->frames.len,
					.flags = STACK_ROOTED },
		ret, &known);
	if (rc < 0 || known < at.depth + PREFIX_GAIN || known == at.depth + f->frames.len)
		return rc;
	const struct place *place = &f->places.data[known - at.depth - 1];
	expect_epoch(f);
	return prefixes_keep(&f->prefixes, span_of(line.data, place->end),
			     &(struct prefix){ *ret, known, place->is_device, place->had_kernel });
}

/* The count behind the last blank; false when there is none. */
static bool line_split(struct span line, struct span *ret_stack, uint64_t *ret_count)
{
	while (line.size && strchr(" \t\r", line.data[line.size - 1]) && line.data[line.size - 1])
		line.size--;
	const uint8_t *blank = line.size ? memrchr(line.data, ' ', line.size) : NULL;
	if (!blank || blank == line.data)
		return false;
	size_t size = (size_t)(blank - line.data);
	struct span count = span_of(blank + 1, line.size - size - 1);
	int64_t value;
	/* Stacks of some tools are weighted with fractions of seconds or samples. */
	if (decimal_parse(count, 0, &value) < 0 || value < 0)
		return false;
	*ret_stack = span_of(line.data, size);
	*ret_count = (uint64_t)value;
	return true;
}

static int folded_line(struct folded *f, struct span line)
{
	struct record rec = { .type = RECORD_CPU_SAMPLE };
	struct span stack;
	uint64_t count;

	if (!line.size || line.data[0] == '#' || (line.size == 1 && line.data[0] == '\r'))
		return 0;
	f->lines++;
	if (!line_split(line, &stack, &count)) {
		session_dropped(f->session, 1, f->offset, "a line without a count");
		f->dropped++;
		return f->session->options->is_strict ? -EBADMSG : 0;
	}
	if (!count)
		return 0;
	int rc = line_stack(f, stack, &rec.cpu_sample.stack);
	if (rc < 0 || !rec.cpu_sample.stack)
		return rc;
	rec.cpu_sample.time_ns = f->now;
	rec.cpu_sample.thread = f->thread;
	rec.cpu_sample.weight = count;
	rc = capture_writer_put(f->session->writer, &rec);
	f->now += count;
	f->session->trust->host_spans++;
	return rc;
}

/* The whole lines of @data; how many bytes they took, or negative. */
static int64_t folded_lines(struct folded *f, struct span data, bool is_last)
{
	size_t pos = 0;

	while (pos < data.size) {
		const uint8_t *p = data.data + pos, *stop = memchr(p, '\n', data.size - pos);
		if (!stop && !is_last)
			break;
		size_t size = stop ? (size_t)(stop - p) : data.size - pos;
		int rc = folded_line(f, span_of(p, size));
		if (rc < 0)
			return rc;
		size += stop != NULL;
		pos += size;
		f->offset += size;
	}
	return (int64_t)pos;
}

static int folded_read(struct folded *f, struct stream *in, struct err *err)
{
	struct buffer *b = &f->buffer;

	for (;;) {
		/* Only a long line leaves more than that. */
		size_t want = b->len < READ_BYTES / 2 ? READ_BYTES : b->len * 2;
		if (vec_reserve(b, want) < 0)
			return err_set(err, -ENOMEM, "cannot import '%s'", stream_name(in));
		int64_t n = stream_read(in, b->data + b->len, want - b->len, err);
		if (n < 0)
			return (int)n;
		f->session->trust->bytes += (uint64_t)n;
		b->len += (size_t)n;
		int64_t used = folded_lines(f, span_of(b->data, b->len), !n);
		if (used < 0)
			return used == -EBADMSG
				       ? err_set(err, -EBADMSG,
						 "'%s': byte %llu: a line without a count",
						 stream_name(in), (unsigned long long)f->offset)
				       : err_set(err, (int)used, "cannot import '%s'",
						 stream_name(in));
		if (!used && b->len >= FOLDED_LINE_MAX)
			return err_set(
				err, -EBADMSG, "'%s': byte %llu: a line of more than %u bytes",
				stream_name(in), (unsigned long long)f->offset, FOLDED_LINE_MAX);
		b->len -= (size_t)used;
		memmove(b->data, b->data + used, b->len);
		if (!n)
			return 0;
	}
}

static int import_lines(struct folded *f, struct stream *in, struct err *err)
{
	struct session *s = f->session;
	int rc = session_header(s, "folded", "none: counts, laid end to end", "samples", 0, 0);

	if (!rc)
		rc = session_thread(s, &f->thread);
	if (rc < 0)
		return err_set(err, rc, "cannot import '%s'", stream_name(in));
	rc = folded_read(f, in, err);
	s->trust->events += f->lines;
	if (f->now > s->last_ns)
		s->last_ns = f->now;
	if (!rc && f->lines && f->dropped == f->lines)
		return err_set(err, -EBADMSG, "'%s' has no line that is a stack and a count",
			       stream_name(in));
	return rc;
}

static int folded_import(struct session *s, struct stream *in, struct err *err)
{
	struct folded f = { .session = s, .memos = calloc(MEMOS, sizeof(*f.memos)) };
	int rc = f.memos ? import_lines(&f, in, err)
			 : err_set(err, -ENOMEM, "cannot import '%s'", stream_name(in));

	free(f.memos);
	prefixes_release(&f.prefixes);
	vec_release(&f.buffer);
	vec_release(&f.known[0]);
	vec_release(&f.known[1]);
	vec_release(&f.frames);
	vec_release(&f.places);
	return rc;
}

/* A whole head is the beginning of one line: it may be a stack with a name that has no end. */
static bool is_long_line(struct span head)
{
	return head.size >= LONG_LINE && !memchr(head.data, '\n', head.size) &&
	       memchr(head.data, ';', head.size) && !strchr("{[<", head.data[0]);
}

/* Its first lines are stacks with counts, but for a stray one. */
static int folded_recognise(struct span head)
{
	size_t pos = 0, good = 0, bad = 0;

	if (memchr(head.data, 0, head.size))
		return 0;
	if (is_long_line(head))
		return 10;
	for (int lines = 0; pos < head.size && lines < 20; lines++) {
		const uint8_t *p = head.data + pos, *stop = memchr(p, '\n', head.size - pos);
		size_t size = stop ? (size_t)(stop - p) : head.size - pos;
		struct span stack;
		uint64_t count;
		pos += size + 1;
		if (!size || p[0] == '#' || (!stop && good))
			continue;
		if (line_split(span_of(p, size), &stack, &count))
			good++;
		else
			bad++;
	}
	return good > bad * 3 || (good && !bad) ? 50 : good > bad ? 20 : 0;
}

const struct importer folded_importer = {
	.name = "folded",
	.recognise = folded_recognise,
	.import = folded_import,
};
