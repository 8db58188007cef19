/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/op_inputs.h"

#include "base/cleanup.h"

#include <string.h>

/* c10's names of scalar types, and those of old traces. */
static const struct op_type types[] = {
	{ "c10::BFloat16", "bf16", 16, OP_NUMBER_BF16 },
	{ "c10::Half", "fp16", 16, OP_NUMBER_BF16 },
	{ "float", "fp32", 32, OP_NUMBER_FP32 },
	{ "double", "fp64", 64, OP_NUMBER_FP64 },
	{ "c10::Float8_e4m3fn", "fp8", 8, OP_NUMBER_FP8 },
	{ "c10::Float8_e4m3fnuz", "fp8", 8, OP_NUMBER_FP8 },
	{ "c10::Float8_e5m2", "fp8", 8, OP_NUMBER_FP8 },
	{ "c10::Float8_e5m2fnuz", "fp8", 8, OP_NUMBER_FP8 },
	{ "long int", "i64", 64, OP_NUMBER_NONE },
	{ "long", "i64", 64, OP_NUMBER_NONE },
	{ "int", "i32", 32, OP_NUMBER_NONE },
	{ "short int", "i16", 16, OP_NUMBER_NONE },
	{ "short", "i16", 16, OP_NUMBER_NONE },
	{ "signed char", "i8", 8, OP_NUMBER_FP8 },
	{ "char", "i8", 8, OP_NUMBER_FP8 },
	{ "unsigned char", "u8", 8, OP_NUMBER_NONE },
	{ "bool", "bool", 8, OP_NUMBER_NONE },
	{ "c10::complex<float>", "c64", 64, OP_NUMBER_NONE },
	{ "c10::complex<double>", "c128", 128, OP_NUMBER_NONE },
};

static const struct op_type *find_type(struct span name)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (strlen(types[i].text) == name.size &&
		    !memcmp(types[i].text, name.data, name.size))
			return &types[i];
	}
	return NULL;
}

struct text {
	const char *at, *end;
};

static struct text text_of(struct span s)
{
	return (struct text){ (const char *)s.data, (const char *)s.data + s.size };
}

static bool take(struct text *t, char c)
{
	while (t->at < t->end && *t->at == ' ')
		t->at++;
	if (t->at == t->end || *t->at != c)
		return false;
	t->at++;
	return true;
}

/* A number that is not negative. */
static bool take_number(struct text *t, double *ret)
{
	double n = 0;
	while (t->at < t->end && *t->at == ' ')
		t->at++;
	if (t->at == t->end || *t->at < '0' || *t->at > '9')
		return false;
	for (; t->at < t->end && *t->at >= '0' && *t->at <= '9'; t->at++)
		n = n * 10 + (*t->at - '0');
	*ret = n;
	return true;
}

/* Behind the bracket that closes the one before @t. */
static void skip_list(struct text *t)
{
	for (int depth = 1; t->at < t->end && depth; t->at++)
		depth += *t->at == '[' ? 1 : *t->at == ']' ? -1 : 0;
}

/* "512,512]": false when it is anything else, a list of tensors for one. */
static bool take_dims(struct text *t, struct op_tensor *ret)
{
	struct op_tensor x = { .elements = 1 };
	if (!take(t, ']')) {
		do {
			double n;
			if (x.rank == OP_RANK_MAX || !take_number(t, &n))
				return false;
			x.dims[x.rank++] = n;
			x.elements *= n;
		} while (take(t, ','));
		if (!take(t, ']'))
			return false;
	}
	*ret = x;
	return true;
}

static void read_dims(struct op_tensors *ret, struct span dims)
{
	struct text t = text_of(dims);
	if (!take(&t, '['))
		return;
	while (ret->count < OP_INPUTS_MAX && take(&t, '[')) {
		struct op_tensor *x = &ret->list[ret->count++];
		struct text before = t;
		x->is_tensor = take_dims(&t, x);
		if (!x->is_tensor) {
			t = before;
			skip_list(&t);
		}
		if (!take(&t, ','))
			return;
	}
}

/* The next text in quotes of "["a","b"]"; no text of these lists has a quote inside. */
static bool next_quoted(struct text *t, struct span *ret)
{
	const char *from = memchr(t->at, '"', (size_t)(t->end - t->at));
	if (!from)
		return false;
	from++;
	const char *to = memchr(from, '"', (size_t)(t->end - from));
	if (!to)
		return false;
	*ret = span_of(from, (size_t)(to - from));
	t->at = to + 1;
	return true;
}

void op_tensors_read(struct op_tensors *ret, const struct op_inputs *in)
{
	struct text t = text_of(in->types);
	struct span name;

	memset(ret, 0, sizeof(*ret));
	read_dims(ret, in->dims);
	for (size_t i = 0; i < ret->count; i++) {
		struct op_tensor *x = &ret->list[i];
		x->type = in->types.size && next_quoted(&t, &name) ? find_type(name) : NULL;
		/* A scalar's dimensions are empty as those of a tensor of one element are. */
		x->is_tensor &= x->type || x->rank;
	}
}

static bool scalar_text(const struct op_inputs *in, size_t index, struct span *ret)
{
	struct text t = text_of(in->scalars);
	if (!in->scalars.size)
		return false;
	do {
		if (!next_quoted(&t, ret))
			return false;
	} while (index--);
	return true;
}

size_t op_scalars(const struct op_inputs *in, size_t index, double *ret, size_t max)
{
	struct span s;
	size_t count = 0;
	if (!scalar_text(in, index, &s))
		return 0;
	struct text t = text_of(s);
	bool is_list = take(&t, '[');
	while (count < max && take_number(&t, &ret[count])) {
		count++;
		if (!is_list || !take(&t, ','))
			break;
	}
	return count;
}

bool op_scalar_is_true(const struct op_inputs *in, size_t index)
{
	struct span s;
	return scalar_text(in, index, &s) && s.size == 4 && !memcmp(s.data, "True", 4);
}
