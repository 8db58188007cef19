/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/accel.h"

#include "accel/info.h"
#include "accel/runtimes.h"
#include "base/vec.h"

#include <errno.h>
#include <string.h>

/* The only list of runtimes. */
static const struct accel_ops *const runtimes[] = {
	&opencl_ops,
	&cuda_ops,
};

#define RUNTIME_COUNT ARRAY_SIZE(runtimes)

struct accel {
	struct accel_host host;
	void *state[RUNTIME_COUNT];
	bool is_open[RUNTIME_COUNT]; /* those whose probe said no are not */
	size_t site_count[RUNTIME_COUNT];
	VEC(const struct probe_site *) sites;
};

static int add_missing(struct accel *a, const struct accel_ops *ops, const char *why)
{
	char key[64];

	snprintf(key, sizeof(key), "missing.%s", ops->name);
	return accel_info(a->host.writer, key, why);
}

static int open_runtime(struct accel *a, size_t i, struct err *err)
{
	const struct accel_ops *ops = runtimes[i];
	struct err why;
	int rc;

	if (ops->probe && ops->probe(&why) < 0)
		return add_missing(a, ops, why.text);
	rc = ops->open(&a->state[i], &a->host, err);
	if (rc < 0)
		return err_prefix(err, rc, "%s", ops->name);
	a->is_open[i] = true;
	while (ops->sites[a->site_count[i]].library)
		a->site_count[i]++;
	for (size_t k = 0; k < a->site_count[i]; k++)
		if (vec_push(&a->sites, &ops->sites[k]) < 0)
			return err_set(err, -ENOMEM, "no memory for probe sites");
	return 0;
}

int accel_open(struct accel **ret, const struct accel_host *host, struct err *err)
{
	CLEANUP(accel_free) struct accel *a = calloc(1, sizeof(*a));
	int rc = 0;

	if (!a)
		return err_set(err, -ENOMEM, "no memory for accelerators");
	a->host = *host;
	for (size_t i = 0; i < RUNTIME_COUNT && rc == 0; i++)
		rc = open_runtime(a, i, err);
	if (rc < 0)
		return rc;
	*ret = TAKE(a);
	return 0;
}

void accel_free(struct accel *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < RUNTIME_COUNT; i++)
		if (a->is_open[i])
			runtimes[i]->close(a->state[i]);
	vec_release(&a->sites);
	free(a);
}

size_t accel_site_count(const struct accel *a)
{
	return a->sites.len;
}

const struct probe_site *accel_site(const struct accel *a, size_t number)
{
	return a->sites.data[number];
}

const char *accel_library(size_t number)
{
	for (size_t i = 0; i < RUNTIME_COUNT; i++)
		for (const char *const *name = runtimes[i]->libraries; *name; name++)
			if (number-- == 0)
				return *name;
	return NULL;
}

const struct accel_door *accel_door(size_t number)
{
	for (size_t i = 0; i < RUNTIME_COUNT; i++)
		if (runtimes[i]->door.variable && number-- == 0)
			return &runtimes[i]->door;
	return NULL;
}

int accel_start(struct accel *a, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < RUNTIME_COUNT && rc == 0; i++)
		if (a->is_open[i] && runtimes[i]->start)
			rc = runtimes[i]->start(a->state[i], err);
	return rc;
}

int accel_event(struct accel *a, const struct accel_event *event)
{
	for (size_t i = 0; i < RUNTIME_COUNT; i++)
		if (a->is_open[i] && event->site >= runtimes[i]->sites &&
		    event->site < runtimes[i]->sites + a->site_count[i])
			return runtimes[i]->event(a->state[i], event);
	return 0;
}

int accel_drain(struct accel *a, uint64_t until_ns)
{
	int rc = 0;

	for (size_t i = 0; i < RUNTIME_COUNT && rc == 0; i++)
		if (a->is_open[i] && runtimes[i]->drain)
			rc = runtimes[i]->drain(a->state[i], until_ns);
	return rc;
}

int accel_exited(struct accel *a, uint32_t process, uint64_t time_ns)
{
	int rc = 0;

	for (size_t i = 0; i < RUNTIME_COUNT && rc == 0; i++)
		if (a->is_open[i] && runtimes[i]->exited)
			rc = runtimes[i]->exited(a->state[i], process, time_ns);
	return rc;
}

int accel_stop(struct accel *a)
{
	int rc = 0;

	for (size_t i = 0; i < RUNTIME_COUNT && rc == 0; i++)
		if (a->is_open[i] && runtimes[i]->stop)
			rc = runtimes[i]->stop(a->state[i]);
	return rc;
}

int accel_describe(struct accel *a)
{
	int rc = 0;

	for (size_t i = 0; i < RUNTIME_COUNT && rc == 0; i++)
		if (a->is_open[i] && runtimes[i]->describe)
			rc = runtimes[i]->describe(a->state[i]);
	return rc;
}
