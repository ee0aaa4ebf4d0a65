# The catalogue: every file of schemes/, by its stem. EMBEDDED_SCHEMES is the source that holds them.
include(Embed)

set(SCHEMES
  admin b2t batch_norm batch_renorm deep_norm derf diff_context dyt embed_norm first_qkv_pre
  gemma2 gemma3 gemma4 geo_norm gpas group_norm hybrid_norm hybrid_norm_7b hybrid_norm_star
  instance_norm kc_post kc_pre keel kv_post kv_pre layer_norm_scaling layer_norm_scaling_learned
  layer_scale mix_ln ngpt no_norm norm_former olmo2 output_norm parallel peri_ln post_norm
  post_norm_entry post_pre pre_kc_post pre_kc_pre pre_kv_post pre_kv_pre pre_norm pre_norm_bare
  pre_norm_layer_norm pre_norm_outside pre_norm_partial pre_post pre_qk pre_qk_post pre_qk_pre
  pre_qkc_post pre_qkc_pre pre_qkv_post pre_qkv_pre pre_qkvc_post pre_qkvc_pre prores qk_clip
  qk_norm_henry qk_post qk_pre qkc_post qkc_pre qkv_norm qkv_post qkv_pre qkvc_post qkvc_pre
  resi_dual retnet_context rezero rybakov_base rybakov_qk_fc_norm rybakov_qk_norm
  rybakov_qk_norm_cap rybakov_qkv_norm rybakov_soft_cap sandwich scale_norm_fix_norm scaled_steps
  seed_norm siamese_norm siamese_norm_hybrid sigma_reparam span_norm sub_ln swin_v2 vit22b
  weight_norm)
list(TRANSFORM SCHEMES PREPEND ${PROJECT_SOURCE_DIR}/schemes/)
list(TRANSFORM SCHEMES APPEND .toml)
ek_embed(EMBEDDED_SCHEMES evenkeel::config::embedded_schemes ${SCHEMES})
