/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/kernel_name.h"

#include "base/parse.h"
#include "collect/programs.h"

#include "recorder.skel.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

/* lib/vsprintf.c of Linux: "name+0x1/0x2", "name+0x1/0x2 [module]", "0xffff...". A name may have any
 * character but a blank, '+' among them. */
int kernel_name_parse(const char *text, uint64_t address, struct kernel_name *ret)
{
	struct kernel_name n = { 0 };
	size_t length = strcspn(text, " ");
	const char *module = text + length;
	char *plus, *slash;
	uint64_t offset;

	if (length >= sizeof(n.name))
		return -ENOENT;
	memcpy(n.name, text, length);
	plus = strrchr(n.name, '+');
	slash = plus ? strchr(plus, '/') : NULL;
	if (!slash || plus == n.name)
		return -ENOENT;
	*plus = *slash = '\0';
	if (strncmp(plus + 1, "0x", 2) || strncmp(slash + 1, "0x", 2) ||
	    parse_u64(plus + 3, 16, &offset) < 0 || parse_u64(slash + 3, 16, &n.size) < 0 ||
	    offset > address)
		return -ENOENT;
	n.start = address - offset;
	length = strlen(module);
	if (length > 3 && !strncmp(module, " [", 2) && module[length - 1] == ']')
		memcpy(n.module, module + 2, length - 3);
	*ret = n;
	return 0;
}

int kernel_name_at(const struct programs *p, uint64_t address, struct kernel_name *ret)
{
	char text[KERNEL_NAME_BYTES];
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &address, .ctx_size_in = sizeof(address));

	int rc = bpf_prog_test_run_opts(bpf_program__fd(p->skeleton->progs.tell_name), &opts);
	if (rc < 0 || opts.retval)
		return -ENOENT;
	memcpy(text, p->skeleton->bss->kernel_name, sizeof(text));
	text[sizeof(text) - 1] = '\0';
	return kernel_name_parse(text, address, ret);
}
