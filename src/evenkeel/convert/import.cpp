// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/import.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/base/json_parser.h"
#include "evenkeel/base/number.h"
#include "evenkeel/base/printable.h"
#include "evenkeel/convert/hf_class.h"
#include "evenkeel/convert/hf_config.h"
#include "evenkeel/convert/hf_folder.h"
#include "evenkeel/convert/import_run.h"
#include "evenkeel/convert/kept_files.h"
#include "evenkeel/convert/output_folder.h"
#include "evenkeel/convert/run_source.h"
#include "evenkeel/convert/scheme_at_step.h"
#include "evenkeel/convert/tensor_map.h"
#include "evenkeel/convert/tokenizer_files.h"
#include "evenkeel/data/text_encoding.h"
#include "evenkeel/data/token_corpus.h"

namespace evenkeel::convert {

namespace {

constexpr const char* kExportMark = "evenkeel.json";
constexpr const char* kImportMark = "import.json";
constexpr const char* kHead = "lm_head.weight";
constexpr const char* kEmbedding = "model.embed_tokens.weight";
constexpr double kFineTuningPeak = 2e-5, kFineTuningWarmup = 3;  // learning rate; percent
constexpr std::int64_t kShortContext = 4096;
constexpr std::uint64_t kMaxImportedTokenizer = std::uint64_t{256} << 20;

/// The configuration in evenkeel.json of a model that we exported, and its steps.
struct Exported {
  config::Config config;
  norm::Steps steps;
  std::optional<data::TrainedOn> trained_on;
};

/// nullopt without evenkeel.json.
/// \throws Error (data) if it is damaged
std::optional<Exported> read_exported(const std::filesystem::path& folder) {
  const auto path = folder / kExportMark;
  std::error_code none;
  if (!std::filesystem::exists(path, none)) return std::nullopt;
  const auto json = parse_json(read_file(path), path.string());
  const auto text_of_run = json.is_object() ? json.find("run_toml") : json.end();
  if (text_of_run == json.end() || !text_of_run->is_string()) {
    throw Error(Exit::data, text(path.string(),
                                 ": run_toml must be the text of a configuration, "
                                 "but is not"));
  }
  Exported exported;
  exported.config = config::read_back(text_of_run->get<std::string>(), path.string());
  const auto step = [&](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
  };
  exported.steps = {.done = step("step"),
                    .planned = std::max<std::int64_t>(step("planned_steps"), 1)};
  exported.trained_on = data::trained_on(json);
  return exported;
}

/// Builds the run of one model.
class Importer {
 public:
  explicit Importer(const ImportRequest& request)
      : request_(request),
        hf_(request.folder),
        class_(imported_class(hf_)),
        weights_(open_hf_weights(request.folder)),
        output_(request.output, request.overwrite, kImportMark, request.stop_wanted) {}

  ImportResult run() && {
    take_config();
    take_tokenizer();
    check_config();
    auto map = mapped();
    check_tensors(map);
    write_run(map);
    output_.finish();
    return std::move(result_);
  }

 private:
  void take_config() {
    const auto exported = read_exported(request_.folder);
    if (class_ == nullptr && !exported) {
      throw Error(Exit::data, text(request_.folder.string(), ": has no ", kExportMark,
                                   ", which has the scheme of an Evenkeel model; export it again"));
    }
    if (exported) config_ = exported->config, trained_on_ = exported->trained_on;
    if (class_ != nullptr) {
      take_class(hf_, *class_, config_);
    } else {
      config_.scheme = scheme_at_step(config_.scheme, exported->steps);
    }
    config_.train.from = "";
    config_.train.precision = "auto";
    has_own_data_ = exported.has_value();
    if (!has_own_data_) take_recipe();
    result_.architecture = class_ ? class_->architecture : "EvenkeelForCausalLM";
  }

  /// The defaults are for random weights; these rates are for those of a trained model.
  void take_recipe() {
    config_.schedule.peak = kFineTuningPeak;
    config_.schedule.warmup = {kFineTuningWarmup, config::Length::Unit::percent};
  }

  std::string recipe() const {
    const auto& train = config_.train;
    const auto context = config_.model.context;
    auto out = text("schedule.peak = ", shortest(config_.schedule.peak),
                    ", schedule.warmup = ", config::length_text(config_.schedule.warmup), ", ",
                    train.steps > 0 ? text("train.steps = ", train.steps)
                                    : text("train.tokens = ", train.tokens),
                    ", train.batch = ", train.batch, ", model.context = ", context);
    if (context > kShortContext) {
      out += text("; train on shorter sequences with --set model.context=", kShortContext);
    }
    return out;
  }

  /// The tokenizer's file of the model; "" if there is none.
  std::string tokenizer_file() const {
    std::error_code none;
    for (const auto* const name : {"tokenizer.json", "tokenizer.model"}) {
      if (std::filesystem::exists(request_.folder / name, none)) return name;
    }
    return "";
  }

