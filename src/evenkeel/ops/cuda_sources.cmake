# The adapters of kernels/cuda: operators on CUDA tensors.
set(EK_CUDA_ADAPTERS
  attention/causal_attention_cuda.cpp attention/causal_attention_library_cuda.cpp
  attention/qkv_norm_rope_cuda.cpp common/embedding_cuda.cpp linear/grouped_linear_cuda.cpp
  linear/linear_cross_entropy_cuda.cpp linear/swiglu_cuda.cpp moe/expert_assignment_cuda.cpp
  moe/gather_sum_cuda.cpp moe/scale_rows_cuda.cpp norms/add_rms_norm_cuda.cpp norms/affine_cuda.cpp
  norms/bounded_cuda.cpp norms/column_norm_cuda.cpp norms/layer_norm_cuda.cpp norms/rms_norm_cuda.cpp
  norms/row_norm_cuda.cpp norms/seed_norm_cuda.cpp norms/sigma_reparam_cuda.cpp norms/sphere_cuda.cpp
  norms/weight_norm_cuda.cpp optim/adamw_cuda.cpp optim/sum_of_squares_cuda.cpp)
