/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names, frames and call paths of an import. Equal frames and equal paths get equal numbers; a
 * path is a node of one tree, so that the path of an event is its parent's node and one frame.
 */
#pragma once

#include "base/hash.h"
#include "base/pairtab.h"
#include "base/span.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "capture/writer.h"

#include <stdbool.h>
#include <stdint.h>

enum frame_trait {
	FRAME_IS_PYTHON = 1 << 0,    /* a line of Python */
	FRAME_IS_CALL_LIKE = 1 << 1, /* cannot outlive its caller; annotations can */
	/* Of runtime calls, by their name: the words are the same in every vendor's runtime. */
	FRAME_LAUNCHES = 1 << 2,
	FRAME_LAUNCHES_GRAPH = 1 << 3,
	FRAME_COPIES = 1 << 4,
	FRAME_FILLS = 1 << 5,
	FRAME_SYNCS = 1 << 6,
	FRAME_BEGINS_CAPTURE = 1 << 7,
	FRAME_ENDS_CAPTURE = 1 << 8,
	FRAME_RUNS_BACKWARD = 1 << 9, /* waits for autograd's threads */
	FRAME_IS_BACKWARD = 1 << 10,  /* a node of autograd's graph being evaluated */
	FRAME_IS_COLLECTIVE = 1 << 11,
	/* Of paths only: how work of a backward pass was put where it belongs. */
	PATH_UNDER_FORWARD = 1 << 12, /* under its forward op */
	PATH_UNDER_ENGINE = 1 << 13,  /* under the call that waited for it */
};

struct frame_info {
	uint32_t kind;       /* enum object_kind */
	uint32_t traits;     /* enum frame_trait */
	uint32_t name, path; /* strings */
	uint32_t line;
	uint32_t frame_kind; /* enum frame_kind, of OBJECT_FRAME */
	uint32_t object;     /* the writer's number + 1; 0: not written yet */
};

struct path_node {
	uint32_t traits; /* of all frames from the root to here */
	uint32_t depth;
	/* The writer's number of the path itself or else of any that begins with it, in @epoch. */
	uint32_t stack;
	uint32_t epoch; /* 0: not yet */
	bool is_itself;
};

struct frames {
	struct strtab strings;
	VEC(uint32_t) written; /* the writer's number of each string + 1; 0: not yet */
	VEC(struct frame_info) infos;
	struct pairtab paths;        /* (parent, frame); 0 is the empty path */
	VEC(struct path_node) nodes; /* by number of the path */
	struct hash by_text;         /* (kind, text) -> frame */
	VEC(struct record_frame) stack;
};

#define PATH_EMPTY 0u

int frames_init(struct frames *f);
void frames_release(struct frames *f);

/* The number of a string, and the writer's number for it. */
int frames_string(struct frames *f, struct span text, uint32_t *ret);
int frames_written(struct frames *f, struct capture_writer *w, uint32_t string, uint32_t *ret);

/*
 * A frame by its text as the trace has it. With OBJECT_PYTHON the text is taken apart: what is no
 * line of Python becomes a module ("nn.Module: Linear_3") or a native function ("<built-in ...>").
 */
int frames_add(struct frames *f, enum object_kind kind, struct span text, uint32_t *ret);
/* A frame of a foreign profile as it is; @kind: enum frame_kind. */
int frames_add_foreign(struct frames *f, uint32_t kind, struct span text, uint32_t *ret);
/* A frame as the writer has it. */
int frames_object(struct frames *f, struct capture_writer *w, uint32_t frame,
		  struct record_frame *ret);
/* @parent with one frame more. */
int frames_path(struct frames *f, uint32_t parent, uint32_t frame, uint32_t *ret);
/* @path with the frames of @tail behind it, but for those up to its ancestor @from. */
int frames_join(struct frames *f, uint32_t path, uint32_t tail, uint32_t from, uint32_t *ret);
/* The longest path that both begin with. */
uint32_t frames_common(const struct frames *f, uint32_t a, uint32_t b);

/* The writer's number of a path as a stack; to be used at once. */
int frames_stack(struct frames *f, struct capture_writer *w, uint32_t path, uint32_t *ret);

static inline const struct frame_info *frames_info(const struct frames *f, uint32_t frame)
{
	return &f->infos.data[frame];
}

static inline uint32_t frames_traits(const struct frames *f, uint32_t path)
{
	return f->nodes.data[path].traits;
}
