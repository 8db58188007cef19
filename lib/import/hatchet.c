/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hatchet's literal format, as Proton and FlagTree write it:
 *
 *	[ { "frame": { "name": "ROOT" }, "metrics": { ... }, "children": [ NODE... ] },
 *	  { "CUDA": { "0": { "arch": "90", "num_sms": 132, ... } } } ]
 *
 * Keys come in any order, so that a node is known only at its end; the list of nodes is in order of
 * their beginnings, parents first.
 */
#include "import/decimal.h"
#include "import/document.h"
#include "import/session.h"
#include "import/tree.h"

#include <errno.h>
#include <string.h>

/* A node is two levels of JSON; call paths have at most some hundred frames. */
#define HATCHET_DEPTH_MAX 8192

enum place {
	PLACE_TOP, /* the outermost array */
	PLACE_NODE,
	PLACE_FRAME,
	PLACE_METRICS,
	PLACE_CHILDREN,
	PLACE_TYPES,   /* of devices: "CUDA": ... */
	PLACE_DEVICES, /* "0": ... */
	PLACE_DEVICE,
	PLACE_OTHER,
};

struct level {
	uint8_t place; /* enum place */
	uint32_t node; /* PLACE_NODE: which */
};

/* Metrics come one by one while nodes are open inside each other: kept with their node, then
 * sorted. */
struct loose_metric {
	uint32_t node;
	struct tree_metric metric;
};

struct hatchet {
	struct session *session;
	struct tree tree;
	VEC(struct level) levels;
	VEC(struct loose_metric) loose;
	uint32_t key;         /* string: the last one */
	uint32_t device_type; /* string */
	size_t device;        /* in tree.devices */
	struct document document;
};

static int fail(struct hatchet *h, int code)
{
	h->document.error = code;
	return 0;
}

static int refuse(struct hatchet *h, const char *why)
{
	h->document.refusal = why;
	return 0;
}

static const char *key_text(const struct hatchet *h)
{
	return strtab_text(&h->session->frames.strings, h->key);
}

static enum place place(const struct hatchet *h)
{
	return h->levels.len ? (enum place)vec_last(&h->levels)->place : PLACE_OTHER;
}

/* The node that the innermost open node's children, frame or metrics belong to. */
static uint32_t current_node(const struct hatchet *h)
{
	for (size_t i = h->levels.len; i--;) {
		if (h->levels.data[i].place == PLACE_NODE)
			return h->levels.data[i].node;
	}
	return 0;
}

static int push(struct hatchet *h, enum place p, uint32_t node)
{
	if (h->levels.len >= HATCHET_DEPTH_MAX)
		return refuse(h, "nested deeper than any profile");
	if (vec_push(&h->levels, (struct level){ .place = (uint8_t)p, .node = node }) < 0)
		return fail(h, -ENOMEM);
	return 1;
}

static int push_node(struct hatchet *h)
{
	uint32_t id = (uint32_t)h->tree.nodes.len;
	struct tree_node n = { .parent = place(h) == PLACE_TOP ? id : current_node(h) };

	if (id == UINT32_MAX)
		return fail(h, -E2BIG);
	if (vec_push(&h->tree.nodes, n) < 0)
		return fail(h, -ENOMEM);
	return push(h, PLACE_NODE, id);
}

static int push_device(struct hatchet *h)
{
	struct tree_device *d;
	uint64_t index;

	if (decimal_u64(strtab_get(&h->session->frames.strings, h->key), &index) < 0 ||
	    index > UINT32_MAX)
		return push(h, PLACE_OTHER, 0);
	int rc = tree_device(&h->tree, h->device_type, (uint32_t)index, &d);
	if (rc < 0)
		return fail(h, rc);
	h->device = (size_t)(d - h->tree.devices.data);
	return push(h, PLACE_DEVICE, 0);
}

static int on_map(void *data)
{
	struct hatchet *h = data;

	switch (place(h)) {
	case PLACE_TOP:
		/* The first is the root, the second the devices. */
		return h->tree.nodes.len ? push(h, PLACE_TYPES, 0) : push_node(h);
	case PLACE_CHILDREN:
		return push_node(h);
	case PLACE_NODE:
		if (!strcmp(key_text(h), "frame"))
			return push(h, PLACE_FRAME, 0);
		return push(h, strcmp(key_text(h), "metrics") ? PLACE_OTHER : PLACE_METRICS, 0);
	case PLACE_TYPES:
		h->device_type = h->key;
		return push(h, PLACE_DEVICES, 0);
	case PLACE_DEVICES:
		return push_device(h);
	default:
		return push(h, PLACE_OTHER, 0);
	}
}

static int on_array(void *data)
{
	struct hatchet *h = data;

	if (!h->levels.len)
		return push(h, PLACE_TOP, 0);
	if (place(h) == PLACE_NODE && !strcmp(key_text(h), "children"))
		return push(h, PLACE_CHILDREN, 0);
	return push(h, PLACE_OTHER, 0);
}

