// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "evenkeel/norm/scheme.h"

/// The model classes of Hugging Face's transformers that a scheme can be exported as.
namespace evenkeel::convert {

/// A norm of a class: the slot of our scheme, and the name of the module in the class.
struct ClassNorm {
  const char* slot;    // "attention.input_norm"
  const char* module;  // "input_layernorm"
};

/// What one class computes. Everything else is as in Llama: pre-norm residual sums, SwiGLU, rotary
/// embedding of whole heads.
struct ModelClass {
  const char* name;                          // of --as: "llama"
  const char* architecture;                  // "LlamaForCausalLM"
  const char* model_type;                    // "llama"
  const char* scheme;                        // the scheme of the catalogue that an import takes
  norm::Kind kind;                           // of all norms
  bool one_plus_w = false;                   // gains are stored minus 1
  norm::Scope qk_scope = norm::Scope::head;  // of the norms on q and k, if `norms` has them
  bool has_experts = false;
  bool is_gemma = false;         // embedding times sqrt(d); score_scale is free
  bool has_softcaps = false;     // of scores and logits
  std::vector<ClassNorm> norms;  // in each block
};

/// The classes, in the order in which `--as auto` tries them.
const std::vector<ModelClass>& model_classes();

/// The class with this name of --as, or this `model_type`; nullptr if there is none.
const ModelClass* class_named(const std::string& name);
const ModelClass* class_of_type(const std::string& model_type);

/// The comparison of a scheme with a class.
struct ClassFit {
  std::string difference;  // the first one, as a sentence; empty: the class computes the scheme
  double epsilon = 0;      // of all norms
  std::optional<double> score_softcap, logits_softcap;
  std::optional<double> score_scale;  // of q . k; nullopt: 1/sqrt(dk)
};

/// Compares a bound scheme with a class. A fixed factor on a norm's result, another form of its
/// gain, and a norm without gain are no differences: the export computes the gains of the class.
/// \param steps  values of t and T
ClassFit compare(const norm::Scheme& scheme, const ModelClass& model_class,
                 const norm::Steps& steps);

}  // namespace evenkeel::convert
