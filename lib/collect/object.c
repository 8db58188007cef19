/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/object.h"

#include "base/io.h"
#include "base/log.h"
#include "collect/pocl.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static void object_free(struct object *object)
{
	if (!object)
		return;
	elf_close(object->elf);
	if (object->python)
		python_binary_release(object->python);
	free(object->python);
	if (object->fd >= 0)
		close(object->fd);
	hash_release(&object->hits);
	free(object->path);
	free(object);
}
DEFINE_CLEANUP(object_free, struct object *)

static struct object *object_new(enum object_kind kind, struct span path)
{
	CLEANUP(object_free) struct object *object = calloc(1, sizeof(*object));

	if (!object)
		return NULL;
	object->kind = kind;
	object->fd = -1;
	object->path = strndup(path.size ? (const char *)path.data : "", path.size);
	return object->path ? TAKE(object) : NULL;
}

static int add_other(struct objects *o, enum object_kind kind, const char *path,
		     struct object **ret)
{
	CLEANUP(object_free) struct object *object = object_new(kind, span_of(path, strlen(path)));

	if (!object || vec_push(&o->others, object) < 0)
		return -ENOMEM;
	*ret = TAKE(object);
	return 0;
}

static void kernel_open(struct object *kernel)
{
	CLEANUP_FREE char *notes = NULL;
	size_t size;

	if (io_read_file("/sys/kernel/notes", 1 << 20, &notes, &size) == 0)
		(void)elf_notes_build_id(span_of(notes, size), &kernel->build_id);
}

/* The vDSO is the kernel's, the same image in every process: ours is copied. */
static void vdso_open(struct object *vdso)
{
	const char *image = (const char *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	struct err err;

	if (!image)
		return;
	/* Linux maps two pages at most on x86-64 and aarch64; section headers are at the end. */
	uint64_t offset;
	uint16_t entry, count;
	memcpy(&offset, image + 40, sizeof(offset)); /* e_shoff, e_shentsize, e_shnum */
	memcpy(&entry, image + 58, sizeof(entry));
	memcpy(&count, image + 60, sizeof(count));
	vdso->size = offset + (uint64_t)entry * count;
	vdso->fd = memfd_create("vdso", MFD_CLOEXEC);
	if (vdso->fd < 0 || io_write_all(vdso->fd, image, vdso->size) < 0)
		return;
	if (elf_open_fd(&vdso->elf, vdso->fd, vdso->path, 0, &err) == 0)
		(void)elf_build_id(vdso->elf, &vdso->build_id);
}

int objects_init(struct objects *o, struct err *err)
{
	memset(o, 0, sizeof(*o));
	int rc = roots_init(&o->roots);
	if (rc < 0)
		return err_set(err, rc, "cannot look at our own root folder");
	if (add_other(o, OBJECT_KERNEL, "[kernel]", &o->kernel) < 0 ||
	    add_other(o, OBJECT_VDSO, "[vdso]", &o->vdso) < 0 ||
	    add_other(o, OBJECT_ELF, "[more files]", &o->rest) < 0 ||
	    vec_push(&o->files, NULL) < 0) {
		objects_release(o);
		return err_set(err, -ENOMEM, "no memory for objects");
	}
	kernel_open(o->kernel);
	vdso_open(o->vdso);
	return 0;
}

void objects_release(struct objects *o)
{
	vec_for_each(&o->files, file)
		object_free(*file);
	vec_for_each(&o->others, other)
		object_free(*other);
	vec_release(&o->files);
	vec_release(&o->others);
	strtab_release(&o->keys);
	roots_release(&o->roots);
}

/* 0, or -ESTALE for another file. */
static int check_file(int fd, const struct object_place *place, uint64_t *ret_size)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	/* File systems with several devices (btrfs, overlayfs) tell stat() an anonymous device,
	 * whose major number is 0, and the kernel's maps another. */
	if (st.st_ino != place->inode ||
	    (major(st.st_dev) && st.st_dev != makedev(place->major, place->minor)))
		return -ESTALE;
	*ret_size = (uint64_t)st.st_size;
	return 0;
}

