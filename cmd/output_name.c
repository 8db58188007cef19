/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/output_name.h"

#include "base/cleanup.h"
#include "base/parse.h"
#include "base/strbuf.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

int64_t output_rank(void)
{
	static const char *const variables[] = {
		"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "RANK",
	};

	for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
		const char *text = getenv(variables[i]);
		uint32_t rank;
		if (text && parse_u32(text, 10, &rank) == 0)
			return rank;
	}
	return -1;
}

static bool add_field(struct strbuf *b, char field)
{
	time_t now = time(NULL);
	int64_t rank = output_rank();
	char text[256] = "";
	struct tm local;

	switch (field) {
	case 'h':
		gethostname(text, sizeof(text) - 1);
		break;
	case 'p':
		snprintf(text, sizeof(text), "%d", (int)getpid());
		break;
	case 'r':
		snprintf(text, sizeof(text), "%lld", (long long)(rank < 0 ? 0 : rank));
		break;
	case 't':
		strftime(text, sizeof(text), "%Y%m%dT%H%M%S", localtime_r(&now, &local));
		break;
	case '%':
		strcpy(text, "%");
		break;
	default:
		return false;
	}
	strbuf_puts(b, text);
	return true;
}

char *output_name(const char *pattern)
{
	struct strbuf b = { 0 };

	for (const char *p = pattern; *p; p++) {
		if (*p != '%') {
			strbuf_putc(&b, *p);
		} else if (!add_field(&b, *++p)) {
			strbuf_release(&b);
			return NULL;
		}
	}
	char *name = strbuf_finish(&b) < 0 ? NULL : strdup(strbuf_text(&b));
	strbuf_release(&b);
	return name;
}
