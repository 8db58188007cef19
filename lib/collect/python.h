/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python in the targets: tells the kernel which processes have an interpreter and of which layout,
 * and turns what it sends of their frames into frames of the capture. Code objects are read as soon
 * as an event names them, as they and their process can be gone a moment later.
 */
#pragma once

#include "base/cleanup.h"
#include "base/err.h"
#include "capture/writer.h"

#include <stdint.h>

struct event_header;
struct object;
struct programs;
struct python;

/* All borrowed. */
int python_open(struct python **ret, const struct programs *programs, struct capture_writer *writer,
		struct err *err);
void python_close(struct python *p);
DEFINE_CLEANUP(python_close, struct python *)

/* A file has been opened: look whether it has an interpreter in it (object->python). */
int python_object(struct python *p, struct object *object);

/* Process @pid mapped @object, whose address 0 is at @bias, at @time_ns. */
int python_map(struct python *p, uint32_t pid, const struct object *object, uint64_t bias,
	       uint64_t time_ns);
/* The same seen in what it mapped at @looked_ns: news only of a process with no interpreter yet. */
int python_look(struct python *p, uint32_t pid, const struct object *object, uint64_t bias,
		uint64_t looked_ns);
/* @child has what @pid has. */
int python_fork(struct python *p, uint32_t pid, uint32_t child);
/* @pid got a new image at @time_ns, which is earlier than its first mapping. */
int python_image(struct python *p, uint32_t pid, uint64_t time_ns);
/* The kernel has taken away, at @time_ns, what it was told of @pid, the new image included, which may
 * be told of before or after this. */
int python_exec(struct python *p, uint32_t pid, uint64_t time_ns);
void python_gone(struct python *p, uint32_t pid);

/*
 * An event has come in: *@event, if it has Python frames, becomes a copy that is valid until the next
 * call, in whose entries numbers of ours stand in the place of addresses. What is new to us is read
 * by python_resolve().
 */
int python_intake(struct python *p, const struct event_header **event);
int python_resolve(struct python *p);
/* A code object has come with an event of its own, ahead of the first that names it. */
struct event_python_code;
int python_take_code(struct python *p, const struct event_python_code *event);

/* An entry of such a copy as a frame: 1, or 0 for one that is not to be seen. */
struct python_entry;
int python_frame(struct python *p, const struct python_entry *entry, struct record_frame *ret);
/* The frame that says that native frames are missing above Python's. */
int python_gap_frame(struct python *p, struct record_frame *ret);

struct python_stats {
	uint64_t codes, unreadable, changed; /* code objects met, those not read, and why */
	uint64_t cut;                        /* stacks with more frames than were read */
	uint64_t misplaced;                  /* runs that no native frame stood for */
	uint64_t refused;                    /* interpreters of unknown layout */
};
struct python_stats *python_stats(struct python *p);
