/* SPDX-License-Identifier: Apache-2.0 */
#include "import/stream.h"

#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <zlib.h>

/* Reads of this size cost nothing beside inflating them. */
#define INPUT_BYTES (256u << 10)
/* As much as a recogniser may look at. */
#define PEEK_MAX_BYTES (64u << 10)
/* Between two calls of a watcher: some ten a second. */
#define WATCH_BYTES (16u << 20)

struct stream {
	int fd; /* -1: from memory */
	bool owns_fd;
	char name[4096];
	struct span memory; /* what is left of it */

	uint8_t *input; /* compressed bytes */
	size_t input_pos, input_len;
	bool at_end; /* of the input */

	bool is_gzip, inflating;
	z_stream z;

	uint8_t *peeked; /* bytes already produced */
	size_t peek_pos, peek_len;
	const char *damage;

	void (*watch)(void *data, uint64_t bytes);
	void *watch_data;
	uint64_t given, told; /* bytes */
};

static int stream_start(struct stream *s, struct err *err);

static int stream_new(struct stream **ret, const char *name)
{
	struct stream *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->fd = -1;
	s->damage = "";
	s->input = malloc(INPUT_BYTES);
	s->peeked = malloc(PEEK_MAX_BYTES);
	if (!s->input || !s->peeked) {
		stream_free(s);
		return -ENOMEM;
	}
	strncpy(s->name, name, sizeof(s->name) - 1);
	*ret = s;
	return 0;
}

void stream_free(struct stream *s)
{
	if (!s)
		return;
	if (s->inflating)
		inflateEnd(&s->z);
	if (s->owns_fd)
		close(s->fd);
	free(s->input);
	free(s->peeked);
	free(s);
}

int stream_open(struct stream **ret, const char *path, struct err *err)
{
	CLEANUP(stream_free) struct stream *s = NULL;

	if (stream_new(&s, path) < 0)
		return err_set(err, -ENOMEM, "cannot read '%s'", path);
	if (!strcmp(path, "-")) {
		s->fd = STDIN_FILENO;
	} else {
		s->fd = open(path, O_RDONLY | O_CLOEXEC);
		if (s->fd < 0)
			return err_set(err, -errno, "cannot open '%s'", path);
		s->owns_fd = true;
	}
	int rc = stream_start(s, err);
	if (rc < 0)
		return rc;
	*ret = TAKE(s);
	return 0;
}

int stream_open_memory(struct stream **ret, struct span bytes, struct err *err)
{
	CLEANUP(stream_free) struct stream *s = NULL;

	if (stream_new(&s, "memory") < 0)
		return err_set(err, -ENOMEM, "cannot read from memory");
	s->memory = bytes;
	int rc = stream_start(s, err);
	if (rc < 0)
		return rc;
	*ret = TAKE(s);
	return 0;
}

static int64_t stream_raw(struct stream *s, void *data, size_t size, struct err *err)
{
	if (s->fd >= 0) {
		int64_t n = io_read_full(s->fd, data, size);
		if (n < 0)
			return err_set(err, (int)n, "cannot read '%s'", s->name);
		return n;
	}
	size_t n = size < s->memory.size ? size : s->memory.size;
	if (n)
		memcpy(data, s->memory.data, n);
	s->memory.data += n;
	s->memory.size -= n;
	return (int64_t)n;
}

/* More compressed bytes when there are none: how many there are now. */
static int64_t stream_fill(struct stream *s, struct err *err)
{
	if (s->input_pos == s->input_len && !s->at_end) {
		int64_t n = stream_raw(s, s->input, INPUT_BYTES, err);
		if (n < 0)
			return n;
		s->input_pos = 0;
		s->input_len = (size_t)n;
		s->at_end = n < (int64_t)INPUT_BYTES;
	}
	return (int64_t)(s->input_len - s->input_pos);
}

static bool looks_like_gzip(const uint8_t *p, size_t size)
{
	/* RFC 1952: ID1, ID2, and deflate as the one method there is. */
	return size >= 3 && p[0] == 0x1f && p[1] == 0x8b && p[2] == 8;
}

