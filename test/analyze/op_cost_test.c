/* SPDX-License-Identifier: Apache-2.0 */
/* What operators cost, against sums done by hand; texts of inputs as torch.profiler writes them. */
#include "analyze/op_cost.h"
#include "analyze/peaks.h"
#include "unit.h"

#include <math.h>
#include <string.h>

static struct span text(const char *s)
{
	return span_of(s, strlen(s));
}

static bool find(const char *op, const char *dims, const char *types, const char *scalars,
		 struct op_cost *ret)
{
	const struct op_inputs in = { text(op), text(dims), text(types), text(scalars) };
	return op_cost_find(&in, ret);
}

static void check(const char *op, const char *dims, const char *types, const char *scalars,
		  double flops, double bytes)
{
	struct op_cost c = { .flops = -1 };
	assert_true(find(op, dims, types, scalars, &c));
	assert_true(c.flops == flops);
	assert_true(c.bytes == bytes);
}

#define BF16 "\"c10::BFloat16\""

static void test_products(void **state)
{
	(void)state;
	struct op_cost c;
	/* 8x16 by 16x4: 2*8*16*4; 128 + 64 + 32 numbers of 4 bytes. */
	check("aten::mm", "[[8,16],[16,4]]", "[\"float\",\"float\"]", "", 1024, 224 * 4);
	/* The same with 4 numbers that are added. */
	check("aten::addmm", "[[4],[8,16],[16,4],[],[]]",
	      "[\"float\",\"float\",\"float\",\"Scalar\",\"Scalar\"]", "", 1024, 228 * 4);
	/* Three of them. */
	check("aten::bmm", "[[3,8,16],[3,16,4]]", "[\"double\",\"double\"]", "", 3072, 672 * 8);
	check("aten::matmul", "[[3,8,16],[16,4]]", "[\"float\",\"float\"]", "", 3072,
	      (384 + 64 + 96) * 4);
	/* The weight of a linear layer stands the other way round. */
	check("aten::linear", "[[2,4,16],[5,16],[5]]", "[" BF16 "," BF16 "," BF16 "]", "",
	      2 * 8 * 16 * 5, (128 + 80 + 40) * 2);
	check("aten::mv", "[[8,16],[16]]", "[\"float\",\"float\"]", "", 256, (128 + 16 + 8) * 4);
	assert_true(find("aten::mm", "[[8,16],[16,4]]", "[" BF16 "," BF16 "]", "", &c));
	assert_true(c.is_matrix);
	assert_int_equal(c.number, OP_NUMBER_BF16);
	/* Shapes that do not go together. */
	assert_false(find("aten::mm", "[[8,16],[15,4]]", "[\"float\",\"float\"]", "", &c));
	assert_false(find("aten::bmm", "[[3,8,16],[2,16,4]]", "[\"float\",\"float\"]", "", &c));
}

static void test_attention(void **state)
{
	(void)state;
	struct op_cost c;
	static const char types[] = "[" BF16 "," BF16 "," BF16 "]";
	/* batch 2, 10 queries and keys, 3 heads of 8: two products of 10x8x10 each, 6 times. */
	check("aten::_flash_attention_forward", "[[2,10,3,8],[2,10,3,8],[2,10,3,8]]", types, "",
	      6 * 2 * (2 * 10 * 8 * 10), 4 * 480 * 2);
	/* Causal: 10 + 9 + ... + 1 pairs of 100. */
	check("aten::_flash_attention_forward", "[[2,10,3,8],[2,10,3,8],[2,10,3,8]]", types,
	      "[\"\",\"\",\"\",\"\",\"\",\"10\",\"10\",\"0.\",\"True\",\"False\"]",
	      6 * 2 * (2 * 55 * 8), 4 * 480 * 2);
	/* One query that sees all 20 keys, causal or not. */
	check("aten::_flash_attention_forward", "[[1,1,3,8],[1,20,3,8],[1,20,3,8]]", types,
	      "[\"\",\"\",\"\",\"\",\"\",\"1\",\"20\",\"0.\",\"True\",\"False\"]",
	      3 * 2 * (2 * 20 * 8), (2 * 24 + 2 * 480) * 2);
	/* Five products instead of two. */
	check("aten::_flash_attention_backward", "[[2,10,3,8],[2,10,3,8],[2,10,3,8],[2,10,3,8]]",
	      "[" BF16 "," BF16 "," BF16 "," BF16 "]", "", 6 * 5 * (2 * 10 * 8 * 10), 8 * 480 * 2);
	/* Heads before the sequence. */
	check("aten::_scaled_dot_product_flash_attention", "[[2,3,10,8],[2,3,20,8],[2,3,20,8]]",
	      types, "", 6 * 2 * (2 * 10 * 8 * 20), (2 * 480 + 2 * 960) * 2);
	/* Packed sequences: nobody knows how long each is. */
	assert_false(find("aten::_flash_attention_forward", "[[20,3,8],[20,3,8],[20,3,8]]", types,
			  "", &c));
}

