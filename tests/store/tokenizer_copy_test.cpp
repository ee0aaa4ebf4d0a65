// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/tokenizer_copy.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "evenkeel/base/digest.h"
#include "store/support.h"

namespace evenkeel::store {
namespace {

/// "NAME=CONTENT " of each file of a folder, sorted by name.
std::string contents_of(const Directory& run) {
  std::string out;
  for (const auto& name : run.entries()) out += name + "=" + run.read(name) + " ";
  return out;
}

/// The XXH3 digest of a content.
std::string hex_of(const std::string& content) {
  return evenkeel::digest(content.data(), content.size());
}

TEST(TokenizerCopy, HasTheNameOfItsKind) {
  const auto folder = fresh_folder();
  for (const auto* const name : {"a.json", "a.model", "cl100k_base.tiktoken", "ranks"}) {
    put(folder / name, name);
  }
  const auto copy_of = [&](const char* name) {
    const auto copy = read_tokenizer(folder / name);
    return copy.name + "=" + copy.content;
  };
  EXPECT_EQ(copy_of("a.json"), "tokenizer.json=a.json");
  EXPECT_EQ(copy_of("a.model"), "tokenizer.model=a.model");
  EXPECT_EQ(copy_of("cl100k_base.tiktoken"), "cl100k_base.tiktoken=cl100k_base.tiktoken");
  EXPECT_EQ(copy_of("ranks"), "ranks=ranks");
  EXPECT_EQ(error_of([&] { read_tokenizer(folder / "none.json"); }).substr(0, 3), "74 ");
}

TEST(TokenizerCopy, IsAddedOnlyWithoutAnother) {
  for (const auto* const name : {"tokenizer.json", "tokenizer.model", "gpt2.tiktoken"}) {
    const Directory run(fresh_folder());
    add_tokenizer(run, {name, "one"});
    add_tokenizer(run, {name, "two"});
    add_tokenizer(run, {"tokenizer.json", "three"});
    add_tokenizer(run, {"tokenizer.model", "four"});
    EXPECT_EQ(contents_of(run), text(name, "=one "));
  }
}

TEST(TokenizerCopy, ReplacesThatOfTheEarlierDigestAndKeepsItUnderAnotherName) {
  const Directory run(fresh_folder());
  run.write("run.toml", "a");
  run.write("tokenizer_config.json", "b");
  run.write("tokenizer.json", "one");
  const auto earlier = [](const std::string& content) {
    return "earlier-tokenizer-" + hex_of(content).substr(0, 8);
  };
  const auto others = text("run.toml=a "), config = text("tokenizer_config.json=b ");
  replace_tokenizer(run, {"tokenizer.json", "two"}, "");
  const auto one = earlier("one") + ".json=one ";
  EXPECT_EQ(contents_of(run), one + others + "tokenizer.json=two " + config);
  run.remove(earlier("one") + ".json");
  replace_tokenizer(run, {"tokenizer.model", "three"}, hex_of("two"));
  EXPECT_EQ(contents_of(run),
            earlier("two") + ".json=two " + others + "tokenizer.model=three " + config);
  run.remove(earlier("two") + ".json");
  replace_tokenizer(run, {"gpt2.tiktoken", "four"}, hex_of("three"));
  EXPECT_EQ(contents_of(run),
            earlier("three") + ".model=three gpt2.tiktoken=four " + others + config);
  run.remove(earlier("three") + ".model");
  replace_tokenizer(run, {"tokenizer.json", "five"}, hex_of("four"));
  EXPECT_EQ(contents_of(run),
            "gpt2." + earlier("four") + "=four " + others + "tokenizer.json=five " + config);
}

TEST(TokenizerCopy, IsNotReplacedByEqualContent) {
  const Directory run(fresh_folder());
  write_tokenizer(run, {"tokenizer.json", "one"});
  write_tokenizer(run, {"tokenizer.json", "one"});
  EXPECT_EQ(contents_of(run), "tokenizer.json=one ");
}

TEST(TokenizerCopy, LeavesTheTokenizersOfAUser) {
  const Directory run(fresh_folder());
  run.write("gpt2.tiktoken", "x");
  run.write("tokenizer.model", "y");
  const auto files = text("gpt2.tiktoken=x tokenizer.json=one tokenizer.model=y ");
  write_tokenizer(run, {"tokenizer.json", "one"});
  EXPECT_EQ(contents_of(run), files);
  replace_tokenizer(run, {"tokenizer.json", "one"}, "");
  replace_tokenizer(run, {"tokenizer.json", "one"}, hex_of("another"));
  EXPECT_EQ(contents_of(run), files);
}

TEST(TokenizerCopy, OfAnEarlierDigestIsFound) {
  const Directory run(fresh_folder());
  run.write("gpt2.tiktoken", "one");
  run.write("tokenizer.json", "two");
  EXPECT_EQ(earlier_tokenizer(run, hex_of("two")), "");
  replace_tokenizer(run, {"tokenizer.json", "three"}, hex_of("one"));
  const auto name_of = [&](const std::string& content) {
    const std::filesystem::path path = earlier_tokenizer(run, hex_of(content));
    return path.lexically_relative(run.path()).string();
  };
  EXPECT_EQ(name_of("one"), "gpt2.earlier-tokenizer-" + hex_of("one").substr(0, 8));
  EXPECT_EQ(name_of("two"), "earlier-tokenizer-" + hex_of("two").substr(0, 8) + ".json");
  EXPECT_EQ(earlier_tokenizer(run, hex_of("three")), "");
  EXPECT_EQ(earlier_tokenizer(run, ""), "") << "the digest of bytes";
}

TEST(TokenizerCopy, IsFoundByTheNameOfTheConfiguredFileFirst) {
  const Directory run(fresh_folder());
  const auto found = [&](const std::string& configured) {
    const std::filesystem::path path = tokenizer_of_run(run, configured);
    return path.lexically_relative(run.path()).string();
  };
  EXPECT_EQ(tokenizer_of_run(run, "tok/a.model"), "tok/a.model");
  for (const auto* const name : {"gpt2.tiktoken", "ranks", "tokenizer.json", "tokenizer.model"}) {
    run.write(name, "x");
  }
  EXPECT_EQ(found("tok/a.json"), "tokenizer.json");
  EXPECT_EQ(found("tok/a.model"), "tokenizer.model");
  EXPECT_EQ(found("tok/gpt2.tiktoken"), "gpt2.tiktoken");
  EXPECT_EQ(found("tok/other.tiktoken"), "tokenizer.json");
  EXPECT_EQ(found("tok"), "tokenizer.json");
  EXPECT_EQ(found("tok/"), "tokenizer.json");
  EXPECT_EQ(found("tok/ranks"), "ranks");
  EXPECT_EQ(tokenizer_of_run(run, "bytes"), "bytes");
  run.remove("tokenizer.json");
  EXPECT_EQ(found("tok/a.json"), "tokenizer.model") << "older versions left one of another name";
}

TEST(TokenizerCopy, HasAPathInAnEmptyFolderToo) {
  const Directory run(fresh_folder());
  const auto path_of = [&](const std::string& configured) {
    const std::filesystem::path path = tokenizer_copy_path(run, configured);
    return path.lexically_relative(run.path()).string();
  };
  EXPECT_EQ(path_of("tok/a.json"), "tokenizer.json");
  EXPECT_EQ(path_of("tok"), "tokenizer.json");
  EXPECT_EQ(path_of("tok/a.model"), "tokenizer.model");
  EXPECT_EQ(path_of("tok/gpt2.tiktoken"), "gpt2.tiktoken");
  run.write("tokenizer.model", "x");
  EXPECT_EQ(path_of("tok"), "tokenizer.model");
  EXPECT_EQ(path_of("tok/a.json"), "tokenizer.json") << "a .model there would be read as JSON";
}

}  // namespace
}  // namespace evenkeel::store
