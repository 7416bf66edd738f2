// dtypecheck_ops.h: the operators of LibTorch by what they give, as methods of a tensor and as
// functions of one, less those whose parameters dtypecheck_torch.h declares.
#pragma once

#define DTYPECHECK_METHODS(X) \
  X(abs) X(abs_) X(absolute) X(absolute_) X(acos) X(acos_) X(acosh) X(acosh_) X(add_) X(addbmm) \
  X(addbmm_) X(addcdiv) X(addcdiv_) X(addcmul) X(addcmul_) X(addmm_) X(addmv) X(addmv_) X(addr) \
  X(addr_) X(adjoint) X(alias) X(all) X(amax) X(amin) X(angle) X(any) X(arccos) X(arccos_) \
  X(arccosh) X(arccosh_) X(arcsin) X(arcsin_) X(arcsinh) X(arcsinh_) X(arctan) X(arctan2) \
  X(arctan2_) X(arctan_) X(arctanh) X(arctanh_) X(argmax) X(argmin) X(argsort) X(argwhere) \
  X(as_strided) X(as_strided_) X(as_strided_scatter) X(asin) X(asin_) X(asinh) X(asinh_) X(atan) \
  X(atan2) X(atan2_) X(atan_) X(atanh) X(atanh_) X(backward) X(baddbmm_) X(bernoulli) \
  X(bernoulli_) X(bincount) X(bitwise_and) X(bitwise_and_) X(bitwise_left_shift) \
  X(bitwise_left_shift_) X(bitwise_not) X(bitwise_not_) X(bitwise_or) X(bitwise_or_) \
  X(bitwise_right_shift) X(bitwise_right_shift_) X(bitwise_xor) X(bitwise_xor_) X(bool_) \
  X(broadcast_to) X(cauchy_) X(ccol_indices) X(ceil) X(ceil_) X(chalf) X(cholesky_inverse) \
  X(cholesky_solve) X(clamp) X(clamp_) X(clamp_max) X(clamp_max_) X(clamp_min) X(clamp_min_) \
  X(clip) X(clip_) X(coalesce) X(col_indices) X(conj) X(conj_physical) X(conj_physical_) X(copy) \
  X(copysign) X(copysign_) X(corrcoef) X(cos) X(cos_) X(cosh) X(cosh_) X(count_nonzero) X(cov) \
  X(cross) X(crow_indices) X(cumprod) X(cumprod_) X(cumsum_) X(deg2rad) X(deg2rad_) X(dequantize) \
  X(det) X(detach_) X(diag) X(diag_embed) X(diagflat) X(diagonal) X(diagonal_scatter) X(diff) \
  X(digamma) X(digamma_) X(dist) X(div_) X(divide) X(divide_) X(dot) X(eq) X(eq_) X(erf) X(erf_) \
  X(erfc) X(erfc_) X(erfinv) X(erfinv_) X(exp) X(exp2) X(exp2_) X(exp_) X(expand_copy) X(expm1) \
  X(expm1_) X(exponential_) X(fill) X(fill_diagonal_) X(fix) X(fix_) X(flip) X(fliplr) X(flipud) \
  X(float_power) X(float_power_) X(floor) X(floor_) X(floor_divide) X(floor_divide_) X(fmax) \
  X(fmin) X(fmod) X(fmod_) X(frac) X(frac_) X(gather) X(gcd) X(gcd_) X(ge) X(ge_) X(geometric_) \
  X(ger) X(grad) X(greater) X(greater_) X(greater_equal) X(greater_equal_) X(gt) X(gt_) \
  X(hardshrink) X(hash_tensor) X(heaviside) X(heaviside_) X(histc) X(hypot) X(hypot_) X(i0) X(i0_) \
  X(igamma) X(igamma_) X(igammac) X(igammac_) X(imag) X(index_add) X(index_add_) X(index_copy) \
  X(index_copy_) X(index_fill) X(index_fill_) X(index_put) X(index_reduce) X(index_reduce_) \
  X(index_select) X(indices) X(inner) X(int_repr) X(inverse) X(isclose) X(isfinite) X(isinf) \
  X(isnan) X(isneginf) X(isposinf) X(isreal) X(istft) X(kron) X(lcm) X(lcm_) X(ldexp) X(ldexp_) \
  X(le) X(le_) X(lerp) X(lerp_) X(less) X(less_) X(less_equal) X(less_equal_) X(lgamma) X(lgamma_) \
  X(log) X(log10) X(log10_) X(log1p) X(log1p_) X(log2) X(log2_) X(log_) X(log_normal_) \
  X(log_softmax) X(logaddexp) X(logaddexp2) X(logcumsumexp) X(logdet) X(logical_and) \
  X(logical_and_) X(logical_not) X(logical_not_) X(logical_or) X(logical_or_) X(logical_xor) \
  X(logical_xor_) X(logit) X(logit_) X(logsumexp) X(lt) X(lt_) X(lu_solve) X(mH) X(mT) \
  X(masked_fill) X(masked_fill_) X(masked_scatter) X(masked_scatter_) X(masked_select) X(matrix_H) \
  X(matrix_exp) X(matrix_power) X(maximum) X(minimum) X(moveaxis) X(movedim) X(msort) X(mul_) \
  X(multinomial) X(multiply) X(multiply_) X(mutable_grad) X(mv) X(mvlgamma) X(mvlgamma_) \
  X(nan_to_num) X(nan_to_num_) X(nanmean) X(nanquantile) X(nansum) X(narrow_copy) X(ne) X(ne_) \
  X(neg) X(neg_) X(negative) X(negative_) X(new_empty_strided) X(new_full) X(new_ones) \
  X(nextafter) X(nextafter_) X(nonzero) X(nonzero_static) X(norm) X(normal_) X(not_equal) \
  X(not_equal_) X(numpy_T) X(orgqr) X(ormqr) X(outer) X(pinverse) X(polygamma) X(polygamma_) \
  X(positive) X(pow) X(pow_) X(prelu) X(prod) X(put) X(put_) X(q_per_channel_scales) \
  X(q_per_channel_zero_points) X(quantile) X(rad2deg) X(rad2deg_) X(random_) X(ravel) X(real) \
  X(reciprocal) X(reciprocal_) X(register_hook) X(relu) X(relu_) X(remainder) X(remainder_) \
  X(renorm) X(renorm_) X(repeat) X(repeat_interleave) X(requires_grad_) X(reshape_as) \
  X(resize_as_) X(resize_as_sparse_) X(resolve_conj) X(resolve_neg) X(roll) X(rot90) X(round) \
  X(round_) X(row_indices) X(rsqrt) X(rsqrt_) X(scatter) X(scatter_) X(scatter_add) \
  X(scatter_add_) X(scatter_reduce) X(scatter_reduce_) X(select_scatter) X(set_) \
  X(set_requires_grad) X(sgn) X(sgn_) X(sigmoid) X(sigmoid_) X(sign) X(sign_) X(signbit) X(sin) \
  X(sin_) X(sinc) X(sinc_) X(sinh) X(sinh_) X(slice_inverse) X(slice_scatter) X(smm) X(softmax) \
  X(sparse_mask) X(sparse_resize_) X(sparse_resize_and_clear_) X(sqrt) X(sqrt_) X(square) \
  X(square_) X(squeeze_) X(sspaddmm) X(std) X(stft) X(sub_) X(subtract) X(subtract_) \
  X(sum_to_size) X(swap) X(swapaxes) X(swapaxes_) X(swapdims) X(swapdims_) X(t_) X(take) \
  X(take_along_dim) X(tan) X(tan_) X(tanh) X(tanh_) X(tile) X(to_dense) X(to_mkldnn) \
  X(to_padded_tensor) X(to_sparse) X(to_sparse_bsc) X(to_sparse_bsr) X(to_sparse_csc) \
  X(to_sparse_csr) X(trace) X(transpose_) X(tril) X(tril_) X(triu) X(triu_) X(true_divide) \
  X(true_divide_) X(trunc) X(trunc_) X(unflatten) X(unfold) X(uniform_) X(unsqueeze_) X(values) \
  X(var) X(vdot) X(view_as) X(where) X(xlogy) X(xlogy_)
