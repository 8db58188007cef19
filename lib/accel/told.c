/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/told.h"

#include "inject/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool told_next(struct span *batch, struct told_message *ret)
{
	struct inject_header header;

	if (batch->size < sizeof(header))
		return false;
	memcpy(&header, batch->data, sizeof(header));
	if (header.size < sizeof(header) || header.size > batch->size)
		return false;
	ret->type = header.type;
	ret->about = header.about;
	ret->whole = span_of(batch->data, header.size);
	ret->body = cursor_of(span_of(batch->data + sizeof(header), header.size - sizeof(header)),
			      "message");
	/* The last one need not be filled up. */
	size_t filled = ((size_t)header.size + 7) & ~(size_t)7;
	if (filled > batch->size)
		filled = batch->size;
	*batch = span_of(batch->data + filled, batch->size - filled);
	return true;
}

uint8_t told_work_kind(uint32_t kind)
{
	return kind == INJECT_LAUNCH_KERNEL ? LAUNCH_KERNEL
	       : kind == INJECT_LAUNCH_FILL ? LAUNCH_FILL
					    : LAUNCH_COPY;
}

bool told_lasts(const struct told_message *m, uint64_t *ret_identity)
{
	struct cursor body = m->body;
	uint64_t module, total, offset;
	uint32_t name;

	switch (m->type) {
	case INJECT_HERE:
		*ret_identity = m->type;
		return true;
	case INJECT_NAME:
	case INJECT_THREAD:
		if (cursor_u32(&body, &name, NULL) < 0)
			return false;
		*ret_identity = hash_u64(hash_pair(m->type, name));
		return true;
	case INJECT_CODE:
		if (cursor_u64(&body, &module, NULL) < 0 || cursor_u64(&body, &total, NULL) < 0 ||
		    cursor_u64(&body, &offset, NULL) < 0)
			return false;
		*ret_identity = hash_u64(hash_u64(module) + offset) + m->type;
		return true;
	case INJECT_NODE:
	case INJECT_KERNEL:
		if (cursor_u64(&body, &module, NULL) < 0)
			return false;
		*ret_identity = hash_u64(module) + m->type;
		return true;
	default:
		return false;
	}
}

int told_name(struct hash *names, struct capture_writer *w, struct cursor *m)
{
	uint32_t id, length, string;
	struct span text;
	int rc;

	if (cursor_u32(m, &id, NULL) < 0 || cursor_u32(m, &length, NULL) < 0 ||
	    length > INJECT_NAME_BYTES || cursor_bytes(m, length, &text, NULL) < 0)
		return 0;
	if (names->len >= TOLD_NAMES_MAX)
		hash_release(names);
	rc = capture_writer_bytes(w, text.data, text.size, &string);
	return rc < 0 ? rc : hash_set(names, id, string);
}

/* Parts come in order, one image after the other. */
int told_image_part(struct told_image *image, struct cursor *m)
{
	uint64_t module, total, offset;
	struct span part;

	if (cursor_u64(m, &module, NULL) < 0 || cursor_u64(m, &total, NULL) < 0 ||
	    cursor_u64(m, &offset, NULL) < 0 || cursor_bytes(m, cursor_left(m), &part, NULL) < 0 ||
	    total > TOLD_IMAGE_MAX)
		return 0;
	if (offset == 0) {
		free(image->bytes);
		*image = (struct told_image){ .module = module, .total = total };
		image->bytes = malloc(total ? total : 1);
		if (!image->bytes)
			return -ENOMEM;
	}
	if (!image->bytes || image->module != module || image->total != total ||
	    image->filled != offset || part.size > total - offset)
		return 0;
	memcpy(image->bytes + offset, part.data, part.size);
	image->filled += part.size;
	return image->filled == total;
}

void told_image_release(struct told_image *image)
{
	free(image->bytes);
	*image = (struct told_image){ 0 };
}
