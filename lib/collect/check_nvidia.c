/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA's driver as it shows itself in /proc and /dev: which it is, whether it lets programs count what
 * the GPU does, how GPUs are divided, and which other tools may hold what we would ask for. Nothing of
 * it is needed for launches, nor for times.
 */
#include "collect/check.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/parse.h"
#include "proc/read.h"

#include <ctype.h>
#include <glob.h>
#include <string.h>
#include <unistd.h>

#define DRIVER     "/proc/driver/nvidia/"
#define TEXT_BYTES 65536

/* The first word of @text that begins with a digit and has a dot: "NVRM version: NVIDIA UNIX Open
 * Kernel Module for x86_64  560.35.03  Release Build". */
static bool find_version(char *text, const char **ret)
{
	char *rest = text, *word;

	while ((word = strsep(&rest, " \t\n")))
		if (isdigit((unsigned char)*word) && strchr(word, '.')) {
			*ret = word;
			return true;
		}
	return false;
}

/* Numbers of GPUs, and of the parts that some are divided into. */
static size_t count_paths(const char *pattern)
{
	glob_t found;
	size_t count = 0;

	if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0)
		count = found.gl_pathc;
	globfree(&found);
	return count;
}

void check_nvidia(struct check *c)
{
	CLEANUP_FREE char *text = NULL;
	const char *version = "unknown";
	size_t size;

	if (io_read_file(DRIVER "version", TEXT_BYTES, &text, &size) < 0) {
		c->state = CHECK_ABSENT;
		FOUND(c, "no driver of NVIDIA's");
		return;
	}
	find_version(text, &version);
	size_t gpus = count_paths(DRIVER "gpus/*");
	size_t parts = count_paths(DRIVER "capabilities/gpu*/mig/gi*");
	FOUND(c, "driver %s, %zu GPU%s", version, gpus, gpus == 1 ? "" : "s");
	if (access("/dev/nvidiactl", F_OK) < 0) {
		c->state = CHECK_PARTLY;
		strcat(c->found, ", none of which can be used here");
		MEND(c, CHECK_OWNER,
		     "start the container with --gpus all (NVIDIA's container toolkit), or load the "
		     "driver: nvidia-modprobe -u -c 0");
		return;
	}
	if (!parts)
		return;
	c->state = CHECK_PARTLY;
	snprintf(
		c->found + strlen(c->found), 100,
		", divided into %zu by MIG: times are seen, samples only in one that shares nothing",
		parts);
	MEND(c, CHECK_OWNER,
	     "for samples give the program an instance of its own, or the whole GPU: nvidia-smi -mig 0");
}

/* The number behind "@key: " at the start of a line; -1: there is none. */
static int64_t parameter(const char *text, const char *key)
{
	size_t length = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		uint64_t value;
		line += *line == '\n';
		if (strncmp(line, key, length) != 0 || strncmp(line + length, ": ", 2) != 0)
			continue;
		const char *number = line + length + 2;
		return parse_digits(&number, number + strcspn(number, "\n"), 10, &value) < 0 ||
				       value > INT32_MAX
			       ? -1
			       : (int64_t)value;
	}
	return -1;
}

void check_nvidia_samples(struct check *c)
{
	CLEANUP_FREE char *text = NULL;
	size_t size;

	if (io_read_file(DRIVER "params", TEXT_BYTES, &text, &size) < 0) {
		c->state = CHECK_ABSENT;
		FOUND(c, "no driver of NVIDIA's");
		return;
	}
	int64_t admin_only = parameter(text, "RmProfilingAdminOnly");
	if (admin_only == 0) {
		FOUND(c, "every program's instructions may be sampled");
		return;
	}
	FOUND(c,
	      "RmProfilingAdminOnly is %s: only of programs that run as root, or with SYS_ADMIN; "
	      "times need nothing",
	      admin_only < 0 ? "not told, as if 1" : "1");
	if (geteuid() == 0)
		return;
	c->state = CHECK_PARTLY;
	MEND(c, CHECK_ROOT,
	     "echo options nvidia NVreg_RestrictProfilingToAdminUsers=0 > "
	     "/etc/modprobe.d/nvidia-profiling.conf, then load the driver anew (or reboot); in a "
	     "container --cap-add SYS_ADMIN");
}

/* Programs that count what the GPU does, or hook CUDA, for as long as they run. */
static const struct {
	const char *name, *mend;
} tools[] = {
	{ "nv-hostengine", "while recording instructions: dcgmi profile --pause" },
	{ "dcgm-exporter", "while recording instructions: dcgmi profile --pause" },
	{ "nsys", "let it end: only one tool in a program can use CUPTI" },
	{ "ncu", "let it end: only one tool in a program can use CUPTI" },
};

static void look_at_process(struct check *c, uint32_t pid)
{
	char name[32];

	if (proc_thread_name(pid, pid, name, sizeof(name)) < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++) {
		if (strcmp(name, tools[i].name) != 0)
			continue;
		c->state = CHECK_PARTLY;
		FOUND(c, "'%s' runs (%u) and may hold what samples need", name, pid);
		MEND(c, CHECK_YOU, "%s", tools[i].mend);
	}
}

void check_nvidia_tools(struct check *c)
{
	struct proc_ids processes = { 0 };

	c->state = CHECK_ABSENT;
	FOUND(c, "none that samples GPUs");
	if (access(DRIVER, F_OK) < 0 || proc_processes(&processes) < 0)
		return;
	vec_for_each(&processes.ids, pid)
		look_at_process(c, *pid);
	proc_ids_release(&processes);
}
