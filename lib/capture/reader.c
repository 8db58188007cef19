/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/reader.h"

#include "capture/ahead.h"
#include "capture/decoder.h"
#include "capture/definitions.h"
#include "capture/field.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct capture_reader {
	int owned_fd; /* or -1 */
	char *name;
	struct ahead chunks;
	struct decoder decoder;
	struct definitions defs;

	struct record held; /* waits until the stand-ins it needs are given out */
	bool is_holding;
	unsigned needs, given; /* enum damaged_part */
	bool is_done;
	int (*on_end)(void *data, struct err *err);
	void *on_end_data;
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
	int rc = ahead_init(&r->chunks, fd, name, err);
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
	ahead_release(&r->chunks);
	definitions_release(&r->defs);
	if (r->owned_fd >= 0)
		close(r->owned_fd);
	free(r->name);
	free(r);
}

void capture_reader_on_end(struct capture_reader *r, int (*on_end)(void *data, struct err *err),
			   void *data)
{
	r->on_end = on_end;
	r->on_end_data = data;
}

void capture_reader_leave_kept(struct capture_reader *r)
{
	r->defs.leaves_kept = true;
}

/* One record out of the chunk: 1; 0 when it is not to be given out; -ENODATA at the chunk's end. */
static int read_record(struct capture_reader *r, struct record *ret)
{
	int rc = decoder_next(&r->decoder, ret);
	if (rc <= 0)
		return rc ? rc : -ENODATA;
	if (ret->type == RECORD_STRING)
		rc = definitions_string(&r->defs, &ret->string);
	else if (ret->type == RECORD_OBJECT)
		rc = definitions_object(&r->defs, &ret->object);
	else if (ret->type == RECORD_STACK)
		rc = definitions_stack(&r->defs, &ret->stack, &r->decoder);
	if (rc > 0)
		r->needs = definitions_check(&r->defs, ret, &r->decoder) & ~r->given;
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

/* The current chunk is of no further use. */
static void drop_chunk(struct capture_reader *r)
{
	decoder_stop(&r->decoder);
	ahead_spoiled(&r->chunks);
}

static int next_chunk(struct capture_reader *r, struct err *err)
{
	int rc = ahead_next(&r->chunks);
	if (rc < 0)
		return err_set(err, rc, "cannot read '%s'", r->name);
	if (!rc) {
		r->is_done = true;
		return 0;
	}
	r->defs.bytes_read += r->chunks.now.stored_bytes;
	if (r->chunks.now.starts_epoch)
		stacks_restart(&r->defs.stacks, 0);
	if (decoder_start(&r->decoder, span_of(r->chunks.now.data, r->chunks.now.size)) < 0)
		drop_chunk(r);
	return 1;
}

/* END was read: there should be nothing more, in the chunk or behind it. */
static int read_end(struct capture_reader *r, struct err *err)
{
	if (decoder_left(&r->decoder))
		drop_chunk(r);
	r->is_done = true;
	int rc = ahead_end(&r->chunks);
	return rc < 0 ? err_set(err, rc, "cannot read '%s'", r->name) : 0;
}

/* One step: 1 when a record is to be given out, 0 when not, negative when the system fails. */
static int step(struct capture_reader *r, struct record *ret, struct err *err)
{
	int rc = read_record(r, ret);

	switch (rc) {
	case -ENODATA:
		rc = next_chunk(r, err);
		return rc < 0 ? rc : 0;
	case -EBADMSG:
		drop_chunk(r);
		return 0;
	case 0:
		return 0;
	case 1:
		break;
	default:
		return err_set(err, rc, "cannot read '%s'", r->name);
	}
	if (ret->type == RECORD_END) {
		rc = read_end(r, err);
		if (rc < 0)
			return rc;
	}
	if (!r->needs)
		return 1;
	r->held = *ret;
	r->is_holding = true;
	return 0;
}

int capture_reader_next(struct capture_reader *r, struct record *ret, struct err *err)
{
	int rc = 0;

	while (!rc) {
		if (r->is_holding) {
			give_held(r, ret);
			return 1;
		}
		if (r->is_done)
			return r->on_end ? r->on_end(r->on_end_data, err) : 0;
		rc = step(r, ret, err);
	}
	return rc;
}

int capture_reader_stack(const struct capture_reader *r, uint32_t id, struct record_frame *frames,
			 struct record_stack *ret)
{
	return definitions_frames(&r->defs, id, frames, ret);
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
	ahead_describe(&r->chunks, r->name, &damage);
	damage.unknown_records = r->decoder.unknown_records;
	return damage;
}

uint64_t capture_reader_offset(const struct capture_reader *r)
{
	return r->chunks.now.offset;
}
