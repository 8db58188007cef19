/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/filter.h"

#include "profile/tree.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

/* What becomes of a node, decided from its frame and from what became of its parent. */
enum {
	NODE_STAYS = 1,     /* it has a node of its own; else its children hang where it would */
	NODE_COUNTS = 2,    /* its own value is kept */
	NODE_MARK = 4,      /* means what the rule wants it to; seen by its children */
	NODE_NEEDED = 8,    /* it or something above it counts and has a value */
	NODE_MARK_TWO = 16, /* the same for rules with several meanings */
	NODE_MARK_THREE = 32,
};

struct rule {
	/* Bits of a node; @frame is a number of the source profile. */
	uint8_t (*decide)(const struct rule *rule, uint32_t frame, uint8_t parent);
	const struct profile *src;
	const uint8_t *match;
	bool merges_layers;
};

struct rewrite {
	const struct rule *rule;
	struct profile *dst;
	uint8_t *state;
	uint32_t *frames; /* source number -> destination number, PROFILE_NONE: not yet */
	uint32_t *places; /* source node -> destination node */
};

static void rewrite_release(struct rewrite *w)
{
	profile_free(w->dst);
	free(w->state);
	free(w->frames);
	free(w->places);
}
DEFINE_CLEANUP_EMBEDDED(rewrite_release, struct rewrite)

