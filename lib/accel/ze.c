/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/ze.h"

#include "accel/info.h"
#include "accel/runtimes.h"
#include "inject/message.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

static int ze_open(void **ret, const struct accel_host *host, struct err *err)
{
	struct ze *z = calloc(1, sizeof(*z));

	if (!z)
		return err_set(err, -ENOMEM, "no memory");
	z->host = *host;
	*ret = z;
	return 0;
}

static void process_free(void *state)
{
	struct ze_process *p = state;

	if (!p)
		return;
	vec_for_each(&p->lists, it)
		vec_release(&it->work);
	kernel_table_release(&p->kernels);
	hash_release(&p->list_index);
	hash_release(&p->queue_index);
	hash_release(&p->awaited_index);
	vec_release(&p->awaited);
	told_code_release(&p->code);
	vec_release(&p->lists);
	vec_release(&p->queues);
	vec_release(&p->devices);
	host_waits_release(&p->waits);
	free(p);
}

static void ze_close(void *runtime)
{
	struct ze *z = runtime;

	process_index_release(&z->processes, process_free);
	hash_release(&z->devices);
	free(z);
}

static struct ze_process *process_of(struct ze *z, const struct accel_event *e)
{
	struct ze_process *p = process_index_get(&z->processes, e->process);

	if (p)
		return p;
	p = process_index_add(&z->processes, e->process, sizeof(*p));
	if (!p)
		return NULL;
	p->process = e->process;
	p->pid = e->pid;
	kernel_table_init(&p->kernels, &z->host, p->process, "Level Zero module");
	return p;
}

static int ze_event(void *runtime, const struct accel_event *e)
{
	struct ze *z = runtime;
	struct ze_process *p = process_of(z, e);

	if (!p)
		return -ENOMEM;
	switch (e->site->id) {
	case SITE_EXECUTE:
	case SITE_EXECUTE_IN:
		return ze_executed(z, p, e);
	case SITE_SYNC:
		return ze_waiting(z, p, e);
	case SITE_SYNC_END:
		return host_waits_end(&p->waits, z->host.writer, e);
	case SITE_MODULE:
		return ze_module_created(p, e);
	case SITE_MODULE_GONE:
		return told_code_gone(&p->code, &p->kernels, e->value[0], e->time_ns);
	case SITE_KERNEL:
		return ze_kernel_created(z, p, e);
	case SITE_QUEUE:
		return ze_queue_created(z, p, e);
	case SITE_LIST:
	case SITE_LIST_IMMEDIATE:
		return ze_list_created(z, p, e);
	case SITE_LIST_EMPTY:
		ze_list_emptied(p, e->value[0]);
		return 0;
	case SITE_DEVICE:
		return ze_device_told(z, p, e);
	case SITE_DEVICE_PCI:
		return ze_device_pci_told(p, e);
	case SITE_TOLD:
		return ze_told(z, p, e);
	case SITE_TIMES:
		return 0;
	default:
		return ze_launched(z, p, e);
	}
}

static int ze_exited(void *runtime, uint32_t process, uint64_t time_ns)
{
	struct ze *z = runtime;

	(void)time_ns;
	process_free(process_index_take(&z->processes, process));
	return 0;
}

static int ze_describe(void *runtime)
{
	struct ze *z = runtime;
	struct capture_writer *w = z->host.writer;
	char text[256];
	int rc = 0;

	/* What is executed again is one launch of much work. */
	if (z->stats.launches > z->stats.timed) {
		snprintf(text, sizeof(text),
			 "%" PRIu64
			 " Level Zero launches were seen as they were asked for, which does "
			 "not tell when the device works on them%s",
			 z->stats.launches - z->stats.timed,
			 z->wants_times ? "" : ": --accel levelzero:times asks for that");
		rc = accel_info(w, "missing.device-time", text);
	}
	rc = rc ? rc : accel_info_number(w, "levelzero.launches", z->stats.launches);
	rc = rc ? rc : accel_info_number(w, "levelzero.replayed", z->stats.replays);
	rc = rc ? rc : accel_info_number(w, "levelzero.cut-lists", z->stats.cut);
	rc = rc ? rc : accel_info_number(w, "levelzero.located-kernels", z->stats.located);
	rc = rc ? rc : accel_info_number(w, "levelzero.timed", z->stats.timed);
	rc = rc ? rc : accel_info_number(w, "levelzero.launched-before", z->stats.before);
	return rc ? rc : accel_info_number(w, "levelzero.unnamed-kernels", z->stats.unnamed);
}

static int ze_set(void *runtime, const char *key, const char *value, struct err *err)
{
	struct ze *z = runtime;

	(void)key, (void)value, (void)err;
	z->wants_times = true;
	return 0;
}

static bool ze_wants(void *runtime, const struct probe_site *site, bool samples)
{
	const struct ze *z = runtime;

	(void)site, (void)samples;
	return z->wants_times;
}

static const struct accel_option options[] = {
	{ "times", NULL },
	{ 0 },
};

const struct accel_ops ze_ops = {
	.name = "levelzero",
	.sites = ze_sites,
	.libraries = ze_libraries,
	.door = { .variable = "LD_PRELOAD",
		  .is_list = true,
		  .needs = "libze_loader.so.1",
		  .library = INJECT_ZE_FILE,
		  .runtime = "libze_loader",
		  .function = "accel_prof_ze_start" },
	.options = options,
	.open = ze_open,
	.set = ze_set,
	.wants = ze_wants,
	.event = ze_event,
	.exited = ze_exited,
	.describe = ze_describe,
	.close = ze_close,
};
