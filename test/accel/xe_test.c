/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording's part that samples Intel GPUs, with the kernel's driver played by fake/xe_driver.c: what goes into its
 * stream, what runtimes say of code meanwhile, and what is in the capture then.
 */
#include "runtime.h"

#include "accel/runtimes.h"
#include "accel/xe_unit.h"
#include "fake/xe_records.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <time.h>

#define DRIVER  "/usr/lib/x86_64-linux-gnu/libze_intel_gpu.so.1.3.24595"
#define PRODUCT 0x8000fffe0000
#define SMOOTH  0x8000fffd0000

static char place[64];
static int fifos[2];

static void path_of(char *path, size_t size, const char *name)
{
	snprintf(path, size, "%s/%s", place, name);
}

static void write_file(const char *name, const char *text)
{
	char path[512];
	path_of(path, sizeof(path), name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int make_fifo(const char *name)
{
	char path[512];
	path_of(path, sizeof(path), name);
	assert_int_equal(mkfifo(path, 0600), 0);
	int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static int set_up(void **state)
{
	(void)state;
	strcpy(place, "/tmp/xe_test.XXXXXX");
	assert_non_null(mkdtemp(place));
	setenv("XE_DRIVER", place, 1);
	unsetenv("XE_VERSION");
	fifos[0] = make_fifo("stream");
	fifos[1] = -1;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	DIR *dir = opendir(place);
	for (struct dirent *e; (e = readdir(dir));)
		unlinkat(dirfd(dir), e->d_name, 0);
	closedir(dir);
	rmdir(place);
	close(fifos[0]);
	if (fifos[1] >= 0)
		close(fifos[1]);
	return 0;
}

static void hit(int tile, uint64_t address, enum xe_reason reason, uint8_t count)
{
	uint8_t record[XE_RECORD_BYTES], counts[XE_REASONS] = { 0 };
	counts[reason] = count;
	xe_records_pack(XE_LAYOUT_XE2, address, counts, record);
	assert_int_equal(write(fifos[tile], record, sizeof(record)), sizeof(record));
}

static void order(int tile, int error)
{
	uint8_t record[XE_RECORD_BYTES] = { 0 };
	memset(record, 0xff, 8);
	memcpy(record + 8, &error, sizeof(error));
	assert_int_equal(write(fifos[tile], record, sizeof(record)), sizeof(record));
}

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint32_t kernel(struct runtime *t, const char *name)
{
	struct record r = { .type = RECORD_KERNEL, .kernel = { .id = ++t->number, .process = 1 } };
	assert_int_equal(capture_writer_string(t->writer, name, &r.kernel.name), 0);
	assert_int_equal(capture_writer_put(t->writer, &r), 0);
	return r.kernel.id;
}

/* All PC_SAMPLE records, as "KERNEL OFFSET REASON COUNT" with the device in front where it is not the first. */
static void assert_samples(struct runtime *t, const char *wanted)
{
	char text[2048] = "";
	size_t at = 0;

	for (size_t i = 0; i < t->count && at < sizeof(text); i++) {
		const struct record_pc_sample *s = &t->records[i].pc_sample;
		const char *name = "?";
		if (t->records[i].type != RECORD_PC_SAMPLE)
			continue;
		for (size_t k = 0; k < t->count; k++)
			if (t->records[k].type == RECORD_KERNEL &&
			    t->records[k].kernel.id == s->kernel)
				name = runtime_text(t, t->records[k].kernel.name);
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s 0x%llx %s %llu\n", name,
				       (unsigned long long)s->offset, runtime_text(t, s->reason),
				       (unsigned long long)s->count);
	}
	assert_string_equal(text, wanted);
}

static uint64_t lost(struct runtime *t, const char *what, const char *why)
{
	uint64_t count = 0;
	for (size_t i = 0; i < t->count; i++)
		if (t->records[i].type == RECORD_LOST &&
		    !strcmp(runtime_text(t, t->records[i].lost.what), what) &&
		    strstr(runtime_text(t, t->records[i].lost.why), why))
			count += t->records[i].lost.count;
	return count;
}

static void test_nothing_there(void **state)
{
	struct runtime t;

	(void)state;
	unsetenv("XE_DRIVER");
	runtime_open(&t);
	/* Nobody wants to hear of it who has nothing to do with Intel's GPUs. */
	assert_int_equal(accel_seen(t.accel, "/usr/lib/libc.so.6"), 0);
	runtime_finish(&t);
	assert_string_equal(runtime_info(&t, "missing.device-samples"), "");
	runtime_close(&t);
	runtime_open(&t);
	assert_int_equal(accel_seen(t.accel, DRIVER), 0);
	runtime_finish(&t);
	/* The driver's libraries are also where another's device is meant. */
	assert_string_equal(runtime_info(&t, "missing.device-samples"), "");
	runtime_close(&t);
	setenv("XE_DRIVER", place, 1);
}

/* What is read is older than what runtimes say at that time: it waits for them. */
static void test_waits_for_code(void **state)
{
	struct runtime t;

	(void)state;
	runtime_open(&t);
	assert_int_equal(accel_seen(t.accel, "/usr/lib/libc.so.6"), 0);
	hit(0, PRODUCT, XE_SBID, 99); /* before: the kernel throws it away */
	assert_int_equal(accel_seen(t.accel, DRIVER), 0);
	uint64_t begin = now();
	const uint32_t product = kernel(&t, "product"), smooth = kernel(&t, "smooth");
	hit(0, PRODUCT + 0x50, XE_SBID, 200);
	hit(0, SMOOTH + 0x8, XE_SEND, 7);
	hit(0, 0x8000deadbee8, XE_SYNC, 5);
	assert_int_equal(accel_read(t.accel, begin + 20000000), 0);
	assert_int_equal(accel_drain(t.accel, begin + 10000000), 0);
	const struct accel_code codes[] = {
		{ begin, 1, product, 77, 0, PRODUCT, 736, false },
		{ begin + 1, 1, smooth, 77, 0, SMOOTH, 704, false },
		/* Of another GPU, as far as this one's place is known: it is not. */
		{ begin + 2, 2, smooth, 78, ACCEL_PCI(0, 3, 0, 0), 0x800010000000, 704, false },
		{ begin + 2, 1, smooth, 77, 0, SMOOTH, 0, false }, /* nonsense */
	};
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		assert_int_equal(accel_code_loaded(t.accel, &codes[i]), 0);
	/* It is gone when what was sampled is written. */
	assert_int_equal(
		accel_code_unloaded(t.accel, &(struct accel_code){ .time_ns = begin + 21000000,
								   .process = 1,
								   .address = SMOOTH,
								   .size = 704 }),
		0);
	assert_int_equal(accel_drain(t.accel, begin + 22000000), 0);
	assert_int_equal(accel_exited(t.accel, 1, begin + 23000000), 0);
	runtime_finish(&t);
	assert_samples(&t, "[unknown GPU code at 0xdead0000] 0xbee8 sync 5\n"
			   "smooth 0x8 send 7\n"
			   "product 0x50 sbid 200\n");
	assert_string_equal(runtime_info(&t, "missing.gpu-code"), "");
	/* The GPU is the one that the runtime told of. */
	assert_int_equal(runtime_count(&t, RECORD_DEVICE), 0);
	const struct record_pc_sample *s = &runtime_record(&t, RECORD_PC_SAMPLE, 0)->pc_sample;
	assert_int_equal(s->device, 77);
	assert_int_equal(s->time_ns + s->interval_ns, begin + 20000000);
	runtime_close(&t);
}

/* Losses, a reset, and a second tile. */
static void test_losses(void **state)
{
	struct runtime t;
	uint8_t damaged[XE_RECORD_BYTES] = { 1 };

	(void)state;
	fifos[1] = make_fifo("tile1");
	runtime_open(&t);
	assert_int_equal(accel_seen(t.accel, DRIVER), 0);
	uint64_t time = now();
	const struct accel_code code = {
		time, 1, kernel(&t, "product"), 0, 0, PRODUCT, 736, false
	};
	assert_int_equal(accel_code_loaded(t.accel, &code), 0);
	hit(0, PRODUCT, XE_SBID, 1);
	order(0, EIO);
	hit(0, PRODUCT, XE_SBID, 10);
	assert_int_equal(write(fifos[0], damaged, sizeof(damaged)), sizeof(damaged));
	hit(1, PRODUCT, XE_SBID, 100);
	order(1, EIO);
	assert_int_equal(accel_read(t.accel, time += 20000000), 0);
	hit(0, PRODUCT, XE_SEND, 3);
	order(0, ENODEV);
	assert_int_equal(accel_read(t.accel, time += 20000000), 0);
	/* Opened anew. */
	assert_int_equal(accel_read(t.accel, time += 20000000), 0);
	hit(0, PRODUCT, XE_SYNC, 4);
	assert_int_equal(accel_read(t.accel, time += 20000000), 0);
	/* And once more, but now another has it. */
	write_file("refuse", "16");
	order(0, ENODEV);
	assert_int_equal(accel_read(t.accel, time += 20000000), 0);
	for (int i = 0; i < 5; i++)
		assert_int_equal(accel_read(t.accel, time += 600000000), 0);
	write_file("refuse", "0");
	assert_int_equal(accel_read(t.accel, time += 1000000000), 0);
	hit(0, PRODUCT, XE_ACTIVE, 5);
	hit(1, PRODUCT, XE_ACTIVE, 6);
	runtime_finish(&t);
	assert_samples(&t, "product 0x0 sbid 11\n"
			   "product 0x0 sbid 100\n"
			   "product 0x0 send 3\n"
			   "product 0x0 sync 4\n"
			   "product 0x0 active 5\n"
			   "product 0x0 active 6\n");
	assert_int_equal(lost(&t, "gpu-buffer", "was full"), 2);
	assert_int_equal(lost(&t, "gpu-buffer", "was reset"), 2);
	assert_int_equal(lost(&t, "pc-sample", "without the mark"), 1);
	assert_non_null(strstr(runtime_info(&t, "missing.device-samples"), "sampled already"));
	assert_int_equal(runtime_count(&t, RECORD_DEVICE), 1);
	assert_string_equal(runtime_text(&t, runtime_record(&t, RECORD_DEVICE, 0)->device.name),
			    "Intel GPU e20b (Xe2) at /dev/dri/renderD128");
	runtime_close(&t);
}

/* Where it was asked for, it is an error; else it is said in the capture. */
static void test_refused(void **state)
{
	static const struct {
		const char *error, *why;
	} cases[] = {
		{ "13", "CAP_PERFMON" },
		{ "16", "sampled already" },
		{ "19", "or is gone" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct runtime t;
		write_file("refuse", cases[i].error);
		runtime_open(&t);
		assert_int_equal(accel_seen(t.accel, DRIVER), 0);
		runtime_finish(&t);
		assert_non_null(strstr(runtime_info(&t, "missing.device-samples"), cases[i].why));

		struct accel_wishes wishes = { 0 };
		struct accel_host host = { .writer = t.writer };
		CLEANUP(accel_free) struct accel *a = NULL;
		struct err err;
		assert_int_equal(accel_wishes_add(&wishes, "xe", &err), 0);
		assert_int_equal(accel_open(&a, &host, &wishes, &err), 0);
		assert_true(accel_start(a, &err) < 0);
		assert_non_null(strstr(err.text, cases[i].why));
		accel_wishes_release(&wishes);
		runtime_close(&t);
	}
}

/* How often, and which. */
static void test_options(void **state)
{
	static const struct {
		const char *option;
		int period; /* -1: refused */
	} cases[] = {
		{ "xe", 0 },
		{ "xe:period=1000", 1004 },
		{ "xe:period=1", 251 },
		{ "xe:period=100000:device=0", 1757 },
		{ "xe:device=renderD128", 0 },
		{ "xe:device=/dev/dri/renderD128", 0 },
		{ "xe:device=1", -1 },
	};
	struct runtime t;

	(void)state;
	runtime_open(&t);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct accel_wishes wishes = { 0 };
		struct accel_host host = { .writer = t.writer };
		CLEANUP(accel_free) struct accel *a = NULL;
		char path[512];
		int period = -1;
		struct err err;
		assert_int_equal(accel_wishes_add(&wishes, cases[i].option, &err), 0);
		assert_int_equal(accel_open(&a, &host, &wishes, &err), 0);
		path_of(path, sizeof(path), "period");
		unlink(path);
		int rc = accel_start(a, &err);
		FILE *file = fopen(path, "r");
		if (file) {
			assert_int_equal(fscanf(file, "%d", &period), 1);
			fclose(file);
		}
		assert_int_equal(period, cases[i].period);
		assert_int_equal(rc < 0, cases[i].period < 0);
		accel_wishes_release(&wishes);
	}
	runtime_finish(&t);
	runtime_close(&t);
}

/* Many addresses: what is taken next is of a longer time, so that the file grows no faster. */
static void test_intervals(void **state)
{
	struct runtime t;

	(void)state;
	runtime_open(&t);
	assert_int_equal(accel_seen(t.accel, DRIVER), 0);
	uint64_t time = now();
	for (uint64_t i = 0; i < 1000; i++) /* at 20,000 a second that is 50 ms */
		hit(0, 0x10000 + 8 * i, XE_SBID, 1);
	assert_int_equal(accel_read(t.accel, time += 20000000), 0);
	for (int i = 0; i < 8; i++) {
		hit(0, 0x10000, XE_SEND, 1);
		assert_int_equal(accel_read(t.accel, time += 20000000), 0);
	}
	runtime_finish(&t);
	/* After three of 20 ms, then each. */
	const uint64_t counts[] = { 3, 1, 1, 1, 1, 1 };
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		const struct record_pc_sample *s =
			&runtime_record(&t, RECORD_PC_SAMPLE, 1000 + i)->pc_sample;
		assert_int_equal(s->count, counts[i]);
		assert_int_equal(s->interval_ns, 20000000 * counts[i]);
	}
	runtime_close(&t);
}

/* Another recording goes on: the kernel gives a stream only once. */
static void test_succession(void **state)
{
	struct runtime t, next;
	struct err err;

	(void)state;
	runtime_open(&t);
	assert_int_equal(accel_seen(t.accel, DRIVER), 0);
	hit(0, 0x10000, XE_SBID, 1);
	assert_int_equal(accel_read(t.accel, now() + 20000000), 0);
	write_file("refuse", "16");
	runtime_open(&next);
	assert_int_equal(accel_succeed(next.accel, t.accel, &err), 0);
	assert_int_equal(accel_seen(next.accel, DRIVER), 0);
	hit(0, 0x10000, XE_SBID, 2);
	runtime_finish(&t);
	runtime_finish(&next);
	assert_samples(&t, "[unknown GPU code at 0x10000] 0x0 sbid 1\n");
	assert_non_null(strstr(runtime_info(&t, "missing.gpu-code"), "record -- CMD"));
	assert_samples(&next, "[unknown GPU code at 0x10000] 0x0 sbid 2\n");
	assert_string_equal(runtime_info(&next, "missing.device-samples"), "");
	runtime_close(&next);
	runtime_close(&t);
}

/* ---- who uses the GPU, in a /proc made here ---- */

static void make_folder(const char *name)
{
	char path[512];
	path_of(path, sizeof(path), name);
	mkdir(path, 0700);
}

/* Process @pid has done so many cycles of work by now. */
static void use_gpu(unsigned pid, unsigned cycles)
{
	const char *const parts[] = { "proc", "proc/%u", "proc/%u/fd", "proc/%u/fdinfo" };
	char name[64], path[512], text[256];

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		const char *rest = strchr(parts[i], '%') ? parts[i] + strlen("proc/%u") : NULL;
		snprintf(name, sizeof(name), rest ? "proc/%u%s" : "proc", pid, rest ? rest : "");
		make_folder(name);
	}
	snprintf(name, sizeof(name), "proc/%u/fd/4", pid);
	path_of(path, sizeof(path), name);
	unlink(path);
	assert_int_equal(symlink("/dev/dri/renderD128", path), 0);
	snprintf(name, sizeof(name), "proc/%u/fdinfo/4", pid);
	snprintf(text, sizeof(text), "drm-driver:\txe\ndrm-client-id:\t%u\ndrm-cycles-ccs:\t%u\n",
		 pid, cycles);
	write_file(name, text);
}

