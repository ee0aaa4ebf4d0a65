// SPDX-License-Identifier: Apache-2.0
// Encodes for tests/ecosystem/tokenizers_check.py. A file of strings has for each a length (uint32)
// and its bytes; a file of ids has for each string a count (uint32) and the ids (uint32).
//
//   tokenizer_driver ids TOKENIZER PATTERN SPECIAL STRINGS IDS    prints how many strings decode
//   differently tokenizer_driver speed TOKENIZER PATTERN STRINGS              prints MB per CPU
//   second, the best of three tokenizer_driver train gpt2|gpt4 SIZE STRINGS TOKENIZER_JSON  prints
//   CPU seconds
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "evenkeel/base/file.h"
#include "evenkeel/tokenizer/encoder.h"
#include "evenkeel/tokenizer/train_vocabulary.h"

namespace evenkeel::tokenizer {
namespace {

std::vector<std::string> strings_of(const std::string& path) {
  const auto bytes = read_file(path, kMaxRecordBytes);
  std::vector<std::string> out;
  for (std::size_t at = 0; at < bytes.size();) {
    std::uint32_t length = 0;
    std::memcpy(&length, bytes.data() + at, sizeof length);
    out.push_back(bytes.substr(at + sizeof length, length));
    at += sizeof length + length;
  }
  return out;
}

double cpu_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

int ids(const std::vector<std::string>& arguments) {
  const auto tokenizer = Tokenizer::load(arguments[1], {arguments[2]});
  Encoder encoder(tokenizer, arguments[3] == "special");
  std::ofstream out(arguments[5], std::ios::binary);
  std::size_t differ = 0;
  for (const auto& each : strings_of(arguments[4])) {
    std::vector<Id> found;
    encoder.encode(each, found);
    differ += tokenizer.decode(std::vector<std::int64_t>(found.begin(), found.end())) != each;
    const auto count = static_cast<std::uint32_t>(found.size());
    out.write(reinterpret_cast<const char*>(&count), sizeof count);
    out.write(reinterpret_cast<const char*>(found.data()),
              static_cast<std::streamsize>(found.size() * sizeof(Id)));
  }
  std::cout << differ << '\n';
  return out.good() ? 0 : 1;
}

int speed(const std::vector<std::string>& arguments) {
  const auto tokenizer = Tokenizer::load(arguments[1], {arguments[2]});
  const auto texts = strings_of(arguments[3]);
  double bytes = 0, best = 0;
  for (const auto& each : texts) bytes += static_cast<double>(each.size());
  for (int repeat = 0; repeat < 3; ++repeat) {
    Encoder encoder(tokenizer);
    std::vector<Id> found;
    const auto begin = cpu_seconds();
    for (const auto& each : texts) {
      found.clear();
      encoder.encode(each, found);
    }
    best = std::max(best, bytes / 1e6 / (cpu_seconds() - begin));
  }
  std::cout << best << '\n';
  return 0;
}

int train(const std::vector<std::string>& arguments) {
  const auto texts = strings_of(arguments[3]);
  const auto begin = cpu_seconds();
  WordCounts counts(arguments[1] == "gpt4" ? TrainingPattern::gpt4 : TrainingPattern::gpt2);
  for (const auto& each : texts) counts.add(each);
  const auto vocabulary = train_vocabulary(counts, std::stoll(arguments[2]));
  std::cout << cpu_seconds() - begin << '\n';
  write_file(arguments[4], vocabulary.tokenizer_json());
  return 0;
}

int run(const std::vector<std::string>& arguments) {
  const auto is = [&](const char* verb, std::size_t count) {
    return arguments.size() == count && arguments[0] == verb;
  };
  if (is("ids", 6)) return ids(arguments);
  if (is("speed", 4)) return speed(arguments);
  if (is("train", 5)) return train(arguments);
  std::cerr << "tokenizer_driver: the top of its source lists its arguments\n";
  return 64;
}

}  // namespace
}  // namespace evenkeel::tokenizer

int main(int count, char** arguments) {
  try {
    return evenkeel::tokenizer::run({arguments + 1, arguments + count});
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 65;
  }
}
