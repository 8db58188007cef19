/* SPDX-License-Identifier: Apache-2.0 */
/* Names as they stand in public traces, and what a reader should be told of them. */
#include "analyze/kernel_name.h"
#include "unit.h"

#include <stdio.h>

static void check(const char *name, const char *expected)
{
	struct strbuf full = { 0 }, brief = { 0 };
	kernel_name_full(&full, name);
	bool is_shorter = kernel_name_short(&brief, strbuf_text(&full));
	assert_string_equal(is_shorter ? strbuf_text(&brief) : strbuf_text(&full), expected);
	strbuf_release(&full);
	strbuf_release(&brief);
}

static void test_matrix_multiplies(void **state)
{
	(void)state;
	check("void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_tn_"
	      "align8>(cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_tn_align8::Params)",
	      "gemm sm80 32x32 bf16");
	check("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_64x6_tn_"
	      "align8>(cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_64x6_tn_align8::Params)",
	      "gemm sm80 64x64 bf16 relu");
	check("void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>"
	      "(cutlass_80_simt_sgemm_128x32_8x5_nn_align1::Params)",
	      "gemm sm80 128x32 fp32");
	check("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_warpgroupsize1x1x1_execute_"
	      "segment_k_off_kernel__5x_cublas",
	      "gemm sm90 64x64x64 bf16");
	check("Cijk_Alik_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT16x16x256_MI16x16x1_SN_LDSB1_AFC1_AFEM1_"
	      "AFEM1_ASEM1_CLR1_CADS0_DTVA0_DTVB0_EPS0_FDSI0_GRPM1_GRVWA8_GRVWB8_GSUAMB_GLS0_ISA942_"
	      "IU1_K1_LBSPPA512",
	      "gemm gfx942 16x16x256 bf16");
	check("Cijk_Ailk_Bjlk_SB_Bias_AS_SAV_UserArgs_MT64x16x16_MI16x16x1_SN_LDSB0_ISA90a_IU1",
	      "gemm gfx90a 64x16x16 fp32");
	check("igemm_bwd_gtcx2_nhwc_bf16_bx0_ex1_bt128x64x32_wt32x32x8_ws1x1_wr1x2_ta1x8x2x1",
	      "igemm_bwd 128x64x32 bf16");
	check("volta_sgemm_128x64_nn", "volta_sgemm_128x64_nn");
	check("nvjet_tst_64x64_64x16_2x1_2cta_v_bz_bias_TNT", "gemm nvjet 64x64 bf16");
	check("nvjet_hsh_192x8_64x8_4x1_v_bz_TNT", "gemm nvjet 192x8 fp16");
}

static void test_elementwise(void **state)
{
	(void)state;
	check("void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<c10::"
	      "BFloat16>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, "
	      "std::array<char*, 3ul>)",
	      "add bf16");
	check("void at::native::vectorized_elementwise_kernel<8, at::native::GeluCUDAKernelImpl(at::"
	      "TensorIteratorBase&, at::native::GeluType)::{lambda()#2}::operator()() const::"
	      "{lambda()#4}::operator()() const::{lambda(c10::BFloat16)#1}, std::array<char*, 2ul> >"
	      "(int)",
	      "gelu bf16");
	check("void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<at::native::"
	      "BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> > >"
	      "(at::TensorIteratorBase&)::{lambda(int)#1}>(int)",
	      "mul fp32");
	check("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::"
	      "func_wrapper_t<float, at::native::sum_functor<float, float, float>::operator()(at::"
	      "TensorIterator&)::{lambda(float, float)#1}>, unsigned int, float, 4> >(int)",
	      "reduce sum fp32");
}

static void test_others(void **state)
{
	(void)state;
	/* What is compared in an argument of a template is no bracket. */
	check("std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type "
	      "vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, long, int)",
	      "fused_add_rms_norm bf16");
	check("void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, "
	      "128, 4, false, false, cutlass::bfloat16_t, pytorch_flash::Flash_kernel_traits<64, 128, "
	      "128, 4, cutlass::bfloat16_t> >, false, false>(pytorch_flash::Flash_fwd_params)",
	      "flash_fwd d64 bf16");
	check("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, "
	      "float>(int, float, c10::BFloat16 const*)",
	      "layer_norm bf16");
	check("std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float, float, "
	      "float, float, false, true>(int)",
	      "gemvx fp32");
	check("_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi64ELi8ELb0ELb0ELb1ELi1EEEvPT0_PT_PfS4_"
	      "S4_S4_diiiiiiib",
	      "add_rmsnorm_quant bf16");
	check("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", "ncclDevKernel_Generic");
	check("triton_poi_fused_add_0", "triton_poi_fused_add_0");
	check("mm_tiled", "mm_tiled");
	check("", "");
}

/* Whatever it is, it ends, and is valid memory. */
static void test_nonsense(void **state)
{
	(void)state;
	static const char *const names[] = {
		"<<<<",
		">>>>",
		"((((",
		"::",
		"a<",
		"a<b",
		"Kernel<",
		"Kernel<>",
		"Kernel<1,2,",
		"void ",
		"void (",
		"cutlass_",
		"cutlass_8gemm",
		"Cijk_",
		"Cijk_a_b_",
		"igemm_bt_bt",
		"sm_xmma_",
		"smxmma__xmma_",
		"(anonymous namespace)",
		"kernel<int>",
		"x::kernel<int>",
		"elementwise<CUDAFunctor_>",
		"elementwise_kernel<Functor>",
		"flash<traits<",
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char padded[256];
		struct strbuf brief = { 0 };
		kernel_name_short(&brief, names[i]);
		strbuf_release(&brief);
		snprintf(padded, sizeof(padded),
			 "%s_______________________________________________", names[i]);
		kernel_name_short(&brief, padded);
		strbuf_release(&brief);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_matrix_multiplies),
		cmocka_unit_test(test_elementwise),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_nonsense),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
