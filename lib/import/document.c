/* SPDX-License-Identifier: Apache-2.0 */
#include "import/document.h"

#include "import/token.h"

#include <errno.h>
#include <string.h>

#define CHUNK_BYTES (128u << 10)

static int object_to(const struct document *d, yajl_handle yajl, struct session *s,
		     struct stream *in, uint64_t offset, struct err *err)
{
	unsigned char *text = d->refusal ? NULL : yajl_get_error(yajl, 0, NULL, 0);
	const char *why = d->refusal ? d->refusal : text ? (const char *)text : "bad JSON";
	char line[96];

	snprintf(line, sizeof(line), "%.*s", (int)strcspn(why, "\n"), why);
	if (text)
		yajl_free_error(yajl, text);
	if (s->options->is_strict || !d->has_read(d->data))
		return err_set(err, -EBADMSG, "'%s': byte %llu: %s", stream_name(in),
			       (unsigned long long)offset, line);
	session_dropped(s, 1, offset, line);
	s->trust->is_cut = true;
	return 0;
}

static int read_all(const struct document *d, yajl_handle yajl, const struct token_watch *tokens,
		    struct session *s, struct stream *in, struct err *err)
{
	CLEANUP_FREE unsigned char *chunk = malloc(CHUNK_BYTES);
	uint64_t offset = 0;

	for (;;) {
		int64_t n = chunk ? stream_read(in, chunk, CHUNK_BYTES, err) : -ENOMEM;
		if (n < 0)
			return (int)n;
		s->trust->bytes += (uint64_t)n;
		yajl_status status =
			n ? yajl_parse(yajl, chunk, (size_t)n) : yajl_complete_parse(yajl);
		if (d->error)
			return err_set(err, d->error, "cannot import '%s'", stream_name(in));
		if (status != yajl_status_ok)
			return object_to(d, yajl, s, in,
					 offset + (n ? yajl_get_bytes_consumed(yajl) : 0), err);
		if (!n)
			return 0;
		offset += (uint64_t)n;
		if (token_is_too_long(tokens))
			return err_set(err, -EBADMSG, "'%s': byte %llu: " TOKEN_TOO_LONG,
				       stream_name(in), (unsigned long long)offset);
	}
}

int document_read(struct document *d, struct session *s, struct stream *in, struct err *err)
{
	struct token_watch tokens;
	int rc;

	token_watch_init(&tokens);
	yajl_handle yajl = yajl_alloc(&d->callbacks, &tokens.memory, d->data);

	if (!yajl)
		return err_set(err, -ENOMEM, "cannot import '%s'", stream_name(in));
	/* Names are bytes to us: whoever writes them checks them. */
	yajl_config(yajl, yajl_dont_validate_strings, 1);
	rc = read_all(d, yajl, &tokens, s, in, err);
	yajl_free(yajl);
	return rc;
}