#define DTYPECHECK_METHODS_OF_TWO(X) \
  X(aminmax) X(cummax) X(cummin) X(frexp) X(geqrf) X(histogram) X(kthvalue) X(mode) X(slogdet) \
  X(sort) X(topk) X(triangular_solve)
#define DTYPECHECK_METHODS_OF_THREE(X) \
  X(svd)
#define DTYPECHECK_METHODS_OF_BOOL(X) \
  X(allclose) X(equal) X(is_coalesced) X(is_conj) X(is_distributed) X(is_inference) X(is_leaf) \
  X(is_neg) X(is_nonzero) X(is_same_size) X(is_set_to) X(is_signed) X(retains_grad)
#define DTYPECHECK_FUNCTIONS(X) \
  X(abs) X(abs_) X(absolute) X(acos) X(acos_) X(acosh) X(acosh_) X(adaptive_avg_pool1d) \
  X(adaptive_avg_pool2d) X(adaptive_avg_pool3d) X(addbmm) X(addcdiv) X(addcmul) X(addmv) X(addmv_) \
  X(addr) X(adjoint) X(affine_grid_generator) X(alias) X(alias_copy) X(all) X(amax) X(amin) \
  X(angle) X(any) X(arccos) X(arccos_) X(arccosh) X(arccosh_) X(arcsin) X(arcsin_) X(arcsinh) \
  X(arcsinh_) X(arctan) X(arctan2) X(arctan_) X(arctanh) X(arctanh_) X(argmax) X(argmin) \
  X(argsort) X(argwhere) X(as_strided) X(as_strided_) X(as_strided_copy) X(as_strided_scatter) \
  X(asin) X(asin_) X(asinh) X(asinh_) X(atan) X(atan2) X(atan_) X(atanh) X(atanh_) X(atleast_1d) \
  X(atleast_2d) X(atleast_3d) X(avg_pool1d) X(avg_pool2d) X(avg_pool3d) X(baddbmm) X(batch_norm) \
  X(batch_norm_elemt) X(bernoulli) X(bilinear) \
  X(bincount) X(binomial) X(bitwise_and) X(bitwise_left_shift) \
  X(bitwise_not) X(bitwise_or) X(bitwise_right_shift) X(bitwise_xor) X(broadcast_to) X(bucketize) \
  X(ccol_indices_copy) X(cdist) X(ceil) X(ceil_) X(celu) X(celu_) X(channel_shuffle) \
  X(cholesky_inverse) X(cholesky_solve) X(clamp) X(clamp_) X(clamp_max) X(clamp_max_) X(clamp_min) \
  X(clamp_min_) X(clip) X(clip_) X(clone) X(col2im) X(col_indices_copy) X(combinations) X(complex) \
  X(conj) X(conj_physical) X(conj_physical_) X(constant_pad_nd) X(conv1d) X(conv2d) X(conv3d) \
  X(conv_depthwise3d) X(conv_tbc) X(conv_transpose1d) X(conv_transpose2d) X(conv_transpose3d) \
  X(convolution) X(convolution_overrideable) X(copy) X(copy_sparse_to_sparse_) X(copysign) \
  X(corrcoef) X(cos) X(cos_) X(cosh) X(cosh_) X(cosine_embedding_loss) X(cosine_similarity) \
  X(count_nonzero) X(cov) X(cross) X(crow_indices_copy) X(ctc_loss) \
  X(cudnn_affine_grid_generator) X(cudnn_convolution) X(cudnn_convolution_add_relu) \
  X(cudnn_convolution_relu) X(cudnn_convolution_transpose) X(cudnn_grid_sampler) X(cumprod) \
  X(cumsum) X(cumulative_trapezoid) X(deg2rad) X(deg2rad_) X(dequantize) X(det) X(detach) \
  X(detach_) X(detach_copy) X(diag) X(diag_embed) X(diagflat) X(diagonal) X(diagonal_copy) \
  X(diagonal_scatter) X(diff) X(digamma) X(dist) X(div) X(divide) X(dot) X(elu) X(elu_) \
  X(embedding) X(embedding_renorm_) X(eq) X(erf) X(erf_) X(erfc) X(erfc_) X(erfinv) X(exp) X(exp2) \
  X(exp2_) X(exp_) X(expand_copy) X(expm1) X(expm1_) X(fake_quantize_per_channel_affine) \
  X(fake_quantize_per_tensor_affine) X(fbgemm_linear_fp16_weight) \
  X(fbgemm_linear_fp16_weight_fp32_activation) X(fbgemm_linear_int8_weight) \
  X(fbgemm_linear_int8_weight_fp32_activation) X(fbgemm_pack_gemm_matrix_fp16) \
  X(fbgemm_pack_quantized_matrix) X(fft_fft) X(fft_fft2) X(fft_fftn) X(fft_fftshift) X(fft_hfft) \
  X(fft_hfft2) X(fft_hfftn) X(fft_ifft) X(fft_ifft2) X(fft_ifftn) X(fft_ifftshift) X(fft_ihfft) \
  X(fft_ihfft2) X(fft_ihfftn) X(fft_irfft) X(fft_irfft2) X(fft_irfftn) X(fft_rfft) X(fft_rfft2) \
  X(fft_rfftn) X(fill) X(fill_) X(fix) X(fix_) X(flatten) X(flip) X(fliplr) X(flipud) \
  X(float_power) X(floor) X(floor_) X(floor_divide) X(fmax) X(fmin) X(fmod) X(frac) X(frac_) \
  X(frobenius_norm) X(fused_moving_avg_obs_fake_quant) X(gather) X(gcd) X(gcd_) X(ge) X(gelu) \
  X(gelu_) X(ger) X(glu) X(glu_jvp) X(greater) X(greater_equal) X(grid_sampler) X(grid_sampler_2d) \
  X(grid_sampler_3d) X(group_norm) X(gru_cell) X(gt) X(hardshrink) X(hardsigmoid) X(hardsigmoid_) \
  X(hardswish) X(hardswish_) X(hardtanh) X(hardtanh_) X(hash_tensor) X(heaviside) \
  X(hinge_embedding_loss) X(histc) X(hspmm) X(hypot) X(i0) X(i0_) X(igamma) \
  X(igammac) X(im2col) X(imag) X(index) X(index_add) X(index_copy) X(index_fill) X(index_put) \
  X(index_put_) X(index_reduce) X(index_select) X(indices_copy) X(inner) X(instance_norm) \
  X(int_repr) X(inverse) X(isclose) X(isfinite) X(isin) X(isinf) X(isnan) X(isneginf) X(isposinf) \
  X(isreal) X(istft) X(kron) X(lcm) X(lcm_) X(ldexp) X(ldexp_) X(le) \
  X(leaky_relu) X(leaky_relu_) X(lerp) X(less) X(less_equal) X(lgamma) X(lift) X(lift_fresh) \
  X(lift_fresh_copy) X(linalg__powsum) X(linalg_cholesky) X(linalg_cond) X(linalg_cross) \
  X(linalg_det) X(linalg_diagonal) X(linalg_eigvals) X(linalg_eigvalsh) \
  X(linalg_householder_product) X(linalg_inv) X(linalg_ldl_solve) X(linalg_lu_solve) \
  X(linalg_matmul) X(linalg_matrix_exp) X(linalg_matrix_norm) X(linalg_matrix_power) \
  X(linalg_matrix_rank) X(linalg_matrix_sqrth) X(linalg_norm) X(linalg_pinv) X(linalg_solve) \
  X(linalg_solve_triangular) X(linalg_svdvals) X(linalg_tensorinv) X(linalg_tensorsolve) \
  X(linalg_vander) X(linalg_vecdot) X(linalg_vector_norm) X(log) X(log10) X(log10_) X(log1p) \
  X(log1p_) X(log2) X(log2_) X(log_) X(log_sigmoid) X(log_softmax) X(logaddexp) X(logaddexp2) \
  X(logcumsumexp) X(logdet) X(logical_and) X(logical_not) X(logical_or) X(logical_xor) X(logit) \
  X(logit_) X(logspace) X(logsumexp) X(lt) X(lu_solve) X(margin_ranking_loss) X(masked_fill) \
  X(masked_scatter) X(masked_select) X(matrix_exp) X(matrix_power) X(max_pool1d) X(max_pool2d) \
  X(max_pool3d) X(max_unpool2d) X(max_unpool3d) X(maximum) X(mean) X(minimum) \
  X(miopen_convolution) X(miopen_convolution_add_relu) X(miopen_convolution_relu) \
  X(miopen_convolution_transpose) X(miopen_depthwise_convolution) X(mish) X(mish_) \
  X(mkldnn_adaptive_avg_pool2d) X(mkldnn_convolution) X(mkldnn_linear) X(mkldnn_max_pool2d) \
  X(mkldnn_max_pool3d) X(mkldnn_reorder_conv2d_weight) X(mkldnn_reorder_conv3d_weight) X(moveaxis) \
  X(movedim) X(msort) X(multi_margin_loss) X(multilabel_margin_loss) X(multinomial) X(multiply) \
  X(mv) X(mvlgamma) X(nan_to_num) X(nan_to_num_) X(nanmean) X(nanquantile) X(nansum) X(narrow) \
  X(narrow_copy) X(native_channel_shuffle) X(native_norm) X(ne) X(neg) X(neg_) X(negative) \
  X(negative_) X(nested_to_padded_tensor) X(nextafter) X(nll_loss_nd) \
  X(nonzero) X(nonzero_static) X(norm) X(norm_except_dim) X(normal) X(normal_functional) \
  X(not_equal) X(nuclear_norm) X(one_hot) X(orgqr) X(ormqr) X(pad) X(pairwise_distance) X(pdist) \
  X(permute) X(permute_copy) X(pinverse) X(pixel_shuffle) X(pixel_unshuffle) X(poisson) \
  X(poisson_nll_loss) X(polar) X(positive) X(pow) X(prelu) X(prod) X(put) X(q_per_channel_scales) \
  X(q_per_channel_zero_points) X(quantile) X(quantize_per_channel) X(quantize_per_tensor) \
  X(quantize_per_tensor_dynamic) X(quantized_batch_norm) X(quantized_gru_cell) \
  X(quantized_max_pool1d) X(quantized_max_pool2d) X(quantized_max_pool3d) \
  X(quantized_rnn_relu_cell) X(quantized_rnn_tanh_cell) X(rad2deg) X(rad2deg_) X(rand_like) \
  X(randint_like) X(randn_like) X(ravel) X(real) X(reciprocal) X(reciprocal_) X(reflection_pad1d) \
  X(reflection_pad2d) X(reflection_pad3d) X(relu) X(relu6) X(relu6_) X(relu_) X(remainder) \
  X(renorm) X(repeat_interleave) X(replication_pad1d) X(replication_pad2d) X(replication_pad3d) \
  X(reshape) X(resize_as_) X(resize_as_sparse_) X(resolve_conj) X(resolve_neg) X(rms_norm) \
  X(rnn_relu_cell) X(rnn_tanh_cell) X(roll) X(rot90) X(round) X(round_) X(row_indices_copy) \
  X(rrelu) X(rrelu_) X(rrelu_with_noise) X(rrelu_with_noise_) X(rsqrt) X(rsqrt_) X(rsub) \
  X(scaled_dot_product_attention) X(scatter) X(scatter_add) X(scatter_reduce) X(searchsorted) \
  X(segment_reduce) X(select) X(select_copy) X(select_scatter) X(selu) X(selu_) X(sgn) X(sigmoid) \
  X(sigmoid_) X(sign) X(signbit) X(silu) X(silu_) X(sin) X(sin_) X(sinc) X(sinc_) X(sinh) X(sinh_) \
  X(slice) X(slice_copy) X(slice_inverse) X(slice_scatter) X(slow_conv3d) X(slow_conv3d_forward) \
  X(slow_conv_dilated2d) X(slow_conv_dilated3d) X(slow_conv_transpose2d) X(slow_conv_transpose3d) \
  X(smm) X(softmax) X(softplus) X(softshrink) \
  X(sparse_bsc_tensor) X(sparse_bsr_tensor) X(sparse_compressed_tensor) X(sparse_coo_tensor) \
  X(sparse_csc_tensor) X(sparse_csr_tensor) X(sparse_sampled_addmm) X(special_airy_ai) \
  X(special_bessel_j0) X(special_bessel_j1) X(special_bessel_y0) X(special_bessel_y1) \
  X(special_chebyshev_polynomial_t) X(special_chebyshev_polynomial_u) \
  X(special_chebyshev_polynomial_v) X(special_chebyshev_polynomial_w) X(special_digamma) \
  X(special_entr) X(special_erf) X(special_erfc) X(special_erfcx) X(special_erfinv) \
  X(special_exp2) X(special_expit) X(special_expm1) X(special_gammainc) X(special_gammaincc) \
  X(special_gammaln) X(special_hermite_polynomial_h) X(special_hermite_polynomial_he) \
  X(special_i0) X(special_i0e) X(special_i1) X(special_i1e) X(special_laguerre_polynomial_l) \
  X(special_legendre_polynomial_p) X(special_log1p) X(special_log_ndtr) X(special_log_softmax) \
  X(special_logit) X(special_logsumexp) X(special_modified_bessel_i0) \
  X(special_modified_bessel_i1) X(special_modified_bessel_k0) X(special_modified_bessel_k1) \
  X(special_multigammaln) X(special_ndtr) X(special_ndtri) X(special_psi) X(special_round) \
  X(special_scaled_modified_bessel_k0) X(special_scaled_modified_bessel_k1) \
  X(special_shifted_chebyshev_polynomial_t) X(special_shifted_chebyshev_polynomial_u) \
  X(special_shifted_chebyshev_polynomial_v) X(special_shifted_chebyshev_polynomial_w) \
  X(special_sinc) X(special_softmax) X(special_spherical_bessel_j0) X(special_xlog1py) \
  X(special_xlogy) X(special_zeta) X(sqrt) X(sqrt_) X(square) X(square_) X(squeeze) \
  X(squeeze_copy) X(sspaddmm) X(std) X(stft) X(sub) X(subtract) X(sum) X(swapaxes) X(swapdims) \
  X(t) X(t_copy) X(take) X(take_along_dim) X(tan) X(tan_) X(tanh) X(tanh_) X(tensordot) \
  X(thnn_conv2d) X(threshold) X(threshold_) X(tile) X(trace) X(transpose) X(transpose_copy) \
  X(trapezoid) X(trapz) X(tril) X(triplet_margin_loss) X(triu) X(true_divide) X(trunc) X(trunc_) \
  X(unflatten) X(unfold_copy) X(unsqueeze) X(unsqueeze_copy) X(upsample_bicubic2d) \
  X(upsample_bilinear2d) X(upsample_linear1d) X(upsample_nearest1d) X(upsample_nearest2d) \
  X(upsample_nearest3d) X(upsample_trilinear3d) X(values_copy) X(vander) X(var) X(vdot) \
  X(view_as_complex) X(view_as_complex_copy) X(view_as_real) X(view_as_real_copy) X(view_copy) \
  X(xlogy) X(xlogy_) X(zero_)
