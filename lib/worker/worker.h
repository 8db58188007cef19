/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The child process that reads what programs under observation can write: ELF, DWARF, perf maps. It
 * is given descriptors and gives back names. It runs as nobody, without privileges, cannot open a
 * file or a socket (seccomp), and has limits on memory, output and time, so that a file made to break
 * a parser breaks the worker, which is restarted, and costs that file's names.
 *
 * Start it early, before there are threads, descriptors and mappings worth stealing: what workers are
 * forked from is a copy of the process as it was in worker_start(). Its processes end with ours. Do
 * not wait for any child (waitpid(-1)) in the recorder.
 *
 *	CLEANUP(worker_free) struct worker *w = NULL;
 *	rc = worker_start(&w, err);
 *	...
 *	struct worker_object object = { .fd = fd, .kind = WORKER_ELF, .path = path, .root_fd = root };
 *	struct worker_ask ask = { .offsets = hit, .count = n, .want_lines = true,
 *				  .budget_ns = 200 * 1000 * 1000 };
 *	rc = worker_symbolize(w, &object, &ask, on_symbol, capture, &counts, err);
 *	if (rc < 0)
 *		log_debug("%s", err->text); // that object shows as lib+0x..., the recording goes on
 *
 *	static int on_symbol(void *data, uint64_t offset, const struct symbol *s)
 *	{
 *		for (size_t i = 0; i < s->count; i++) // outermost first
 *			... s->lines[i].name, s->lines[i].file, s->lines[i].line
 *		return capture_writer_...(SYMBOL: offset, s->start, s->size, lines);
 *	}
 */
#pragma once

#include "base/cleanup.h"
#include "base/err.h"
#include "symbolize/symbol.h"

#include <stdbool.h>

struct worker;

int worker_start(struct worker **ret, struct err *err);
void worker_free(struct worker *w);
DEFINE_CLEANUP(worker_free, struct worker *)

enum worker_kind {
	WORKER_ELF = 1,  /* offsets: virtual addresses in the file; a vDSO's image in a memfd too */
	WORKER_PERF_MAP, /* text of /tmp/perf-PID.map; offsets: addresses */
	WORKER_JITDUMP,  /* jit-PID.dump; offsets: addresses */
};

struct worker_object {
	int fd; /* of the file itself, readable; borrowed */
	enum worker_kind kind;
	const char *
		path; /* as the target sees it; for messages, and to look for debug files beside it */
	/* The target's root folder, below which its paths and its /usr/lib/debug are resolved; -1: ours.
	 * Debug files are opened here, by the recorder, and only their descriptors are passed on;
	 * what is nowhere here is asked of debuginfod, if DEBUGINFOD_URLS is set. */
	int root_fd;
};

struct worker_ask {
	const uint64_t *offsets; /* in any order */
	size_t count;
	bool want_lines;       /* and inlined functions */
	bool only_cheap_lines; /* but none for which much would have to be inflated */
	uint64_t
		budget_ns; /* for lines; when it is spent, the rest gets names only. Offsets are taken
			       in the order given: put first what matters most */
};

/* More in one call is -E2BIG. */
#define WORKER_OFFSETS_MAX (4u << 20)

struct worker_counts {
	size_t named;          /* offsets that got a name */
	size_t with_lines;     /* and a source line */
	bool is_budget_spent;  /* before all had their lines */
	bool has_lines_failed; /* the worker broke on the DWARF; names are from a second try */
	uint64_t fetch_ns;     /* spent on waiting for debuginfod, in no budget */
	bool has_debug_file;   /* names or lines are from a separate debug file */
};

/* One offset's answer; the symbol lives until it returns. Negative: stop and return that. */
typedef int (*worker_symbol_fn)(void *data, uint64_t offset, const struct symbol *symbol);

/*
 * Call @fn for each offset that has a name, in the order asked. @ret may be NULL. -EBADMSG: the file
 * is damaged; -EPROTO: the worker died over it, hung, or answered nonsense, and was restarted, or did
 * so too often over files of the same owner (WORKER_DEATHS_MAX), which are not read any more; -EPIPE:
 * it has died too often at all and will not be started again (WORKER_RESTARTS_MAX). The text
 * names the object. Everything but -EPIPE and what @fn returns concerns this object only.
 */
int worker_symbolize(struct worker *w, const struct worker_object *object,
		     const struct worker_ask *ask, worker_symbol_fn fn, void *data,
		     struct worker_counts *ret, struct err *err);

/* Whoever breaks the worker this often, or holds it up as long by calls that take more than a second, does
 * so on purpose: the files of that user on that device are left. Nobody else can have made them so. */
#define WORKER_DEATHS_MAX   8u
#define WORKER_SLOW_CALL_NS 1000000000ull
#define WORKER_SLOW_MAX_NS  (300 * 1000000000ull)
/* The whole machine's. */
#define WORKER_RESTARTS_MAX 64u
