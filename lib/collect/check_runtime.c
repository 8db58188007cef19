/* SPDX-License-Identifier: Apache-2.0 */
/* Accelerators' runtimes: which are here, what is recorded of them, and why not more. */
#include "collect/check.h"

#include "accel/accel.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include "collect/library.h"
#include "proc/maps.h"
#include "proc/read.h"

#include <string.h>
#include <unistd.h>

#define INJECTED    "libaccel-prof-cuda.so"
#define INJECTED_ZE "libaccel-prof-ze.so"
#define CUPTI       "libcupti.so"

/* A file that process @pid has mapped, or that the dynamic linker would find here: malloc'ed. */
static char *find_library(uint32_t pid, const char *maps, size_t size, const char *const *names)
{
	struct proc_mapping m;

	for (; !pid && *names; names++) {
		char *path = library_find(*names);
		if (path)
			return path;
	}
	for (; *names; names++) {
		struct lines lines = lines_of(span_of(maps, size), "maps");
		size_t length = strcspn(*names, ".") + strlen(".so");
		while (proc_maps_next(&lines, &m, NULL) > 0) {
			const char *path = (const char *)m.path.data;
			const char *slash = m.path.size ? memrchr(path, '/', m.path.size) : NULL;
			size_t left = slash ? (size_t)(path + m.path.size - slash - 1) : 0;
			if (left >= length && !memcmp(slash + 1, *names, length))
				return strndup(path, m.path.size);
		}
	}
	return NULL;
}

struct looked_at {
	uint32_t pid;
	char *maps; /* of the process */
	size_t size;
};

static char *find(const struct looked_at *p, const char *const *names)
{
	return find_library(p->pid, p->maps, p->size, names);
}

/* The library that another tool has CUDA load, which loads one: in our environment, or of the process's.
 * NULL: none. */
static char *other_tool(const struct looked_at *p)
{
	static const char variable[] = "CUDA_INJECTION64_PATH=";
	const char *own = p->pid ? NULL : getenv("CUDA_INJECTION64_PATH");
	CLEANUP_FREE char *text = NULL;
	size_t size;

	if (own)
		return *own ? strdup(own) : NULL;
	if (!p->pid || proc_read(p->pid, "environ", PROC_MAPS_MAX_BYTES, &text, &size) < 0)
		return NULL;
	for (const char *at = text; at < text + size; at += strlen(at) + 1) {
		const char *path = at + sizeof(variable) - 1;
		if (!strncmp(at, variable, sizeof(variable) - 1) && *path &&
		    !strstr(path, INJECTED))
			return strdup(path);
	}
	return NULL;
}

/* The injected library tells of time, by CUPTI; it gets in when the program starts. */
static void check_cuda(const struct looked_at *p, struct check *c)
{
	static const char *const cupti[] = { "libcupti.so.13",
					     "libcupti.so.12",
					     "libcupti.so.11.8",
					     "libcupti.so.11.0",
					     CUPTI,
					     NULL };
	static const char *const injected[] = { INJECTED, NULL };
	CLEANUP_FREE char *own = library_own(INJECTED);
	CLEANUP_FREE char *here = find(p, injected);
	CLEANUP_FREE char *counters = find(p, cupti);

	CLEANUP_FREE char *other = other_tool(p);

	c->state = CHECK_PARTLY;
	if (other) {
		snprintf(c->found + strlen(c->found), 120,
			 ": launches; another tool's library is where ours would be: %.60s", other);
		MEND(c, CHECK_YOU, "for device time %s without CUDA_INJECTION64_PATH",
		     p->pid ? "start it" : "record");
	} else if (p->pid && here) {
		c->state = CHECK_YES;
		strcat(c->found, ": launches and device time");
	} else if (p->pid) {
		strcat(c->found, ": launches");
		MEND(c, CHECK_YOU,
		     "for device time record with --inject, or start it with 'accel-prof record -- "
		     "CMD', which lets a library of ours in");
	} else if (own && counters) {
		c->state = CHECK_YES;
		strcat(c->found, ": launches, and device time of programs that 'record' starts");
	} else {
		strcat(c->found, ": launches");
		MEND(c, CHECK_ROOT, "%s",
		     own ? "for device time install CUPTI: apt-get install libcupti-dev, or put its "
			   "folder into LD_LIBRARY_PATH"
			 : "for device time install libaccel-prof-cuda.so beside accel-prof");
	}
}

static void check_opencl(const struct looked_at *p, struct check *c)
{
	static const char *const pocl[] = { "libpocl.so.2", NULL };
	CLEANUP_FREE char *path = find(p, pocl);

	if (path) {
		strcat(c->found, ": launches; on the CPU by POCL device time and instructions too");
		return;
	}
	c->state = CHECK_PARTLY;
	strcat(c->found, ": launches");
	MEND(c, CHECK_ROOT,
	     "device time is recorded of POCL only: apt-get install pocl-opencl-icd");
}

/* Those that lib/accel does not list (yet): its table, not this file, says which. */
static bool is_watched(const char *soname)
{
	const char *listed;

	for (size_t i = 0; (listed = accel_library(i)); i++) {
		if (!strcmp(listed, soname))
			return true;
	}
	return false;
}

static void check_plain(const struct looked_at *p, struct check *c)
{
	(void)p;
	strcat(c->found, ": launches");
}

/* Samples are of addresses: without the library that tells whose they are they are of nothing. */
static void check_level_zero(const struct looked_at *p, struct check *c)
{
	CLEANUP_FREE char *own = library_own(INJECTED_ZE);

	(void)p;
	strcat(c->found, own ? ": launches, and where the code of kernels is" : ": launches");
	if (own)
		return;
	c->state = CHECK_PARTLY;
	MEND(c, CHECK_ROOT, "to know where the code of kernels is, install %s beside accel-prof",
	     INJECTED_ZE);
}

static void check_unwatched(struct check *c)
{
	c->state = CHECK_NO;
	strcat(c->found, ": its calls are not recorded yet");
	MEND(c, CHECK_YOU,
	     "let the framework write a trace (torch.profiler, rocprof) and give it to accel-prof "
	     "import");
}

static const struct runtime {
	const char *name;
	const char *libraries[6]; /* sonames, up to a NULL */
	void (*check)(const struct looked_at *p, struct check *c);
} runtimes[] = {
	{ "OpenCL", { "libOpenCL.so.1" }, check_opencl },
	{ "CUDA",
	  { "libcuda.so.1", "libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0" },
	  check_cuda },
	{ "HIP", { "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5" }, check_plain },
	{ "Level Zero", { "libze_loader.so.1" }, check_level_zero },
};

void check_runtimes(uint32_t pid, check_fn fn, void *data)
{
	struct looked_at place = { .pid = pid };

	if (pid && proc_read(pid, "maps", PROC_MAPS_MAX_BYTES, &place.maps, &place.size) < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++) {
		struct check check = { .group = "runtime", .name = runtimes[i].name };
		CLEANUP_FREE char *path = find(&place, runtimes[i].libraries);
		if (path) {
			/* Room is left for what is said behind it. */
			snprintf(check.found, sizeof(check.found) - 120, "%s", path);
			if (is_watched(runtimes[i].libraries[0]))
				runtimes[i].check(&place, &check);
			else
				check_unwatched(&check);
		} else {
			check.state = CHECK_ABSENT;
			FOUND(&check, pid ? "not in this process" : "not installed");
		}
		fn(data, &check);
	}
	free(place.maps);
}
