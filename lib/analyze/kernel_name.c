/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/kernel_name.h"

#include "base/cleanup.h"
#include "base/span.h"
#include "symbolize/demangle.h"

#include <ctype.h>
#include <string.h>

/* Names without C++ in them stay as they are up to here. */
#define PLAIN_NAME_MAX 40

bool kernel_name_full(struct strbuf *out, const char *name)
{
	return demangle(out, name, DEMANGLE_PARAMS);
}

/* ---- pieces of text ---- */

static bool span_is(struct span s, const char *text)
{
	return s.size == strlen(text) && !memcmp(s.data, text, s.size);
}

static bool span_starts(struct span s, const char *text)
{
	return s.size >= strlen(text) && !memcmp(s.data, text, strlen(text));
}

static bool span_ends(struct span s, const char *text)
{
	size_t size = strlen(text);
	return s.size >= size && !memcmp(s.data + s.size - size, text, size);
}

static const char *span_find(struct span s, const char *text)
{
	return memmem(s.data, s.size, text, strlen(text));
}

static struct span span_behind(struct span s, const char *at)
{
	return span_of(at, (size_t)((const char *)s.data + s.size - at));
}

/* The next identifier in *@rest, which moves behind it; false when there is none. */
static bool next_identifier(struct span *rest, struct span *ret)
{
	const char *p = (const char *)rest->data, *end = p + rest->size;
	while (p < end && !isalpha((unsigned char)*p) && *p != '_') {
		if (isdigit((unsigned char)*p)) /* "2ul" is a number */
			while (p + 1 < end && isalnum((unsigned char)p[1]))
				p++;
		p++;
	}
	const char *start = p;
	while (p < end && (isalnum((unsigned char)*p) || *p == '_'))
		p++;
	*ret = span_of(start, (size_t)(p - start));
	*rest = span_of(p, (size_t)(end - p));
	return ret->size;
}

/* "128x64" or "128x64x32", the first at a digit that follows no letter or digit. */
static struct span find_tile(struct span s)
{
	const char *text = (const char *)s.data;
	for (size_t i = 0; i < s.size; i++) {
		if (!isdigit((unsigned char)text[i]) || (i && isalnum((unsigned char)text[i - 1])))
			continue;
		size_t end = i, parts = 0;
		while (end < s.size && isdigit((unsigned char)text[end])) {
			while (end < s.size && isdigit((unsigned char)text[end]))
				end++;
			parts++;
			if (end + 1 < s.size && text[end] == 'x' &&
			    isdigit((unsigned char)text[end + 1]))
				end++;
			else
				break;
		}
		if (parts >= 2)
			return span_of(text + i, end - i);
	}
	return span_of("", 0);
}

static const struct {
	const char *word, *type;
} data_types[] = {
	{ "BFloat16", "bf16" },
	{ "__nv_bfloat16", "bf16" },
	{ "__hip_bfloat16", "bf16" },
	{ "bfloat16_t", "bf16" },
	{ "bf16", "bf16" },
	{ "bf16bf16", "bf16" },
	{ "Half", "fp16" },
	{ "__half", "fp16" },
	{ "half_t", "fp16" },
	{ "f16", "fp16" },
	{ "h", "fp16" },
	{ "fp16", "fp16" },
	{ "Float8_e4m3fn", "fp8" },
	{ "Float8_e5m2", "fp8" },
	{ "e4m3", "fp8" },
	{ "tf32", "tf32" },
	{ "float", "fp32" },
	{ "f32", "fp32" },
	{ "double", "fp64" },
	{ "int8_t", "int8" },
	{ "s8", "int8" },
};

/* Only where there is no other: they are mostly the type of an index. */
static const char *const index_types[] = { "long", "int", "unsigned", "bool" };

/* The type of the first word that is one. */
static const char *find_type(struct span s)
{
	struct span word;
	while (next_identifier(&s, &word)) {
		for (size_t i = 0; i < ARRAY_SIZE(data_types); i++) {
			if (span_is(word, data_types[i].word))
				return data_types[i].type;
		}
	}
	return NULL;
}

