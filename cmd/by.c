/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/by.h"

#include "analyze/groups.h"
#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void by_release(struct by *by)
{
	sheet_release(&by->sheet);
	free(by->columns);
}

/* The columns of a part, and one more before them. */
static int set_columns(struct by *by, const char *key, const struct sheet *part)
{
	by->columns = calloc(part->column_count + 1, sizeof(*by->columns));
	if (!by->columns)
		return -ENOMEM;
	by->columns[0] = (struct sheet_column){ key, key, SHEET_TEXT, 10 };
	memcpy(by->columns + 1, part->columns, part->column_count * sizeof(*by->columns));
	sheet_init(&by->sheet, part->name, by->columns, part->column_count + 1);
	by->sheet.note_key = part->note_key;
	return 0;
}

static int add_part(struct by *by, const char *key, const struct analysis_group *g,
		    const struct by_maker *maker, struct err *err)
{
	struct sheet part = { 0 };
	int rc = maker->make(maker->data, &g->filter, &part, err);
	if (!rc && !by->columns && set_columns(by, key, &part) < 0)
		rc = err_set(err, -ENOMEM, "cannot make the report");
	if (!rc)
		sheet_append(&by->sheet, g->label, &part);
	sheet_release(&part);
	return rc;
}

int by_fill(struct by *by, struct analysis *a, const struct analysis_filter *filter,
	    const char *key, const struct by_maker *maker, struct err *err)
{
	CLEANUP(analysis_groups_free) struct analysis_groups *groups = NULL;
	const struct analysis_group *g;

	*by = (struct by){ .columns = NULL };
	int rc = analysis_groups_new(&groups, a, filter, key, err);
	for (size_t i = 0; !rc && (g = analysis_groups_get(groups, i)); i++) {
		if (i < BY_MAX)
			rc = add_part(by, key, g, maker, err);
		else
			by->left_out++;
	}
	return rc;
}
