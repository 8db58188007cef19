/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "collect/programs.h"

#include "recorder.skel.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct seen {
	uint32_t pid, child;
	bool fork, last_exit;
};

static int on_event(void *data, void *bytes, size_t size)
{
	struct seen *seen = data;
	struct event_header header;

	assert_true(size >= sizeof(header));
	memcpy(&header, bytes, sizeof(header));
	assert_int_equal(header.size, size);
	if (header.type == EVENT_FORK && header.pid == seen->pid) {
		struct event_fork event;
		assert_int_equal(size, sizeof(event));
		memcpy(&event, bytes, sizeof(event));
		seen->fork |= event.child_pid == seen->child;
	}
	if (header.type == EVENT_EXIT && header.pid == seen->child) {
		struct event_exit event;
		assert_int_equal(size, sizeof(event));
		memcpy(&event, bytes, sizeof(event));
		seen->last_exit |= event.is_last == 1;
	}
	return 0;
}

/* A target's child is a target from its birth to its death, and both are told. */
static void test_follows_children(void **state)
{
	(void)state;
	CLEANUP(programs_close) struct programs p = { 0 };
	struct programs_options opt = { .ring_bytes = 1 << 20 };
	struct seen seen = { .pid = (uint32_t)getpid() };
	struct err err;
	int status;

	if (geteuid() != 0) {
		print_message("not root: BPF programs cannot be loaded\n");
		skip();
	}
	int rc = programs_open(&p, &opt, &err);
	if (rc < 0)
		fail_msg("%s", err.text);
	assert_int_equal(programs_add_target(&p, seen.pid, TARGET_INHERIT, &err), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(0);
	seen.child = (uint32_t)child;
	assert_int_equal(waitpid(child, &status, 0), child);

	struct ring_buffer *ring =
		ring_buffer__new(bpf_map__fd(p.skeleton->maps.events), on_event, &seen, NULL);
	assert_non_null(ring);
	assert_true(ring_buffer__consume(ring) >= 2);
	ring_buffer__free(ring);
	assert_true(seen.fork);
	assert_true(seen.last_exit);
	uint32_t flags;
	assert_int_equal(bpf_map__lookup_elem(p.skeleton->maps.targets, &seen.child,
					      sizeof(seen.child), &flags, sizeof(flags), 0),
			 -ENOENT);
	uint64_t losses[LOSS_COUNT];
	assert_int_equal(programs_losses(&p, losses), 0);
	for (int i = 0; i < LOSS_COUNT; i++)
		assert_int_equal(losses[i], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_follows_children),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