  void take_tokenizer() {
    const auto name = tokenizer_file();
    auto& data = config_.data;
    if (name.empty() && !has_own_data_) {
      throw Error(Exit::data, text(request_.folder.string(),
                                   ": has neither tokenizer.json nor "
                                   "tokenizer.model; copy one there"));
    }
    has_tokenizer_ = !name.empty();
    if (name.empty()) {
      const bool is_unknown = trained_on_ && !trained_on_->knows_tokenizer;
      result_.tokenizer = is_unknown ? "unknown" : data.tokenizer;
    } else if (auto content = read_file(request_.folder / name, kMaxImportedTokenizer);
               is_byte_tokenizer(content)) {
      data.tokenizer = "bytes";
      result_.tokenizer = "bytes";
    } else {
      output_.write(name, content);
      data.tokenizer = (request_.folder / name).string();
      result_.tokenizer = name;
    }
    if (!has_own_data_) take_end_of_text((request_.folder / name).string());
    encoding_ = std::make_shared<const data::TextEncoding>(data, trained_on_);
    if (!name.empty() && data.tokenizer != "bytes")
      data.tokenizer = (request_.output / name).string();
    if (class_ != nullptr) take_vocabulary();
  }

  /// End-of-text is eos_token_id. A text begins with it if the tokenizer puts it there.
  void take_end_of_text(const std::string& file) {
    auto eos = hf_.json().value("eos_token_id", nlohmann::json());
    if (eos.is_array() && !eos.empty()) eos = nlohmann::json(eos.front());
    auto& data = config_.data;
    const data::TextEncoding automatic(data);
    const auto begin = begin_of_text(automatic.is_bytes() ? tokenizer::Tokenizer::load(file)
                                                          : automatic.tokenizer());
    data.begin = begin && nlohmann::json(*begin) == eos;
    if (begin && !*data.begin) warn_of_begin(automatic.tokenizer(), *begin);
    if (!eos.is_number_unsigned()) return;
    const auto found = automatic.end_of_text();
    // tokenizer_config.json, which may name it, is not in the folder of the tokenizer's copy.
    const bool is_own = automatic.tokenizer().find_token("<|endoftext|>") == found;
    if (found && is_own && nlohmann::json(*found) == eos) return;
    data.end_of_text = eos.dump();
  }

  /// The token that transformers puts before a text: bos_token_id with add_bos_token of
  /// tokenizer_config.json, none if that is false; without the key, the tokenizer's own.
  std::optional<std::int64_t> begin_of_text(const tokenizer::Tokenizer& tokenizer) const {
    nlohmann::json adds;
    const auto path = request_.folder / "tokenizer_config.json";
    std::error_code none;
    if (std::filesystem::exists(path, none)) {
      const auto json = parse_json(read_file(path), path.string());
      if (json.is_object()) adds = json.value("add_bos_token", nlohmann::json());
    }
    if (adds == false) return std::nullopt;
    const auto bos = hf_.json().value("bos_token_id", nlohmann::json());
    if (adds == true && bos.is_number_unsigned()) return bos.get<std::int64_t>();
    return tokenizer.begin_of_text();
  }

  void warn_of_begin(const tokenizer::Tokenizer& tokenizer, std::int64_t id) {
    const bool is_known = id >= 0 && id < tokenizer.vocabulary();
    const auto spelled =
        is_known ? tokenizer.token_bytes(static_cast<tokenizer::Id>(id)) : std::string();
    result_.warnings.push_back(text(
        request_.folder.string(), ": the tokenizer begins texts with token ", id,
        spelled.empty() ? "" : text(" (", printable_line(spelled), ")"),
        ", but the run begins them without it; write it at the start of prompts and documents"));
  }

  void take_vocabulary() {
    const auto rows = hf_.integer("vocab_size");
    const auto tokens = encoding_->vocabulary();
    if (rows < tokens) {
      hf_.refuse("vocab_size", text("at least the size of the tokenizer (", tokens, ")"));
    }
    config_.model.vocabulary = rows == tokens ? 0 : rows;
  }

  /// Checks the ranges of all keys, and binds the scheme.
  void check_config() {
    try {
      config_ = config::read_back(config::to_toml(config_), hf_.path());
      scheme_ = config::bind(config_.scheme, config::shape_of(config_, encoding_->vocabulary()));
    } catch (const Error& error) {
      if (error.exit() != Exit::usage) throw;
      const std::string what = error.what();
      throw Error(Exit::data, what.starts_with(hf_.path()) ? what : text(hf_.path(), ": ", what));
    }
    result_.scheme = config_.scheme.name;
    if (class_ == nullptr) check_own_config();
  }

