// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// The key norm_pos_special_config of the HybridNorm authors' code: switches of single layers.
namespace evenkeel::convert {

/// The norms of one layer in the authors' words (arXiv 2503.04598). With `attn_norm` the attention
/// reads N(x); with `attn_residual`, too, its skip path is N(x). The same for the feed-forward.
struct LayerSwitches {
  bool attn_norm = true, attn_residual = false, ffn_norm = true, ffn_residual = false;
  bool operator==(const LayerSwitches&) const = default;
};

/// Switches of some layers.
struct LayerPatch {
  std::vector<std::int64_t> layers;    // from 0
  std::map<std::string, bool> values;  // "attn_norm", "attn_residual", "ffn_norm", "ffn_residual"
};

/// Reads a Python dict between underscores: _{0:{'attn_norm':True},(1,2):{'ffn_residual':False}}_.
/// Only this form is read; nothing is evaluated. An empty text has no patches.
/// \param where  file, line and key, for messages
/// \throws Error (data, exit code 65) for another form, with the position
std::vector<LayerPatch> parse_layer_switches(std::string_view literal, const std::string& where);

/// The switches of each layer: `all`, then the patches in their order.
/// \param layers  the number of layers
/// \throws Error (data, exit code 65) if a patch names a layer that the model does not have
std::vector<LayerSwitches> switches_of_layers(const LayerSwitches& all,
                                              const std::vector<LayerPatch>& patches,
                                              std::int64_t layers, const std::string& where);

}  // namespace evenkeel::convert
