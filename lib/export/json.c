/* SPDX-License-Identifier: Apache-2.0 */
#include "export/json.h"

#include "base/strbuf.h"
#include "base/utf8.h"
#include "export/formats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_gen.h>

/* What is kept before it is written. */
#define FLUSH_BYTES (64u << 10)

struct json {
	FILE *out;
	yajl_gen gen;
	struct strbuf text;
	int error;
};

int json_new_compact(struct json **ret, FILE *out)
{
	struct json *j = calloc(1, sizeof(*j));
	if (!j)
		return -ENOMEM;
	j->out = out;
	j->gen = yajl_gen_alloc(NULL);
	if (!j->gen) {
		free(j);
		return -ENOMEM;
	}
	*ret = j;
	return 0;
}

int json_new(struct json **ret, FILE *out)
{
	int rc = json_new_compact(ret, out);
	if (rc < 0)
		return rc;
	yajl_gen_config((*ret)->gen, yajl_gen_beautify, 1);
	yajl_gen_config((*ret)->gen, yajl_gen_indent_string, " ");
	return 0;
}

void json_free(struct json *j)
{
	if (!j)
		return;
	yajl_gen_free(j->gen);
	strbuf_release(&j->text);
	free(j);
}

static void json_flush(struct json *j)
{
	const unsigned char *data;
	size_t size;
	if (yajl_gen_get_buf(j->gen, &data, &size) != yajl_gen_status_ok)
		return;
	if (size && fwrite(data, 1, size, j->out) != size && !j->error)
		j->error = errno ? -errno : -EIO;
	yajl_gen_clear(j->gen);
}

/* Wrong nesting is a mistake of ours; it ends as an error and not as broken output unnoticed. */
static void json_took(struct json *j, yajl_gen_status status)
{
	const unsigned char *data;
	size_t size = 0;
	if (status != yajl_gen_status_ok && !j->error)
		j->error = -EINVAL;
	if (yajl_gen_get_buf(j->gen, &data, &size) == yajl_gen_status_ok && size >= FLUSH_BYTES)
		json_flush(j);
}

void json_object(struct json *j)
{
	json_took(j, yajl_gen_map_open(j->gen));
}

void json_object_end(struct json *j)
{
	json_took(j, yajl_gen_map_close(j->gen));
}

void json_array(struct json *j)
{
	json_took(j, yajl_gen_array_open(j->gen));
}

void json_array_end(struct json *j)
{
	json_took(j, yajl_gen_array_close(j->gen));
}

/* Control characters stay: yajl escapes them. */
static void append_valid(struct strbuf *out, const char *text, size_t size)
{
	for (size_t i = 0; i < size;) {
		uint32_t code;
		size_t len = utf8_next(text + i, size - i, &code);
		if (code == UINT32_MAX)
			strbuf_puts(out, "\xef\xbf\xbd");
		else
			strbuf_add(out, text + i, len);
		i += len;
	}
}

void json_text(struct json *j, const char *text)
{
	strbuf_reset(&j->text);
	append_valid(&j->text, text, strlen(text));
	if (strbuf_finish(&j->text) < 0 && !j->error)
		j->error = -ENOMEM;
	json_took(j, yajl_gen_string(j->gen, (const unsigned char *)strbuf_text(&j->text),
				     j->text.len));
}

void json_key(struct json *j, const char *key)
{
	json_text(j, key);
}

void json_number(struct json *j, uint64_t number)
{
	strbuf_reset(&j->text);
	export_number(&j->text, number, 1);
	json_took(j, yajl_gen_number(j->gen, strbuf_text(&j->text), j->text.len));
}

void json_decimal(struct json *j, double value)
{
	char text[40];
	if (!isfinite(value)) {
		json_null(j);
		return;
	}
	int size = snprintf(text, sizeof(text), "%.15g", value);
	if (strtod(text, NULL) != value)
		size = snprintf(text, sizeof(text), "%.17g", value);
	json_took(j, yajl_gen_number(j->gen, text, (size_t)size));
}

void json_raw(struct json *j, const char *text)
{
	json_took(j, yajl_gen_number(j->gen, text, strlen(text)));
}

void json_bool(struct json *j, bool value)
{
	json_took(j, yajl_gen_bool(j->gen, value));
}

void json_null(struct json *j)
{
	json_took(j, yajl_gen_null(j->gen));
}

int json_finish(struct json *j, struct err *err)
{
	json_flush(j);
	if (!j->error && (fputc('\n', j->out) == EOF || fflush(j->out) == EOF))
		j->error = errno ? -errno : -EIO;
	return j->error ? err_set(err, j->error, "cannot write JSON") : 0;
}

void json_escape(struct strbuf *out, const char *text)
{
	size_t size = strlen(text);

	strbuf_putc(out, '"');
	for (size_t i = 0; i < size;) {
		uint32_t code;
		size_t len = utf8_next(text + i, size - i, &code);
		if (code == UINT32_MAX)
			strbuf_puts(out, "\xef\xbf\xbd");
		else if (code == '"' || code == '\\' || code < 0x20)
			strbuf_printf(out, "\\u%04x", code);
		else
			strbuf_add(out, text + i, len);
		i += len;
	}
	strbuf_putc(out, '"');
}
