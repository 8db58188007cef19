/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the device worked on what a program appends to command lists, where the recorder asks for that: by the timestamps of
 * the event that it signals, which is the program's, or one of ours where it has none. The program's pools of events
 * are made with timestamps then. What is executed again has one time each, if the times of before could be read by
 * then; else it is counted.
 */
#pragma once

#include <stdint.h>

/* The event to be signalled by what is appended to @list; @event: the program's, or NULL. */
void *ze_time_event(void *list, void *event, uint32_t kind);
/* Send what is known; called now and then. */
void ze_time_look(void);
