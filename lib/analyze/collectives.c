/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/collectives.h"

#include "analyze/kernel_name.h"
#include "analyze/metadata.h"
#include "base/parse.h"

#include <errno.h>

void collectives_release(struct collectives *c)
{
	vec_release(&c->list);
	vec_release(&c->processes);
	strtab_release(&c->keys);
}

/* ---- what it is called ---- */

/* Frames from the launch on in which its name is looked for: runtime, framework's wrappers. */
#define NAME_FRAMES 6

/* "all_reduce" of "nccl:all_reduce" or "c10d::allreduce_"; empty for what is no such name. */
static struct span name_of_frame(const char *text)
{
	static const char *const prefixes[] = { "nccl:", "rccl:", "gloo:", "c10d::" };
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		size_t size = strlen(prefixes[i]);
		if (strncmp(text, prefixes[i], size))
			continue;
		text += size;
		size = strlen(text);
		return span_of(text, size && text[size - 1] == '_' ? size - 1 : size);
	}
	return span_of("", 0);
}

static struct span name_of_stack(struct analysis *a, const struct launch *l)
{
	const struct site *site = &a->sites.data[l->site];
	if (site->kind != SITE_STACK || !site->stack)
		return span_of("", 0);
	const struct frame_ref *frames = analysis_stack(a, site->stack);
	uint32_t count = frames ? a->stacks.data[site->stack].count : 0;
	for (uint32_t i = 0; i < count && i < NAME_FRAMES; i++) {
		const struct object *o = &a->objects.data[frames[i].object];
		struct span name = name_of_frame(analysis_text(a, o->name));
		if (name.size)
			return name;
	}
	return span_of("", 0);
}

static int name_of_kernel(const struct analysis *a, const struct op *op, struct strtab *texts,
			  uint32_t *ret)
{
	struct strbuf full = { 0 }, brief = { 0 };
	kernel_name_full(&full, strtab_text(&a->names, op->name));
	kernel_name_short(&brief, strbuf_text(&full));
	const char *name = strbuf_text(brief.len ? &brief : &full);
	int rc = strbuf_finish(&full) < 0 || strbuf_finish(&brief) < 0
			 ? -ENOMEM
			 : strtab_add(texts, name, ret);
	strbuf_release(&full);
	strbuf_release(&brief);
	return rc < 0 ? rc : 0;
}

/* "broadcast", "gather", but not "all_gather": in these some ranks are done before others join. */
static bool name_is_rooted(const char *name)
{
	if (strcasestr(name, "all") || strcasestr(name, "reduce_scatter") ||
	    strcasestr(name, "reducescatter") || strcasestr(name, "barrier"))
		return false;
	/* NCCL's kernel for both all_to_all and sending between two. */
	if (strcasestr(name, "SendRecv"))
		return false;
	return strcasestr(name, "broadcast") || strcasestr(name, "send") ||
	       strcasestr(name, "recv") || strcasestr(name, "gather") ||
	       strcasestr(name, "scatter") || strcasestr(name, "reduce");
}

/* ---- all of them ---- */

struct finding {
	struct collectives *c;
	struct analysis *a;
	struct strtab *texts;
	struct hash rank_of; /* process row -> rank */
	struct strbuf text;
};

static int find_rank(struct finding *x, uint32_t process, uint32_t *ret)
{
	const uint64_t *known = hash_get(&x->rank_of, process);
	if (known) {
		*ret = (uint32_t)*known;
		return 0;
	}
	*ret = (uint32_t)x->c->processes.len;
	int rc = vec_push(&x->c->processes, process);
	return rc ? rc : hash_set(&x->rank_of, process, *ret);
}

/* Group, operation and number, as one text. */
static int find_key(struct finding *x, struct collective *c, const char *metadata)
{
	struct span group = metadata_value(metadata, "group");
	struct span number = metadata_value(metadata, "sequence");

	c->is_numbered = number.size;
	strbuf_reset(&x->text);
	strbuf_add(&x->text, group.data, group.size);
	strbuf_putc(&x->text, ';');
	strbuf_puts(&x->text, strtab_text(x->texts, c->name));
	strbuf_putc(&x->text, ';');
	strbuf_add(&x->text, number.data, number.size);
	if (strbuf_finish(&x->text) < 0)
		return -ENOMEM;
	return strtab_add(&x->c->keys, strbuf_text(&x->text), &c->key) < 0 ? -ENOMEM : 0;
}