/* Descriptors that targets' files leave for everything else: whoever maps files without end costs the
 * names in those, not everyone's. */
#define SPARE_FILES 512u

static bool is_one_too_many(int fd)
{
	struct rlimit limit;

	if (fd < 0 || getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return false;
	uint64_t spare = limit.rlim_cur / 4 < SPARE_FILES ? limit.rlim_cur / 4 : SPARE_FILES;
	return (uint64_t)fd >= limit.rlim_cur - spare;
}

/* A descriptor of the file that @place maps and no other, by the surest way first. */
static int open_place(struct objects *o, const struct object_place *place, struct object *object)
{
	char link[96];

	/* The kernel's own link to what is mapped there: right even for deleted files. */
	snprintf(link, sizeof(link), "/proc/%u/map_files/%lx-%lx", place->pid,
		 (unsigned long)place->start, (unsigned long)place->end);
	CLEANUP_CLOSE int fd = root_open_regular(link);
	int root = roots_of(&o->roots, place->pid);
	object->root = root < 0 ? 0 : root;
	if (fd == -EMFILE || fd == -ENFILE)
		return fd;
	if (fd >= 0 && check_file(fd, place, &object->size) == 0)
		return TAKE_FD(fd);
	/* The mapping or the process may be gone already, or another file is mapped there, or we may
	 * not look (who is not root): by the path then. */
	CLEANUP_CLOSE int named = root_open(&o->roots, object->root, object->path, 0);
	if (named < 0)
		return named;
	int rc = check_file(named, place, &object->size);
	return rc < 0 ? rc : TAKE_FD(named);
}

static bool is_gone(const char *path)
{
	static const char suffix[] = " (deleted)";
	size_t size = strlen(path), tail = sizeof(suffix) - 1;

	return size > tail && strcmp(path + size - tail, suffix) == 0;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* "jit-PID.dump", mapped executable to be noticed by profilers (the kernel's
 * tools/perf/Documentation/jitdump-specification.txt). */
static bool is_jitdump(const char *path)
{
	const char *p = base_name(path);

	if (strncmp(p, "jit-", 4) != 0)
		return false;
	p += 4;
	return strspn(p, "0123456789") && !strcmp(p + strspn(p, "0123456789"), ".dump");
}

/* Ours that live in targets, and CUPTI, which calls them back. */
static bool is_profiler(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return strncmp(name, "libaccel-prof-", 14) == 0 || strncmp(name, "libcupti.so", 11) == 0;
}

static void object_open(struct objects *o, const struct object_place *place, struct object *object)
{
	struct err err;

	if (place->is_deleted)
		object->flags |= OBJECT_DELETED;
	if (is_gone(object->path)) {
		object->path[strlen(object->path) - strlen(" (deleted)")] = '\0';
		object->flags |= OBJECT_DELETED;
	}
	object->fd = open_place(o, place, object);
	if (is_one_too_many(object->fd)) {
		close(object->fd);
		object->fd = -EMFILE;
	}
	if (object->fd < 0) {
		log_debug("cannot open '%s': %s", object->path, strerror(-object->fd));
		object->fd = -1;
		object->flags |= OBJECT_DELETED;
		o->unopened += object->attempts == 1;
		return;
	}
	object->is_jitdump = is_jitdump(object->path);
	if (object->is_jitdump)
		return;
	int rc = elf_open_fd(&object->elf, object->fd, object->path, ELF_OPEN_LEAN, &err);
	if (rc < 0) {
		log_debug("%s", err.text);
		object->is_foreign = rc == -ENOTSUP;
		return;
	}
	(void)elf_build_id(object->elf, &object->build_id);
	if (pocl_is_kernel_path(object->path))
		object->flags |= OBJECT_HOLDS_DEVICE_CODE;
	if (is_profiler(object->path))
		object->flags |= OBJECT_IS_PROFILER;
	if (o->on_open)
		o->on_open(o->data, object, place);
	elf_forget_sections(object->elf);
}

/* How often a file that cannot be opened is tried again, when it is mapped again. */
#define ATTEMPTS_MAX 8

static int file_new(struct objects *o, const struct object_place *place, uint32_t attempts,
		    struct object **ret)
{
	struct object *object = object_new(OBJECT_ELF, place->path);

	if (!object)
		return -ENOMEM;
	object->device = (uint64_t)place->major << 32 | place->minor;
	object->inode = place->inode;
	object->attempts = attempts;
	object_open(o, place, object);
	*ret = object;
	return 0;
}

static int file_place(struct objects *o, const struct object_place *place, struct object **ret)
{
	const uint64_t key[2] = { (uint64_t)place->major << 32 | place->minor, place->inode };
	uint32_t number;

	/* Whoever makes files without end makes no objects without end. */
	if (strtab_count(&o->keys) > OBJECTS_MAX &&
	    strtab_find(&o->keys, key, sizeof(key), &number) < 0) {
		o->unopened++;
		*ret = o->rest;
		return 0;
	}
	int rc = strtab_intern(&o->keys, key, sizeof(key), &number, NULL);
	if (rc < 0)
		return rc;
	if (number >= o->files.len && vec_push(&o->files, NULL) < 0)
		return -ENOMEM;
	struct object *object = o->files.data[number];
	if (object && object->fd < 0 && object->attempts < ATTEMPTS_MAX &&
	    o->others.len < OBJECTS_MAX) {
		/* Without a descriptor nothing pins the number: it may be another file by now. The
		 * old object stays, as mappings point to it. */
		if (vec_push(&o->others, object) < 0)
			return -ENOMEM;
		rc = file_new(o, place, object->attempts + 1, &o->files.data[number]);
	} else if (!object) {
		rc = file_new(o, place, 1, &o->files.data[number]);
	}
	if (rc < 0)
		return rc;
	object = o->files.data[number];
	bool is_code = object->fd < 0 || object->elf || object->is_foreign;
	*ret = is_code || object->is_jitdump ? object : NULL;
	return 0;
}

int objects_place(struct objects *o, const struct object_place *place, struct object **ret)
{
	static const char vdso[] = "[vdso]";

	if (place->inode)
		return file_place(o, place, ret);
	bool is_vdso = place->path.size == sizeof(vdso) - 1 &&
		       !memcmp(place->path.data, vdso, sizeof(vdso) - 1);
	*ret = is_vdso ? o->vdso : NULL;
	return 0;
}

int objects_anon(struct objects *o, const struct object_owner *owner, struct object **ret)
{
	struct object *object;
	int rc = add_other(o, OBJECT_ANON, "[anon]", &object);

	if (rc < 0)
		return rc;
	object->owner = *owner;
	rc = roots_of(&o->roots, owner->pid);
	object->root = rc < 0 ? 0 : rc;
	*ret = object;
	return 0;
}

uint64_t object_bias(const struct object *object, uint64_t start, uint64_t offset)
{
	uint64_t vaddr = offset;

	switch (object->kind) {
	case OBJECT_ELF:
		if (object->elf)
			(void)elf_offset_to_vaddr(object->elf, offset, &vaddr);
		return start - vaddr;
	case OBJECT_VDSO:
		return start - offset;
	default:
		return 0;
	}
}

int object_declare(struct object *object, struct capture_writer *w, uint32_t *ret)
{
	struct record_object record = {
		.kind = object->kind,
		.flags = object->flags,
		.process = object->owner.process,
		.size = object->size,
		.code_object = object->code_object,
		.build_id = { object->build_id.bytes, object->build_id.size },
	};
	int rc;

	if (!object->id) {
		if ((rc = capture_writer_string(w, base_name(object->path), &record.name)) < 0)
			return rc;
		if (object->path[0] == '/' &&
		    (rc = capture_writer_string(w, object->path, &record.path)) < 0)
			return rc;
		if ((rc = capture_writer_object(w, &record, &object->id)) < 0)
			return rc;
	}
	*ret = object->id;
	return 0;
}
