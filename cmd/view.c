/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/view.h"

#include <errno.h>
#include <string.h>

const char *view_device_word(const struct analysis_summary *s)
{
	static const char *const gpus[] = { "cuda", "hip", "levelzero", "xpu", "gpu" };
	for (size_t i = 0; i < s->device_count; i++) {
		bool is_gpu = false;
		for (size_t k = 0; k < ARRAY_SIZE(gpus); k++)
			is_gpu |= !strcasecmp(s->devices[i].runtime, gpus[k]);
		if (!is_gpu)
			return "device";
	}
	return s->device_count ? "GPU" : "device";
}

int view_check_sort(const char *sort, const char *const *keys, size_t count, struct err *err)
{
	struct strbuf list = { 0 };
	if (!sort)
		return 0;
	for (size_t i = 0; i < count; i++) {
		if (!strcmp(sort, keys[i]))
			return 0;
	}
	if (!count)
		return err_set(err, -EINVAL, "cannot sort by '%s': this table has one order", sort);
	for (size_t i = 0; i < count; i++)
		strbuf_printf(&list, "%s%s", !i ? "" : i + 1 < count ? ", " : " and ", keys[i]);
	int rc = err_set(err, -EINVAL, "cannot sort by '%s'; %s are possible", sort,
			 strbuf_text(&list));
	strbuf_release(&list);
	return rc;
}
