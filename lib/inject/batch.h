/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to the recorder, gathered until a batch is full. Safe from several threads. */
#pragma once

#include "inject/message.h"

#include <stdbool.h>
#include <stddef.h>

/* A text of at most some hundred bytes; sent at once. */
void batch_status(enum inject_status about, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* INJECT_HERE; sent at once. */
void batch_here(bool has_all);
void batch_work(const struct inject_work *work);
void batch_time(const struct inject_time *time);
/* By the thread itself; sent at once. */
void batch_thread(uint32_t number);
void batch_dropped(uint64_t work, uint64_t samples);
void batch_node(uint64_t node, uint64_t original);
void batch_samples(const struct inject_samples *samples);
void batch_kernel(const struct inject_kernel *kernel);
/* The whole image of a module, in parts. */
void batch_code(uint64_t module, const void *image, size_t size);
/* The number that stands for @text, which is told when it is new; 0: there are too many. */
uint32_t batch_name(const char *text);
/* Send what is there. */
void batch_send(void);
/* A new recorder knows none of the names. What has not been sent is dropped: there was nobody. */
void batch_forget_names(void);
