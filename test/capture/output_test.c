/* SPDX-License-Identifier: Apache-2.0 */
/* Files: when a capture gets its name, what it may replace, and what a full disk leaves. */
#include "capture/capture_test.h"

#include "base/io.h"
#include "base/strbuf.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

struct folder {
	char path[64];
	int back;
};

static int folder_enter(void **state)
{
	static struct folder f;
	strcpy(f.path, "/tmp/capture_test.XXXXXX");
	f.back = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = &f;
	return mkdtemp(f.path) && chdir(f.path) == 0 ? 0 : -1;
}

static int folder_leave(void **state)
{
	struct folder *f = *state;
	char command[128];
	snprintf(command, sizeof(command), "rm -rf '%s'", f->path);
	int rc = fchdir(f->back);
	close(f->back);
	return rc | system(command);
}

/* The names in the current folder, sorted, each followed by a blank. */
static const char *names(void)
{
	static char text[1024];
	FILE *list = popen("LC_ALL=C ls -A | tr '\\n' ' '", "r");
	text[fread(text, 1, sizeof(text) - 1, list)] = '\0';
	pclose(list);
	return text;
}

static void write_text(const char *path, const char *text)
{
	CLEANUP_FCLOSE FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
}

static void assert_text(const char *path, const char *text)
{
	CLEANUP_FREE char *data = NULL;
	size_t size;
	assert_int_equal(io_read_file(path, 1 << 20, &data, &size), 0);
	assert_string_equal(data, text);
}

static struct capture_writer *start(const char *path)
{
	const struct capture_writer_options opt = { .path = path };
	struct capture_writer *w = NULL;
	struct err err = { "" };
	if (capture_writer_open(&w, &opt, &err) < 0)
		fail_msg("%s", err.text);
	return w;
}

static void put_lost(struct capture_writer *w, uint64_t count)
{
	struct record rec = { .type = RECORD_LOST, .lost = { .count = count } };
	assert_int_equal(capture_writer_put(w, &rec), 0);
}