static int stream_start(struct stream *s, struct err *err)
{
	int64_t n = stream_fill(s, err);
	if (n < 0)
		return (int)n;
	s->is_gzip = looks_like_gzip(s->input, (size_t)n);
	if (!s->is_gzip)
		return 0;
	if (inflateInit2(&s->z, 15 + 16) != Z_OK)
		return err_set(err, -ENOMEM, "cannot read '%s'", s->name);
	s->inflating = true;
	return 0;
}

/* After the end of one gzip member: true when another follows, as `cat a.gz b.gz` makes them. */
static int stream_next_member(struct stream *s, struct err *err)
{
	int64_t n = stream_fill(s, err);
	if (n < 0)
		return (int)n;
	if (!n)
		return 0;
	if (!looks_like_gzip(s->input + s->input_pos, (size_t)n) || inflateReset(&s->z) != Z_OK) {
		s->damage = "bytes after the end of the gzip data are ignored";
		return 0;
	}
	return 1;
}

/* Some bytes out of the gzip data: at least one unless it has ended. */
static int64_t stream_inflate(struct stream *s, void *data, size_t size, struct err *err)
{
	uint8_t *out = data;
	size_t done = 0;

	while (done < size && s->inflating) {
		int64_t n = stream_fill(s, err);
		if (n < 0)
			return n;
		size_t want = size - done;
		s->z.next_in = s->input + s->input_pos;
		s->z.avail_in = (uInt)n;
		s->z.next_out = out + done;
		s->z.avail_out = (uInt)want;
		int rc = inflate(&s->z, Z_NO_FLUSH);
		s->input_pos = s->input_len - s->z.avail_in;
		done += want - s->z.avail_out;

		int more = 1;
		if (rc == Z_STREAM_END) {
			more = stream_next_member(s, err);
			if (more < 0)
				return more;
		} else if (rc != Z_OK) {
			s->damage = n ? "the gzip data is damaged" : "the gzip data is cut short";
			more = 0;
		}
		if (!more) {
			inflateEnd(&s->z);
			s->inflating = false;
		}
	}
	return (int64_t)done;
}

static int64_t stream_produce(struct stream *s, void *data, size_t size, struct err *err)
{
	size_t done = 0;

	if (size > UINT32_MAX)
		size = UINT32_MAX;
	if (s->is_gzip)
		return stream_inflate(s, data, size, err);
	/* What was read to look for the magic, then without a copy. */
	if (s->input_pos < s->input_len) {
		done = s->input_len - s->input_pos < size ? s->input_len - s->input_pos : size;
		memcpy(data, s->input + s->input_pos, done);
		s->input_pos += done;
	}
	if (done == size || s->at_end)
		return (int64_t)done;
	int64_t n = stream_raw(s, (uint8_t *)data + done, size - done, err);
	return n < 0 ? n : (int64_t)done + n;
}

void stream_watch(struct stream *s, void (*watch)(void *data, uint64_t bytes), void *data)
{
	s->watch = watch;
	s->watch_data = data;
}

static void stream_tell(struct stream *s, int64_t n)
{
	s->given += n > 0 ? (uint64_t)n : 0;
	if (!s->watch || s->given - s->told < WATCH_BYTES)
		return;
	s->told = s->given;
	s->watch(s->watch_data, s->given);
}

int64_t stream_read(struct stream *s, void *data, size_t size, struct err *err)
{
	if (s->peek_pos < s->peek_len) {
		size_t left = s->peek_len - s->peek_pos;
		size_t n = left < size ? left : size;
		memcpy(data, s->peeked + s->peek_pos, n);
		s->peek_pos += n;
		return (int64_t)n;
	}
	int64_t n = stream_produce(s, data, size, err);
	stream_tell(s, n);
	return n;
}

int stream_peek(struct stream *s, size_t want, struct span *ret, struct err *err)
{
	if (want > PEEK_MAX_BYTES)
		want = PEEK_MAX_BYTES;
	if (!s->peek_pos && s->peek_len < want) {
		int64_t n = stream_produce(s, s->peeked + s->peek_len, want - s->peek_len, err);
		if (n < 0)
			return (int)n;
		s->peek_len += (size_t)n;
	}
	*ret = span_of(s->peeked, s->peek_len < want ? s->peek_len : want);
	return 0;
}

const char *stream_damage(const struct stream *s)
{
	return s->damage;
}

const char *stream_name(const struct stream *s)
{
	return s->name;
}
