/* SPDX-License-Identifier: Apache-2.0 */
/* The CPythons on this machine that tests can use: Debian's, and what pyenv has installed. */
#pragma once

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Calls @fn for each; how many there were. */
static inline unsigned each_interpreter(void (*fn)(const char *path))
{
	const char *home = getenv("HOME");
	char pattern[512];
	unsigned count = 0;
	glob_t found = { 0 };

	snprintf(pattern, sizeof(pattern), "%s/.pyenv/versions/3.*/bin/python3", home ? home : "");
	if (access("/usr/bin/python3", X_OK) == 0) {
		fn("/usr/bin/python3");
		count++;
	}
	if (glob(pattern, 0, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc; i++) {
			/* Older ones are not for us. */
			if (strstr(found.gl_pathv[i], "/3.6.") ||
			    strstr(found.gl_pathv[i], "/3.7."))
				continue;
			fn(found.gl_pathv[i]);
			count++;
		}
	}
	globfree(&found);
	return count;
}