/* A whole capture that can be told from others by @count. */
static void write_capture(const char *path, uint64_t count)
{
	struct record end = { .type = RECORD_END };
	struct err err = { "" };
	struct capture_writer *w = start(path);
	put_lost(w, count);
	if (capture_writer_commit(w, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(capture_writer_put(w, &end), 0);
	capture_writer_free(w);
}

static void assert_capture(const char *path, uint64_t count)
{
	CLEANUP(capture_reader_free) struct capture_reader *r = NULL;
	struct record rec;
	assert_int_equal(capture_reader_open(&r, path, NULL), 0);
	assert_int_equal(capture_reader_next(r, &rec, NULL), 1);
	assert_int_equal(rec.type, RECORD_LOST);
	assert_int_equal(rec.lost.count, count);
	assert_int_equal(capture_reader_next(r, &rec, NULL), 1);
	assert_int_equal(rec.type, RECORD_END);
	assert_int_equal(capture_reader_next(r, &rec, NULL), 0);
	assert_string_equal(capture_reader_damage(r).text, "");
}

static int open_fails(const char *path, struct err *err)
{
	const struct capture_writer_options opt = { .path = path };
	struct capture_writer *w = NULL;
	int rc = capture_writer_open(&w, &opt, err);
	assert_null(w);
	return rc;
}

static bool has_unnamed_files(void)
{
	CLEANUP_CLOSE int fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return fd >= 0;
}

/* Killed, a writer has no time to clean up. */
static void test_killed_writer(void **state)
{
	(void)state;
	if (!has_unnamed_files())
		skip();
	write_capture("x.data", 1);
	pid_t child = fork();
	if (!child) {
		struct capture_writer *w = start("x.data");
		put_lost(w, 9);
		capture_writer_flush(w);
		raise(SIGKILL);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_string_equal(names(), "x.data ");
	assert_capture("x.data", 1);
}

static void test_name_comes_with_commit(void **state)
{
	(void)state;
	struct stat st;
	struct capture_writer *w = start("x.data");
	assert_int_not_equal(access("x.data", F_OK), 0);
	/* What it is until then has no name, or one in the same folder. */
	assert_int_equal(*names() == 0, has_unnamed_files());
	assert_int_equal(capture_writer_commit(w, NULL), 0);
	assert_string_equal(names(), "x.data ");
	assert_int_equal(capture_writer_commit(w, NULL), 0); /* once is enough */
	put_lost(w, 3);
	assert_int_equal(capture_writer_flush(w), 0);
	assert_int_equal(stat("x.data", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_size, capture_writer_stats(w).bytes);
	capture_writer_free(w);
	assert_string_equal(names(), "x.data ");
}

static void test_failed_run_leaves_all_as_it_was(void **state)
{
	(void)state;
	write_capture("x.data", 1);
	for (int i = 0; i < 2; i++) {
		struct capture_writer *w = start("x.data");
		put_lost(w, 9);
		assert_int_equal(capture_writer_flush(w), 0);
		capture_writer_free(w);
		assert_string_equal(names(), "x.data ");
		assert_capture("x.data", 1);
	}
}

static void test_older_capture_moves(void **state)
{
	(void)state;
	write_capture("x.data", 1);
	write_capture("x.data", 2);
	assert_string_equal(names(), "x.data x.data.old ");
	assert_capture("x.data", 2);
	assert_capture("x.data.old", 1);
	write_capture("x.data", 3);
	assert_string_equal(names(), "x.data x.data.old ");
	assert_capture("x.data", 3);
	assert_capture("x.data.old", 2);
}

static void test_foreign_file_stays(void **state)
{
	(void)state;
	struct err err;
	write_text("x.data", "my thesis");
	assert_int_equal(open_fails("x.data", &err), -EEXIST);
	assert_non_null(strstr(err.text, "'x.data' is not an accel-prof capture"));
	assert_non_null(strstr(err.text, "-o"));
	assert_string_equal(names(), "x.data ");
	assert_text("x.data", "my thesis");

	/* One that comes while we record. */
	unlink("x.data");
	struct capture_writer *w = start("x.data");
	write_text("x.data", "my thesis");
	assert_int_equal(capture_writer_commit(w, &err), -EEXIST);
	assert_text("x.data", "my thesis");
	capture_writer_free(w);
	assert_string_equal(names(), "x.data ");

	/* One where an older capture would move to. */
	unlink("x.data");
	write_capture("x.data", 1);
	write_text("x.data.old", "my thesis");
	assert_int_equal(open_fails("x.data", &err), -EEXIST);
	assert_non_null(strstr(err.text, "'x.data.old'"));
	assert_text("x.data.old", "my thesis");
	assert_capture("x.data", 1);
}

static void test_empty_file_is_nobodys(void **state)
{
	(void)state;
	write_capture("x.data", 1);
	write_capture("x.data", 2);
	write_text("x.data", "");
	write_capture("x.data", 3);
	assert_string_equal(names(), "x.data x.data.old ");
	assert_capture("x.data", 3);
	assert_capture("x.data.old", 1); /* not replaced by nothing */
}

static void test_odd_places(void **state)
{
	(void)state;
	struct err err;
	assert_int_equal(open_fails("no/such/folder", &err), -ENOENT);
	assert_non_null(strstr(err.text, "'no/such/folder'"));
	assert_int_equal(open_fails(".", &err), -EISDIR);
	write_capture("y.data", 1);
	assert_int_equal(symlink("y.data", "link.data"), 0);
	assert_int_equal(open_fails("link.data", &err), -EEXIST);
	assert_int_equal(symlink("nowhere", "dangling.data"), 0);
	assert_int_equal(open_fails("dangling.data", &err), -ENOENT);
	assert_capture("y.data", 1);

	/* Written to, not replaced. */
	struct capture_writer *w = start("/dev/null");
	put_lost(w, 1);
	assert_int_equal(capture_writer_flush(w), 0);
	assert_int_equal(capture_writer_commit(w, NULL), 0);
	capture_writer_free(w);
	struct stat st;
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
}

static void test_owner_under_sudo(void **state)
{
	(void)state;
	struct stat st;
	if (geteuid() != 0)
		skip();
	setenv("SUDO_UID", "1234", 1);
	setenv("SUDO_GID", "2345", 1);
	write_capture("x.data", 1);
	setenv("SUDO_UID", "12x", 1);
	write_capture("y.data", 1);
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	assert_int_equal(stat("x.data", &st), 0);
	assert_int_equal(st.st_uid, 1234);
	assert_int_equal(st.st_gid, 2345);
	assert_int_equal(stat("y.data", &st), 0);
	assert_int_equal(st.st_uid, 0);
}

/* ---- no room ---- */

/* Until the first write error: how many were put, and the error. */
static unsigned fill_up(struct capture_writer *w, int *ret_rc)
{
	uint32_t seed = 1;
	int rc = 0;
	unsigned n = 0;
	for (; n < 1000000 && rc >= 0; n++) {
		seed = seed * 1664525 + 1013904223;
		struct record rec = { .type = RECORD_SYNC };
		rec.sync =
			(struct record_sync){ .time_ns = seed, .thread = seed, .duration_ns = n };
		rc = capture_writer_put(w, &rec);
		if (rc >= 0 && n % 1000 == 999)
			rc = capture_writer_flush(w);
	}
	*ret_rc = rc;
	return n - 1;
}

/* Put there by somebody else, who would read the recording. */
static void test_fifo_of_another(void **state)
{
	(void)state;
	struct capture_writer_options opt = { .path = "x.data" };
	struct capture_writer *w = NULL;
	struct err err;

	if (geteuid() != 0)
		skip();
	assert_int_equal(mkfifo("x.data", 0666), 0);
	int reader = open("x.data", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_int_equal(chown("x.data", 12345, 12345), 0);
	assert_int_equal(capture_writer_open(&w, &opt, &err), -EEXIST);
	assert_non_null(strstr(err.text, "belongs to another user"));
	assert_int_equal(setenv("SUDO_UID", "12345", 1), 0);
	assert_int_equal(capture_writer_open(&w, &opt, &err), 0);
	capture_writer_free(TAKE(w));
	unsetenv("SUDO_UID");
	/* A link of theirs to one of ours is no better, one of ours to theirs is our choice. */
	assert_int_equal(symlink("x.data", "y.data"), 0);
	opt.path = "y.data";
	assert_int_equal(capture_writer_open(&w, &opt, &err), 0);
	capture_writer_free(TAKE(w));
	assert_int_equal(lchown("y.data", 12345, 12345), 0);
	assert_int_equal(capture_writer_open(&w, &opt, &err), -EEXIST);
	close(reader);
}

static void test_dev_full(void **state)
{
	(void)state;
	struct capture_writer *w = start("/dev/full");
	int rc;
	fill_up(w, &rc);
	assert_int_equal(rc, -ENOSPC);
	/* It sticks, and has a text. */
	struct record rec = { .type = RECORD_END };
	uint32_t id;
	assert_int_equal(capture_writer_put(w, &rec), -ENOSPC);
	assert_int_equal(capture_writer_flush(w), -ENOSPC);
	assert_int_equal(capture_writer_string(w, "x", &id), -ENOSPC);
	assert_int_equal(capture_writer_stack(w, NULL, 0, 0, &id), -ENOSPC);
	assert_string_equal(capture_writer_error(w),
			    "cannot write to '/dev/full': No space left on device");
	capture_writer_free(w);
}

static void test_broken_pipe(void **state)
{
	(void)state;
	int ends[2], rc;
	struct capture_writer *w = NULL;
	assert_int_equal(pipe(ends), 0);
	const struct capture_writer_options opt = { .fd = ends[1] };
	assert_int_equal(capture_writer_open(&w, &opt, NULL), 0);
	close(ends[0]);
	signal(SIGPIPE, SIG_IGN);
	fill_up(w, &rc);
	signal(SIGPIPE, SIG_DFL);
	assert_int_equal(rc, -EPIPE);
	capture_writer_free(w);
	close(ends[1]);
}

/* Every record that was flushed can be read, and the file has no torn end. */
static void check_full_disk(const char *path, unsigned put)
{
	CLEANUP(capture_reader_free) struct capture_reader *r = NULL;
	struct record rec;
	unsigned got = 0;
	assert_int_equal(capture_reader_open(&r, path, NULL), 0);
	while (capture_reader_next(r, &rec, NULL) > 0)
		assert_int_equal(rec.sync.duration_ns, got++);
	assert_int_equal(got, put / 1000 * 1000);
	struct capture_damage d = capture_reader_damage(r);
	struct stat st;
	char expected[64];
	assert_int_equal(stat(path, &st), 0);
	snprintf(expected, sizeof(expected), "cut off at offset 0x%lx:", (long)st.st_size);
	assert_non_null(strstr(d.text, expected));
	assert_int_equal(d.chunks, 0);
}

static bool write_proc(const char *path, const char *text)
{
	CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && io_write_all(fd, text, strlen(text)) == 0;
}

static bool map_id(const char *path, unsigned id)
{
	char text[64];
	snprintf(text, sizeof(text), "%u %u 1", id, id);
	return write_proc(path, text);
}

/* A mount namespace of our own, with a user namespace where that is what it takes. */
static bool unshare_mounts(void)
{
	unsigned uid = geteuid(), gid = getegid();

	if (unshare(CLONE_NEWNS) < 0 &&
	    (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 ||
	     !write_proc("/proc/self/setgroups", "deny") || !map_id("/proc/self/uid_map", uid) ||
	     !map_id("/proc/self/gid_map", gid)))
		return false;
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

/* In a child process, with whose end the mount goes away: an exit status. */
static int use_full_disk(void)
{
	struct stat st;
	int rc;

	setenv("CMOCKA_TEST_ABORT", "1", 1); /* a failed assert must not run the parent's tests */
	if (!unshare_mounts() || mkdir("disk", 0700) < 0 ||
	    mount("none", "disk", "tmpfs", 0, "size=100k") < 0)
		return 77;
	struct capture_writer *w = start("disk/x.data");
	assert_int_equal(capture_writer_commit(w, NULL), 0);
	unsigned put = fill_up(w, &rc);
	assert_int_equal(rc, -ENOSPC);
	assert_true(put > 1000);
	/* tmpfs took a part of the last chunk, all of the pages that were left. */
	assert_int_equal(stat("disk/x.data", &st), 0);
	assert_true(st.st_size > 50 << 10 && st.st_size < 100 << 10);
	assert_int_equal(st.st_size, capture_writer_stats(w).bytes);
	capture_writer_free(w);
	check_full_disk("disk/x.data", put);
	return 0;
}

static void test_full_disk(void **state)
{
	(void)state;
	int status;
	pid_t child = fork();
	if (!child)
		_exit(use_full_disk());
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* What was in a file before us, on a descriptor that appends, is never cut. */
static void test_appending_descriptor(void **state)
{
	(void)state;
	write_text("x.data", "before");
	int fd = open("x.data", O_WRONLY | O_APPEND | O_CLOEXEC);
	const struct capture_writer_options opt = { .fd = fd };
	struct capture_writer *w = NULL;
	assert_int_equal(capture_writer_open(&w, &opt, NULL), 0);
	put_lost(w, 1);
	capture_writer_free(w);
	close(fd);
	CLEANUP_FREE char *data = NULL;
	size_t size;
	assert_int_equal(io_read_file("x.data", 1 << 20, &data, &size), 0);
	assert_memory_equal(data,
			    "before\x89"
			    "APF\r\n",
			    12);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_FOLDER(test_name_comes_with_commit),
		IN_FOLDER(test_killed_writer),
		IN_FOLDER(test_failed_run_leaves_all_as_it_was),
		IN_FOLDER(test_older_capture_moves),
		IN_FOLDER(test_foreign_file_stays),
		IN_FOLDER(test_empty_file_is_nobodys),
		IN_FOLDER(test_odd_places),
		IN_FOLDER(test_owner_under_sudo),
		IN_FOLDER(test_fifo_of_another),
		IN_FOLDER(test_dev_full),
		IN_FOLDER(test_broken_pipe),
		IN_FOLDER(test_full_disk),
		IN_FOLDER(test_appending_descriptor),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