  /// Compares config.json of an EvenkeelForCausalLM with evenkeel.json.
  void check_own_config() const {
    HfModel model = {.scheme = &scheme_, .config = &config_};
    model.rows = own_rows();
    const nlohmann::json wanted = evenkeel_config_json(model);
    constexpr std::array kKeys = {"hidden_size",         "intermediate_size",
                                  "num_hidden_layers",   "num_attention_heads",
                                  "num_key_value_heads", "vocab_size",
                                  "vocabulary",          "max_position_embeddings",
                                  "rope_theta",          "tie_word_embeddings",
                                  "num_experts",         "scheme"};
    for (const auto* const key : kKeys) {
      if (hf_.json().value(key, nlohmann::json()) == wanted.at(key)) continue;
      throw Error(Exit::data, text(hf_.path(), ": ", key, " must be that of ", kExportMark,
                                   ", but differs; put it back, or export the run again"));
    }
  }

  std::int64_t own_rows() const { return padded_rows(config_.model, scheme_.shape.vocabulary); }

  std::vector<MappedTensor> mapped() {
    const auto& shape = scheme_.shape;
    const auto found = static_cast<std::int64_t>(weights_.shapes().size());
    const bool has_each_expert = class_ != nullptr || !scheme_.reparameterize.empty();
    const auto least =
        shape.layers * (has_each_expert ? std::max<std::int64_t>(shape.experts.count, 1) : 1);
    if (least > found) {  // before a list of all tensors is made
      throw Error(Exit::data, text(request_.folder.string(), ": config.json wants at least ", least,
                                   " tensors, but there are ", found));
    }
    const MappedModel model = {.scheme = &scheme_,
                               .steps = {},
                               .own_rows = own_rows(),
                               .rows = class_ ? shape.vocabulary : own_rows(),
                               .tied = config_.model.tied};
    return class_ ? map_to_class(model, *class_) : map_to_evenkeel(model);
  }

  /// Compares the tensors of the files with those of the model.
  void check_tensors(const std::vector<MappedTensor>& map) const {
    auto found = weights_.shapes();
    const auto shape_text = [](const std::vector<std::int64_t>& shape) {
      return nlohmann::json(shape).dump();
    };
    for (const auto& each : map) {
      const auto at = found.find(each.name);
      if (at == found.end()) {
        throw Error(Exit::data,
                    text(request_.folder.string(), ": tensor \"", each.name, "\" is missing"));
      }
      if (at->second != each.shape) {
        throw Error(Exit::data,
                    text(request_.folder.string(), ": tensor \"", each.name, "\" must be ",
                         shape_text(each.shape), ", but is ", shape_text(at->second)));
      }
      found.erase(at);
    }
    std::erase_if(found,
                  [](const auto& each) { return each.first.ends_with(".rotary_emb.inv_freq"); });
    if (config_.model.tied && found.erase(kHead) > 0) check_tied_head();
    if (found.empty()) return;
    throw Error(Exit::data, text(request_.folder.string(), ": tensor \"", found.begin()->first,
                                 "\" is not part of ", result_.architecture,
                                 found.size() > 1 ? text(", nor are ", found.size() - 1, " others")
                                                  : std::string()));
  }

  /// transformers 5 ties a head of the files to the embedding only if the two are equal.
  void check_tied_head() const {
    if (weights_.are_equal(kHead, kEmbedding, [this] { output_.check_stop(); })) return;
    throw Error(Exit::data,
                text(request_.folder.string(), ": tensor \"", kHead, "\" must equal \"", kEmbedding,
                     "\" where tie_word_embeddings is true, but differs; set "
                     "tie_word_embeddings to false in config.json"));
  }

  void write_run(const std::vector<MappedTensor>& map) {
    const auto specs = norm::parameter_specs(scheme_, own_rows(), config_.model.tied);
    result_.tensors = static_cast<std::int64_t>(map.size());
    result_.parameters = norm::parameter_counts(specs).total;
    result_.recipe = recipe();
    const ImportOrigin origin = {.folder = request_.folder,
                                 .architecture = result_.architecture,
                                 .config = &hf_.json(),
                                 .encoding = has_tokenizer_ ? encoding_.get() : nullptr};
    output_.write(kImportMark, origin_json(origin).dump(2) + "\n");
    keep_files(output_.folder(), origin);
    const ImportedModel model = {&config_, &scheme_, specs, trained_on_, encoding_.get()};
    write_imported_run(output_.folder(), model, map, weights_, [&] { output_.check_stop(); });
  }

  const ImportRequest& request_;
  HfConfig hf_;
  const ModelClass* class_;
  Weights weights_;
  OutputFolder output_;
  config::Config config_;
  norm::Scheme scheme_;
  std::shared_ptr<const data::TextEncoding> encoding_;
  std::optional<data::TrainedOn> trained_on_;
  bool has_own_data_ = false, has_tokenizer_ = false;
  ImportResult result_;
};

}  // namespace

ImportResult import_model(const ImportRequest& request) {
  return Importer(request).run();
}

}  // namespace evenkeel::convert