static bool is_type(struct span word)
{
	for (size_t i = 0; i < ARRAY_SIZE(index_types); i++) {
		if (span_is(word, index_types[i]))
			return true;
	}
	return find_type(word);
}

/* The same among words between underscores. */
static const char *find_type_part(struct span s)
{
	const char *p = (const char *)s.data, *end = p + s.size;
	while (p < end) {
		const char *stop = memchr(p, '_', (size_t)(end - p));
		struct span part = span_of(p, (size_t)((stop ? stop : end) - p));
		for (size_t i = 0; i < ARRAY_SIZE(data_types); i++) {
			if (span_is(part, data_types[i].word))
				return data_types[i].type;
		}
		p += part.size + 1;
	}
	return NULL;
}

static void add_word(struct strbuf *out, struct span word)
{
	if (!word.size)
		return;
	if (out->len)
		strbuf_putc(out, ' ');
	strbuf_add(out, word.data, word.size);
}

static void add_text(struct strbuf *out, const char *text)
{
	if (text)
		add_word(out, span_of(text, strlen(text)));
}

/* ---- matrix multiplies, whose libraries spell their configuration ---- */

/* Tensile (rocBLAS, hipBLASLt): Cijk_Ailk_Bjlk_BBS_..._MT64x32x64_..._ISA942_... */
static bool short_tensile(struct strbuf *out, struct span s)
{
	static const struct {
		char code;
		const char *type;
	} codes[] = { { 'B', "bf16" }, { 'H', "fp16" }, { 'S', "fp32" },
		      { 'D', "fp64" }, { 'F', "fp8" },  { 'I', "int8" } };
	if (!span_starts(s, "Cijk_"))
		return false;
	add_text(out, "gemm");
	const char *isa = span_find(s, "_ISA");
	if (isa) {
		struct span number = span_behind(s, isa + 4);
		number.size = strcspn((const char *)number.data, "_");
		strbuf_puts(out, " gfx");
		strbuf_add(out, number.data, number.size);
	}
	const char *tile = span_find(s, "_MT");
	if (tile)
		add_word(out, find_tile(span_behind(s, tile + 3)));
	/* The type is the part behind the operands' layouts: "Cijk", "Ailk", "Bjlk", "BBS". */
	const char *type = (const char *)s.data;
	for (int i = 0; i < 3 && type; i++) {
		type = strchr(type, '_');
		type = type ? type + 1 : NULL;
	}
	for (size_t i = 0; type && i < ARRAY_SIZE(codes); i++) {
		if (*type == codes[i].code)
			add_text(out, codes[i].type);
	}
	return true;
}

/* cutlass_80_wmma_tensorop_bf16_s161616gemm_relu_bf16_32x32_128x2_tn_align8 */
static bool short_cutlass(struct strbuf *out, struct span s)
{
	const char *at = span_find(s, "cutlass_");
	const char *gemm = at ? strstr(at, "gemm") : NULL;
	if (!gemm || !isdigit((unsigned char)at[8]))
		return false;
	add_text(out, "gemm");
	strbuf_puts(out, " sm");
	strbuf_add(out, at + 8, strspn(at + 8, "0123456789"));
	add_word(out, find_tile(span_behind(s, gemm)));
	size_t size = strcspn(at, ">(");
	const char *type = find_type_part(span_of(at, size));
	add_text(out, type ? type : span_find(span_of(at, size), "simt_s") ? "fp32" : NULL);
	if (span_find(span_of(at, size), "_relu"))
		add_text(out, "relu");
	return true;
}

/* sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_... and fprop, dgrad, wgrad */
static bool short_xmma(struct strbuf *out, struct span s)
{
	const char *at = span_find(s, "_xmma_");
	if (!at || !span_starts(s, "sm"))
		return false;
	add_word(out, span_of(at + 6, strcspn(at + 6, "_")));
	add_word(out, span_of(s.data, (size_t)(at - (const char *)s.data)));
	const char *tile = span_find(s, "tilesize");
	if (tile)
		add_word(out, find_tile(span_behind(s, tile + 8)));
	add_text(out, find_type_part(s));
	return true;
}

