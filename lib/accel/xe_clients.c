/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/xe_clients.h"

#include "accel/accel.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/parse.h"
#include "base/vec.h"
#include "proc/lines.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A desktop has some dozen. */
#define CLIENTS_MAX  4096
#define FDINFO_BYTES 8192

struct client {
	uint32_t pid;
	bool is_target;
	uint64_t first, last; /* cycles */
};

struct xe_clients {
	const struct xe_kernel *kernel;
	uint32_t pci;
	struct hash index; /* client -> clients */
	VEC(struct client) clients;
	bool has_looked;
};

int xe_clients_new(struct xe_clients **ret, const struct xe_kernel *k, uint32_t pci)
{
	struct xe_clients *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->kernel = k;
	c->pci = pci;
	*ret = c;
	return 0;
}

void xe_clients_free(struct xe_clients *c)
{
	if (!c)
		return;
	hash_release(&c->index);
	vec_release(&c->clients);
	free(c);
}

/* "0000:03:00.0" */
static uint32_t parse_pci(struct span text)
{
	const char *at = (const char *)text.data, *end = at + text.size;
	uint64_t part[4] = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(part); i++) {
		if (parse_digits(&at, end, 16, &part[i]) < 0 || (i < 3 && at == end))
			return 0;
		at++;
	}
	return ACCEL_PCI(part[0] & 0xffff, part[1] & 0xff, part[2] & 0x1f, part[3] & 7);
}

/* The value of a line "KEY:	VALUE". */
static bool take_value(struct span line, const char *key, struct span *ret)
{
	size_t size = strlen(key);

	if (line.size <= size || memcmp(line.data, key, size) != 0 || line.data[size] != ':')
		return false;
	for (size++; size < line.size && (line.data[size] == ' ' || line.data[size] == '\t');)
		size++;
	return span_slice(line, size, line.size - size, ret) == 0;
}

static uint64_t number_of(struct span text)
{
	const char *at = (const char *)text.data;
	uint64_t value;

	return parse_digits(&at, at + text.size, 10, &value) < 0 ? 0 : value;
}

bool xe_fdinfo_parse(struct span text, struct xe_fdinfo *ret)
{
	struct lines lines = lines_of(text, "fdinfo");
	struct xe_fdinfo info = { 0 };
	struct span line, value;
	bool is_xe = false;

	while (lines_next(&lines, &line)) {
		if (take_value(line, "drm-driver", &value))
			is_xe = value.size == 2 && !memcmp(value.data, "xe", 2);
		else if (take_value(line, "drm-pdev", &value))
			info.pci = parse_pci(value);
		else if (take_value(line, "drm-client-id", &value))
			info.client = number_of(value);
		else if (take_value(line, "drm-cycles-rcs", &value) ||
			 take_value(line, "drm-cycles-ccs", &value))
			info.cycles += number_of(value);
	}
	if (is_xe)
		*ret = info;
	return is_xe;
}

static int take_client(struct xe_clients *c, uint32_t pid, bool is_target,
		       const struct xe_fdinfo *info)
{
	const uint64_t *known = hash_get(&c->index, info->client);

	if (known) {
		/* Handed on, or inherited: it is ours if any of its holders is. */
		if (is_target && !c->clients.data[*known].is_target)
			c->clients.data[*known].pid = pid;
		c->clients.data[*known].is_target |= is_target;
		c->clients.data[*known].last = info->cycles;
		return 0;
	}
	if (c->clients.len == CLIENTS_MAX)
		return 0;
	/* All that a new one has done was since the last look. */
	uint64_t first = c->has_looked ? 0 : info->cycles;
	if (vec_push(&c->clients, (struct client){ pid, is_target, first, info->cycles }) < 0)
		return -ENOMEM;
	return hash_set(&c->index, info->client, c->clients.len - 1);
}

/* Does the descriptor's link lead to a node of the GPUs? */
static bool is_node(const struct xe_kernel *k, const char *path)
{
	char target[64];
	size_t size = strlen(k->dri);
	ssize_t n = readlink(path, target, sizeof(target) - 1);

	return n > (ssize_t)size && !memcmp(target, k->dri, size) && target[size] == '/';
}

static int look_at(struct xe_clients *c, const char *pid_text, uint32_t pid, bool is_target)
{
	char folder[300], path[600];
	int rc = 0;

	snprintf(folder, sizeof(folder), "%s/%s", c->kernel->proc, pid_text);
	snprintf(path, sizeof(path), "%s/fd", folder);
	DIR *dir = opendir(path);
	for (struct dirent *e; dir && rc == 0 && (e = readdir(dir));) {
		CLEANUP_FREE char *text = NULL;
		struct xe_fdinfo info;
		size_t size;
		snprintf(path, sizeof(path), "%s/fd/%s", folder, e->d_name);
		if (!is_node(c->kernel, path))
			continue;
		snprintf(path, sizeof(path), "%s/fdinfo/%s", folder, e->d_name);
		if (io_read_file(path, FDINFO_BYTES, &text, &size) == 0 &&
		    xe_fdinfo_parse(span_of(text, size), &info) && (!c->pci || info.pci == c->pci))
			rc = take_client(c, pid, is_target, &info);
	}
	if (dir)
		closedir(dir);
	return rc;
}

int xe_clients_look(struct xe_clients *c, bool (*is_target)(void *data, uint32_t pid), void *data)
{
	DIR *dir = opendir(c->kernel->proc);
	uint32_t pid;
	int rc = 0;

	for (struct dirent *e; dir && rc == 0 && (e = readdir(dir));) {
		if (parse_u32(e->d_name, 10, &pid) == 0 && pid != (uint32_t)getpid())
			rc = look_at(c, e->d_name, pid, is_target && is_target(data, pid));
	}
	if (dir)
		closedir(dir);
	c->has_looked = true;
	return rc;
}

/* Is one of the first @count of the same process? */
static bool has_process(const struct xe_clients *c, size_t count, uint32_t pid)
{
	for (size_t i = 0; i < count; i++)
		if (c->clients.data[i].pid == pid && c->clients.data[i].is_target &&
		    c->clients.data[i].last > c->clients.data[i].first)
			return true;
	return false;
}

struct xe_usage xe_clients_usage(const struct xe_clients *c)
{
	struct xe_usage usage = { 0 };
	uint64_t most = 0;

	vec_for_each(&c->clients, it) {
		uint64_t cycles = it->last > it->first ? it->last - it->first : 0;
		if (it->is_target && cycles &&
		    !has_process(c, (size_t)(it - c->clients.data), it->pid))
			usage.target_count++;
		if (it->is_target)
			usage.targets += cycles;
		else
			usage.others += cycles;
		if (it->is_target || cycles <= most)
			continue;
		most = cycles;
		usage.pid = it->pid;
	}
	if (!usage.pid)
		return usage;
	char path[300];
	CLEANUP_FREE char *comm = NULL;
	size_t size;
	snprintf(path, sizeof(path), "%s/%u/comm", c->kernel->proc, usage.pid);
	if (io_read_file(path, 64, &comm, &size) == 0)
		snprintf(usage.comm, sizeof(usage.comm), "%.*s", (int)strcspn(comm, "\n"), comm);
	return usage;
}
