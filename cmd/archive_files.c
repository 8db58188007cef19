/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/archive_files.h"

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/strtab.h"
#include "cmd/annotate_files.h"
#include "device/device.h"
#include "elf/debug.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* More than any accelerator's whole program; those that read captures take no more either. */
#define CODE_MAX_BYTES ((uint64_t)256 << 20)

struct binary {
	uint32_t path; /* in `names` */
	struct elf_build_id id;
	uint64_t size;
	bool has_file, has_debug; /* in the capture, as it is an archive already */
};

/* A code object whose parts come one after the other. */
struct code {
	uint32_t id;
	VEC(uint8_t) bytes;
};

struct archive_files {
	struct strtab names; /* of files */
	VEC(struct binary) binaries;
	struct hash by_content; /* (path, build ID) -> binary */
	struct hash by_object;  /* object -> binary */
	struct strtab held;     /* source files that the capture has, as it is an archive already */
	struct strtab host;     /* source files of host code, without a checksum */
	VEC(struct device_object *) objects;
	VEC(uint8_t *) object_bytes;
	const char *source_path;
	struct code code;
};

int archive_files_new(struct archive_files **ret, const char *source_path, struct err *err)
{
	CLEANUP(archive_files_free) struct archive_files *f = calloc(1, sizeof(*f));
	if (!f)
		return err_set(err, -ENOMEM, "cannot look for files");
	CLEANUP(sources_free) struct sources *sources = NULL;
	int rc = sources_new(&sources, source_path);
	if (rc < 0)
		return err_set(err, rc, "cannot open '%s'", source_path);
	f->source_path = source_path;
	*ret = TAKE(f);
	return 0;
}

void archive_files_free(struct archive_files *f)
{
	if (!f)
		return;
	vec_for_each(&f->objects, o)
		device_close(*o);
	vec_for_each(&f->object_bytes, b)
		free(*b);
	vec_release(&f->objects);
	vec_release(&f->object_bytes);
	vec_release(&f->code.bytes);
	vec_release(&f->binaries);
	hash_release(&f->by_content);
	hash_release(&f->by_object);
	strtab_release(&f->names);
	strtab_release(&f->held);
	strtab_release(&f->host);
	free(f);
}

/* ---- what the capture names ---- */

static int find_object(struct archive_files *f, const struct capture_reader *r,
		       const struct record_object *o)
{
	const char *path = capture_reader_text(r, o->path);
	struct binary b = { .size = o->size };
	uint32_t number;

	if (o->kind == OBJECT_PYTHON || o->kind == OBJECT_NATIVE || o->kind == OBJECT_CXX)
		return *path ? strtab_add(&f->host, path, &number) : 0;
	if (o->kind != OBJECT_ELF || o->code_object || *path != '/' || !o->build_id.size ||
	    o->build_id.size > sizeof(b.id.bytes))
		return 0;
	memcpy(b.id.bytes, o->build_id.data, o->build_id.size);
	b.id.size = o->build_id.size;
	if (strtab_add(&f->names, path, &b.path) < 0)
		return -ENOMEM;
	uint64_t key = hash_bytes(b.id.bytes, b.id.size) + b.path;
	const uint64_t *known = hash_get(&f->by_content, key);
	uint64_t place = known ? *known : f->binaries.len;
	if (!known && (hash_set(&f->by_content, key, place) < 0 || vec_push(&f->binaries, b) < 0))
		return -ENOMEM;
	return hash_set(&f->by_object, o->id + 1ull, place);
}

/* A part of a file; the first is enough to know it. */
static int find_file(struct archive_files *f, const struct capture_reader *r,
		     const struct record_file *file)
{
	const uint64_t *known = hash_get(&f->by_object, file->object + 1ull);
	const char *path = capture_reader_text(r, file->path);
	uint32_t number;

	if (file->part_offset)
		return 0;
	if (file->kind == FILE_SOURCE)
		return strtab_add(&f->held, path, &number);
	if (known && file->kind == FILE_BINARY)
		f->binaries.data[*known].has_file = true;
	else if (known && file->kind == FILE_DEBUG)
		f->binaries.data[*known].has_debug = true;
	return 0;
}