static void test_convolution(void **state)
{
	(void)state;
	struct op_cost c;
	static const char types[] = "[\"float\",\"float\",\"\",\"ScalarList\",\"ScalarList\","
				    "\"ScalarList\",\"Scalar\",\"Scalar\",\"Scalar\"]";
	/* miopen_convolution(self, weight, bias, padding, stride, dilation, ...): 8x8, 3x3, stride
	 * 2, padding 1: 4x4 come out, 5 channels; each takes 2*3*9. */
	check("aten::miopen_convolution", "[[1,3,8,8],[5,3,3,3],[],[],[],[],[],[],[]]", types,
	      "[\"\",\"\",\"\",\"[1, 1]\",\"[2, 2]\",\"[1, 1]\",\"1\",\"False\",\"False\"]",
	      2 * 80 * 27, (192 + 135 + 80) * 4);
	/* convolution(input, weight, bias, stride, padding, dilation, ...), three groups. */
	check("aten::convolution", "[[2,6,8,8],[9,2,3,3],[],[],[],[],[],[],[]]", types,
	      "[\"\",\"\",\"\",\"[1, 1]\",\"[0, 0]\",\"[2, 2]\",\"False\",\"[0, 0]\",\"3\"]",
	      2 * (2 * 9 * 4 * 4) * 18, (768 + 162 + 288) * 4);
	check("aten::convolution_backward", "[[1,5,4,4],[1,3,8,8],[5,3,3,3]]",
	      "[\"float\",\"float\",\"float\"]", "", 2 * 80 * 27, (80 + 192 + 135) * 4);
	/* Without strides it is not known what comes out. */
	assert_false(find("aten::convolution", "[[1,3,8,8],[5,3,3,3]]", types, "", &c));
}

static void test_elementwise(void **state)
{
	(void)state;
	struct op_cost c;
	check("aten::add", "[[4,5],[5],[]]", "[\"float\",\"float\",\"Scalar\"]", "", 20,
	      (20 + 5 + 20) * 4);
	/* A number that is a tensor does not make the result wider. */
	check("aten::mul", "[[4,5],[]]", "[" BF16 ",\"double\"]", "", 20, 40 + 8 + 40);
	check("aten::mul_", "[[4,5],[4,5]]", "[" BF16 ",\"float\"]", "", 20, 40 + 80 + 80);
	check("aten::eq", "[[4,5],[]]", "[\"long int\",\"Scalar\"]", "", 0, 160 + 20);
	check("aten::copy_", "[[4,5],[4,5],[]]", "[\"float\"," BF16 ",\"Scalar\"]", "", 0, 80 + 40);
	check("aten::fill_", "[[4,5],[]]", "[\"float\",\"Scalar\"]", "", 0, 80);
	check("aten::native_layer_norm", "[[4,5],[],[5],[5],[]]",
	      "[" BF16 ",\"ScalarList\"," BF16 "," BF16 ",\"Scalar\"]", "", 0, 40 + 10 + 10 + 40);
	check("aten::sum", "[[4,5],[]]", "[\"float\",\"\"]", "", 20, 80);
	/* 3 of 100 rows of 8, read and written, and their numbers. */
	check("aten::embedding", "[[100,8],[3]]", "[" BF16 ",\"long int\"]", "", 0,
	      2 * 3 * 8 * 2 + 24);
	check("aten::index_select", "[[100,8],[],[3]]", "[" BF16 ",\"Scalar\",\"long int\"]",
	      "[\"\",\"0\",\"\"]", 0, 2 * 3 * 8 * 2 + 24);
	assert_false(find("aten::index_select", "[[100,8],[],[3]]",
			  "[" BF16 ",\"Scalar\",\"long int\"]", "[\"\",\"1\",\"\"]", &c));
	check("triton_poi_fused_add_0", "[[4,5],[4,5],[]]", "[\"float\",\"float\",\"Scalar\"]",
	      "[\"\",\"\",\"20\"]", 0, 160);
	assert_false(find("aten::nonsense", "[[4,5]]", "[\"float\"]", "", &c));
	assert_true(find("aten::add", "[[4],[4]]", "[" BF16 "," BF16 "]", "", &c));
	assert_false(c.is_matrix);
	assert_int_equal(c.number, OP_NUMBER_FP32); /* what ordinary units work in */
}