static bool is_recorded(void *data, uint32_t pid)
{
	(void)data;
	return pid < 200;
}

/* The unit as a whole: @has_all: the program tells of all its code; @other: somebody else uses the GPU, too; @silent: and
 * so does a program that tells nothing. */
static void assert_unknown_is(const char *what, bool has_all, bool other, bool silent)
{
	char proc[80], wanted[128];
	struct runtime t;
	struct xe_device device[XE_DEVICES_MAX];
	CLEANUP(xe_unit_free) struct xe_unit *u = NULL;
	CLEANUP_CLOSE int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct xe_kernel k = xe_kernel_real;
	struct err err;
	size_t count;

	runtime_open(&t);
	struct accel_host host = {
		.writer = t.writer, .number = runtime_number, .is_target = is_recorded, .data = &t
	};
	snprintf(proc, sizeof(proc), "%s/proc", place);
	k.proc = proc;
	make_folder("proc");
	assert_int_equal(xe_devices_find(&k, device, &count, &err), 0);
	device[0].pci = 0; /* the mock has no place */
	assert_int_equal(xe_unit_new(&u, &host, &k, &device[0]), 0);
	assert_int_equal(xe_unit_start(u, epoll, 0, &err), 0);
	uint64_t begin = now();
	hit(0, PRODUCT + 0x50, XE_SBID, 3);
	hit(0, SMOOTH + 0x8, XE_SBID, 4);
	hit(0, 0x8000deadbee8, XE_SYNC, 5);
	/* All of a module, of which one is a kernel. */
	const struct accel_code codes[] = {
		{ begin, 1, 0, 0, 0, PRODUCT, 736, has_all },
		{ begin, 1, 0, 0, 0, SMOOTH, 704, has_all },
		{ begin, 1, kernel(&t, "product"), 0, 0, PRODUCT, 736, has_all },
	};
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		assert_int_equal(xe_unit_loaded(u, &codes[i], true), 0);
	use_gpu(101, 100);
	if (silent)
		use_gpu(102, 1);
	if (other)
		use_gpu(201, 1);
	assert_int_equal(xe_unit_read(u, begin + 1000000, true), 0);
	assert_int_equal(xe_unit_write(u, UINT64_MAX), 0);
	assert_int_equal(xe_unit_describe(u), 0);
	runtime_finish(&t);
	/* In order of addresses as the hash has them: compared as a set. */
	snprintf(wanted, sizeof(wanted), "[%s at 0xdead0000]", what);
	bool is_named = false, is_placed = false, is_function = false;
	for (size_t i = 0; i < runtime_count(&t, RECORD_KERNEL); i++) {
		const char *name =
			runtime_text(&t, runtime_record(&t, RECORD_KERNEL, i)->kernel.name);
		is_named |= !strcmp(name, wanted);
		is_placed |= !strcmp(name, "product");
		is_function |= !strcmp(name, "[function of a module]");
	}
	assert_true(is_named && is_placed && is_function);
	assert_int_equal(strlen(runtime_info(&t, "xe.driver-code")) != 0,
			 !strncmp(what, "driver", 6));
	runtime_close(&t);
	char command[128];
	snprintf(command, sizeof(command), "rm -r %s", proc);
	assert_int_equal(system(command), 0);
}

static void test_driver_code(void **state)
{
	(void)state;
	assert_unknown_is("driver's own code", true, false, false);
	assert_unknown_is("unknown GPU code", false, false, false);
	assert_unknown_is("unknown GPU code", true, true, false);
	assert_unknown_is("unknown GPU code", true, false, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nothing_there, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_waits_for_code, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_losses, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_options, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_intervals, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_succession, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_driver_code, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
