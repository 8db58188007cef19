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
#include "fake/xe_uapi.h"

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

/* ---- ioctls ---- */

static size_t tile_count(void)
{
	char path[512];
	path_of(path, sizeof(path), "tile1");
	return access(path, F_OK) == 0 ? 2 : 1;
}

static const char *driver_name(void)
{
	const char *name = getenv("XE_VERSION");
	return name && strcmp(name, "i915") == 0 ? name : "xe";
}

/* Media behind the main ones. */
static size_t fill_gts(unsigned char *out)
{
	const char *text = getenv("XE_VERSION") ? getenv("XE_VERSION") : "20.1";
	const char *dot = strchr(text, '.');
	size_t tiles = tile_count(), size = 0;

	for (size_t i = 0; i <= tiles; i++)
		size = xe_uapi_fill_gt(out, i,
				       &(struct xe_uapi_gt){
					       .is_media = i == tiles,
					       .tile = i == tiles ? 0 : i,
					       .id = i,
					       .major = strtoull(text, NULL, 10),
					       .minor = dot ? strtoull(dot + 1, NULL, 10) : 0,
				       });
	return size;
}

static int answer_query(unsigned char *arg)
{
	unsigned char out[XE_UAPI_ANSWER_BYTES] = { 0 };
	uint64_t what = xe_uapi_queried(arg);
	size_t size = what == XE_UAPI_CONFIG   ? xe_uapi_fill_config(out, 0x04e20b)
		      : what == XE_UAPI_GTS    ? fill_gts(out)
		      : what == XE_UAPI_STALLS ? xe_uapi_fill_stalls(out, RECORD)
					       : 0;

	return xe_uapi_answer_query(arg, out, size);
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

static int open_stream(const unsigned char *arg)
{
	uint64_t property[XE_UAPI_PROPERTIES] = { [XE_UAPI_GT] = UINT64_MAX };
	char path[512];

	if (xe_uapi_read_stream(arg, property) < 0)
		return -1;
	if (property[XE_UAPI_GT] >= tile_count())
		return xe_uapi_fail(EINVAL);
	if (refusal())
		return xe_uapi_fail(refusal());
	path_of(path, sizeof(path), property[XE_UAPI_GT] ? "tile1" : "stream");
	/* Also for writing: it never ends so. */
	int fd = NEXT(open64)(path, O_RDWR);
	if (fd < 0 || fd >= FDS)
		return xe_uapi_fail(EMFILE);
	streams[fd] = calloc(1, sizeof(struct stream));
	streams[fd]->period = property[XE_UAPI_PERIOD];
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
		return request == XE_UAPI_ENABLE ? enable(fd, streams[fd]) : xe_uapi_fail(EINVAL);
	}
	switch (request) {
	case XE_UAPI_VERSION:
		return xe_uapi_answer_version(arg, driver_name());
	case XE_UAPI_QUERY:
		return answer_query(arg);
	case XE_UAPI_OBSERVATION:
		return open_stream(arg);
	default:
		return xe_uapi_fail(EINVAL);
	}
}

/* ---- the stream ---- */

static int is_order(const unsigned char *record)
{
	return xe_uapi_get(record, 8) == UINT64_MAX;
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
		return xe_uapi_fail(EINVAL);
	if (s->is_dead)
		return xe_uapi_fail(ENODEV);
	fill(fd, s);
	for (; s->end - s->begin >= RECORD && size - done >= RECORD; done += RECORD) {
		const unsigned char *record = s->bytes + s->begin;
		if (is_order(record)) {
			if (done)
				break;
			s->begin += RECORD;
			s->is_dead = xe_uapi_get(record + 8, 4) == ENODEV;
			return xe_uapi_fail((int)xe_uapi_get(record + 8, 4));
		}
		memcpy(data + done, record, RECORD);
		s->begin += RECORD;
	}
	return done ? (ssize_t)done : xe_uapi_fail(EAGAIN);
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