static void see_group(struct finding *x, const char *metadata)
{
	struct span size = metadata_value(metadata, "group-size");
	const char *at = (const char *)size.data;
	uint64_t n;
	if (size.size && !parse_digits(&at, at + size.size, 10, &n) && n > x->c->largest_group)
		x->c->largest_group = n;
}

static int find_one(struct finding *x, const struct op *op)
{
	const struct launch *l = analysis_op_launch(x->a, op);
	const char *metadata = "";
	struct collective c = { .start_ns = op->start_ns, .end_ns = op->end_ns };
	struct span name = span_of("", 0);

	if (l) {
		const struct launch_detail *d =
			(const void *)strtab_get(&x->a->detail_blobs, l->detail).data;
		metadata = analysis_text(x->a, d->metadata);
		name = metadata_value(metadata, "collective");
		if (!name.size)
			name = name_of_stack(x->a, l);
	}
	int rc = name.size ? strtab_intern(x->texts, name.data, name.size, &c.name, NULL)
			   : name_of_kernel(x->a, op, x->texts, &c.name);
	if (rc < 0)
		return -ENOMEM;
	c.is_rooted = name_is_rooted(strtab_text(x->texts, c.name));
	see_group(x, metadata);
	uint32_t process = analysis_op_process(x->a, op);
	rc = find_rank(x, process ? process : x->a->devices.data[op->device].process, &c.rank);
	rc = rc ? rc : find_key(x, &c, metadata);
	return rc ? rc : vec_push(&x->c->list, c);
}

/* ---- those that the host does ---- */

/* "all_reduce" of a span "gloo:all_reduce": it lasts as long as the collective does; that of another
 * library is of the call that launches one. */
static struct span name_on_host(const struct analysis *a, const struct stack *stack)
{
	static const char *const prefixes[] = { "gloo:", "mpi:" };
	if (!stack->leaf)
		return span_of("", 0);
	struct pair leaf = pairtab_get(&a->stack_nodes, stack->leaf);
	const struct object *o = &a->objects.data[analysis_frame(a, leaf.second).object];
	const char *name = analysis_text(a, o->name);
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		size_t size = strlen(prefixes[i]);
		if (!strncmp(name, prefixes[i], size))
			return span_of(name + size, strlen(name) - size);
	}
	return span_of("", 0);
}

static int find_on_host(struct finding *x, const struct sample *s, struct span name)
{
	uint32_t thread = x->a->sample_groups.data[s->group].thread;
	struct collective c = { .start_ns = s->time_ns, .end_ns = s->time_ns + s->weight };

	if (strtab_intern(x->texts, name.data, name.size, &c.name, NULL) < 0)
		return -ENOMEM;
	c.is_rooted = name_is_rooted(strtab_text(x->texts, c.name));
	int rc = find_rank(x, x->a->threads.data[thread].process, &c.rank);
	rc = rc ? rc : find_key(x, &c, "");
	return rc ? rc : vec_push(&x->c->list, c);
}

static int find_all_on_host(struct finding *x, const struct filter *f)
{
	const struct analysis *a = x->a;
	CLEANUP_FREE struct span *names = calloc(a->stacks.len + 1, sizeof(*names));
	bool any = false;
	int rc = 0;
	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < a->stacks.len; i++) {
		names[i] = name_on_host(a, &a->stacks.data[i]);
		any |= names[i].size > 0;
	}
	for (size_t i = 0; any && i < a->samples.len && !rc; i++) {
		const struct sample *s = &a->samples.data[i];
		const struct sample_group *g = &a->sample_groups.data[s->group];
		if (names[g->stack].size && s->flags & CPU_SAMPLE_SPAN &&
		    f->thread_passes[g->thread] && filter_time(f, s->time_ns))
			rc = find_on_host(x, s, names[g->stack]);
	}
	return rc;
}

static int compare_collectives(const void *va, const void *vb)
{
	const struct collective *a = va, *b = vb;
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return a->rank < b->rank ? -1 : a->rank > b->rank;
}

int collectives_find(struct collectives *c, struct analysis *a, const struct filter *f,
		     struct strtab *texts)
{
	struct finding x = { .c = c, .a = a, .texts = texts };
	int rc = 0;

	c->has_clock = strcmp(analysis_text(a, a->header.clock), "trace") != 0;

	vec_for_each(&a->ops, op) {
		uint32_t site;
		if (op->kind != LAUNCH_COLLECTIVE || !filter_on(f, op->device, op->queue) ||
		    !f->name_passes[op->name] || !filter_time(f, op->start_ns))
			continue;
		rc = analysis_op_site(a, op, &site);
		if (!rc && filter_site(f, &a->sites.data[site]))
			rc = find_one(&x, op);
		if (rc < 0)
			break;
	}
	/* Only where no device does: else it is said twice. */
	if (!rc && !c->list.len)
		rc = find_all_on_host(&x, f);
	if (c->list.len)
		qsort(c->list.data, c->list.len, sizeof(*c->list.data), compare_collectives);
	hash_release(&x.rank_of);
	strbuf_release(&x.text);
	return rc;
}

