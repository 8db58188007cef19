/* SPDX-License-Identifier: Apache-2.0 */
/* What a capture says of the binaries and devices in it. */
#include "analyze/filter.h"

#include <errno.h>
#include <string.h>

bool analysis_info_get(const struct analysis *a, size_t i, const char **ret_key,
		       const char **ret_value)
{
	if (i >= a->info.len)
		return false;
	*ret_key = analysis_text(a, a->info.data[i].key);
	*ret_value = analysis_text(a, a->info.data[i].value);
	return true;
}

struct span analysis_source(const struct analysis *a, const char *path)
{
	vec_for_each(&a->sources, s) {
		if (!strcmp(analysis_text(a, s->path), path))
			return span_of(strbuf_text(&s->text), s->text.len);
	}
	return span_of("", 0);
}

const char *analysis_build_id(const struct analysis *a, const char *module,
			      char ret[2 * ANALYSIS_BUILD_ID_MAX + 1])
{
	static const char digits[] = "0123456789abcdef";
	size_t len = 0;

	vec_for_each(&a->objects, o) {
		struct span id = strtab_get(&a->detail_blobs, o->build_id);
		if (!id.size || id.size > ANALYSIS_BUILD_ID_MAX ||
		    (strcmp(analysis_text(a, o->path), module) != 0 &&
		     strcmp(analysis_text(a, o->name), module) != 0))
			continue;
		for (size_t i = 0; i < id.size; i++) {
			ret[len++] = digits[id.data[i] >> 4];
			ret[len++] = digits[id.data[i] & 15];
		}
		break;
	}
	ret[len] = 0;
	return ret;
}

int analysis_devices(struct analysis *a, const struct analysis_filter *filter,
		     struct analysis_device **ret, size_t *ret_count, struct err *err)
{
	struct filter f = { 0 };
	int rc = filter_init(&f, a, filter, err);
	if (rc < 0)
		return rc;
	CLEANUP_FREE bool *has_work = calloc(a->devices.len, sizeof(*has_work));
	CLEANUP_FREE struct analysis_device *list = calloc(a->devices.len, sizeof(*list));
	size_t count = 0;
	if (!has_work || !list) {
		filter_release(&f);
		return err_set(err, -ENOMEM, "cannot list the devices");
	}
	vec_for_each(&a->ops, op)
		has_work[op->device] |= filter_on(&f, op->device, op->queue);
	for (size_t i = 0; i < a->devices.len; i++) {
		const struct device *d = &a->devices.data[i];
		if (!has_work[i])
			continue;
		list[count++] = (struct analysis_device){
			.name = analysis_text(a, d->text),
			.runtime = analysis_text(a, d->runtime),
			.index = d->index,
			.units = d->units,
		};
	}
	filter_release(&f);
	*ret = TAKE(list);
	*ret_count = count;
	return 0;
}
