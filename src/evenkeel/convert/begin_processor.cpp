// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/begin_processor.h"

#include <algorithm>
#include <vector>

namespace evenkeel::convert {

namespace {

using Processor = nlohmann::json;

constexpr const char* kTemplate = "TemplateProcessing";

/// Appends the steps of a post-processor, those of a Sequence one by one.
void append_steps(const Processor& processor, std::vector<Processor>& steps) {
  if (!processor.is_object()) return;
  if (processor.value("type", "") != "Sequence") return steps.push_back(processor);
  for (const auto& each : processor.at("processors")) append_steps(each, steps);
}

/// Whether the step is a template that begins with the token.
bool begins_with(const Processor& step, std::int64_t id) {
  if (step.value("type", "") != kTemplate) return false;
  const auto single = step.value("single", Processor::array());
  if (single.empty() || !single.front().contains("SpecialToken")) return false;
  const auto name = single.front().at("SpecialToken").value("id", "");
  const auto tokens = step.value("special_tokens", Processor::object());
  return tokens.contains(name) &&
         tokens.at(name).value("ids", Processor()) == Processor::array({id});
}

}  // namespace

SpelledToken spelled_token(const nlohmann::json& tokenizer, std::int64_t id) {
  for (const auto& each : tokenizer.value("added_tokens", Processor::array())) {
    if (each.value("id", Processor()) == id) return {id, each.at("content").get<std::string>()};
  }
  for (const auto& [text, value] : tokenizer.at("model").at("vocab").items()) {
    if (value == id) return {id, text};
  }
  return {id, ""};
}

nlohmann::ordered_json begin_processor(const SpelledToken& token) {
  using Json = nlohmann::ordered_json;
  const Json special = {{"SpecialToken", {{"id", token.text}, {"type_id", 0}}}};
  const auto sequence = [](const char* name) {
    return Json{{"Sequence", {{"id", name}, {"type_id", 0}}}};
  };
  const Json entry = {
      {"id", token.text}, {"ids", Json::array({token.id})}, {"tokens", Json::array({token.text})}};
  return {{"type", kTemplate},
          {"single", Json::array({special, sequence("A")})},
          {"pair", Json::array({special, sequence("A"), special, sequence("B")})},
          {"special_tokens", {{token.text, entry}}}};
}

bool set_begin(nlohmann::json& tokenizer, const SpelledToken& token) {
  std::vector<Processor> steps;
  append_steps(tokenizer.value("post_processor", Processor()), steps);
  if (std::ranges::any_of(steps, [&](const auto& each) { return begins_with(each, token.id); })) {
    return false;
  }
  std::erase_if(steps, [](const auto& each) { return each.value("type", "") == kTemplate; });
  steps.emplace_back(begin_processor(token));
  tokenizer["post_processor"] =
      steps.size() == 1 ? steps.front() : Processor{{"type", "Sequence"}, {"processors", steps}};
  return true;
}

}  // namespace evenkeel::convert