/* ---- the same one on several ranks ---- */

struct matching {
	struct collectives *c;
	uint32_t *by_rank; /* the last set that the rank was put into; or how many it had */
	size_t ranks;
};

/* None can end on one rank before it has begun on all: those that overlap are one. Returns how
 * many there are of more than one rank. */
static size_t match_by_time(struct matching *m, size_t first, size_t end)
{
	struct collective *list = m->c->list.data;
	size_t found = 0;

	memset(m->by_rank, 0, m->ranks * sizeof(*m->by_rank));
	for (size_t i = first; i < end;) {
		uint64_t least_end = UINT64_MAX;
		uint32_t set = ++m->c->sets;
		size_t begin = i;
		for (; i < end; i++) {
			struct collective *c = &list[i];
			if (c->start_ns >= least_end || m->by_rank[c->rank] == set)
				break;
			c->set = m->by_rank[c->rank] = set;
			least_end = c->end_ns < least_end ? c->end_ns : least_end;
		}
		found += i - begin > 1;
	}
	return found;
}

/* The first on each rank, the second on each rank, ... */
static void match_by_order(struct matching *m, size_t first, size_t end)
{
	uint32_t most = 0;

	memset(m->by_rank, 0, m->ranks * sizeof(*m->by_rank));
	for (size_t i = first; i < end; i++) {
		struct collective *c = &m->c->list.data[i];
		uint32_t number = ++m->by_rank[c->rank];
		c->set = m->c->sets + number;
		most = number > most ? number : most;
	}
	m->c->sets += most;
}

/* How many the rank has that has fewest of them, of those that have any; 0 with only one such. */
static size_t least_of_ranks(struct matching *m, size_t first, size_t end, bool *ret_equal)
{
	size_t least = SIZE_MAX, most = 0, ranks = 0;

	memset(m->by_rank, 0, m->ranks * sizeof(*m->by_rank));
	for (size_t i = first; i < end; i++)
		m->by_rank[m->c->list.data[i].rank]++;
	for (size_t i = 0; i < m->ranks; i++) {
		size_t n = m->by_rank[i];
		ranks += n > 0;
		least = n && n < least ? n : least;
		most = n > most ? n : most;
	}
	*ret_equal = least == most;
	return ranks > 1 ? least : 0;
}

/* What only one rank has is not matched. */
static int drop_single(struct collectives *c)
{
	CLEANUP_FREE uint32_t *members = calloc((size_t)c->sets + 1, sizeof(*members));
	if (!members)
		return -ENOMEM;
	vec_for_each(&c->list, it)
		members[it->set]++;
	vec_for_each(&c->list, it)
		it->set = members[it->set] > 1 ? it->set : 0;
	return 0;
}

/* The numbered ones by their numbers, the others by time or else by order. */
static void match_all(struct matching *m, bool is_by_order, size_t *ret_found, size_t *ret_all)
{
	const struct collective *list = m->c->list.data;

	m->c->sets = 0;
	*ret_found = *ret_all = 0;
	for (size_t i = 0, end; i < m->c->list.len; i = end) {
		for (end = i; end < m->c->list.len && list[end].key == list[i].key;)
			end++;
		if (list[i].is_rooted)
			continue;
		bool is_equal;
		size_t least = least_of_ranks(m, i, end, &is_equal);
		if (list[i].is_numbered || is_by_order || (!m->c->has_clock && is_equal)) {
			match_by_order(m, i, end);
			continue;
		}
		*ret_found += match_by_time(m, i, end);
		*ret_all += least;
	}
}

/* Less than this share of what could overlap does not: the ranks' clocks have nothing in common. */
#define SHARED_CLOCK_PERCENT 25

int collectives_match(struct collectives *c)
{
	struct matching m = { .c = c, .ranks = c->processes.len };
	CLEANUP_FREE uint32_t *by_rank = calloc(m.ranks + 1, sizeof(*by_rank));
	size_t found, all;
	if (!by_rank)
		return -ENOMEM;
	m.by_rank = by_rank;
	match_all(&m, false, &found, &all);
	if (found * 100 < all * SHARED_CLOCK_PERCENT)
		match_all(&m, true, &found, &all);
	return drop_single(c);
}
