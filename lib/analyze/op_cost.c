/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/op_rule.h"
#include "base/cleanup.h"

#include <string.h>

/* ---- which operator is counted how ---- */

static const struct op_rule rules[] = {
	{ "aten::mm", op_cost_product, 0, 0 },
	{ "aten::bmm", op_cost_product, 0, 0 },
	{ "aten::matmul", op_cost_product, 0, 0 },
	{ "aten::mv", op_cost_product, 0, 0 },
	{ "aten::dot", op_cost_product, 0, 0 },
	{ "aten::_int_mm", op_cost_product, 0, 0 },
	{ "aten::_scaled_mm", op_cost_product, 0, 0 },
	{ "aten::addmm", op_cost_product, 1, 0 },
	{ "aten::addmm_", op_cost_product, 1, 0 },
	{ "aten::_addmm_activation", op_cost_product, 1, 0 },
	{ "aten::baddbmm", op_cost_product, 1, 0 },
	{ "aten::baddbmm_", op_cost_product, 1, 0 },
	{ "aten::addmv", op_cost_product, 1, 0 },
	{ "aten::linear", op_cost_linear, 0, 0 },
	/* backward: five products where forward has two */
	{ "aten::_flash_attention_forward", op_cost_flash, 0, 4 },
	{ "aten::_flash_attention_backward", op_cost_flash, 1, 10 },
	{ "aten::_efficient_attention_forward", op_cost_efficient, 0, 4 },
	{ "aten::_efficient_attention_backward", op_cost_efficient, 1, 10 },
	{ "aten::_scaled_dot_product_flash_attention", op_cost_scaled_dot_product, 0, 4 },
	{ "aten::_scaled_dot_product_flash_attention_backward", op_cost_scaled_dot_product, 1, 10 },
	/* first: the scalar that is the stride; flops: the one that is the padding */
	{ "aten::convolution", op_cost_conv, 3, 4 },
	{ "aten::_convolution", op_cost_conv, 3, 4 },
	{ "aten::conv1d", op_cost_conv, 3, 4 },
	{ "aten::conv2d", op_cost_conv, 3, 4 },
	{ "aten::conv3d", op_cost_conv, 3, 4 },
	{ "aten::cudnn_convolution", op_cost_conv, 3, 2 },
	{ "aten::miopen_convolution", op_cost_conv, 4, 3 },
	{ "aten::convolution_backward", op_cost_conv_backward, 0, 0 },
	{ "aten::copy_", op_cost_copy, 1, 0 },
	{ "aten::fill_", op_cost_copy, 0, 0 },
	{ "aten::zero_", op_cost_copy, 0, 0 },
	/* those that do it in one kernel */
	{ "aten::native_layer_norm", op_cost_norm, 0, 0 },
	{ "aten::native_group_norm", op_cost_norm, 0, 0 },
	{ "aten::cudnn_batch_norm", op_cost_norm, 0, 0 },
	{ "aten::_fused_rms_norm", op_cost_norm, 0, 0 },
	{ "aten::_softmax", op_cost_norm, 0, 0 },
	{ "aten::_log_softmax", op_cost_norm, 0, 0 },
	{ "aten::sum", op_cost_reduce, 0, 1 },
	{ "aten::mean", op_cost_reduce, 0, 1 },
	{ "aten::max", op_cost_reduce, 0, 1 },
	{ "aten::min", op_cost_reduce, 0, 1 },
	{ "aten::all", op_cost_reduce, 0, 0 },
	{ "aten::any", op_cost_reduce, 0, 0 },
	{ "aten::argmax", op_cost_reduce, 0, 1 },
	{ "aten::embedding", op_cost_gather, 1, 0 },
	{ "aten::index_select", op_cost_gather, 2, 0 },
};

