// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/gguf.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>

#include "convert/support.h"
#include "evenkeel/base/file.h"
#include "evenkeel/base/json_parser.h"
#include "evenkeel/convert/gguf_tokens.h"

namespace evenkeel::convert {
namespace {

std::string hex(const std::string& bytes) {
  std::string out;
  for (const char each : bytes) {
    constexpr const char* kDigits = "0123456789abcdef";
    out += kDigits[static_cast<unsigned char>(each) >> 4];
    out += kDigits[static_cast<unsigned char>(each) & 15];
  }
  return out;
}

TEST(Gguf, HeaderKeysAndTensors) {
  const TestFolder folder;
  const std::vector<OutputTensor> tensors = {
      {.name = "a", .shape = {2, 3}, .dtype = store::Dtype::f16, .slices = {}},
      {.name = "b", .shape = {1}, .dtype = store::Dtype::f32, .slices = {}}};
  const GgufKeys keys = {{"k", std::uint32_t{7}}, {"s", std::vector<std::string>{"x", "yz"}}};
  write_gguf(store::Directory(folder.path()), "m.gguf", keys, tensors,
             [](const OutputTensor& tensor, const store::ByteSink& sink) {
               sink(std::string(tensor.bytes(), '\x11').data(), tensor.bytes());
             });
  const auto bytes = read_file(folder.path() / "m.gguf");
  const std::string header =
      "47475546"  // GGUF
      "03000000"  // version
      "0200000000000000"
      "0200000000000000"  // tensors, keys
      "0100000000000000"
      "6b"
      "04000000"
      "07000000"  // k = uint32 7
      "0100000000000000"
      "73"
      "09000000"
      "08000000"
      "0200000000000000"  // s: list of strings
      "0100000000000000"
      "78"
      "0200000000000000"
      "797a"
      "0100000000000000"
      "61"
      "02000000"  // a, with its sizes reversed
      "0300000000000000"
      "0200000000000000"
      "01000000"
      "0000000000000000"
      "0100000000000000"
      "62"
      "01000000"
      "0100000000000000"
      "00000000"
      "2000000000000000";
  EXPECT_EQ(hex(bytes.substr(0, header.size() / 2)), header);
  const auto begin = (header.size() / 2 + 31) / 32 * 32;
  EXPECT_EQ(hex(bytes.substr(begin)), std::string(24, '1') + std::string(40, '0') +
                                          std::string(8, '1') + std::string(56, '0'));
}

struct Named {
  norm::Scheme scheme;
  config::Config config;
  const ModelClass* model_class;