/* nvjet_tst_64x64_64x16_2x1_2cta_v_bz_bias_TNT (cuBLAS since Hopper): its types, its tile */
static bool short_nvjet(struct strbuf *out, struct span s)
{
	static const struct {
		const char *code, *type;
	} codes[] = { { "tst", "bf16" }, { "hsh", "fp16" } };
	if (!span_starts(s, "nvjet_"))
		return false;
	add_text(out, "gemm nvjet");
	struct span rest = span_of(s.data + 6, s.size - 6);
	const char *tile = span_find(rest, "_");
	if (tile)
		add_word(out, find_tile(span_behind(rest, tile + 1)));
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		if (span_starts(rest, codes[i].code))
			add_text(out, codes[i].type);
	}
	return true;
}

/* igemm_fwd_gtcx2_nhwc_bf16_bx0_ex1_bt128x128x32_... (MIOpen) */
static bool short_igemm(struct strbuf *out, struct span s)
{
	const char *tile = span_find(s, "_bt");
	if (!span_starts(s, "igemm_") || !tile)
		return false;
	add_word(out, span_of(s.data, 6 + strcspn((const char *)s.data + 6, "_")));
	add_word(out, find_tile(span_behind(s, tile + 3)));
	add_text(out, find_type_part(s));
	return true;
}

/* ---- C++ ---- */

/* Without the type before it and the parameters behind it. */
static struct span strip_signature(struct span s)
{
	const char *text = (const char *)s.data;
	size_t depth = 0, parens = 0, start = 0, size = 0;
	for (; size < s.size; size++) {
		bool is_namespace = !strncmp(text + size, "(anonymous namespace)", 21);
		if (is_namespace)
			size += 20;
		else if (depth && text[size] == '(')
			parens++;
		else if (parens) /* of an argument that is computed: "(8)>(0)" closes nothing */
			parens -= text[size] == ')';
		else if (text[size] == '<')
			depth++;
		else if (text[size] == '>' && depth)
			depth--;
		else if (text[size] == ' ' && !depth)
			start = size + 1;
		else if (text[size] == '(' && !depth)
			break;
	}
	return span_of(text + start, size - start);
}

/* The last component of a qualified name, the one before it, and what stands in angle brackets. */
static void split_template(struct span s, struct span *ret_name, struct span *ret_outer,
			   struct span *ret_args)
{
	const char *text = (const char *)s.data;
	size_t depth = 0, start = 0, open = s.size;
	*ret_outer = span_of("", 0);
	for (size_t i = 0; i < s.size; i++) {
		if (text[i] == '<' && !depth++)
			open = i;
		else if (text[i] == '>' && depth)
			depth--;
		else if (text[i] == ':' && !depth && i + 1 < s.size && text[i + 1] == ':') {
			*ret_outer = span_of(text + start, (open < i ? open : i) - start);
			start = i + 2;
			open = s.size;
			i++;
		}
	}
	*ret_name = span_of(text + start, open - start);
	*ret_args = open < s.size ? span_of(text + open, s.size - open) : span_of("", 0);
}

static struct span strip_end(struct span s, const char *const *ends, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (span_ends(s, ends[i]) && s.size > strlen(ends[i]))
			s.size -= strlen(ends[i]);
	}
	return s;
}

/* Whether an identifier says what is computed, and not how it is applied. */
static bool is_operation(struct span word)
{
	static const char *const ends[] = { "Functor",      "_functor", "_kernel",
					    "_kernel_cuda", "_impl",    "KernelImpl",
					    "_cuda",        "Op",       "Ops" };
	static const char *const wrappers[] = {
		"AUnaryFunctor", "BUnaryFunctor",   "BinaryFunctor",          "UnaryOpFunctor",
		"ReduceOp",      "gpu_kernel_impl", "gpu_kernel_impl_nocast", "elementwise_kernel",
	};
	bool found = span_starts(word, "CUDAFunctor") || span_starts(word, "launch_");
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		found |= span_ends(word, ends[i]);
	for (size_t i = 0; i < ARRAY_SIZE(wrappers); i++)
		found &= !span_is(word, wrappers[i]);
	return found;
}