/* The same with an underscore behind: in place. */
static const struct op_rule elementwise_rules[] = {
	{ "aten::add", op_cost_elementwise, 0, 1 },
	{ "aten::sub", op_cost_elementwise, 0, 1 },
	{ "aten::rsub", op_cost_elementwise, 0, 1 },
	{ "aten::mul", op_cost_elementwise, 0, 1 },
	{ "aten::div", op_cost_elementwise, 0, 1 },
	{ "aten::neg", op_cost_elementwise, 0, 1 },
	{ "aten::abs", op_cost_elementwise, 0, 1 },
	{ "aten::relu", op_cost_elementwise, 0, 1 },
	{ "aten::clamp", op_cost_elementwise, 0, 1 },
	{ "aten::clamp_min", op_cost_elementwise, 0, 1 },
	{ "aten::maximum", op_cost_elementwise, 0, 1 },
	{ "aten::minimum", op_cost_elementwise, 0, 1 },
	{ "aten::pow", op_cost_elementwise, 0, 1 },
	{ "aten::sqrt", op_cost_elementwise, 0, 1 },
	{ "aten::rsqrt", op_cost_elementwise, 0, 1 },
	{ "aten::reciprocal", op_cost_elementwise, 0, 1 },
	{ "aten::exp", op_cost_elementwise, 0, 1 },
	{ "aten::log", op_cost_elementwise, 0, 1 },
	{ "aten::sin", op_cost_elementwise, 0, 1 },
	{ "aten::cos", op_cost_elementwise, 0, 1 },
	{ "aten::tanh", op_cost_elementwise, 0, 1 },
	{ "aten::sigmoid", op_cost_elementwise, 0, 1 },
	{ "aten::silu", op_cost_elementwise, 0, 2 },
	{ "aten::gelu", op_cost_elementwise, 0, 2 },
	{ "aten::addcmul", op_cost_elementwise, 0, 3 },
	{ "aten::addcdiv", op_cost_elementwise, 0, 3 },
	{ "aten::lerp", op_cost_elementwise, 0, 3 },
	{ "aten::threshold_backward", op_cost_elementwise, 0, 1 },
	{ "aten::sigmoid_backward", op_cost_elementwise, 0, 3 },
	{ "aten::tanh_backward", op_cost_elementwise, 0, 3 },
	{ "aten::silu_backward", op_cost_elementwise, 0, 3 },
	{ "aten::gelu_backward", op_cost_elementwise, 0, 3 },
	{ "aten::masked_fill", op_cost_elementwise, 0, 0 },
	{ "aten::where", op_cost_elementwise, 0, 0 },
	{ "aten::clone", op_cost_elementwise, 0, 0 },
	{ "aten::bitwise_not", op_cost_elementwise, 0, 0 },
	{ "aten::eq", op_cost_compare, 0, 1 },
	{ "aten::ne", op_cost_compare, 0, 1 },
	{ "aten::lt", op_cost_compare, 0, 1 },
	{ "aten::le", op_cost_compare, 0, 1 },
	{ "aten::gt", op_cost_compare, 0, 1 },
	{ "aten::ge", op_cost_compare, 0, 1 },
	{ "aten::logical_and", op_cost_compare, 0, 0 },
	{ "aten::logical_or", op_cost_compare, 0, 0 },
	{ "aten::logical_not", op_cost_compare, 0, 0 },
};

static const struct op_rule fused = { "triton_", op_cost_fused, 0, 0 };

static bool is_text(struct span s, const char *text)
{
	return s.size == strlen(text) && !memcmp(s.data, text, s.size);
}

const struct op_rule *op_rule_find(struct span op)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		if (is_text(op, rules[i].op))
			return &rules[i];
	}
	struct span plain = op;
	if (plain.size && plain.data[plain.size - 1] == '_')
		plain.size--;
	for (size_t i = 0; i < ARRAY_SIZE(elementwise_rules); i++) {
		if (is_text(plain, elementwise_rules[i].op))
			return &elementwise_rules[i];
	}
	bool is_fused = op.size > strlen(fused.op) && !memcmp(op.data, fused.op, strlen(fused.op));
	return is_fused ? &fused : NULL;
}

bool op_cost_find(const struct op_inputs *in, struct op_cost *ret)
{
	const struct op_rule *r = op_rule_find(in->op);
	struct op_tensors t;
	if (!r)
		return false;
	op_tensors_read(&t, in);
	return r->cost(r, in, &t, ret);
}

bool op_cost_is_main_kernel(const char *kernel)
{
	/* Parts of cuBLAS, cuDNN, MIOpen and flash attention that are not the product itself. */
	static const char *const others[] = {
		"splitKreduce",
		"splitk_reduce",
		"reduce_kernel",
		"elementwise",
		"fill",
		"FillFunctor",
		"memset",
		"transpose",
		"nchwToNhwc",
		"nhwcToNchw",
		"Memset",
		"ToNchw",
		"ToNhwc",
		"dot_do_o",
		"convert_dq",
		"SubTensorOp",
		"tensorTransform",
		"batched_transpose",
		"WeightTransform",
		"InputTransform",
		"OutputTransform",
		"winograd_nonfused",
		"combine",
		"Cat",
		"computeOffsets",
		"im2col",
		"Im2Col",
		"col2im",
	};
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		if (strstr(kernel, others[i]))
			return false;
	}
	return true;
}

bool op_cost_is_plain_fp32(const char *kernel)
{
	static const char *const cores[] = { "tf32", "bf16",  "s1688",    "s16816", "s884",
					     "h884", "h1688", "tensorop", "f16f16", "MT_" };
	for (size_t i = 0; i < ARRAY_SIZE(cores); i++) {
		if (strcasestr(kernel, cores[i]))
			return false;
	}
	return strcasestr(kernel, "sgemm") || strcasestr(kernel, "f32f32_f32f32_f32");
}
