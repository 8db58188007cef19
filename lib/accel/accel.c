/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/accel.h"

#include "accel/info.h"
#include "accel/lasting.h"
#include "accel/runtimes.h"
#include "base/vec.h"

#include <errno.h>
#include <string.h>

/* The only list of runtimes. */
static const struct accel_ops *const runtimes[] = {
	&opencl_ops,
	&cuda_ops,
	&ze_ops,
	&xe_ops,
};

#define RUNTIME_COUNT ARRAY_SIZE(runtimes)

struct accel {
	struct accel_host host;
	void *state[RUNTIME_COUNT];
	bool is_open[RUNTIME_COUNT]; /* those whose probe said no are not */
	size_t site_count[RUNTIME_COUNT];
	VEC(const struct probe_site *) sites;
	struct lasting *lasting; /* NULL: nobody goes on */
	struct accel_loss losses[ACCEL_LOSSES_MAX];
};

static int add_missing(struct accel *a, const struct accel_ops *ops, const char *why)
{
	char key[64];

	snprintf(key, sizeof(key), "missing.%s", ops->name);
	return accel_info(a->host.writer, key, why);
}

const struct accel_ops *accel_runtime(size_t number)
{
	return number < RUNTIME_COUNT ? runtimes[number] : NULL;
}

const struct accel_option *accel_option(const struct accel_ops *ops, const char *key)
{
	for (const struct accel_option *o = ops->options; o && o->key; o++)
		if (!strcmp(o->key, key))
			return o;
	return NULL;
}

/* Those that name it come last: what is said of one is stronger than what is said of all. */
static int set_options(struct accel *a, size_t i, const struct accel_wishes *wishes,
		       struct err *err)
{
	const struct accel_ops *ops = runtimes[i];

	for (int named = 0; wishes && named < 2; named++)
		vec_for_each(&wishes->list, w) {
			bool is_meant =
				named ? w->runtime && !strcmp(w->runtime, ops->name) : !w->runtime;
			if (!is_meant || !w->key || !accel_option(ops, w->key))
				continue;
			int rc = ops->set(a->state[i], w->key, w->value, err);
			if (rc < 0)
				return err_prefix(err, rc, "%s", ops->name);
		}
	return 0;
}

static int open_runtime(struct accel *a, size_t i, const struct accel_wishes *wishes,
			struct err *err)
{
	const struct accel_ops *ops = runtimes[i];
	struct err why;
	int rc;

	if (!accel_wishes_name(wishes, ops->name, &a->host.is_named))
		return 0;
	if (ops->probe && ops->probe(&why) < 0)
		return a->host.is_named ? err_set(err, -EINVAL, "%s", why.text)
					: add_missing(a, ops, why.text);
	rc = ops->open(&a->state[i], &a->host, err);
	if (rc < 0)
		return err_prefix(err, rc, "%s", ops->name);
	a->is_open[i] = true;
	rc = set_options(a, i, wishes, err);
	if (rc < 0)
		return rc;
	while (ops->sites[a->site_count[i]].library)
		a->site_count[i]++;
	for (size_t k = 0; k < a->site_count[i]; k++)
		if (vec_push(&a->sites, &ops->sites[k]) < 0)
			return err_set(err, -ENOMEM, "no memory for probe sites");
	return 0;
}

int accel_open(struct accel **ret, const struct accel_host *host, const struct accel_wishes *wishes,
	       struct err *err)
{
	CLEANUP(accel_free) struct accel *a = calloc(1, sizeof(*a));
	int rc = 0;

	if (!a)
		return err_set(err, -ENOMEM, "no memory for accelerators");
	a->host = *host;
	a->host.accel = a;
	if (host->is_succeeded && !(a->lasting = lasting_new()))
		return err_set(err, -ENOMEM, "no memory for accelerators");
	for (size_t i = 0; i < RUNTIME_COUNT && rc == 0; i++)
		rc = open_runtime(a, i, wishes, err);
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
	lasting_free(a->lasting);
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

bool accel_wants(const struct accel *a, const struct probe_site *site, bool samples)
{
	for (size_t i = 0; i < RUNTIME_COUNT; i++)
		if (a->is_open[i] && runtimes[i]->wants && site >= runtimes[i]->sites &&
		    site < runtimes[i]->sites + a->site_count[i])
			return runtimes[i]->wants(a->state[i], site, samples);
	return false;
}

int accel_environment(const struct accel *a, size_t number, char **ret)
{
	*ret = NULL;
	if (number >= RUNTIME_COUNT)
		return 0;
	if (!a->is_open[number] || !runtimes[number]->environment)
		return 1;
	int rc = runtimes[number]->environment(a->state[number], ret);
	return rc < 0 ? rc : 1;
}

const char *accel_library(size_t number)
{
	for (size_t i = 0; i < RUNTIME_COUNT; i++)
		for (const char *const *name = runtimes[i]->libraries; *name; name++)
			if (number-- == 0)
				return *name;
	return NULL;
}

const struct accel_door *accel_door(const struct accel *a, size_t number)
{
	for (size_t i = 0; i < RUNTIME_COUNT; i++)
		if (a->is_open[i] && runtimes[i]->door.variable && number-- == 0)
			return &runtimes[i]->door;
	return NULL;
}

int accel_succeed(struct accel *a, struct accel *before, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < RUNTIME_COUNT && rc == 0; i++)
		if (a->is_open[i] && before->is_open[i] && runtimes[i]->succeed)
			rc = runtimes[i]->succeed(a->state[i], before->state[i], err);
	return rc;
}

