/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/reader.h"

#include "capture/codec.h"
#include "capture/definitions.h"
#include "capture/field.h"
#include "capture/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct capture_reader {
	int owned_fd; /* or -1 */
	char *name;
	struct source source;
	size_t pos; /* in the source's chunk */
	struct codec codec;
	struct codec_scratch scratch;
	struct definitions defs;

	struct record held; /* waits until the stand-ins it needs are given out */
	bool is_holding;
	unsigned needs, given; /* enum damaged_part */
	bool is_done;
};

int capture_reader_open_fd(struct capture_reader **ret, int fd, const char *name, struct err *err)
{
	CLEANUP(capture_reader_free) struct capture_reader *r = calloc(1, sizeof(*r));
	if (!r)
		return err_set(err, -ENOMEM, "cannot read '%s'", name);
	r->owned_fd = -1;
	r->name = strdup(name);
	if (!r->name)
		return err_set(err, -ENOMEM, "cannot read '%s'", name);
	int rc = source_init(&r->source, fd, name, err);
	if (rc < 0)
		return rc;
	*ret = TAKE(r);
	return 0;
}

int capture_reader_open(struct capture_reader **ret, const char *path, struct err *err)
{
	if (!strcmp(path, "-"))
		return capture_reader_open_fd(ret, STDIN_FILENO, "standard input", err);

	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, -errno, "cannot open '%s'", path);
	int rc = capture_reader_open_fd(ret, fd, path, err);
	if (rc < 0)
		return rc;
	(*ret)->owned_fd = TAKE_FD(fd);
	return 0;
}

void capture_reader_free(struct capture_reader *r)
{
	if (!r)
		return;
	source_release(&r->source);
	definitions_release(&r->defs);
	if (r->owned_fd >= 0)
		close(r->owned_fd);
	free(r->name);
	free(r);
}

/* Type, size and payload of the next record in the chunk; -EBADMSG when they do not fit. */
static int split_record(struct capture_reader *r, uint8_t *ret_type, struct span *ret_payload)
{
	struct cursor c = cursor_of(span_of(r->source.data, r->source.size), NULL);
	uint64_t size;

	c.pos = r->pos;
	if (cursor_u8(&c, ret_type, NULL) < 0 || cursor_uleb(&c, &size, NULL) < 0 ||
	    cursor_bytes(&c, size, ret_payload, NULL) < 0)
		return -EBADMSG;
	r->pos = c.pos;
	return 0;
}

/* One record out of the chunk: 1, 0 when it is not to be given out, or negative. */
static int read_record(struct capture_reader *r, struct record *ret)
{
	struct span payload;
	uint8_t type;

	int rc = split_record(r, &type, &payload);
	if (rc < 0)
		return rc;
	if (!record_layout(type)) {
		r->source.damage.unknown_records++;
		return 0;
	}
	rc = record_decode(&r->codec, type, payload, &r->scratch, ret);
	if (rc < 0)
		return rc;
	if (type == RECORD_STRING)
		rc = definitions_string(&r->defs, &ret->string);
	else if (type == RECORD_OBJECT)
		rc = definitions_object(&r->defs, &ret->object);
	else if (type == RECORD_STACK)
		rc = definitions_stack(&r->defs, &ret->stack, &r->scratch);
	else
		rc = 1;
	if (rc > 0)
		r->needs = definitions_check(&r->defs, ret, &r->scratch) & ~r->given;
	return rc;
}

/* Give out one stand-in, or the record that had to wait for them. */
static void give_held(struct capture_reader *r, struct record *ret)
{
	unsigned part = r->needs & -r->needs;

	if (!part) {
		*ret = r->held;
		r->is_holding = false;
		return;
	}
	*ret = definitions_damaged(part);
	r->needs &= ~part;
	r->given |= part;
}

static int next_chunk(struct capture_reader *r, struct err *err)
{
	int rc = source_next(&r->source);
	if (rc < 0)
		return err_set(err, rc, "cannot read '%s'", r->name);
	r->pos = 0;
	r->codec = (struct codec){ 0 };
	r->defs.bytes_read += r->source.stored_bytes;
	if (rc > 0 && r->source.starts_epoch)
		stacks_restart(&r->defs.stacks, 0);
	return rc;
}

static int read_end(struct capture_reader *r, struct err *err)
{
	size_t left = r->source.size - r->pos;
	if (left)
		source_spoiled(&r->source, left);
	r->is_done = true;
	int rc = source_end(&r->source);
	return rc < 0 ? err_set(err, rc, "cannot read '%s'", r->name) : 0;
}

int capture_reader_next(struct capture_reader *r, struct record *ret, struct err *err)
{
	for (;;) {
		if (r->is_holding) {
			give_held(r, ret);
			return 1;
		}
		if (r->is_done)
			return 0;
		if (r->pos >= r->source.size) {
			int rc = next_chunk(r, err);
			if (rc <= 0) {
				r->is_done = rc == 0;
				return rc;
			}
			continue;
		}
		int rc = read_record(r, ret);
		if (rc == -EBADMSG) {
			source_spoiled(&r->source, r->source.size - r->pos);
			r->pos = r->source.size;
			continue;
		}
		if (rc < 0)
			return err_set(err, rc, "cannot read '%s'", r->name);
		if (rc && ret->type == RECORD_END) {
			int end_rc = read_end(r, err);
			if (end_rc < 0)
				return end_rc;
		}
		if (rc && !r->needs)
			return 1;
		if (rc) {
			r->held = *ret;
			r->is_holding = true;
		}
	}
}

struct span capture_reader_string(const struct capture_reader *r, uint32_t id)
{
	return definitions_text(&r->defs, id);
}

const char *capture_reader_text(const struct capture_reader *r, uint32_t id)
{
	return (const char *)capture_reader_string(r, id).data;
}

struct capture_damage capture_reader_damage(const struct capture_reader *r)
{
	struct capture_damage damage;
	source_describe(&r->source, r->name, &damage);
	return damage;
}

uint64_t capture_reader_offset(const struct capture_reader *r)
{
	return r->source.offset;
}
