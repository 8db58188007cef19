/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/batch.h"

#include "inject/channel.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Large programs have some ten thousand kernels. */
#define NAMES_MAX  (1u << 16)
#define NAME_SLOTS (2 * NAMES_MAX) /* a power of two */

/* A program can make contexts without end, and none of them be sampled. */
#define STATUSES_MAX 64

struct name {
	char *text;
	uint32_t id; /* the same for every recorder */
	bool is_told;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(8) unsigned char bytes[INJECT_BATCH_BYTES];
static size_t filled;
static struct name names[NAME_SLOTS];
static uint32_t name_count;
static char last_status[256];
static unsigned int status_count;

/*
 * What the recorder probes. It is a call for no one else: the counter of listeners says when that is
 * worth it. Not static and not inlined, and what it is given must be there when it is called.
 */
EXPORT __attribute__((noinline, patchable_function_entry(INJECT_PLACES))) void CHANNEL_NAME(batch)(
	const void *data, uint64_t size);
void CHANNEL_NAME(batch)(const void *data, uint64_t size)
{
	__asm__ volatile("" : : "r"(data), "r"(size) : "memory");
}

static void send_locked(void)
{
	if (filled)
		CHANNEL_NAME(batch)(bytes, filled);
	filled = 0;
}

/* Room for a message of @size bytes, which is at most INJECT_BATCH_BYTES. */
static void *take_room(uint16_t type, size_t size)
{
	size_t whole = (size + 7) & ~(size_t)7;
	struct inject_header *header;

	if (filled + whole > sizeof(bytes))
		send_locked();
	header = (struct inject_header *)(bytes + filled);
	memset(header, 0, whole);
	header->type = type;
	header->size = (uint32_t)size;
	filled += whole;
	return header;
}

void batch_send(void)
{
	pthread_mutex_lock(&lock);
	send_locked();
	pthread_mutex_unlock(&lock);
}

void batch_status(enum inject_status about, const char *format, ...)
{
	char text[sizeof(last_status)] = "";
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (length < 0)
		return;
	if ((size_t)length >= sizeof(text))
		length = sizeof(text) - 1;
	pthread_mutex_lock(&lock);
	if (strcmp(text, last_status) == 0 || status_count == STATUSES_MAX) {
		pthread_mutex_unlock(&lock);
		return;
	}
	status_count++;
	memcpy(last_status, text, sizeof(text));
	struct inject_header *header = take_room(INJECT_STATUS, sizeof(*header) + (size_t)length);
	header->about = (uint16_t)about;
	memcpy(header + 1, text, (size_t)length);
	send_locked();
	pthread_mutex_unlock(&lock);
}

/* A message that is one struct, whose header is still to be filled in. */
static void put(uint16_t type, const void *message, size_t size)
{
	const size_t header = sizeof(struct inject_header);

	pthread_mutex_lock(&lock);
	unsigned char *to = take_room(type, size);
	memcpy(to + header, (const unsigned char *)message + header, size - header);
	pthread_mutex_unlock(&lock);
}

void batch_here(bool has_all)
{
	pthread_mutex_lock(&lock);
	struct inject_header *header = take_room(INJECT_HERE, sizeof(*header));
	header->about = has_all;
	send_locked();
	pthread_mutex_unlock(&lock);
}

void batch_work(const struct inject_work *work)
{
	put(INJECT_WORK, work, sizeof(*work));
}

void batch_node(uint64_t node, uint64_t original)
{
	put(INJECT_NODE, &(struct inject_node){ .node = node, .original = original },
	    sizeof(struct inject_node));
}

void batch_samples(const struct inject_samples *samples)
{
	put(INJECT_SAMPLES, samples, sizeof(*samples));
}

void batch_kernel(const struct inject_kernel *kernel)
{
	put(INJECT_KERNEL, kernel, sizeof(*kernel));
}

void batch_time(const struct inject_time *time)
{
	put(INJECT_TIME, time, sizeof(*time));
}

void batch_thread(uint32_t number)
{
	pthread_mutex_lock(&lock);
	struct inject_thread *message = take_room(INJECT_THREAD, sizeof(*message));
	message->number = number;
	send_locked();
	pthread_mutex_unlock(&lock);
}

void batch_dropped(uint64_t work, uint64_t samples)
{
	put(INJECT_DROPPED, &(struct inject_dropped){ .count = work, .samples = samples },
	    sizeof(struct inject_dropped));
}

void batch_code(uint64_t module, const void *image, size_t size)
{
	pthread_mutex_lock(&lock);
	for (size_t at = 0; at < size;) {
		size_t part = size - at < INJECT_CODE_BYTES ? size - at : INJECT_CODE_BYTES;
		struct inject_code *to = take_room(INJECT_CODE, sizeof(*to) + part);
		to->module = module;
		to->total = size;
		to->offset = at;
		memcpy(to + 1, (const unsigned char *)image + at, part);
		at += part;
	}
	pthread_mutex_unlock(&lock);
}

/* FNV-1a. */
static uint32_t hash_text(const char *text)
{
	uint32_t hash = 2166136261u;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 16777619u;
	return hash;
}

static uint32_t add_name(struct name *slot, const char *text)
{
	if (name_count == NAMES_MAX)
		return 0;
	slot->text = strdup(text);
	if (!slot->text)
		return 0;
	slot->id = ++name_count;
	slot->is_told = false;
	return slot->id;
}

static void tell_name(struct name *slot)
{
	size_t length = strnlen(slot->text, INJECT_NAME_BYTES);
	struct inject_name *message = take_room(INJECT_NAME, sizeof(*message) + length);

	message->id = slot->id;
	message->length = (uint32_t)length;
	memcpy(message + 1, slot->text, length);
	slot->is_told = true;
}

uint32_t batch_name(const char *text)
{
	uint32_t slot, id;

	if (!text)
		return 0;
	pthread_mutex_lock(&lock);
	slot = hash_text(text) & (NAME_SLOTS - 1);
	while (names[slot].text && strcmp(names[slot].text, text) != 0)
		slot = (slot + 1) & (NAME_SLOTS - 1);
	id = names[slot].text ? names[slot].id : add_name(&names[slot], text);
	if (id && !names[slot].is_told)
		tell_name(&names[slot]);
	pthread_mutex_unlock(&lock);
	return id;
}

void batch_forget_names(void)
{
	pthread_mutex_lock(&lock);
	bool is_full = name_count == NAMES_MAX;
	for (size_t i = 0; i < NAME_SLOTS && name_count; i++) {
		names[i].is_told = false;
		if (is_full) {
			free(names[i].text);
			names[i].text = NULL;
		}
	}
	if (is_full)
		name_count = 0;
	last_status[0] = '\0';
	status_count = 0;
	filled = 0;
	pthread_mutex_unlock(&lock);
}