/* "add" of "CUDAFunctor_add", "mul" of "MulFunctor", "direct_copy" of "direct_copy_kernel_cuda". */
static void add_operation(struct strbuf *out, struct span word)
{
	static const char *const ends[] = { "Functor", "_functor",       "_impl", "_cuda",
					    "_kernel", "CUDAKernelImpl", "_cuda" };
	const char *functor = span_starts(word, "CUDAFunctor") ? span_find(word, "_") : NULL;
	if (functor)
		word = span_behind(word, functor + 1);
	if (span_starts(word, "launch_"))
		word = span_of(word.data + 7, word.size - 7);
	word = strip_end(word, ends, ARRAY_SIZE(ends));
	size_t upper = 0;
	for (size_t i = 0; i < word.size; i++)
		upper += isupper(word.data[i]) != 0;
	if (out->len)
		strbuf_putc(out, ' ');
	for (size_t i = 0; i < word.size; i++)
		strbuf_putc(out, upper == 1 ? (char)tolower(word.data[i]) : (char)word.data[i]);
}

static struct span find_operation(struct span args)
{
	struct span word;
	while (next_identifier(&args, &word)) {
		if (is_operation(word))
			return word;
	}
	return span_of("", 0);
}

/* What only carries what is in its brackets. */
static bool is_carrier(struct span name)
{
	static const char *const names[] = { "Kernel", "Kernel2",       "kernel",
					     "kentry", "device_kernel", "trampoline_kernel" };
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (span_is(name, names[i]))
			return true;
	}
	return false;
}

/* What a carrier carries: its first argument that is no number; else what it stands in. */
static void unwrap(struct span *name, struct span outer, struct span *args)
{
	struct span rest = *args, word;
	if (!next_identifier(&rest, &word) || is_type(word)) {
		*name = outer.size ? outer : *name;
		return;
	}
	/* The argument's own text, from its first word on: "ns::Rmsnorm2dFwd<...>". */
	struct span inner = span_behind(*args, (const char *)word.data);
	size_t size = 0, depth = 0;
	const char *text = (const char *)inner.data;
	for (; size < inner.size; size++) {
		if (text[size] == '<')
			depth++;
		else if ((text[size] == '>' && !depth--) || (text[size] == ',' && !depth))
			break;
	}
	split_template(span_of(text, size), name, &outer, args);
}

static void short_cxx(struct strbuf *out, struct span s)
{
	static const char *const ends[] = { "_kernel", "CUDAKernelImpl", "CUDAKernel", "Kernel" };
	struct span name, outer, args, operation = span_of("", 0);

	split_template(strip_signature(s), &name, &outer, &args);
	if (is_carrier(name) && args.size)
		unwrap(&name, outer, &args);
	const char *type = find_type(args);
	if (span_find(name, "elementwise") || span_find(name, "reduce") ||
	    span_find(name, "multi_tensor_apply"))
		operation = find_operation(args);
	if (!operation.size || !span_find(name, "elementwise")) {
		name = strip_end(name, ends, ARRAY_SIZE(ends));
		if (span_starts(name, "vectorized_"))
			name = span_of(name.data + 11, name.size - 11);
		add_word(out, name);
	}
	if (operation.size)
		add_operation(out, operation);
	const char *traits = span_starts(name, "flash") ? span_find(args, "traits<") : NULL;
	if (traits) {
		strbuf_puts(out, " d");
		strbuf_add(out, traits + 7, strspn(traits + 7, "0123456789"));
	}
	add_text(out, type);
}

bool kernel_name_short(struct strbuf *out, const char *full)
{
	struct span s = span_of(full, strlen(full));
	struct strbuf text = { 0 };

	if (s.size <= PLAIN_NAME_MAX && !strpbrk(full, "<(:") && !span_starts(s, "nvjet_"))
		return false;
	if (!short_nvjet(&text, s) && !short_tensile(&text, s) && !short_cutlass(&text, s) &&
	    !short_xmma(&text, s) && !short_igemm(&text, s) && strpbrk(full, "<(:"))
		short_cxx(&text, s);
	bool is_shorter = text.len && text.len < s.size;
	if (is_shorter)
		strbuf_add(out, text.data, text.len);
	strbuf_release(&text);
	return is_shorter;
}
