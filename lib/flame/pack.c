/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/pack.h"

#include "base/vec.h"
#include "flame/base64.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>
#include <zlib.h>

/* Level 4: half the time of the default for 4 % more bytes, measured on a million stacks. */
#define PACK_LEVEL 4
/* A few milliseconds of work. The seam between two blocks costs five bytes. */
#define BLOCK_BYTES (1u << 20)
/* What a match may reach back for. */
#define WINDOW_BYTES (1u << MAX_WBITS)
/* Ten million frames are some forty blocks. */
#define THREADS_MAX 8

struct block {
	uint8_t *data;
	size_t size;
};

/* Blocks that are packed at the same time: each thread takes the next one. */
struct packing {
	const uint8_t *plain;
	size_t size;
	struct block *blocks;
	size_t count;
	atomic_size_t next;
	atomic_bool failed;
};

void packer_release(struct packer *k)
{
	strbuf_release(&k->plain);
}

void packer_add(struct packer *k, const void *data, size_t size)
{
	strbuf_add(&k->plain, data, size);
}

/* A negative window size is raw deflate, which DecompressionStream knows by that name. */
static bool deflate_start(z_stream *z)
{
	return deflateInit2(z, PACK_LEVEL, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY) == Z_OK;
}

/*
 * Block @i as a part of one stream: it may refer to the bytes before it, and it ends at a whole byte,
 * so that what the blocks become can stand one behind the other.
 */
static bool block_pack(struct packing *p, z_stream *z, size_t i)
{
	size_t at = i * BLOCK_BYTES;
	size_t size = p->size - at < BLOCK_BYTES ? p->size - at : BLOCK_BYTES;
	struct block *block = &p->blocks[i];
	/* The bound is for a whole stream; a flush ends with an empty block of at most five bytes. */
	size_t room = deflateBound(z, size) + 16;

	block->data = malloc(room);
	if (!block->data || deflateReset(z) != Z_OK)
		return false;
	if (at)
		deflateSetDictionary(z, p->plain + at - WINDOW_BYTES, WINDOW_BYTES);
	z->next_in = (Bytef *)p->plain + at;
	z->avail_in = (uInt)size;
	z->next_out = block->data;
	z->avail_out = (uInt)room;
	bool is_last = i + 1 == p->count;
	int rc = deflate(z, is_last ? Z_FINISH : Z_SYNC_FLUSH);
	block->size = room - z->avail_out;
	return rc == (is_last ? Z_STREAM_END : Z_OK) && z->avail_out;
}

static void *blocks_pack(void *data)
{
	struct packing *p = data;
	z_stream z = { 0 };

	if (!deflate_start(&z)) {
		atomic_store(&p->failed, true);
		return NULL;
	}
	for (size_t i; (i = atomic_fetch_add(&p->next, 1)) < p->count;) {
		if (!block_pack(p, &z, i))
			atomic_store(&p->failed, true);
	}
	deflateEnd(&z);
	return NULL;
}

/* This thread and as many more as there are processors and work for. */
static void pack_all(struct packing *p)
{
	pthread_t threads[THREADS_MAX];
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	size_t count = 0;

	while (count < THREADS_MAX && (long)count + 1 < processors && count + 1 < p->count &&
	       !pthread_create(&threads[count], NULL, blocks_pack, p))
		count++;
	blocks_pack(p);
	while (count)
		pthread_join(threads[--count], NULL);
}

int packer_end(struct packer *k, struct strbuf *out)
{
	struct packing p = {
		.plain = (const uint8_t *)strbuf_text(&k->plain),
		.size = k->plain.len,
		.count = k->plain.len / BLOCK_BYTES + 1,
	};
	struct base64 base64 = { 0 };

	p.blocks = calloc(p.count, sizeof(*p.blocks));
	if (strbuf_finish(&k->plain) < 0 || !p.blocks) {
		free(p.blocks);
		return -ENOMEM;
	}
	pack_all(&p);
	for (size_t i = 0; i < p.count; i++) {
		base64_add(&base64, out, p.blocks[i].data, p.blocks[i].size);
		free(p.blocks[i].data);
	}
	base64_end(&base64, out);
	free(p.blocks);
	return atomic_load(&p.failed) ? -ENOMEM : strbuf_finish(out);
}

void pack_number(struct strbuf *out, uint64_t value)
{
	/* Most are a byte, and there are millions. */
	if (value < 0x80 && out->len + 1 < out->cap) {
		out->data[out->len++] = (char)value;
		out->data[out->len] = '\0';
		return;
	}
	char bytes[10];
	size_t n = 0;
	for (; value > 0x7f; value >>= 7)
		bytes[n++] = (char)((value & 0x7f) | 0x80);
	bytes[n++] = (char)value;
	strbuf_add(out, bytes, n);
}