static int find_lines(struct archive_files *f, const struct capture_reader *r,
		      const struct record_symbol *s)
{
	uint32_t number;
	for (uint32_t i = 0; i < s->count; i++) {
		const char *path = capture_reader_text(r, s->lines[i].file);
		if (*path && strtab_add(&f->host, path, &number) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* What is not known here is no failure: it has no sources to take. */
static int keep_code(struct archive_files *f, uint32_t kind)
{
	struct device_object *o = NULL;
	uint8_t *bytes = f->code.bytes.data;
	size_t size = f->code.bytes.len;

	if (kind == CODE_OBJECT_SOURCE || kind == CODE_OBJECT_SPIRV ||
	    device_open(&o, span_of(bytes, size), "code object", 0, NULL) < 0)
		return 0;
	if (vec_push(&f->objects, o) < 0) {
		device_close(o);
		return -ENOMEM;
	}
	if (vec_push(&f->object_bytes, bytes) < 0)
		return -ENOMEM; /* of the last object, which is closed before they go */
	f->code.bytes.data = NULL;
	f->code.bytes.len = f->code.bytes.cap = 0;
	return 0;
}

static int find_code(struct archive_files *f, const struct record_code_object *c)
{
	struct code *code = &f->code;
	if (!c->part_offset) {
		code->id = c->id;
		code->bytes.len = 0;
	}
	if (c->id != code->id || c->part_offset != code->bytes.len ||
	    c->total_bytes > CODE_MAX_BYTES || !c->part.size)
		return 0;
	if (vec_reserve(&code->bytes, code->bytes.len + c->part.size) < 0)
		return -ENOMEM;
	memcpy(code->bytes.data + code->bytes.len, c->part.data, c->part.size);
	code->bytes.len += c->part.size;
	return code->bytes.len == c->total_bytes ? keep_code(f, c->kind) : 0;
}

int archive_files_find(struct archive_files *f, struct capture_reader *r, struct err *err)
{
	struct record rec;
	int rc;
	while ((rc = capture_reader_next(r, &rec, err)) > 0) {
		if (rec.type == RECORD_OBJECT)
			rc = find_object(f, r, &rec.object);
		else if (rec.type == RECORD_SYMBOL)
			rc = find_lines(f, r, &rec.symbol);
		else if (rec.type == RECORD_CODE_OBJECT)
			rc = find_code(f, &rec.code_object);
		else if (rec.type == RECORD_FILE)
			rc = find_file(f, r, &rec.file);
		if (rc < 0)
			return err_set(err, rc, "cannot look for files");
	}
	return rc;
}

/* ---- writing ---- */

struct archiving {
	struct archive_files *f;
	struct capture_writer *w;
	struct archive_count *count;
};

static int put_part(struct archiving *x, struct record *rec, const void *data, size_t size)
{
	rec->file.part = (struct record_bytes){ data, size };
	int rc = capture_writer_put(x->w, rec);
	rec->file.part_offset += size;
	return rc;
}

static int start_file(struct archiving *x, struct record *rec, enum file_kind kind,
		      const char *path, uint64_t size)
{
	*rec = (struct record){ .type = RECORD_FILE,
				.file = { .kind = kind, .total_bytes = size } };
	x->count->bytes += size;
	return capture_writer_string(x->w, path, &rec->file.path);
}

static int put_text(struct archiving *x, const char *path, struct span text)
{
	struct record rec;
	int rc = start_file(x, &rec, FILE_SOURCE, path, text.size);
	while (!rc && rec.file.part_offset < text.size) {
		size_t left = text.size - rec.file.part_offset;
		rc = put_part(x, &rec, text.data + rec.file.part_offset,
			      left < RECORD_PART_BYTES ? left : RECORD_PART_BYTES);
	}
	x->count->sources++;
	return rc;
}

/* A file that is written to meanwhile ends early, and readers leave it alone. */
static int put_bytes(struct archiving *x, enum file_kind kind, const struct binary *b, int fd,
		     uint64_t size)
{
	CLEANUP_FREE uint8_t *buffer = malloc(RECORD_PART_BYTES);
	struct record_object object = {
		.kind = OBJECT_ELF,
		.size = b->size,
		.build_id = { b->id.bytes, b->id.size },
	};
	const char *path = strtab_text(&x->f->names, b->path);
	struct record rec;
	int64_t got = 1;
	if (!buffer)
		return -ENOMEM;
	int rc = start_file(x, &rec, kind, path, size);
	object.path = rec.file.path;
	rc = rc ? rc : capture_writer_object(x->w, &object, &rec.file.object);
	while (!rc && got > 0 && rec.file.part_offset < size) {
		got = io_pread_full(fd, buffer, RECORD_PART_BYTES, rec.file.part_offset);
		if (got > 0)
			rc = put_part(x, &rec, buffer, (size_t)got);
	}
	return rc;
}

static bool has_build_id(int fd, const char *path, const struct elf_build_id *id)
{
	CLEANUP(elf_close) struct elf_file *elf = NULL;
	struct elf_build_id found;
	return elf_open_fd(&elf, fd, path, 0, NULL) == 0 && elf_build_id(elf, &found) == 0 &&
	       found.size == id->size && !memcmp(found.bytes, id->bytes, id->size);
}

/* 1: taken; 0: not here, or another. */
static int take_binary(struct archiving *x, enum file_kind kind, const struct binary *b,
		       const char *path)
{
	struct stat st;
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !has_build_id(fd, path, &b->id))
		return 0;
	int rc = put_bytes(x, kind, b, fd, (uint64_t)st.st_size);
	return rc < 0 ? rc : 1;
}

static int take_binaries(struct archiving *x)
{
	vec_for_each(&x->f->binaries, b) {
		char debug[ELF_BUILD_ID_PATH_BYTES];
		int rc = b->has_file;
		if (!rc)
			rc = take_binary(x, FILE_BINARY, b, strtab_text(&x->f->names, b->path));
		if (rc < 0)
			return rc;
		x->count->binaries += rc != 0;
		x->count->no_binaries += rc == 0;
		elf_build_id_path(&b->id, debug);
		rc = b->has_debug;
		if (!rc)
			rc = take_binary(x, FILE_DEBUG, b, debug);
		if (rc < 0)
			return rc;
		x->count->debug += rc != 0;
	}
	return 0;
}

/* 1: it is in the archive; 0: it may not be taken, or is not here. What the capture has itself, in the
 * object or as the program's text, is not written again. */
static int take_source(struct archiving *x, struct sources *sources, struct device_object *o,
		       const char *path)
{
	const struct source_file *s = sources_get(sources, o, path);
	if (!s)
		return -ENOMEM;
	int rc = s->owned ? put_text(x, path, s->text) : 0;
	return rc < 0 ? rc : s->is_found;
}

static int list_lines(struct device_object *o, struct strtab *files)
{
	for (size_t i = 0; i < device_function_count(o); i++) {
		int64_t count = device_place_count(o, i);
		if (count < 0)
			return (int)count;
		for (size_t k = 0; k < (size_t)count; k++) {
			struct device_place p;
			uint32_t number;
			device_place_get(o, i, k, &p);
			for (size_t n = 0; n < p.line_count; n++) {
				if (*p.lines[n].file &&
				    strtab_add(files, p.lines[n].file, &number) < 0)
					return -ENOMEM;
			}
		}
	}
	return 0;
}

/* Those of @files that are not in the archive yet; each object may know another checksum. */
static int take_listed(struct archiving *x, struct device_object *o, const struct strtab *files,
		       struct hash *taken)
{
	CLEANUP(sources_free) struct sources *sources = NULL;
	int rc = sources_new(&sources, x->f->source_path);

	for (uint32_t i = 1; i < strtab_count(files) && rc >= 0; i++) {
		struct span path = strtab_get(files, i);
		uint64_t key = hash_bytes(path.data, path.size);
		uint64_t *known = hash_get(taken, key);
		if (known && *known)
			continue;
		rc = take_source(x, sources, o, (const char *)path.data);
		if (rc >= 0 && hash_set(taken, key, (uint64_t)rc) < 0)
			rc = -ENOMEM;
	}
	return rc < 0 ? rc : 0;
}

static int take_object_sources(struct archiving *x, struct device_object *o, struct hash *taken)
{
	struct strtab files = { 0 };
	int rc = list_lines(o, &files);
	rc = rc ? rc : take_listed(x, o, &files, taken);
	strtab_release(&files);
	return rc;
}

static int take_sources(struct archiving *x)
{
	struct hash taken = { 0 }; /* path -> whether it is */
	int rc = 0;
	for (uint32_t i = 1; i < strtab_count(&x->f->held) && rc >= 0; i++) {
		struct span path = strtab_get(&x->f->held, i);
		rc = hash_set(&taken, hash_bytes(path.data, path.size), 1);
	}
	x->count->sources += strtab_count(&x->f->held) ? strtab_count(&x->f->held) - 1 : 0;
	vec_for_each(&x->f->objects, o)
		rc = rc ? rc : take_object_sources(x, *o, &taken);
	rc = rc ? rc : take_listed(x, NULL, &x->f->host, &taken);
	hash_for_each(&taken, slot)
		x->count->no_sources += !slot->value;
	hash_release(&taken);
	return rc;
}

int archive_files_write(struct archive_files *f, struct capture_writer *w,
			struct archive_count *ret, struct err *err)
{
	struct archiving x = { f, w, ret };
	*ret = (struct archive_count){ 0 };
	int rc = take_binaries(&x);
	rc = rc ? rc : take_sources(&x);
	return rc < 0 ? err_set(err, rc, "cannot write the archive") : 0;
}
