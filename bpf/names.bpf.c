/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Names in the OS kernel. It knows them, and tells one in a microsecond; all 200,000 of them, as
 * /proc/kallsyms has them, take 40 ms and 20 MB.
 */
#include "bpf/kernel.h"

#include "bpf/events.h"

/* What was asked for last: "name+0xOFFSET/0xSIZE", with " [module]" behind it, or a number. */
char kernel_name[KERNEL_NAME_BYTES];

/* Not attached: the recorder runs it with an address. */
SEC("raw_tp")
int tell_name(struct bpf_raw_tracepoint_args *ctx)
{
	static const char format[] = "%pS";
	u64 address = ctx->args[0];

	return bpf_snprintf(kernel_name, sizeof(kernel_name), format, &address, sizeof(address)) <
	       0;
}
