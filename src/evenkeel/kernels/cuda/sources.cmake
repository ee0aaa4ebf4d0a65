# The kernels that nvcc compiles.
set(EK_CUDA_KERNELS
  adamw.cu affine.cu block_reduction.cu bounded.cu causal_attention.cu causal_attention_backward.cu
  causal_attention_mma.cu causal_attention_mma_backward.cu column_norm.cu embedding_gradient.cu
  expert_assignment.cu gather_sum.cu geodesic.cu grouped_weight_gradient.cu
  grouped_weight_gradient_wgmma.cu layer_norm.cu
  linear_cross_entropy.cu qkv_norm_rope.cu rms_norm.cu row_blas.cu row_gradient.cu row_norm.cu seed_norm.cu
  sphere.cu sum_totals.cu swiglu.cu)