static int on_end(void *data)
{
	struct hatchet *h = data;
	h->levels.len--;
	return 1;
}

static int on_key(void *data, const unsigned char *text, size_t size)
{
	struct hatchet *h = data;
	int rc = frames_string(&h->session->frames, span_of(text, size), &h->key);
	return rc < 0 ? fail(h, rc) : 1;
}

static int metric(struct hatchet *h, struct span value)
{
	struct loose_metric m = { .node = current_node(h), .metric = { .key = h->key } };
	int rc = frames_string(&h->session->frames, value, &m.metric.value);
	if (!rc)
		rc = vec_push(&h->loose, m);
	return rc < 0 ? fail(h, rc) : 1;
}

static int on_value(struct hatchet *h, struct span value)
{
	int rc = 0;

	switch (place(h)) {
	case PLACE_FRAME:
		if (!strcmp(key_text(h), "name"))
			rc = frames_string(&h->session->frames, value,
					   &h->tree.nodes.data[current_node(h)].name);
		break;
	case PLACE_METRICS:
		return metric(h, value);
	case PLACE_DEVICE:
		if (!strcmp(key_text(h), "arch"))
			rc = frames_string(&h->session->frames, value,
					   &h->tree.devices.data[h->device].arch);
		else if (!strcmp(key_text(h), "num_sms"))
			(void)decimal_u64(value, &h->tree.devices.data[h->device].units);
		for (int i = 0; i < TREE_CLOCK_COUNT; i++) {
			if (!strcmp(key_text(h), tree_clock_keys[i]))
				(void)decimal_u64(value,
						  &h->tree.devices.data[h->device].clocks[i]);
		}
		break;
	default:
		break;
	}
	return rc < 0 ? fail(h, rc) : 1;
}

static int on_number(void *data, const char *text, size_t size)
{
	return on_value(data, span_of(text, size));
}

static int on_string(void *data, const unsigned char *text, size_t size)
{
	return on_value(data, span_of(text, size));
}

static const yajl_callbacks callbacks = {
	.yajl_number = on_number,
	.yajl_string = on_string,
	.yajl_start_map = on_map,
	.yajl_map_key = on_key,
	.yajl_end_map = on_end,
	.yajl_start_array = on_array,
	.yajl_end_array = on_end,
};

/* ---- reading ---- */

/* Metrics to their nodes: counted, placed, filled in; their order within a node stays. */
static int settle_metrics(struct hatchet *h)
{
	struct tree *t = &h->tree;
	uint32_t next = 0;

	if (vec_reserve(&t->metrics, h->loose.len) < 0)
		return -ENOMEM;
	vec_for_each(&h->loose, m)
		t->nodes.data[m->node].count++;
	vec_for_each(&t->nodes, n) {
		n->first = next;
		next += n->count;
		n->count = 0;
	}
	t->metrics.len = h->loose.len;
	vec_for_each(&h->loose, m) {
		struct tree_node *n = &t->nodes.data[m->node];
		t->metrics.data[n->first + n->count++] = m->metric;
	}
	return 0;
}

static bool has_read(const void *data)
{
	const struct hatchet *h = data;

	return h->tree.nodes.len != 0;
}

static void hatchet_release(struct hatchet *h)
{
	tree_release(&h->tree);
	vec_release(&h->levels);
	vec_release(&h->loose);
}
DEFINE_CLEANUP_EMBEDDED(hatchet_release, struct hatchet)

static int hatchet_import(struct session *s, struct stream *in, struct err *err)
{
	CLEANUP(hatchet_release)
	struct hatchet h = {
		.session = s,
		.document = { .callbacks = callbacks, .data = &h, .has_read = has_read },
	};

	int rc = document_read(&h.document, s, in, err);
	if (rc < 0)
		return rc;
	s->trust->is_trace = true;
	s->trust->events += h.tree.nodes.len;
	rc = settle_metrics(&h);
	if (!rc)
		rc = tree_emit(s, &h.tree);
	return rc < 0 ? err_set(err, rc, "cannot write what '%s' holds", stream_name(in)) : 0;
}

static bool has(struct span head, const char *word)
{
	return memmem(head.data, head.size, word, strlen(word)) != NULL;
}

static int hatchet_recognise(struct span head)
{
	size_t i = 0;

	while (i < head.size && strchr(" \t\r\n", head.data[i]) && head.data[i])
		i++;
	if (i == head.size || head.data[i] != '[')
		return 0;
	/* Children may come first: the names at the front are then those of the deepest nodes. */
	if (has(head, "\"frame\"") && (has(head, "\"metrics\"") || has(head, "\"children\"")))
		return 95;
	return has(head, "\"children\"") && !has(head, "\"ph\"") ? 40 : 0;
}

const struct importer hatchet_importer = {
	.name = "hatchet",
	.recognise = hatchet_recognise,
	.import = hatchet_import,
};