/* Texts that nobody writes give nothing, or something that is a number. */
static void test_nonsense(void **state)
{
	(void)state;
	static const char *const odd[] = {
		"",
		"[",
		"[[",
		"[[]",
		"[[],",
		"]",
		"[[8,16],[16,4",
		"[[8,,16],[16,4]]",
		"[[-8,16],[16,4]]",
		"[[8 16],[16,4]]",
		"[[0,16],[16,4]]",
		"[[8,0],[0,4]]",
		"[[[8,16],[16,4]],[16,4]]",
		"[[1,1,1,1,1,1,1,1,1,1],[1,1]]",
		"[[99999999999999999999999999999999999999999999,16],[16,4]]",
	};
	static const char *const ops[] = { "aten::mm",
					   "aten::linear",
					   "aten::convolution",
					   "aten::add",
					   "aten::embedding",
					   "aten::copy_",
					   "aten::_flash_attention_forward" };
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		for (size_t k = 0; k < sizeof(ops) / sizeof(ops[0]); k++) {
			struct op_cost c = { .flops = 0 };
			(void)find(ops[k], odd[i], "[\"float\",\"float\"]", "[\"\",\"[", &c);
			assert_true(isfinite(c.flops) && c.flops >= 0);
			assert_true(isfinite(c.bytes) && c.bytes >= 0);
		}
	}
}

static void check_text(const char *op, const char *dims, const char *types, const char *shape,
		       const char *type)
{
	const struct op_inputs in = { text(op), text(dims), text(types), text("") };
	struct strbuf out = { 0 };
	op_shape_text(&in, &out);
	assert_string_equal(strbuf_text(&out), shape);
	strbuf_reset(&out);
	op_types_text(&in, &out);
	assert_string_equal(strbuf_text(&out), type);
	strbuf_release(&out);
}

static void test_texts(void **state)
{
	(void)state;
	/* m, n, k of a product, as people speak of them. */
	check_text("aten::addmm", "[[2048],[141,512],[512,2048]]", "[" BF16 "," BF16 "," BF16 "]",
		   "141x2048x512", "bf16");
	check_text("aten::bmm", "[[3,8,16],[3,16,4]]", "[\"float\",\"float\"]", "3x8x4x16", "fp32");
	check_text("aten::index_select", "[[100,8],[],[3]]",
		   "[\"c10::Half\",\"Scalar\",\"long int\"]", "100x8, 3", "fp16, i64");
	check_text("aten::add", "[[4,5],[4,5],[]]", "[\"float\",\"float\",\"Scalar\"]", "4x5",
		   "fp32");
	check_text("aten::eq", "[[],[]]", "[\"int\",\"Scalar\"]", "1", "i32");
	check_text("aten::mm", "", "", "", "");
}

static void test_kernels(void **state)
{
	(void)state;
	assert_true(op_cost_is_main_kernel("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64"));
	assert_true(op_cost_is_main_kernel("void pytorch_flash::flash_fwd_kernel<...>"));
	assert_false(op_cost_is_main_kernel("void cublasLt::splitKreduce_kernel<32, 16>"));
	assert_false(op_cost_is_main_kernel("void pytorch_flash::flash_bwd_dot_do_o_kernel<...>"));
	assert_false(op_cost_is_main_kernel("batched_transpose_4x64_half"));
}

/* Proton's own formulas, from what its trees say of a device. */
static void test_peaks(void **state)
{
	(void)state;
	struct device_peaks p;
	const struct device_clocks h100 = { "cuda", "CUDA 90", 132, 1980000, 2619000, 6144 };
	assert_true(device_peaks_by_clocks(&h100, &p));
	assert_true(fabs(p.fp8 - 1513.0 * 132 / 114 * 1980 / 1755) < 1e-9);
	assert_true(fabs(p.bf16 - p.fp8 / 2) < 1e-9);
	assert_true(fabs(p.bytes - 2 * 6144 * 2619000e3 / 8 / 1e12) < 1e-9);
	const struct device_clocks mi300 = { "hip", "HIP gfx942", 304, 2100000, 1200000, 8192 };
	assert_true(device_peaks_by_clocks(&mi300, &p));
	assert_true(fabs(p.fp8 - 4096.0 * 304 * 2100000e3 / 1e12) < 1e-9);
	assert_true(fabs(p.bytes - 5.3) < 1e-9);
	const struct device_clocks other = { "xpu", "XPU pvc", 128, 1600000, 0, 0 };
	assert_false(device_peaks_by_clocks(&other, &p));
	assert_null(device_peaks_find("Toaster 3000"));
	assert_true(fabs(device_peaks_find("NVIDIA H100 80GB HBM3")->bf16 - 989.4) < 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_products),    cmocka_unit_test(test_attention),
		cmocka_unit_test(test_convolution), cmocka_unit_test(test_elementwise),
		cmocka_unit_test(test_nonsense),    cmocka_unit_test(test_texts),
		cmocka_unit_test(test_kernels),     cmocka_unit_test(test_peaks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
