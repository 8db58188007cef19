/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes and threads of the targets as they were at the moment of the event being handled: told
 * of fork, exec, names, mappings and exit in order of time. A process here is one program image: exec
 * starts a new one. PROCESS and THREAD records are written when something first refers to them.
 */
#pragma once

#include "base/err.h"
#include "base/hash.h"
#include "capture/writer.h"
#include "collect/mapping.h"
#include "collect/object.h"

#include <stdbool.h>
#include <stdint.h>

#define THREAD_NAME_BYTES 64 /* TASK_COMM_LEN is 16; escapes of /proc can lengthen it */

struct process {
	uint32_t id; /* of the capture */
	uint32_t pid, ns_pid, uid;
	uint32_t parent; /* of the capture */
	uint64_t start_ns;
	char comm[THREAD_NAME_BYTES];
	char *command, *cgroup; /* NULL: not known */
	struct mappings mappings;
	struct thread *threads; /* that have been told of, in a list */
	struct object *anon;    /* NULL until it has code without a file */
	uint64_t maps_read_ns;  /* when /proc/PID/maps was read last; 0: never */
	uint64_t exited_ns;     /* 0: alive */
	/* Between the exec's two halves: it is the new image already, but what its user registers
	 * hold is still the old one's. */
	bool is_executing;
	bool is_declared;
};

struct thread {
	uint32_t id; /* of the capture */
	uint32_t tid;
	struct process *process;
	struct thread *next, **link; /* of the same process; what points here */
	char name[THREAD_NAME_BYTES];
	bool is_declared;
};

struct processes {
	struct capture_writer *writer;
	struct objects *objects;
	struct hash by_pid; /* -> struct process * */
	struct hash by_tid; /* -> struct thread * */
	uint32_t last_process, last_thread;
	uint32_t rank;             /* of PROCESS records */
	uint64_t unknown_mappings; /* that could not be kept */
	/* Called for each mapping that /proc tells of; may be NULL. */
	int (*on_mapping)(void *data, uint32_t pid, const struct object *object, uint64_t bias);
	void *data;
};

void processes_init(struct processes *p, struct capture_writer *writer, struct objects *objects);
void processes_release(struct processes *p);

/* The process of @pid; one not told of is looked up in /proc, with its mappings. Never fails but
 * for want of memory: what is gone has no name. */
int process_get(struct processes *p, uint32_t pid, uint64_t time_ns, struct process **ret);
/* The same, but its mappings are nobody's business: a command that has not been started. */
int process_adopt(struct processes *p, uint32_t pid, uint64_t time_ns, struct process **ret);
/* A thread of a process got as by process_get(). */
int thread_get(struct processes *p, uint32_t pid, uint32_t tid, uint64_t time_ns,
	       struct thread **ret);

int process_fork(struct processes *p, uint32_t pid, uint32_t tid, uint32_t child_pid,
		 uint32_t child_tid, uint64_t time_ns);
int process_exec(struct processes *p, uint32_t pid, struct span comm, uint64_t time_ns);
/* The exec is through: whom it runs as, and its command line, strings with their NULs. */
int process_complete(struct processes *p, uint32_t pid, uint32_t uid, struct span arguments,
		     uint64_t time_ns);
int thread_rename(struct processes *p, uint32_t pid, uint32_t tid, struct span name,
		  uint64_t time_ns);
/* @object NULL: memory without a file. */
int process_map(struct processes *p, uint32_t pid, uint64_t start, uint64_t end, uint64_t offset,
		const struct object *object, uint64_t time_ns);
/* What its code without a file is shown as; addresses that are mapped nowhere count as that. */
int process_anon(struct processes *p, struct process *process, const struct object **ret);
void process_exit(struct processes *p, uint32_t pid, uint32_t tid, bool is_last, uint64_t time_ns);
/* Free what ended before @time_ns. */
void processes_forget(struct processes *p, uint64_t time_ns);

/* Read /proc/PID/maps again, as what was told cannot be all; at most once a second. */
int process_read_maps(struct processes *p, struct process *process, uint64_t time_ns);

/* Numbers in the capture; their records are written on the first call. */
int process_declare(struct processes *p, struct process *process, uint32_t *ret);
int thread_declare(struct processes *p, struct thread *thread, uint32_t *ret);
