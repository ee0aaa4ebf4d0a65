// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/verify/golden.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/store/safetensors.h"
#include "evenkeel/train/tensor_file.h"
#include "evenkeel/verify/golden_authors.h"
#include "evenkeel/verify/golden_json.h"
#include "evenkeel/verify/golden_shape.h"

namespace evenkeel::verify {

namespace {

constexpr const char* kConfig = "config";

/// All tensors with the name prefix `prefix`, converted to float64, keyed by the rest of the name.
Tensors prefixed_tensors(const store::Safetensors& file, const std::string& prefix) {
  Tensors tensors;
  for (const auto& [name, unused] : file.entries()) {
    if (!name.starts_with(prefix)) continue;
    tensors[name.substr(prefix.size())] = train::tensor_of(file, name).to(at::kDouble);
  }
  return tensors;
}

/// The parameters of a file with the `schemes` layout: all tensors without a reserved name.
Tensors unprefixed_tensors(const store::Safetensors& file) {
  auto tensors = prefixed_tensors(file, "");
  std::erase_if(tensors, [](const auto& each) {
    const auto& name = each.first;
    return name.starts_with("grad.") || name.starts_with("buffer") || name == "input_ids" ||
           name == "logits" || name == "logits_eval" || name == "loss";
  });
  return tensors;
}

at::Tensor float64_tensor(const store::Safetensors& file, const std::string& name) {
  return train::tensor_of(file, name).to(at::kDouble);
}

/// The catalogue scheme of this name. Paths are refused, because the metadata could name any file.
config::SchemeSource catalogue_scheme(const GoldenJson& config) {
  const auto name = config.string("scheme");
  const auto known = config::catalogue();
  if (std::find(known.begin(), known.end(), name) != known.end()) return config::find_scheme(name);
  config.refuse(
      text("this version has no scheme \"", name, "\"; `evenkeel schemes` lists those it runs"),
      Exit::usage);
}

Golden golden_of_schemes(const store::Safetensors& file) {
  const GoldenJson config(text(file.path(), ": ", kConfig), file.metadata().at(kConfig));
  const auto shape = read_shape(config, {.layers = "layers",
                                         .width = "d",
                                         .heads = "heads",
                                         .kv_heads = "kv_heads",
                                         .inner = "inner",
                                         .vocabulary = "vocab",
                                         .context = "context"});
  GoldenPass pass;
  pass.logits = float64_tensor(file, "logits");
  const auto loss = float64_tensor(file, "loss");
  if (loss.numel() != 1) config.refuse("the golden loss must be one number");
  pass.loss = loss.item<double>();
  pass.gradients = prefixed_tensors(file, "grad.");
  pass.states = prefixed_tensors(file, "buffer_after.");
  Golden golden;
  golden.states = prefixed_tensors(file, "buffer.");
  if (file.has("logits_eval") || !golden.states.empty()) {
    pass.evaluation_logits = float64_tensor(file, "logits_eval");
  }
  golden.path = file.path();
  golden.layout = GoldenLayout::schemes;
  golden.model = {.scheme = config::bind(catalogue_scheme(config), shape),
                  .tied = config.flag("tied"),
                  .rope_theta = config.number("rope_theta"),
                  .done = config.integer("t"),
                  .planned = config.integer("T")};
  golden.parameters = unprefixed_tensors(file);
  golden.expected = std::move(pass);
  return golden;
}

Golden golden_of_authors(const store::Safetensors& file, const GoldenJson& json) {
  Golden golden;
  golden.path = file.path();
  golden.layout = GoldenLayout::authors;
  golden.model = authors_model(json);
  if (json.has("optimizer")) {
    auto trajectory = authors_trajectory(json, golden.model);
    trajectory.final = prefixed_tensors(file, "final.");
    golden.parameters = prefixed_tensors(file, "init.");
    golden.expected = std::move(trajectory);
  } else {
    auto pass = authors_pass(json, golden.model);
    pass.logits = float64_tensor(file, "logits");
    pass.gradients = prefixed_tensors(file, "grad.");
    if (pass.mixture) {
      pass.mixture->router_logits = float64_tensor(file, "router_logits");
      pass.mixture->selected_experts = train::tensor_of(file, "selected_experts");
      pass.mixture->tokens_per_expert = train::tensor_of(file, "tokens_per_expert");
    }
    golden.parameters = prefixed_tensors(file, "param.");
    golden.expected = std::move(pass);
  }
  return golden;
}

/// The path of the JSON file next to a golden file without metadata.
/// \throws Error (data) if the file does not exist
GoldenJson sidecar_json(const std::filesystem::path& path) {
  auto json = path;
  json.replace_extension(".json");
  if (!std::filesystem::exists(json)) {
    throw Error(Exit::data, text(path.string(), ": wants its configuration, as metadata \"",
                                 kConfig, "\" or in ", json.filename().string(),
                                 " in the same folder, but has neither"));
  }
  return GoldenJson(json.string(), read_file(json));
}

void check_shape(const Golden& golden, const char* name, const at::Tensor& tensor,
                 const std::vector<std::int64_t>& wanted) {
  if (tensor.sizes() == wanted) return;
  throw Error(Exit::data, text(golden.path, ": ", name, " must be ", at::IntArrayRef(wanted),
                               ", but is ", tensor.sizes()));
}

void check_routing(const Golden& golden, const GoldenPass::Mixture& mixture) {
  const auto& shape = golden.model.scheme.shape;
  const auto tokens = golden.ids.numel();
  check_shape(golden, "router_logits", mixture.router_logits,
              {shape.layers, tokens, shape.experts.count});
  check_shape(golden, "selected_experts", mixture.selected_experts,
              {shape.layers, tokens, shape.experts.active});
  check_shape(golden, "tokens_per_expert", mixture.tokens_per_expert,
              {shape.layers, shape.experts.count});
}

/// Checks that ids are tokens of the vocabulary, and that the shapes of tensors agree.
/// \throws Error (data)
void check(const Golden& golden) {
  const auto& ids = golden.ids;
  const auto vocabulary = golden.model.scheme.shape.vocabulary;
  const auto* const pass = std::get_if<GoldenPass>(&golden.expected);
  const std::int64_t dimensions = pass != nullptr ? 2 : 3;
  if (ids.scalar_type() != at::kLong || ids.dim() != dimensions || ids.size(-1) < 2 ||
      ids.numel() == 0) {
    throw Error(Exit::data, text(golden.path, ": input_ids must be I64 with ", dimensions,
                                 " dimensions, the last 2 or more, but is ", ids.scalar_type(), " ",
                                 ids.sizes()));
  }
  if (ids.min().item<std::int64_t>() < 0 || ids.max().item<std::int64_t>() >= vocabulary) {
    throw Error(Exit::data, text(golden.path, ": input_ids must be tokens 0 to ", vocabulary - 1,
                                 ", but go from ", ids.min().item<std::int64_t>(), " to ",
                                 ids.max().item<std::int64_t>()));
  }
  if (pass != nullptr) {
    const std::vector<std::int64_t> wanted = {ids.size(0), ids.size(1), vocabulary};
    check_shape(golden, "logits", pass->logits, wanted);
    if (pass->evaluation_logits.defined()) {
      check_shape(golden, "logits_eval", pass->evaluation_logits, wanted);
    }
    if (pass->mixture) check_routing(golden, *pass->mixture);
  } else {
    const auto& steps = std::get<GoldenTrajectory>(golden.expected).steps;
    check_shape(golden, "input_ids", ids,
                {static_cast<std::int64_t>(steps.size()), ids.size(1), ids.size(2)});
  }
}

}  // namespace

Golden read_golden(const std::filesystem::path& path) {
  const auto file = store::Safetensors::read(path);
  auto golden = file.metadata().contains(kConfig) ? golden_of_schemes(file)
                                                  : golden_of_authors(file, sidecar_json(path));
  golden.ids = train::tensor_of(file, "input_ids");
  check(golden);
  return golden;
}

}  // namespace evenkeel::verify
