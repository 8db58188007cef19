/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/fetch.h"

#include "base/log.h"
#include "base/parse.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * debuginfod_find_debuginfo(3), since elfutils 0.179. Loaded when needed and declared here: no requirement
 * to build or to run. Never unloaded, as libcurl and its TLS library have handlers at exit.
 */
#define LIBRARY "libdebuginfod.so.1"

#define NS_PER_SECOND 1000000000ull

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

/* libdebuginfod itself takes it for how long a server may deliver next to nothing. */
static uint64_t file_limit_ns(void)
{
	const char *text = getenv("DEBUGINFOD_TIMEOUT");
	uint32_t seconds;

	if (text && parse_u32(text, 10, &seconds) == 0 && seconds)
		return seconds * NS_PER_SECOND;
	return FETCH_FILE_NS;
}

/*
 * Called about once a second; not 0 ends the transfer. It is told nothing but the client, whose user data
 * can only be had from the library: a handle of it costs no more than a look into a list here.
 */
static int on_progress(struct debuginfod_client *client, long done, long all)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_NOLOAD);
	void *(*get_user_data)(struct debuginfod_client *) = NULL;
	if (!library)
		return 1;
	*(void **)&get_user_data = dlsym(library, "debuginfod_get_user_data");
	dlclose(library);
	struct debug_fetch *f = get_user_data(client);
	uint64_t now = now_ns();

	if (now >= f->deadline_ns)
		return 1;
	if (now - f->told_ns >= NS_PER_SECOND) {
		f->told_ns = now;
		/* Bytes, once the size is known; before that, steps. */
		if (all > 0)
			log_debug("debuginfod: '%s': %ld of %ld bytes", f->name, done, all);
	}
	return 0;
}

static int load(struct debug_fetch *f)
{
	struct debuginfod_client *(*begin)(void);
	void (*set_progress)(struct debuginfod_client *,
			     int (*)(struct debuginfod_client *, long, long));
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		log_debug("debuginfod: not asked, no " LIBRARY);
		return -ENOENT;
	}
	*(void **)&begin = dlsym(library, "debuginfod_begin");
	*(void **)&set_progress = dlsym(library, "debuginfod_set_progressfn");
	*(void **)&f->set_user_data = dlsym(library, "debuginfod_set_user_data");
	*(void **)&f->find = dlsym(library, "debuginfod_find_debuginfo");
	*(void **)&f->end = dlsym(library, "debuginfod_end");
	if (!begin || !set_progress || !f->set_user_data || !f->find || !f->end ||
	    !dlsym(library, "debuginfod_get_user_data")) {
		log_debug("debuginfod: not asked, " LIBRARY " is too old");
		return -ENOENT;
	}
	f->client = begin();
	if (!f->client)
		return -ENOMEM;
	set_progress(f->client, on_progress);
	return 0;
}

/* Ready to ask: there are servers, a library and time. */
static int prepare(struct debug_fetch *f, const char *name, uint64_t now)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	uint64_t limit = file_limit_ns(), total = FETCH_TOTAL_FILES * limit;

	if (f->is_given_up || !urls || !*urls)
		return -ENOENT;
	if (!f->client && load(f) < 0) {
		f->is_given_up = true;
		return -ENOENT;
	}
	if (f->spent_ns >= total) {
		log_debug("debuginfod: not asked any more, after %llu s",
			  (unsigned long long)(f->spent_ns / NS_PER_SECOND));
		f->is_given_up = true;
		return -ENOENT;
	}
	uint64_t left = total - f->spent_ns;
	f->name = name;
	f->deadline_ns = now + (left < limit ? left : limit);
	f->told_ns = now;
	f->set_user_data(f->client, f);
	return 0;
}

int debug_fetch_file(struct debug_fetch *f, const char *name, const struct elf_build_id *id)
{
	uint64_t start = now_ns();

	if (!id->size || id->size > ELF_BUILD_ID_MAX || prepare(f, name, start) < 0)
		return -ENOENT;
	log_debug("debuginfod: asking for the debug file of '%s'", name);
	int fd = f->find(f->client, id->bytes, (int)id->size, NULL);
	uint64_t end = now_ns();
	f->spent_ns += end - start;
	log_debug("debuginfod: '%s': %s after %llu ms", name,
		  fd >= 0                 ? "a file"
		  : end >= f->deadline_ns ? "too slow"
					  : strerror(-fd),
		  (unsigned long long)((end - start) / 1000000));
	if (fd >= 0)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
	return fd;
}

void debug_fetch_release(struct debug_fetch *f)
{
	if (f->client)
		f->end(f->client);
	memset(f, 0, sizeof(*f));
}