  GgufModel model() const {
    return {.model_class = model_class,
            .fit = compare(scheme, *model_class, {}),
            .hf = {.scheme = &scheme, .config = &config, .rows = 5, .dtype = "float32"}};
  }
  std::map<std::string, OutputTensor> tensors(store::Dtype dtype) const {
    const auto map = map_to_class({.scheme = &scheme, .own_rows = 64, .rows = 5}, *model_class);
    std::map<std::string, OutputTensor> all;
    for (const auto& each : gguf_tensors(model(), map, dtype)) all[each.name] = each;
    return all;
  }
};

TEST(Gguf, RowsOfLlamaAreInterleaved) {
  const Named llama = {bound("pre_norm", small_shape()), {}, class_named("llama")};
  const auto all = llama.tensors(store::Dtype::bf16);
  std::vector<std::int64_t> rows;
  for (const auto& slice : all.at("blk.1.attn_q.weight").slices) {
    EXPECT_EQ(slice.count, 8);
    rows.push_back(slice.first / 8);
  }
  EXPECT_EQ(rows, (std::vector<std::int64_t>{0, 2, 1, 3, 4, 6, 5, 7}));
  EXPECT_EQ(all.at("blk.1.attn_v.weight").slices.size(), 1U);
  EXPECT_EQ(all.at("blk.1.attn_q.weight").dtype, store::Dtype::bf16);
  EXPECT_EQ(all.at("blk.0.ffn_norm.weight").dtype, store::Dtype::f32);
  const Named qwen = {bound("pre_qk", small_shape()), {}, class_named("qwen3")};
  EXPECT_EQ(qwen.tensors(store::Dtype::f32).at("blk.1.attn_q.weight").slices.size(), 1U);
}

TEST(Gguf, ExpertsAreStacked) {
  auto shape = small_shape();
  shape.experts = {.count = 3, .active = 2, .renormalize = true};
  const Named moe = {bound("pre_qk", shape), {}, class_named("qwen3_moe")};
  const auto all = moe.tensors(store::Dtype::f16);
  const auto& gate = all.at("blk.1.ffn_gate_exps.weight");
  EXPECT_EQ(gate.shape, (std::vector<std::int64_t>{3, 3, 8}));
  EXPECT_EQ(gate.slices.size(), 3U);
  EXPECT_EQ(gate.slices[2].first, 2 * 48 + 24);
  EXPECT_EQ(all.at("blk.0.ffn_gate_inp.weight").dtype, store::Dtype::f32);
}

TEST(Gguf, TiedEmbeddingIsWrittenTwiceIfLlamaCppNeedsAHead) {
  const Named olmo = {bound("olmo2", small_shape()), {}, class_named("olmo2")};
  const auto all = olmo.tensors(store::Dtype::bf16);
  const auto& head = all.at("output.weight");
  EXPECT_EQ(head.shape, (std::vector<std::int64_t>{5, 8}));
  EXPECT_EQ(head.slices.front().tensor, all.at("token_embd.weight").slices.front().tensor);
  const Named stable = {bound("pre_norm_layer_norm", small_shape()), {}, class_named("stablelm")};
  EXPECT_EQ(stable.tensors(store::Dtype::f32).count("output.weight"), 1U);
  const Named llama = {bound("pre_norm", small_shape()), {}, class_named("llama")};
  EXPECT_EQ(llama.tensors(store::Dtype::f32).count("output.weight"), 0U);
}

TEST(Gguf, RefusesWhatLlamaCppComputesInAnotherWay) {
  const Named gemma = {bound("gemma2", small_shape()), {}, class_named("gemma2")};
  EXPECT_EQ(
      message_of([&] { gguf_keys(gemma.model()); }),
      "--as gguf: llama.cpp computes Gemma's feed-forward with GELU, and this model has SiLU; "
      "export it as Gemma2ForCausalLM with --as gemma2");
  auto shape = small_shape();
  shape.experts = {.count = 3, .active = 2};
  const Named moe = {bound("pre_qk", shape), {}, class_named("qwen3_moe")};
  EXPECT_EQ(
      message_of([&] { gguf_keys(moe.model()); }),
      "--as gguf: llama.cpp scales a token's router weights to a sum of 1, and this model does "
      "not; export it as Qwen3MoeForCausalLM with --as qwen3_moe");
}

/// The value of a string key.
std::string value_of(const GgufKeys& keys, const std::string& name) {
  for (const auto& [key, value] : keys) {
    if (key == name) return std::get<std::string>(value);
  }
  return "";
}

TEST(Gguf, WithoutATokenizerSaysSo) {
  Named llama = {bound("pre_norm", small_shape()), {}, class_named("llama")};
  EXPECT_EQ(value_of(gguf_keys(llama.model()), "tokenizer.ggml.model"), "no_vocab");
}

/// The name of the pattern of a tokenizer, changed by `change`; what refuses it.
template <typename Change>
std::string pattern_of(const std::string& name, const Change& change) {
  const TestFolder folder;
  auto json = parse_json(read_file(text(EK_TESTS, "/golden/tokenizers/", name)));
  change(json["pre_tokenizer"]);
  folder.write("tokenizer.json", json.dump());
  config::Data data;
  data.tokenizer = folder.path().string();
  GgufKeys keys;
  const auto refused = message_of([&] { add_token_keys(keys, data::TextEncoding(data), 1000); });
  return refused.empty() ? value_of(keys, "tokenizer.ggml.pre") : refused;
}

TEST(Gguf, NamesThePatternsThatLlamaCppHas) {
  const std::string refused =
      "--as gguf: the pattern that divides words has no name that llama.cpp knows; export it "
      "without --as, and convert it with llama.cpp's convert_hf_to_gguf.py";
  using nlohmann::json;
  const auto same = [](json&) {};
  EXPECT_EQ(pattern_of("gpt2.json", same), "gpt-2");
  EXPECT_EQ(pattern_of("gpt4.json", same), "dbrx");
  EXPECT_EQ(pattern_of("ignore_merges.json", same), "llama-bpe");
  EXPECT_EQ(pattern_of("prefix.json", same), refused);
  EXPECT_EQ(pattern_of("digits.json", same), refused);
  EXPECT_EQ(pattern_of("gpt2.json", [](json& step) { step["add_prefix_space"] = true; }), refused);
  EXPECT_EQ(pattern_of("gpt2.json", [](json& step) { step["use_regex"] = false; }), refused);
  const auto byte_level = [](json& steps) -> json& { return steps["pretokenizers"].back(); };
  EXPECT_EQ(pattern_of("gpt4.json", [&](json& steps) { byte_level(steps)["use_regex"] = true; }),
            refused);
  EXPECT_EQ(
      pattern_of("gpt4.json", [&](json& steps) { byte_level(steps)["add_prefix_space"] = true; }),
      refused);
  EXPECT_EQ(
      pattern_of("gpt4.json", [](json& steps) { steps["pretokenizers"][0]["invert"] = false; }),
      refused);
  GgufKeys keys;
  add_token_keys(keys, data::TextEncoding(config::Data()), 257);
  EXPECT_EQ(value_of(keys, "tokenizer.ggml.pre"), "gpt-2");
}

/// The ids of end-of-text and of the end of a turn, where gpt2.json has more special tokens.
std::vector<std::optional<std::uint32_t>> end_ids(const std::vector<std::string>& more,
                                                  std::int64_t rows = 1000) {
  const TestFolder folder;
  auto json = parse_json(read_file(text(EK_TESTS, "/golden/tokenizers/gpt2.json")));
  auto& added = json.at("added_tokens");
  for (const auto& each : more) {
    auto token = added.front();
    token["id"] = 399 + added.size();
    token["content"] = each;
    token["special"] = each != "<|end|>";
    added.push_back(token);
  }
  folder.write("tokenizer.json", json.dump());
  config::Data data;
  data.tokenizer = folder.path().string();
  GgufKeys keys;
  add_token_keys(keys, data::TextEncoding(data), rows);
  std::vector<std::optional<std::uint32_t>> ids(2);
  for (const auto& [key, value] : keys) {
    if (key == "tokenizer.ggml.eos_token_id") ids[0] = std::get<std::uint32_t>(value);
    if (key == "tokenizer.ggml.eot_token_id") ids[1] = std::get<std::uint32_t>(value);
  }
  return ids;
}

// llama.cpp stops a chat there, and a text at end-of-text.
TEST(Gguf, NamesTheTokenThatEndsATurn) {
  using Ids = std::vector<std::optional<std::uint32_t>>;
  EXPECT_EQ(end_ids({}), (Ids{0U, std::nullopt}));
  EXPECT_EQ(end_ids({"<|start_header_id|>", "<|eot_id|>"}), (Ids{0U, 401U}));
  EXPECT_EQ(end_ids({"<|im_start|>", "<|im_end|>", "<|eot_id|>"}), (Ids{0U, 402U})) << "the order";
  EXPECT_EQ(end_ids({"<|end|>"}), (Ids{0U, std::nullopt})) << "an ordinary token";
  EXPECT_EQ(end_ids({"<|im_end|>"}, 400), (Ids{0U, std::nullopt})) << "no row of the embedding";
}

}  // namespace
}  // namespace evenkeel::convert
