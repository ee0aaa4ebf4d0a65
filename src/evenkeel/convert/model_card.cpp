// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/model_card.h"

#include <nlohmann/json.hpp>

#include <string_view>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/base/version.h"
#include "evenkeel/convert/kept_files.h"
#include "evenkeel/store/json_lines.h"

namespace evenkeel::convert {

namespace {

/// A cell of a table: no bar and no line feed, which would end it.
std::string cell(const std::string& content) {
  std::string out;
  for (const char each : content) {
    if (each == '|') out += '\\';
    out += each == '\n' ? ' ' : each;
  }
  return out;
}

void row(std::string& out, const std::string& name, const std::string& value) {
  out += text("| ", name, " | ", cell(value), " |\n");
}

/// "2.6138 nats per token over 64 windows of 256 tokens, step 400"; "" without an evaluation up to
/// the step.
std::string loss_text(const RunSource& source) {
  const auto lines = store::read_records(store::Directory(source.folder), "metrics.jsonl");
  std::string out;
  for (const auto& record : lines.records) {
    const auto loss = record.find("val_loss");
    const auto step = record.at("step").get<std::int64_t>();
    if (step > source.steps.done || loss == record.end() || !loss->is_number()) continue;
    const auto windows = source.config.evaluate.sequences;
    constexpr int kDecimals = 4;
    out = text(with_decimals(loss->get<double>(), kDecimals), " nats per token over ",
               windows > 0 ? text("at most ", windows) : std::string("all"), " windows of ",
               source.config.model.context, " tokens, at step ", step);
  }
  return out;
}

/// The value of a key of provenance "data" in the manifest; "" without one.
std::string data_text(const RunSource& source, const char* key) {
  const auto& manifest = source.checkpoints.back().manifest;
  const auto data = manifest.find("data");
  if (data == manifest.end() || !data->is_object() || !data->contains(key)) return "";
  const auto& value = data->at(key);
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string sizes_text(const norm::Shape& shape) {
  auto out = text(shape.layers, " layers, width ", shape.width, ", ", shape.heads, " heads, ",
                  shape.kv_heads, " key/value heads, FFN width ", shape.inner, ", vocabulary ",
                  shape.vocabulary, ", context ", shape.context);
  if (shape.is_mixture()) {
    out += text(", ", shape.experts.count, " experts of which ", shape.experts.active,
                " are active per token");
  }
  return out;
}

std::string checkpoint_text(const ExportResult& result) {
  if (result.averaged.empty()) return text("step ", result.step);
  std::string steps;
  for (const auto step : result.averaged) steps += text(steps.empty() ? "" : ", ", step);
  return text("the mean of the weights of steps ", steps);
}

/// How the run began.
struct Beginning {
  bool is_import = false;    // it has the weights of an imported model, without training
  std::string origin, base;  // the imported model; train.from; "" for none
};

Beginning beginning_of(const RunSource& source) {
  return {.is_import = source.checkpoints.back().manifest.value("imported", false),
          .origin = origin_text(store::Directory(source.folder)),
          .base = source.config.train.from};
}

std::string first_sentence(const Beginning& beginning) {
  const auto* const how = beginning.is_import      ? "Imported"
                          : beginning.base.empty() ? "Trained"
                                                   : "Trained from the weights of another model";
  return text(how, " and exported by Evenkeel ", kVersion, ".\n\n");
}

/// The rows about weights and training.
void add_training(std::string& out, const RunSource& source, const ExportResult& result,
                  const Beginning& beginning) {
  const auto& config = source.config;
  if (!beginning.base.empty()) row(out, "weights at the start", beginning.base);
  if (!beginning.origin.empty()) row(out, "imported model", beginning.origin);
  if (!beginning.is_import) {
    const auto tokens = source.steps.done * config.train.batch * config.model.context;
    row(out, "tokens seen",
        text(with_commas(tokens), beginning.base.empty() ? "" : ", in this training"));
    row(out, "seed", std::to_string(config.seed));
  }
  for (const auto* const key : {"train", "validation"}) {
    const auto data = data_text(source, key);
    const bool is_train = std::string_view(key) == "train";
    if (!data.empty()) row(out, is_train ? "training text" : "validation text", data);
  }
  if (!result.averaged.empty()) return;  // nobody evaluated the mean of the weights
  if (const auto loss = loss_text(source); !loss.empty()) row(out, "validation loss", loss);
}

std::string loading(const ExportRequest& request, const ExportResult& result) {
  const auto name = std::filesystem::absolute(request.output).lexically_normal();
  const auto folder = name.has_filename() ? name.filename() : name.parent_path().filename();
  if (request.as == "gguf") {
    return text("```sh\nllama-cli -m model.gguf -p \"Once\"\n```\n");
  }
  const auto* const code =
      result.architecture == "EvenkeelForCausalLM" ? ", trust_remote_code=True" : "";
  return text("```python\nfrom transformers import AutoModelForCausalLM, AutoTokenizer\n\n",
              "model = AutoModelForCausalLM.from_pretrained(\"", folder.string(), "\"", code, ")\n",
              "tokenizer = AutoTokenizer.from_pretrained(\"", folder.string(), "\"", code,
              ")\n```\n");
}

}  // namespace

std::string model_card(const RunSource& source, const ExportRequest& request,
                       const ExportResult& result) {
  const auto& config = source.config;
  const auto beginning = beginning_of(source);
  const auto parameters = norm::parameter_counts(source.specs).total;
  auto out =
      text("---\nlibrary_name: ", request.as == "gguf" ? "gguf" : "transformers",
           "\npipeline_tag: text-generation\ntags:\n- evenkeel\n---\n\n# ", config.scheme.name,
           ", ", with_unit(static_cast<double>(parameters)), " parameters\n\n",
           first_sentence(beginning), "| property | value |\n| --- | --- |\n");
  row(out, "class", text(result.architecture, ": ", result.reason));
  row(out, "scheme", text(config.scheme.name, ": ", source.scheme.info.title));
  row(out, "source of the scheme", source.scheme.info.source);
  row(out, "sizes", sizes_text(source.scheme.shape));
  row(out, "parameters", with_commas(parameters));
  row(out, "weights", text(checkpoint_text(result), ", ", request.dtype));
  add_training(out, source, result, beginning);
  for (const auto& warning : result.warnings) row(out, "warning", warning);
  row(out, "command", request.command);
  out += text("\n`evenkeel.json` has the complete configuration",
              beginning.is_import ? "" : " of the training", ".\n\n## Use\n\n");
  return out + loading(request, result);
}

}  // namespace evenkeel::convert
