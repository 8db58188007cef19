/* SPDX-License-Identifier: Apache-2.0 */
/* picture [OPTION...] < LINES > OUT: a flame graph of a tree written as test/lines.h says. */
#include "export/folded.h"
#include "flame/flame.h"
#include "profile/diff.h"
#include "profile/filter.h"

#include "lines.h"

int main(int argc, char **argv)
{
	struct flame_options opt = { .title = "Test" };
	const char *metric = NULL, *base = NULL;
	bool is_folded = false, is_first_look = false;
	struct err err;

	for (int i = 1; i < argc; i++) {
		/* A flag, or "--name value". */
		const char *value = i + 1 < argc ? argv[i + 1] : "";
		bool has_value = true;
		if (!strcmp(argv[i], "--width"))
			opt.width_px = (uint32_t)strtoul(value, NULL, 10);
		else if (!strcmp(argv[i], "--title"))
			opt.title = value;
		else if (!strcmp(argv[i], "--note"))
			opt.note = value;
		else if (!strcmp(argv[i], "--diff"))
			base = value;
		else if (!strcmp(argv[i], "--metric"))
			metric = value;
		else
			has_value = false;

		if (has_value)
			i++;
		else if (!strcmp(argv[i], "--html"))
			opt.format = FLAME_HTML;
		else if (!strcmp(argv[i], "--folded"))
			is_folded = true;
		else if (!strcmp(argv[i], "--first-look"))
			is_first_look = true; /* fold frameworks and merge layers in folded lines */
		else if (!strcmp(argv[i], "--full"))
			opt.full = true;
		else if (!strcmp(argv[i], "--inverted"))
			opt.inverted = true;
		else
			return 2;
	}

	CLEANUP(profile_free) struct profile *p = lines_read(stdin);
	opt.metric = metric ? profile_metric_find(p, metric) : 0;
	if (opt.metric < 0)
		return 2;
	if (is_first_look) {
		struct profile *folded = NULL;
		if (profile_fold(p, &folded) < 0)
			return 1;
		profile_free(p);
		p = folded;
	}
	if (base) {
		CLEANUP_FCLOSE FILE *in = fopen(base, "r");
		CLEANUP(profile_free) struct profile *before = in ? lines_read(in) : NULL;
		struct profile *both = NULL;
		if (!before || profile_diff(before, opt.metric, p, opt.metric, &both) < 0)
			return 1;
		profile_free(p);
		p = both;
		opt.metric = DIFF_BOTH;
		opt.is_diff = true;
	}
	int rc = is_folded ? folded_write(stdout, p, opt.metric, &err)
			   : flame_write(stdout, p, &opt, &err);
	if (rc < 0)
		fprintf(stderr, "%s\n", err.text);
	return rc < 0;
}
