/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/demangle.h"

#include "base/cleanup.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

/* What gcc and clang append; see clone_function_name() in gcc, "llvm." in LLVM's ThinLTO promotion. */
static const char *const clone_suffixes[] = {
	".cold", ".isra", ".part", ".constprop", ".lto_priv", ".localalias", ".llvm", ".clone",
};

struct output {
	struct strbuf *out;
	size_t start;
	jmp_buf too_long;
};

/* libiberty has no way to stop it but this; its callback functions keep everything on the stack, so
 * that nothing leaks. */
static void on_text(const char *text, size_t size, void *data)
{
	struct output *o = data;
	if (o->out->len - o->start + size > DEMANGLE_OUTPUT_MAX)
		longjmp(o->too_long, 1);
	strbuf_add(o->out, text, size);
}

static void cut(struct strbuf *out, size_t len)
{
	if (out->data && out->len > len) {
		out->len = len;
		out->data[len] = '\0';
	}
}

typedef int (*demangle_fn)(const char *name, int options, demangle_callbackref fn, void *data);

static bool run(struct strbuf *out, const char *name, demangle_fn fn, int options)
{
	struct output o = { .out = out, .start = out->len };

	if (setjmp(o.too_long) == 0 && fn(name, options, on_text, &o) && out->len > o.start)
		return true;
	cut(out, o.start);
	return false;
}

/* macOS puts an underscore before every symbol; such names come with imported traces. */
static const char *skip_underscore(const char *name)
{
	return strncmp(name, "__Z", 3) == 0 || strncmp(name, "__R", 3) == 0 ? name + 1 : name;
}

/* Stubs are named after what they call. */
#define PLT_SUFFIX "@plt"

static bool is_stub(const char *name)
{
	size_t n = strlen(name), suffix = strlen(PLT_SUFFIX);
	return n > suffix && strcmp(name + n - suffix, PLT_SUFFIX) == 0;
}

static bool demangle_any(struct strbuf *out, const char *name, unsigned flags)
{
	int options = DMGL_ANSI | DMGL_NO_RECURSE_LIMIT;
	if (flags & DEMANGLE_PARAMS)
		options |= DMGL_PARAMS;

	name = skip_underscore(name);
	bool is_itanium = name[0] == '_' && name[1] == 'Z';
	bool is_rust = name[0] == '_' && name[1] == 'R';
	if ((!is_itanium && !is_rust) || strlen(name) > DEMANGLE_INPUT_MAX)
		return false;
	/* Rust's older names are valid C++ ones: it is asked first, and wants its hash. */
	if (run(out, name, rust_demangle_callback, DMGL_NO_OPTS))
		return true;
	return is_itanium && run(out, name, cplus_demangle_v3_callback, options);
}

/* The length of @name without the suffixes of clones. */
static size_t base_length(const char *name)
{
	for (const char *dot = name; (dot = strchr(dot + 1, '.'));) {
		for (size_t i = 0; i < sizeof(clone_suffixes) / sizeof(clone_suffixes[0]); i++) {
			size_t n = strlen(clone_suffixes[i]);
			if (strncmp(dot, clone_suffixes[i], n) == 0 &&
			    (dot[n] == '\0' || dot[n] == '.'))
				return (size_t)(dot - name);
		}
	}
	return strlen(name);
}

bool demangle(struct strbuf *out, const char *name, unsigned flags)
{
	if (!*name)
		return false;
	/* libiberty leaves out what stands behind a name, the suffix too. */
	CLEANUP_FREE char *called =
		is_stub(name) ? strndup(name, strlen(name) - strlen(PLT_SUFFIX)) : NULL;
	if (demangle_any(out, called ? called : name, flags)) {
		strbuf_puts(out, called ? PLT_SUFFIX : "");
		return true;
	}
	size_t n = flags & DEMANGLE_PARAMS ? strlen(name) : base_length(name);
	strbuf_add(out, name, n);
	/* What is too long or too odd to take apart is C++ all the same. */
	return strncmp(skip_underscore(name), "_Z", 2) == 0;
}
