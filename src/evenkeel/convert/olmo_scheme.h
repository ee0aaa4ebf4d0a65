// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "evenkeel/config/scheme/scheme.h"
#include "evenkeel/convert/layer_switches.h"
#include "evenkeel/norm/scheme.h"

/// Schemes from the switches of OLMo and of the HybridNorm authors' code.
namespace evenkeel::convert {

/// The norms of a model in OLMo's words.
struct OlmoNorms {
  std::vector<LayerSwitches> layers;                                // [n_layers]
  bool query = false, key = false, value = false, context = false;  // norms per head
  bool full_qk = false;    // attention_layer_norm: q and k over all heads together
  bool after = false;      // norm_after: norms on the outputs of the sublayers, none on the inputs
  bool embedding = false;  // embedding_layer_norm
  std::string kind = "rms_norm";  // or "layer_norm"
  double epsilon = 1e-5;
  bool has_gain = true, has_bias = false;  // of all norms but those of q, k, v and context
  bool has_inner_gain = true;              // of the norms of q, k, v and context
};

/// The distribution of initial weights in OLMo's words.
struct OlmoInit {
  std::string function;                       // "normal", "full_megatron", "mitchell"
  double deviation = 0.02;                    // init_std
  std::optional<double> cutoff;               // init_cutoff_factor; nullopt: not truncated
  std::optional<double> embedding_deviation;  // emb_init_std; nullopt: that of the function
  bool scales_embedding = false;              // scale_emb_init: init_std times sqrt(d_model)
};

/// A scheme and the key model.init.
struct OlmoScheme {
  config::SchemeSource source;
  std::string init = "scheme";
  bool has_other_head = false;  // OLMo's untied head starts with another standard deviation
};

/// The scheme of these norms and initial weights. A catalogue scheme of this function is taken by
/// its name, or is extended by its initial weights; else the scheme is a table.
/// \param tied  the head is the embedding
/// \throws SchemeError if the norms are no scheme
OlmoScheme olmo_scheme(const OlmoNorms& norms, const OlmoInit& init, const norm::Shape& shape,
                       bool tied);

}  // namespace evenkeel::convert