static int metrics_copy(struct profile *dst, const struct profile *src)
{
	for (int i = 0; i < src->metric_count; i++) {
		struct profile_metric m = profile_metric_get(src, i);
		int rc = profile_metric(dst, m.name, m.unit);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int frame_copy(struct profile *dst, const struct profile *src, uint32_t frame,
		      bool merges_layers, uint32_t *ret)
{
	struct frame f = profile_frame_get(src, frame);
	struct strbuf name = { 0 };

	if (merges_layers && profile_layer_name(&f, &name)) {
		f.name = strbuf_text(&name);
		f.full = NULL;
	}
	int rc = strbuf_finish(&name);
	if (rc == 0)
		rc = profile_frame(dst, &f, ret);
	strbuf_release(&name);
	return rc;
}

static int rewrite_frame(struct rewrite *w, uint32_t frame, uint32_t *ret)
{
	if (w->frames[frame] == PROFILE_NONE) {
		int rc = frame_copy(w->dst, w->rule->src, frame, w->rule->merges_layers,
				    &w->frames[frame]);
		if (rc < 0)
			return rc;
	}
	*ret = w->frames[frame];
	return 0;
}

static bool node_has_value(const struct profile *p, uint32_t node)
{
	for (int i = 0; i < p->metric_count; i++) {
		if (profile_self(p, node, i))
			return true;
	}
	return false;
}

static void rewrite_decide(struct rewrite *w)
{
	const struct profile *src = w->rule->src;
	const struct profile_node *nodes = src->nodes.data;

	/* Parents come before their children. */
	for (uint32_t i = 0; i < src->nodes.len; i++) {
		uint8_t parent = i ? w->state[nodes[i].parent] : 0;
		w->state[i] = w->rule->decide(w->rule, nodes[i].frame, parent);
	}
	for (uint32_t i = (uint32_t)src->nodes.len; i-- > 0;) {
		if ((w->state[i] & NODE_COUNTS) && node_has_value(src, i))
			w->state[i] |= NODE_NEEDED;
		if (i && (w->state[i] & NODE_NEEDED))
			w->state[nodes[i].parent] |= NODE_NEEDED;
	}
}

static int rewrite_place(struct rewrite *w)
{
	const struct profile *src = w->rule->src;
	const struct profile_node *nodes = src->nodes.data;

	w->places[PROFILE_ROOT] = PROFILE_ROOT;
	for (uint32_t i = 1; i < src->nodes.len; i++) {
		w->places[i] = w->places[nodes[i].parent];
		if ((w->state[i] & (NODE_STAYS | NODE_NEEDED)) != (NODE_STAYS | NODE_NEEDED))
			continue;
		uint32_t frame;
		int rc = rewrite_frame(w, nodes[i].frame, &frame);
		if (rc == 0)
			rc = profile_child(w->dst, w->places[i], frame, &w->places[i]);
		if (rc < 0)
			return rc;
	}

	for (int m = 0; m < src->metric_count; m++) {
		for (uint32_t i = 0; src->metrics[m].self && i < src->nodes.len; i++) {
			if (w->state[i] & NODE_COUNTS)
				profile_add(w->dst, w->places[i], m, profile_self(src, i, m));
		}
	}
	return 0;
}

static int rule_apply(const struct rule *rule, struct profile **ret)
{
	const struct profile *src = rule->src;
	size_t frames = profile_frame_count(src);
	CLEANUP(rewrite_release)
	struct rewrite w = {
		.rule = rule,
		.state = calloc(src->nodes.len, sizeof(*w.state)),
		.frames = malloc(frames * sizeof(*w.frames)),
		.places = malloc(src->nodes.len * sizeof(*w.places)),
	};
	int rc = profile_new(&w.dst);

	if (rc < 0 || !w.state || !w.frames || !w.places || metrics_copy(w.dst, src) < 0)
		return -ENOMEM;
	memset(w.frames, 0xff, frames * sizeof(*w.frames));
	rewrite_decide(&w);
	rc = rewrite_place(&w);
	if (rc == 0)
		rc = profile_finish(w.dst);
	if (rc < 0)
		return rc;
	*ret = TAKE(w.dst);
	return 0;
}

int profile_match(const struct profile *p, const char *regex, uint8_t **ret, struct err *err)
{
	regex_t re;
	int rc = regcomp(&re, regex, REG_EXTENDED | REG_NOSUB);
	if (rc) {
		char text[128];
		regerror(rc, &re, text, sizeof(text));
		return err_set(err, -EINVAL, "cannot use '%s' as a regular expression: %s", regex,
			       text);
	}

	uint32_t count = profile_frame_count(p);
	uint8_t *match = calloc(count, 1);
	for (uint32_t i = 0; match && i < count; i++) {
		struct frame f = profile_frame_get(p, i);
		match[i] = f.kind != FRAME_ROOT && (!regexec(&re, f.name, 0, NULL, 0) ||
						    (*f.full && !regexec(&re, f.full, 0, NULL, 0)));
	}
	regfree(&re);
	if (!match)
		return err_set(err, -ENOMEM, "cannot match '%s'", regex);
	*ret = match;
	return 0;
}

/* Inside or above a match: the mark is handed on. */
static uint8_t decide_root_at(const struct rule *rule, uint32_t frame, uint8_t parent)
{
	return parent & NODE_MARK || rule->match[frame] ? NODE_MARK | NODE_STAYS | NODE_COUNTS : 0;
}

static uint8_t decide_focus(const struct rule *rule, uint32_t frame, uint8_t parent)
{
	bool inside = parent & NODE_MARK || rule->match[frame];
	return NODE_STAYS | (inside ? NODE_MARK | NODE_COUNTS : 0);
}

static uint8_t decide_ignore(const struct rule *rule, uint32_t frame, uint8_t parent)
{
	bool inside = parent & NODE_MARK || rule->match[frame];
	return NODE_STAYS | (inside ? NODE_MARK : NODE_COUNTS);
}

static uint8_t decide_hide(const struct rule *rule, uint32_t frame, uint8_t parent)
{
	(void)parent;
	return NODE_COUNTS | (rule->match[frame] ? 0 : NODE_STAYS);
}

/* Beside the number of its run. */
#define FOLD_SCOPE  0x80
#define FOLD_PYTHON 0x40

/* The match is an enum profile_run, the first two marks are "the frame below is of that run". The third
 * is "there is a frame of Python or of its interpreter somewhere below". */
static uint8_t decide_fold(const struct rule *rule, uint32_t frame, uint8_t parent)
{
	uint8_t match = rule->match[frame], runs = parent & (NODE_MARK | NODE_MARK_TWO);
	uint8_t run = match & (uint8_t) ~(FOLD_SCOPE | FOLD_PYTHON);
	uint8_t seen = match & FOLD_PYTHON ? NODE_MARK_THREE : parent & NODE_MARK_THREE;

	if (!run)
		return NODE_COUNTS | NODE_STAYS | seen;
	if (run == PROFILE_RUN_INTERPRETER)
		return NODE_COUNTS | NODE_MARK_THREE | (seen ? runs : NODE_STAYS);
	uint8_t mark = run == PROFILE_RUN_FRAMEWORK ? NODE_MARK : NODE_MARK_TWO;
	bool stays = !(runs & mark) || match & FOLD_SCOPE;
	return (uint8_t)(NODE_COUNTS | seen | mark | (stays ? NODE_STAYS : 0));
}

int profile_root_at(const struct profile *p, const uint8_t *match, struct profile **ret)
{
	struct rule rule = { .decide = decide_root_at, .src = p, .match = match };
	return rule_apply(&rule, ret);
}

int profile_focus(const struct profile *p, const uint8_t *match, struct profile **ret)
{
	struct rule rule = { .decide = decide_focus, .src = p, .match = match };
	return rule_apply(&rule, ret);
}

int profile_ignore(const struct profile *p, const uint8_t *match, struct profile **ret)
{
	struct rule rule = { .decide = decide_ignore, .src = p, .match = match };
	return rule_apply(&rule, ret);
}

int profile_hide(const struct profile *p, const uint8_t *match, struct profile **ret)
{
	struct rule rule = { .decide = decide_hide, .src = p, .match = match };
	return rule_apply(&rule, ret);
}

int profile_fold(const struct profile *p, struct profile **ret)
{
	uint32_t count = profile_frame_count(p);
	CLEANUP_FREE uint8_t *match = calloc(count, 1);
	if (!match)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		struct frame f = profile_frame_get(p, i);
		match[i] = (uint8_t)(profile_run_of(&f) | (f.kind == FRAME_SCOPE ? FOLD_SCOPE : 0) |
				     (f.kind == FRAME_PYTHON ? FOLD_PYTHON : 0));
	}

	struct rule rule = {
		.decide = decide_fold, .src = p, .match = match, .merges_layers = true
	};
	return rule_apply(&rule, ret);
}
