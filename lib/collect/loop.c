/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/session_internal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#define NS_PER_MS 1000000u
/* Between two looks at the rings. A 16 MiB ring looked at this often lost nothing of 320,000
 * launches with every CPU busy. */
#define LOOK_MS 50
/* The side-band wakes us for each record; looking more often than this gains nothing. */
#define SIDE_PAUSE_MS 5
/* In a second with more of its records than this, programs start all the time, and we look so often by
 * ourselves; until one with fewer than that. A program that starts makes about ten. */
#define HEARD_OFTEN  500
#define HEARD_SELDOM 200
/* A program stamps its event, walks a stack, may be preempted in between, and then writes: by as
 * much an event may come late. The longest slice of the scheduler on a busy CPU is below it. */
#define HOLD_BACK_NS (50u * NS_PER_MS)
#define SECOND_NS    (1000u * NS_PER_MS)

enum {
	POLL_STOP,
	POLL_COMMAND,
	POLL_RING,
	POLL_ACCEL,
	POLL_WATCH,
	POLL_SIDE = POLL_WATCH + SESSION_WATCHES_MAX
};

/* The descriptors that wake the loop. */
struct waker {
	VEC(struct pollfd) fds;
};

static int add_rings(struct waker *w, const struct perf_events *e)
{
	vec_for_each(&e->rings, ring) {
		if (vec_push(&w->fds, (struct pollfd){ .fd = ring->fd, .events = POLLIN }) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int waker_init(struct waker *w, struct session *s)
{
	const int fixed[] = { s->opt.stop_fd, s->command.pid ? s->command.pidfd : -1,
			      s->ring ? ring_fd(s->ring) : -1, accel_fd(s->accel) };

	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++) {
		if (vec_push(&w->fds, (struct pollfd){ .fd = fixed[i], .events = POLLIN }) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < SESSION_WATCHES_MAX; i++) {
		int fd = i < s->opt.watch_count ? s->opt.watches[i].fd : -1;
		if (vec_push(&w->fds, (struct pollfd){ .fd = fd, .events = POLLIN }) < 0)
			return -ENOMEM;
	}
	if (add_rings(w, &s->sideband.events) < 0 || add_rings(w, &s->sideband.bell) < 0)
		return -ENOMEM;
	for (const struct sampler *m = &s->sampler; m; m = m->next) {
		if (add_rings(w, &m->events) < 0)
			return -ENOMEM;
	}
	return 0;
}

static bool side_is_ready(const struct waker *w)
{
	for (size_t i = POLL_SIDE; i < w->fds.len; i++) {
		if (w->fds.data[i].revents)
			return true;
	}
	return false;
}

/* Wait for the next look; without the side-band when it woke us just now. */
static int waker_wait(struct waker *w, int timeout_ms, bool with_side)
{
	nfds_t count = with_side ? w->fds.len : POLL_SIDE;

	for (size_t i = 0; i < w->fds.len; i++)
		w->fds.data[i].revents = 0;
	if (poll(w->fds.data, count, timeout_ms) < 0 && errno != EINTR)
		return -errno;
	return 0;
}

/* An exit that was not told, as the ring was full, would keep us here for ever. */
static void look_for_the_dead(struct session *s, uint64_t now_ns)
{
	hash_for_each(&s->known, slot) {
		if (slot->value == UINT64_MAX && kill((pid_t)slot->key, 0) < 0 && errno == ESRCH) {
			slot->value = now_ns;
			s->alive--;
			programs_remove_target(&s->programs, (uint32_t)slot->key);
		}
	}
}

static void forget_the_dead(struct session *s, uint64_t before_ns)
{
	for (struct hash_slot *slot = hash_next(&s->known, 0), *next; slot; slot = next) {
		next = hash_next(&s->known, (size_t)(slot - s->known.slots) + 1);
		if (slot->value < before_ns)
			hash_remove(&s->known, slot->key);
	}
	processes_forget(&s->processes, before_ns);
}

static int once_a_second(struct session *s, uint64_t now_ns)
{
	int rc;

	s->second_ns = now_ns;
	if ((rc = session_count_losses(s)) < 0 ||
	    (rc = losses_report(&s->losses, s->writer, now_ns)) < 0 || (rc = info_clock(s)) < 0 ||
	    (rc = capture_writer_flush(s->writer)) < 0)
		return rc;
	rc = sideband_hush(&s->sideband,
			   s->heard > (s->sideband.is_hushed ? HEARD_SELDOM : HEARD_OFTEN));
	if (rc < 0)
		return rc;
	s->heard = 0;
	look_for_the_dead(s, now_ns);
	forget_the_dead(s, now_ns - SECOND_NS);
	return 0;
}

static bool has_ended(struct session *s, const struct waker *w, uint64_t now_ns)
{
	if (w->fds.data[POLL_STOP].revents)
		s->end = SESSION_STOPPED;
	else if (command_poll(&s->command))
		s->end = SESSION_COMMAND_ENDED;
	else if ((!s->command.pid || s->is_timer) && !s->alive && !s->is_open)
		s->end = SESSION_TARGETS_ENDED;
	else if (s->opt.duration_ns && now_ns - s->armed_ns >= s->opt.duration_ns)
		s->end = SESSION_DURATION;
	else if (s->opt.max_bytes && capture_writer_stats(s->writer).bytes >= s->opt.max_bytes)
		s->end = SESSION_MAX_SIZE;
	else
		return false;
	return true;
}

static int timeout_of(const struct session *s, uint64_t now_ns, int most_ms)
{
	uint64_t end_ns = windows_next_ns(&s->windows, now_ns);

	if (s->opt.duration_ns && s->armed_ns + s->opt.duration_ns < end_ns)
		end_ns = s->armed_ns + s->opt.duration_ns;
	if (end_ns == UINT64_MAX)
		return most_ms;
	uint64_t left_ms = end_ns > now_ns ? (end_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS : 0;
	return left_ms < (uint64_t)most_ms ? (int)left_ms : most_ms;
}

static int look(struct session *s, uint64_t now_ns)
{
	int rc = accel_read(s->accel, now_ns);

	if (rc >= 0)
		rc = intake_drain(s);
	if (rc >= 0)
		rc = take_until(s, now_ns - HOLD_BACK_NS);
	if (rc >= 0 && now_ns - s->second_ns >= SECOND_NS)
		rc = once_a_second(s, now_ns);
	return rc;
}

/* What others and the clock want: 1: to end. */
static int obey(struct session *s, struct waker *w, uint64_t now_ns)
{
	bool is_on;
	int rc = 0;

	if (windows_due(&s->windows, now_ns, &is_on))
		rc = session_enable(s, is_on);
	for (size_t i = 0; i < s->opt.watch_count && rc == 0; i++) {
		const struct session_watch *watch = &s->opt.watches[i];
		struct pollfd *fd = &w->fds.data[POLL_WATCH + i];
		if (fd->revents & (POLLIN | POLLHUP))
			rc = watch->fn(watch->data, s);
		if (rc == -ENODATA) {
			fd->fd = -1;
			rc = 0;
		}
	}
	if (rc > 0)
		s->end = SESSION_STOPPED;
	return rc;
}

static int run_loop(struct session *s, struct waker *w)
{
	bool with_side = true;
	int rc = 0;

	for (;;) {
		uint64_t now_ns = session_now();
		rc = look(s, now_ns);
		if (rc >= 0)
			rc = obey(s, w, now_ns);
		if (rc != 0 || has_ended(s, w, now_ns))
			return rc < 0 ? rc : 0;
		bool is_lazy = with_side && !s->sideband.is_hushed;
		rc = waker_wait(w, timeout_of(s, now_ns, is_lazy ? LOOK_MS : SIDE_PAUSE_MS),
				with_side);
		if (rc < 0)
			return rc;
		with_side = !side_is_ready(w);
	}
}

int session_loop(struct session *s, struct err *err)
{
	struct waker w = { 0 };

	int rc = waker_init(&w, s);
	if (rc >= 0)
		rc = run_loop(s, &w);
	vec_release(&w.fds);
	if (rc < 0 && *capture_writer_error(s->writer)) {
		/* Not ours to fail over: what is in the file is good. */
		s->end = SESSION_WRITE_ERROR;
		s->write_error = rc;
		return 0;
	}
	return rc < 0 ? err_set(err, rc, "recording was cut off") : 0;
}