int accel_start(struct accel *a, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < RUNTIME_COUNT && rc == 0; i++)
		if (a->is_open[i] && runtimes[i]->start)
			rc = runtimes[i]->start(a->state[i], err);
	return rc;
}

int accel_seen(struct accel *a, const char *path)
{
	int rc = 0;

	for (size_t i = 0; i < RUNTIME_COUNT && rc == 0; i++)
		if (a->is_open[i] && runtimes[i]->seen)
			rc = runtimes[i]->seen(a->state[i], path);
	return rc;
}

int accel_event(struct accel *a, const struct accel_event *event)
{
	int rc = a->lasting ? lasting_keep(a->lasting, event) : 0;

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < RUNTIME_COUNT; i++)
		if (a->is_open[i] && event->site >= runtimes[i]->sites &&
		    event->site < runtimes[i]->sites + a->site_count[i])
			return runtimes[i]->event(a->state[i], event);
	return 0;
}

struct inheritance {
	struct accel *accel;
	int (*process_of)(void *data, uint32_t pid, uint32_t *ret);
	void *data;
};

static int inherit(void *data, const struct accel_event *e)
{
	struct inheritance *to = data;
	struct accel_event event = *e;
	int rc = to->process_of(to->data, e->pid, &event.process);

	if (rc <= 0)
		return rc;
	event.thread = event.stack = 0;
	event.flags |= ACCEL_EVENT_EARLIER;
	return accel_event(to->accel, &event);
}

int accel_inherit(struct accel *a, const struct accel *before,
		  int (*process_of)(void *data, uint32_t pid, uint32_t *ret), void *data)
{
	struct inheritance to = { a, process_of, data };
	int rc = before->lasting ? lasting_each(before->lasting, inherit, &to) : 0;

	if (rc < 0 || !before->lasting || !lasting_dropped(before->lasting))
		return rc;
	return accel_info(a->host.writer, "missing.kernel-names",
			  "programs told of more kernels and code than is kept for this file: some "
			  "of them have no names here");
}

int accel_code_loaded(struct accel *a, const struct accel_code *code)
{
	int rc = 0;

	for (size_t i = 0; a && i < RUNTIME_COUNT && rc == 0; i++)
		if (a->is_open[i] && runtimes[i]->loaded)
			rc = runtimes[i]->loaded(a->state[i], code);
	return rc;
}

int accel_code_unloaded(struct accel *a, const struct accel_code *code)
{
	int rc = 0;

	for (size_t i = 0; a && i < RUNTIME_COUNT && rc == 0; i++)
		if (a->is_open[i] && runtimes[i]->unloaded)
			rc = runtimes[i]->unloaded(a->state[i], code);
	return rc;
}

/* One runtime has one; a second would have to be joined with it by epoll(7). */
int accel_fd(const struct accel *a)
{
	int fd = -1;

	for (size_t i = 0; i < RUNTIME_COUNT; i++)
		if (a->is_open[i] && runtimes[i]->fd)
			fd = runtimes[i]->fd(a->state[i]);
	return fd;
}

int accel_read(struct accel *a, uint64_t now_ns)
{
	int rc = 0;

	for (size_t i = 0; i < RUNTIME_COUNT && rc == 0; i++)
		if (a->is_open[i] && runtimes[i]->read)
			rc = runtimes[i]->read(a->state[i], now_ns);
	return rc;
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

	if (a->lasting)
		lasting_exited(a->lasting, process, time_ns);
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

static void add_loss(struct accel *a, const char *what, const char *why, uint64_t count)
{
	struct accel_loss *loss = a->losses, *last = loss + ACCEL_LOSSES_MAX - 1;

	while (loss < last && loss->count && (strcmp(loss->what, what) || strcmp(loss->why, why)))
		loss++;
	*loss = (struct accel_loss){ what, why, loss->count + count };
}

int accel_lost(const struct accel_host *host, uint64_t time_ns, const char *what, const char *why,
	       uint64_t count)
{
	struct record record = { .type = RECORD_LOST,
				 .lost = { .time_ns = time_ns, .count = count } };
	int rc;

	if (!count)
		return 0;
	if (host->accel)
		add_loss(host->accel, what, why, count);
	rc = capture_writer_string(host->writer, what, &record.lost.what);
	if (rc == 0)
		rc = capture_writer_string(host->writer, why, &record.lost.why);
	return rc < 0 ? rc : capture_writer_put(host->writer, &record);
}

struct accel_loss accel_loss(const struct accel *a, size_t number)
{
	return number < ACCEL_LOSSES_MAX ? a->losses[number] : (struct accel_loss){ 0 };
}

int accel_describe(struct accel *a)
{
	int rc = 0;

	for (size_t i = 0; i < RUNTIME_COUNT && rc == 0; i++)
		if (a->is_open[i] && runtimes[i]->describe)
			rc = runtimes[i]->describe(a->state[i]);
	return rc;
}