#define DTYPECHECK_FUNCTIONS_OF_TWO(X) \
  X(adaptive_max_pool1d) X(adaptive_max_pool2d) X(adaptive_max_pool3d) X(aminmax) \
  X(batch_norm_gather_stats) X(batch_norm_gather_stats_with_counts) X(batch_norm_stats) \
  X(batch_norm_update_stats) X(choose_qparams_optimized) X(cummax) X(cummin) \
  X(fake_quantize_per_channel_affine_cachemask) X(fake_quantize_per_tensor_affine_cachemask) \
  X(fractional_max_pool2d) X(fractional_max_pool3d) X(frexp) X(geqrf) X(gru) X(histogram) \
  X(kthvalue) X(linalg_cholesky_ex) X(linalg_eig) X(linalg_eigh) X(linalg_inv_ex) \
  X(linalg_ldl_factor) X(linalg_lu_factor) X(linalg_polar) X(linalg_qr) X(linalg_slogdet) \
  X(linalg_solve_ex) X(log_sigmoid_forward) X(lstm_cell) X(max_pool1d_with_indices) \
  X(max_pool2d_with_indices) X(max_pool3d_with_indices) X(miopen_ctc_loss) X(mode) \
  X(multilabel_margin_loss_forward) X(nll_loss2d_forward) X(nll_loss_forward) \
  X(quantized_lstm_cell) X(rnn_relu) X(rnn_tanh) X(slogdet) X(sort) X(std_mean) X(topk) \
  X(triangular_solve) X(var_mean)
#define DTYPECHECK_FUNCTIONS_OF_THREE(X) \
  X(linalg_ldl_factor_ex) X(linalg_lu) X(linalg_lu_factor_ex) X(linalg_svd) X(lstm) X(lu_unpack) \
  X(miopen_batch_norm) X(native_batch_norm) X(native_group_norm) X(native_layer_norm) X(svd) \
  X(unique_consecutive) X(unique_dim_consecutive)
#define DTYPECHECK_FUNCTIONS_OF_BOOL(X) \
  X(allclose) X(cudnn_is_acceptable) X(equal) X(is_conj) X(is_distributed) X(is_inference) \
  X(is_neg) X(is_nonzero) X(is_same_size) X(is_signed)
