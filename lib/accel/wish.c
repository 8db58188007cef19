/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/wish.h"

#include "accel/runtimes.h"
#include "base/strbuf.h"

#include <errno.h>
#include <string.h>

void accel_wishes_release(struct accel_wishes *w)
{
	vec_for_each(&w->texts, it)
		free(*it);
	vec_release(&w->texts);
	vec_release(&w->list);
}

static const struct accel_ops *find_runtime(const char *name)
{
	const struct accel_ops *ops;

	for (size_t i = 0; (ops = accel_runtime(i)); i++)
		if (!strcmp(ops->name, name))
			return ops;
	return NULL;
}

static int no_runtime(const char *name, struct err *err)
{
	struct strbuf names = { 0 };
	const struct accel_ops *ops;

	for (size_t i = 0; (ops = accel_runtime(i)); i++)
		strbuf_printf(&names, "%s, ", ops->name);
	int rc = err_set(err, -EINVAL, "'%s' is no accelerator's runtime: use %snone", name,
			 strbuf_text(&names));
	strbuf_release(&names);
	return rc;
}

static int no_option(const struct accel_ops *ops, const char *key, struct err *err)
{
	struct strbuf keys = { 0 };

	for (const struct accel_option *o = ops->options; o && o->key; o++)
		strbuf_printf(&keys, "%s%s%s%s", o == ops->options ? ": use " : ", ", o->key,
			      o->value ? "=" : "", o->value ? o->value : "");
	int rc = err_set(err, -EINVAL, "'%s' has no option '%s'%s", ops->name, key,
			 keys.len ? strbuf_text(&keys) : "");
	strbuf_release(&keys);
	return rc;
}

static int add_option(struct accel_wishes *w, const struct accel_ops *ops, char *text,
		      struct err *err)
{
	char *value = strchr(text, '=');

	if (value)
		*value++ = '\0';
	const struct accel_option *option = accel_option(ops, text);
	if (!option)
		return no_option(ops, text, err);
	if (!option->value != !value)
		return err_set(err, -EINVAL, "'%s' of '%s' takes %s", text, ops->name,
			       option->value ? option->value : "no value");
	struct accel_wish wish = { ops->name, text, value };
	return vec_push(&w->list, wish) < 0 ? err_set(err, -ENOMEM, "no memory") : 0;
}

static int add_runtime(struct accel_wishes *w, char *text, struct err *err)
{
	char *rest = text, *name = strsep(&rest, ":");
	const struct accel_ops *ops = find_runtime(name);
	int rc = 0;

	if (!strcmp(name, "none") && !rest) {
		w->is_none = true;
		return 0;
	}
	if (!ops)
		return no_runtime(name, err);
	if (vec_push(&w->list, (struct accel_wish){ .runtime = ops->name }) < 0)
		return err_set(err, -ENOMEM, "no memory");
	while (rest && rc == 0)
		rc = add_option(w, ops, strsep(&rest, ":"), err);
	return rc;
}

int accel_wishes_add(struct accel_wishes *w, const char *text, struct err *err)
{
	char *rest = strdup(text);
	int rc = 0;

	if (!rest || vec_push(&w->texts, rest) < 0) {
		free(rest);
		return err_set(err, -ENOMEM, "no memory");
	}
	while (rest && rc == 0)
		rc = add_runtime(w, strsep(&rest, ","), err);
	return rc;
}

int accel_wishes_set(struct accel_wishes *w, const char *key, const char *value)
{
	char *rest = strdup(value);
	int rc = 0;

	if (!rest || vec_push(&w->texts, rest) < 0) {
		free(rest);
		return -ENOMEM;
	}
	while (rest && rc == 0)
		rc = vec_push(&w->list,
			      (struct accel_wish){ .key = key, .value = strsep(&rest, ",") });
	return rc;
}

bool accel_wishes_name(const struct accel_wishes *w, const char *runtime, bool *ret_is_named)
{
	bool is_any_named = w && w->is_none;

	*ret_is_named = false;
	if (!w)
		return true;
	vec_for_each(&w->list, it) {
		is_any_named |= it->runtime != NULL;
		*ret_is_named |= it->runtime && !strcmp(it->runtime, runtime);
	}
	return !is_any_named || *ret_is_named;
}
