/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `annotate`: what is shown of a kernel, from wherever it comes. */
#pragma once

#include "analyze/device.h"
#include "base/strbuf.h"
#include "device/device.h"
#include "export/json.h"

struct sources;

/* A kernel with what hit it. Without samples (annotate --object) all of it is shown. */
struct annotated {
	const char *kernel; /* mangled */
	struct device_object *object;
	const char *object_name;
	const struct analysis_kernel_hits *hits; /* NULL: none */
	struct sources *sources;
	bool show_source, show_assembly, show_stalls;
};

/* annotate_source.c: the source, samples on each line. */
int annotate_source(struct strbuf *out, const struct annotated *k);
/* annotate_assembly.c: the instructions, with samples and stalls. */
int annotate_assembly(struct strbuf *out, const struct annotated *k);
/* annotate_stalls.c: reasons, and what they mean. */
int annotate_stalls(struct strbuf *out, const struct annotated *k);
/* One object: kernel, functions, instructions, lines, hits. */
int annotate_json(struct json *j, const struct annotated *k);

/* annotate_object.c: a bare file; enum cmd_status. */
struct annotate_options;
int annotate_object(const struct annotate_options *opt);

struct annotate_options {
	const char *input, *object;
	const char *kernel;
	const char *source_path;
	bool has_offset, json;
	uint64_t offset;
	bool source, assembly, stalls; /* none: all */
	struct analysis_filter filter;
};

/* annotate_hits.c: samples of one place: [offset, offset + length), at least of @offset itself. */
uint64_t hits_between(const struct analysis_kernel_hits *h, uint64_t from, uint64_t to);
/* "sbid 71 %, send 20 %" of the same; nothing without reasons. */
void hits_reasons(struct strbuf *out, const struct analysis_kernel_hits *h, uint64_t from,
		  uint64_t to);
/* Does the function belong to the kernel? */
bool annotated_has(const struct annotated *k, const struct device_function *f);
/* "  12.3 %     1,234" or blanks. */
void annotate_share(struct strbuf *out, const struct annotated *k, uint64_t samples);
/* As people wrote it, harmless to a terminal; flags of demangle(). */
void annotate_name(struct strbuf *out, const char *name, unsigned flags);
/* "name:12" */
void annotate_place(struct strbuf *out, const struct device_line *line);
/* The end of the stretch that a place stands for. */
uint64_t annotate_end(const struct annotated *k, size_t function, size_t index, size_t count,
		      const struct device_place *place);
