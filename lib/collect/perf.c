/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/perf.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

uint32_t perf_cpu_count(void)
{
	int count = libbpf_num_possible_cpus();

	return count > 0 ? (uint32_t)count : 1;
}

int perf_open(struct perf_event_attr *attr, uint32_t cpu)
{
	long fd = syscall(SYS_perf_event_open, attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

int perf_explain(int code, const char *what, struct err *err)
{
	if (code == -EACCES || code == -EPERM)
		return err_set(
			err, code,
			"not allowed to record %s: run as root, give the binary CAP_PERFMON, "
			"or set /proc/sys/kernel/perf_event_paranoid to -1",
			what);
	if (code == -EMFILE || code == -ENFILE)
		return err_set(err, code, "no descriptor left for %s: raise the limit (ulimit -n)",
			       what);
	if (code == -ENOSYS)
		return err_set(err, code,
			       "cannot record %s: this kernel has no perf events "
			       "(CONFIG_PERF_EVENTS=y is needed)",
			       what);
	return err_set(err, code, "cannot record %s", what);
}
