/* SPDX-License-Identifier: Apache-2.0 */
/* Calls after which the device had nothing to do. */
#include "analyze/hint_facts.h"

#include <errno.h>
#include <string.h>

/* "is_nonzero -> item": the operators that end in the wait, outermost first; else the call. */
static const char *sync_text(struct facts *x, uint32_t node)
{
	const char *ops[2] = { "", "" };
	struct frame call = facts_frame(x, node);
	for (uint32_t n = node; n != PROFILE_NONE; n = profile_node(x->p, n).parent) {
		struct frame f = facts_frame(x, n);
		if (facts_is_own(&f))
			break;
		if (strncmp(f.name, "aten::", 6))
			continue;
		ops[1] = ops[0];
		ops[0] = f.name + 6;
	}
	strbuf_reset(&x->text);
	strbuf_printf(&x->text, "%s%s%s", ops[0], *ops[1] ? " -> " : "", ops[1]);
	if (!x->text.len)
		strbuf_puts(&x->text, call.name);
	return facts_keep(x);
}

static bool is_pure_wait(const char *call)
{
	return strstr(call, "Synchronize") || strstr(call, "Finish") || strstr(call, "WaitFor");
}

/* By the operators and the line that wait: the dearest, with all its calls. */
int facts_syncs(struct facts *x)
{
	int idle = profile_metric_find(x->p, "sync-idle"),
	    calls = profile_metric_find(x->p, "syncs");
	struct hash by_text = { 0 };
	VEC(struct hint_part) parts = { 0 };
	VEC(bool) pure = { 0 };
	int rc = 0;

	for (uint32_t n = 0; idle >= 0 && n < profile_node_count(x->p) && !rc; n++) {
		struct hint_part part = { .ns = profile_self(x->p, n, idle),
					  .count = profile_self(x->p, n, calls) };
		uint32_t key;
		if (!part.ns)
			continue;
		part.text = sync_text(x, n);
		part.where = facts_where(x, n);
		bool is_pure = is_pure_wait(facts_frame(x, n).name);
		strbuf_reset(&x->text);
		strbuf_printf(&x->text, "%s\n%s", part.text, part.where);
		rc = strtab_add(&x->texts, strbuf_text(&x->text), &key);
		const uint64_t *known = rc ? NULL : hash_get(&by_text, key);
		if (known) {
			parts.data[*known].ns += part.ns;
			parts.data[*known].count += part.count;
			pure.data[*known] |= is_pure;
		} else if (!rc && (rc = hash_set(&by_text, key, parts.len)) == 0) {
			rc = vec_push(&parts, part) < 0 ? -ENOMEM : vec_push(&pure, is_pure);
		}
	}
	for (size_t i = 0; i < pure.len; i++) {
		if (parts.data[i].ns <= x->out->sync.ns)
			continue;
		x->out->sync = parts.data[i];
		x->out->is_sync_pure = pure.data[i];
	}
	vec_release(&parts);
	vec_release(&pure);
	hash_release(&by_text);
	return rc;
}
