/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/inner_map.h"

#include "base/cleanup.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* What the kernel says to a map type without batches (not in errno.h). */
#define KERNEL_ENOTSUPP 524

/* Between two looks whether a map is in place. */
#define LOOK_NS 20000

int inner_map_create(const char *name, uint32_t size, uint32_t count, void **ret_memory,
		     size_t *ret_bytes)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_INNER_MAP | BPF_F_MMAPABLE);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t bytes = ((size_t)size * count + page - 1) & ~(page - 1);
	CLEANUP_CLOSE int fd =
		bpf_map_create(BPF_MAP_TYPE_ARRAY, name, sizeof(uint32_t), size, count, &opts);

	if (fd < 0)
		return fd == -1 ? -errno : fd;
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	*ret_memory = memory;
	*ret_bytes = bytes;
	return TAKE_FD(fd);
}

/* What the thread needs outlives the call: the kernel writes to `done` at its end. */
struct inner_update {
	pthread_t thread;
	int outer, rc;
	uint32_t done;
	uint32_t *numbers;
	int *fds;
	size_t count;
	atomic_bool has_ended;
};

/* In one system call where the kernel can do that (Linux 5.20), as each waits. */
static int update(struct inner_update *u)
{
	LIBBPF_OPTS(bpf_map_batch_opts, opts);

	u->done = (uint32_t)u->count;
	int rc = bpf_map_update_batch(u->outer, u->numbers, u->fds, &u->done, &opts);
	if (rc == -1)
		rc = -errno;
	if (rc != -KERNEL_ENOTSUPP && rc != -EOPNOTSUPP && rc != -EINVAL)
		return rc;
	for (size_t i = 0; i < u->count; i++) {
		rc = bpf_map_update_elem(u->outer, &u->numbers[i], &u->fds[i], BPF_ANY);
		if (rc < 0)
			return rc == -1 ? -errno : rc;
	}
	return 0;
}

static void *run(void *data)
{
	struct inner_update *u = data;

	u->rc = update(u);
	atomic_store(&u->has_ended, true);
	return NULL;
}

static void update_free(struct inner_update *u)
{
	if (!u)
		return;
	free(u->numbers);
	free(u->fds);
	free(u);
}
DEFINE_CLEANUP(update_free, struct inner_update *)

static struct inner_update *update_new(int outer, const uint32_t *numbers, const int *fds,
				       size_t count)
{
	CLEANUP(update_free) struct inner_update *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->outer = outer;
	u->count = count;
	u->numbers = calloc(count, sizeof(*numbers));
	u->fds = calloc(count, sizeof(*fds));
	if (!u->numbers || !u->fds)
		return NULL;
	memcpy(u->numbers, numbers, count * sizeof(*numbers));
	memcpy(u->fds, fds, count * sizeof(*fds));
	return TAKE(u);
}

/* A place for one more: of one that has ended, or else the first one's, which has run the longest. */
static size_t place_free(struct inner_updates *u)
{
	size_t free_place = 0;

	for (size_t i = 0; i < INNER_UPDATES_MAX; i++) {
		if (!u->running[i] || atomic_load(&u->running[i]->has_ended))
			free_place = i;
	}
	if (u->running[free_place]) {
		pthread_join(u->running[free_place]->thread, NULL);
		update_free(TAKE(u->running[free_place]));
	}
	return free_place;
}

void inner_updates_release(struct inner_updates *u)
{
	for (size_t i = 0; i < INNER_UPDATES_MAX; i++) {
		if (!u->running[i])
			continue;
		pthread_join(u->running[i]->thread, NULL);
		update_free(TAKE(u->running[i]));
	}
}

/* Signals are for the thread that waits for them. */
static int start(struct inner_update *u)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int rc = pthread_create(&u->thread, NULL, run, u);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -rc;
}

static uint32_t id_of(int fd)
{
	struct bpf_map_info info = { 0 };
	uint32_t size = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &size) ? 0 : info.id;
}

int inner_update(struct inner_updates *u, int outer, const uint32_t *numbers, const int *fds,
		 size_t count)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };

	if (!count)
		return 0;
	CLEANUP(update_free) struct inner_update *mine = update_new(outer, numbers, fds, count);
	if (!mine)
		return -ENOMEM;
	/* They are put in place one after the other. */
	uint32_t wanted = id_of(fds[count - 1]), id;
	size_t place = place_free(u);
	if (!wanted || start(mine) < 0)
		return update(mine);
	u->running[place] = TAKE(mine);
	const struct inner_update *running = u->running[place];
	while (!atomic_load(&running->has_ended)) {
		if (!bpf_map_lookup_elem(outer, &numbers[count - 1], &id) && id == wanted)
			return 0;
		nanosleep(&pause, NULL);
	}
	return running->rc;
}
