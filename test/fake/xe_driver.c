/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's xe driver with one GPU, for a program that it is preloaded into: /dev/dri/renderD128 is there, answers as
 * xe_drm.h of Linux 6.15 says, and its stall stream has what a test writes into a FIFO. In the folder $XE_DRIVER:
 *
 *	stream	the FIFO: records, and orders: 64 bytes of which the first 8 are ones, then an errno of 32 bits. EIO is
 *		told once; ENODEV from then on, until the stream is opened anew.
 *	refuse	an errno as text: what opening a stream fails with; 0, or no such file: it does not
 *	tile1	if it is there, the GPU has a second tile, with this FIFO
 *	period	where the period that was asked for is written, when sampling begins
 *
 * $XE_VERSION is the graphics version, "20.1" without it; "i915": it is that driver's.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define NODE   "/dev/dri/renderD128"
#define FDS    1024
#define RECORD 64

enum {
	NOT_OURS,
	IS_NODE,
	IS_STREAM,
};

struct stream {
	unsigned char bytes[4 << 20];
	size_t begin, end;
	int is_enabled, is_dead;
	uint64_t period;
};

static unsigned char kinds[FDS];
static struct stream *streams[FDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static const char *folder(void)
{
	const char *value = getenv("XE_DRIVER");
	return value && *value ? value : NULL;
}

static int path_of(char *path, size_t size, const char *name)
{
	return folder() ? snprintf(path, size, "%s/%s", folder(), name) : 0;
}

static int fail_with(int error)
{
	errno = error;
	return -1;
}

static int open_any(const char *path, int flags, mode_t mode)
{
	if (!folder() || strcmp(path, NODE) != 0)
		return NEXT(open64)(path, flags, mode);
	int fd = NEXT(open64)("/dev/null", O_RDWR | (flags & O_CLOEXEC));
	if (fd >= 0 && fd < FDS)
		kinds[fd] = IS_NODE;
	return fd;
}

static mode_t mode_of(int flags, va_list list)
{
	return flags & (O_CREAT | __O_TMPFILE) ? va_arg(list, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
	va_list list;
	va_start(list, flags);
	mode_t mode = mode_of(flags, list);
	va_end(list);
	return open_any(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
	va_list list;
	va_start(list, flags);
	mode_t mode = mode_of(flags, list);
	va_end(list);
	return open_any(path, flags, mode);
}

int close(int fd)
{
	if (fd >= 0 && fd < FDS && kinds[fd]) {
		pthread_mutex_lock(&lock);
		kinds[fd] = NOT_OURS;
		free(streams[fd]);
		streams[fd] = NULL;
		pthread_mutex_unlock(&lock);
	}
	return NEXT(close)(fd);
}

/* ---- ioctls; numbers and offsets of xe_drm.h, written out ---- */

static void put(unsigned char *to, uint64_t value, size_t size)
{
	memcpy(to, &value, size);
}

static uint64_t get(const unsigned char *from, size_t size)
{
	uint64_t value = 0;
	memcpy(&value, from, size);
	return value;
}

static void *pointer(uint64_t value)
{
	return (void *)(uintptr_t)value;
}

static size_t tile_count(void)
{
	char path[512];
	path_of(path, sizeof(path), "tile1");
	return access(path, F_OK) == 0 ? 2 : 1;
}

/* name_len at 16, name at 24 */
static int answer_version(unsigned char *arg)
{
	const char *name = getenv("XE_VERSION");
	if (!name || strcmp(name, "i915") != 0)
		name = "xe";
	size_t room = get(arg + 16, 8), size = strlen(name);
	memcpy(pointer(get(arg + 24, 8)), name, room < size ? room : size);
	put(arg + 16, size, 8);
	return 0;
}

/* GTs: 96 bytes each from 8 on: type, tile, id; version at 32. Media, of type 1, behind the main ones. */
static size_t fill_gts(unsigned char *out)
{
	const char *text = getenv("XE_VERSION") ? getenv("XE_VERSION") : "20.1";
	const char *dot = strchr(text, '.');
	size_t tiles = tile_count();

	put(out, tiles + 1, 4);
	for (size_t i = 0; i <= tiles; i++) {
		unsigned char *gt = out + 8 + 96 * i;
		put(gt, i == tiles, 2);
		put(gt + 2, i == tiles ? 0 : i, 2);
		put(gt + 4, i, 2);
		put(gt + 32, strtoull(text, NULL, 10), 2);
		put(gt + 34, dot ? strtoull(dot + 1, NULL, 10) : 0, 2);
	}
	return 8 + 96 * (tiles + 1);
}

static size_t fill_query(uint64_t what, unsigned char *out)
{
	switch (what) {
	case 2: /* configuration: number and revision of the device */
		put(out, 1, 4);
		put(out + 8, 0x04e20b, 8);
		return 16;
	case 3:
		return fill_gts(out);
	case 10: /* EU stalls: bytes of a record, of a core's buffer, number of rates, rates */
		put(out + 8, 1, 8);
		put(out + 16, RECORD, 8);
		put(out + 24, 512 << 10, 8);
		put(out + 72, 7, 8);
		for (uint64_t i = 0; i < 7; i++)
			put(out + 80 + 8 * i, 251 * (i + 1), 8);
		return 80 + 8 * 7;
	default:
		return 0;
	}
}

static int answer_query(unsigned char *arg)
{
	unsigned char out[1024] = { 0 };
	size_t size = fill_query(get(arg + 8, 4), out);

	if (!size)
		return fail_with(EINVAL);
	if (!get(arg + 12, 4)) {
		put(arg + 12, size, 4);
		return 0;
	}
	if (get(arg + 12, 4) != size)
		return fail_with(EINVAL);
	memcpy(pointer(get(arg + 16, 8)), out, size);
	return 0;
}

static int refusal(void)
{
	char path[512];
	int error = 0;
	path_of(path, sizeof(path), "refuse");
	FILE *file = fopen(path, "r");
	if (file) {
		if (fscanf(file, "%d", &error) != 1)
			error = 0;
		fclose(file);
	}
	return error;
}

static void note_period(uint64_t period)
{
	char path[512];
	path_of(path, sizeof(path), "period");
	FILE *file = fopen(path, "w");
	if (file) {
		fprintf(file, "%llu\n", (unsigned long long)period);
		fclose(file);
	}
}

/* type, operation, the first property; of each: the next one, then from 16 on its number, and its value at 24. */
static int open_stream(const unsigned char *arg)
{
	uint64_t gt = UINT64_MAX, period = 0;
	char path[512];

	if (get(arg, 8) || get(arg + 8, 8) != 1 || get(arg + 16, 8))
		return fail_with(EINVAL);
	for (const unsigned char *p = pointer(get(arg + 24, 8)); p; p = pointer(get(p, 8))) {
		if (get(p + 16, 4) == 1)
			gt = get(p + 24, 8);
		else if (get(p + 16, 4) == 2)
			period = get(p + 24, 8);
	}
	if (gt >= tile_count() || (period && (period / 251 < 1 || period / 251 > 7)))
		return fail_with(EINVAL);
	if (refusal())
		return fail_with(refusal());
	path_of(path, sizeof(path), gt ? "tile1" : "stream");
	/* Also for writing: it never ends so. */
	int fd = NEXT(open64)(path, O_RDWR);
	if (fd < 0 || fd >= FDS)
		return fail_with(EMFILE);
	streams[fd] = calloc(1, sizeof(struct stream));
	streams[fd]->period = period;
	kinds[fd] = IS_STREAM;
	return fd;
}

/* What there is already is thrown away. */
static int enable(int fd, struct stream *s)
{
	while (NEXT(read)(fd, s->bytes, sizeof(s->bytes)) > 0)
		;
	s->is_enabled = 1;
	note_period(s->period);
	return 0;
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list list;
	va_start(list, request);
	void *arg = va_arg(list, void *);
	va_end(list);
	if (fd < 0 || fd >= FDS || kinds[fd] == NOT_OURS)
		return NEXT(ioctl)(fd, request, arg);
	if (kinds[fd] == IS_STREAM) {
		return request == 0x6900 ? enable(fd, streams[fd]) : fail_with(EINVAL);
	}
	switch (request) {
	case 0xc0406400:
		return answer_version(arg);
	case 0xc0286440:
		return answer_query(arg);
	case 0x4020644b:
		return open_stream(arg);
	default:
		return fail_with(EINVAL);
	}
}

/* ---- the stream ---- */

static int is_order(const unsigned char *record)
{
	return get(record, 8) == UINT64_MAX;
}

/* Fill up, in whole records. */
static void fill(int fd, struct stream *s)
{
	memmove(s->bytes, s->bytes + s->begin, s->end - s->begin);
	s->end -= s->begin;
	s->begin = 0;
	ssize_t n = NEXT(read)(fd, s->bytes + s->end, sizeof(s->bytes) - s->end);
	if (n > 0)
		s->end += (size_t)n;
}

static ssize_t read_stream(int fd, unsigned char *data, size_t size)
{
	struct stream *s = streams[fd];
	size_t done = 0;

	if (!s->is_enabled || size < RECORD)
		return fail_with(EINVAL);
	if (s->is_dead)
		return fail_with(ENODEV);
	fill(fd, s);
	for (; s->end - s->begin >= RECORD && size - done >= RECORD; done += RECORD) {
		const unsigned char *record = s->bytes + s->begin;
		if (is_order(record)) {
			if (done)
				break;
			s->begin += RECORD;
			s->is_dead = get(record + 8, 4) == ENODEV;
			return fail_with((int)get(record + 8, 4));
		}
		memcpy(data + done, record, RECORD);
		s->begin += RECORD;
	}
	return done ? (ssize_t)done : fail_with(EAGAIN);
}

ssize_t read(int fd, void *data, size_t size)
{
	if (fd < 0 || fd >= FDS || kinds[fd] != IS_STREAM)
		return NEXT(read)(fd, data, size);
	pthread_mutex_lock(&lock);
	ssize_t n = read_stream(fd, data, size);
	pthread_mutex_unlock(&lock);
	return n;
}
