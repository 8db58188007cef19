/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures for tests, written by hand through the real writer and read back through the real
 * reader: a scene is opened, told what happened, and loaded.
 */
#pragma once

#include "analyze/analyze.h"
#include "capture/reader.h"
#include "capture/writer.h"
#include "profile/profile.h"
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

struct scene {
	int fd;
	struct capture_writer *w;
	struct capture_reader *r;
	struct analysis *a;
};

static inline void scene_put(struct scene *s, struct record rec)
{
	assert_int_equal(capture_writer_put(s->w, &rec), 0);
}

static inline void scene_open(struct scene *s)
{
	*s = (struct scene){ .fd = memfd_create("scene", MFD_CLOEXEC) };
	assert_true(s->fd >= 0);
	struct err err = { "" };
	assert_int_equal(
		capture_writer_open(&s->w, &(struct capture_writer_options){ .fd = s->fd }, &err),
		0);
	scene_put(s, (struct record){ .type = RECORD_HEADER,
				      .header = { .time_ns = 1000, .frequency = 1000 } });
}

static inline uint32_t scene_text(struct scene *s, const char *text)
{
	uint32_t id;
	assert_int_equal(capture_writer_string(s->w, text, &id), 0);
	return id;
}

static inline void scene_process(struct scene *s, uint32_t id, uint32_t pid, const char *comm)
{
	scene_put(s, (struct record){ .type = RECORD_PROCESS,
				      .process = { .id = id,
						   .pid = pid,
						   .ns_pid = pid,
						   .comm = scene_text(s, comm) } });
}

static inline void scene_thread(struct scene *s, uint32_t id, uint32_t process, uint32_t tid)
{
	scene_put(s, (struct record){ .type = RECORD_THREAD,
				      .thread = { .id = id,
						  .process = process,
						  .tid = tid,
						  .name = scene_text(s, "worker") } });
}

static inline uint32_t scene_object(struct scene *s, uint32_t kind, uint32_t flags,
				    const char *name, const char *path)
{
	uint32_t id;
	struct record_object o = {
		.kind = kind,
		.flags = flags,
		.name = scene_text(s, name),
		.path = scene_text(s, path),
	};
	assert_int_equal(capture_writer_object(s->w, &o, &id), 0);
	return id;
}

/* "main;run;enqueue", root first, as functions of a foreign trace. */
static inline uint32_t scene_stack(struct scene *s, const char *names)
{
	struct record_frame frames[64];
	uint32_t count = 0, id;
	char *copy = strdup(names), *rest = copy, *name;

	while ((name = strsep(&rest, ";"))) {
		memmove(frames + 1, frames, count++ * sizeof(*frames));
		frames[0] = (struct record_frame){ scene_object(s, OBJECT_NATIVE, 0, name, ""), 0 };
	}
	free(copy);
	assert_int_equal(capture_writer_stack(s->w, frames, count, STACK_ROOTED, &id), 0);
	return id;
}

static inline void scene_device(struct scene *s, uint32_t id, uint32_t index)
{
	scene_put(s,
		  (struct record){
			  .type = RECORD_DEVICE,
			  .device = { .id = id, .index = index, .name = scene_text(s, "toy") } });
}

static inline void scene_kernel(struct scene *s, uint32_t id, uint32_t process, const char *name)
{
	scene_put(s, (struct record){ .type = RECORD_KERNEL,
				      .kernel = { .id = id,
						  .process = process,
						  .name = scene_text(s, name) } });
}

static inline void scene_launch(struct scene *s, uint64_t correlation, uint64_t time_ns,
				uint32_t thread, const char *stack, uint32_t kernel)
{
	scene_put(s, (struct record){ .type = RECORD_LAUNCH,
				      .launch = { .time_ns = time_ns,
						  .thread = thread,
						  .stack = scene_stack(s, stack),
						  .kind = LAUNCH_KERNEL,
						  .kernel = kernel,
						  .correlation = correlation } });
}

static inline void scene_dispatch(struct scene *s, uint64_t correlation, uint32_t device,
				  uint64_t start_ns, uint64_t end_ns)
{
	scene_put(s, (struct record){ .type = RECORD_DISPATCH,
				      .dispatch = { .correlation = correlation,
						    .device = device,
						    .start_ns = start_ns,
						    .end_ns = end_ns,
						    .kind = LAUNCH_KERNEL } });
}

/* Read back what was written so far. */
static inline void scene_load(struct scene *s)
{
	struct err err = { "" };
	assert_int_equal(capture_writer_flush(s->w), 0);
	assert_int_equal(lseek(s->fd, 0, SEEK_SET), 0);
	assert_int_equal(capture_reader_open_fd(&s->r, s->fd, "scene", &err), 0);
	assert_int_equal(analysis_load(&s->a, s->r, &(struct analysis_options){ 0 }, &err), 0);
}

static inline void scene_close(struct scene *s)
{
	analysis_free(s->a);
	capture_reader_free(s->r);
	capture_writer_free(s->w);
	close(s->fd);
}

static inline struct profile *scene_profile(struct scene *s, struct analysis_profile_options opt)
{
	struct profile *p = NULL;
	struct err err = { "" };
	int rc = analysis_profile(s->a, &opt, &p, &err);
	if (rc < 0)
		print_error("%s\n", err.text);
	assert_int_equal(rc, 0);
	return p;
}

/* The child of a node by the name of its frame, PROFILE_NONE when there is none. */
static inline uint32_t tree_child(const struct profile *p, uint32_t node, const char *name)
{
	uint32_t c = profile_node(p, node).first_child;
	while (c != PROFILE_NONE &&
	       strcmp(profile_frame_get(p, profile_node(p, c).frame).name, name))
		c = profile_node(p, c).next;
	return c;
}

/* The self value of "toy;main;-;gemm" by names, root first; 0 when there is no such path. */
static inline uint64_t tree_self(const struct profile *p, const char *path, const char *metric)
{
	int m = profile_metric_find(p, metric);
	uint32_t node = PROFILE_ROOT;
	char *copy = strdup(path), *rest = copy, *name;

	while (*path && node != PROFILE_NONE && (name = strsep(&rest, ";")))
		node = tree_child(p, node, name);
	free(copy);
	return m < 0 || node == PROFILE_NONE ? 0 : profile_self(p, node, m);
}

static inline uint64_t tree_total(const struct profile *p, const char *metric)
{
	int m = profile_metric_find(p, metric);
	return m < 0 ? 0 : profile_total(p, PROFILE_ROOT, m);
}

/* One line of folded text for each value; for messages. */
static inline void tree_print(const struct profile *p, const char *metric)
{
	int m = profile_metric_find(p, metric);
	for (uint32_t n = 0; m >= 0 && n < profile_node_count(p); n++) {
		if (!profile_self(p, n, m))
			continue;
		for (uint32_t at = n; at != PROFILE_NONE; at = profile_node(p, at).parent)
			print_message("%s < ",
				      profile_frame_get(p, profile_node(p, at).frame).name);
		print_message("%llu\n", (unsigned long long)profile_self(p, n, m));
	}
}
